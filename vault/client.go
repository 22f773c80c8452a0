package vault

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Client is a registration at an authorization server: one that was made by
// hand, or a dynamic one (RFC 7591). It belongs to a tenant, or to all of them,
// and to no person.
type Client struct {
	Issuer            string // required
	Name              string // which of several at the issuer; empty: "default"
	ID                string // client_id
	Secret            Secret // client_secret; empty: a public client
	Method            string // token_endpoint_auth_method (RFC 7591 2), such as client_secret_basic or none
	PrivateKey        Secret // PEM, for private_key_jwt
	SecretExpires     time.Time
	RedirectURIs      []string
	RegistrationURI   string // RFC 7592 3
	RegistrationToken Secret
}

const (
	fieldClient            = "client"
	fieldClientSecret      = "client_secret"
	fieldPrivateKey        = "private_key"
	fieldRegistrationToken = "registration_token"
)

// clientRecord is what is sealed of a registration beside its secrets.
type clientRecord struct {
	ID              string    `json:"id"`
	Method          string    `json:"method"`
	SecretExpires   time.Time `json:"secret_expires"`
	RedirectURIs    []string  `json:"redirect_uris"`
	RegistrationURI string    `json:"registration_uri"`
}

// clients owns a tenant's registrations.
func clients(tenant string) Principal {
	return Principal{Issuer: ownIssuer, Tenant: tenant, Subject: "clients"}
}

// clientRow finds or makes the row of a registration. Its id follows from where
// it stands, so that two machines that register at once meet in one row.
func clientRow(issuer, name string) *Row {
	if name == "" {
		name = DefaultLabel
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", len(issuer), issuer, name))
	return &Row{Kind: KindClient, ID: "c_" + hex.EncodeToString(sum[:16]), Provider: issuer, Name: name, Status: string(Alive)}
}

func (c Client) check(tenant string) error {
	if c.Issuer == "" || c.ID == "" {
		return fmt.Errorf("%w: a registration has an issuer and an id", ErrInvalid)
	}
	for _, text := range []struct {
		name, text string
		limit      int
	}{
		{"tenant", tenant, maxShort}, {"issuer", c.Issuer, MaxText}, {"registration's name", c.Name, maxShort},
		{"client's id", c.ID, MaxText}, {"authentication method", c.Method, maxShort}, {"registration's address", c.RegistrationURI, MaxText},
	} {
		if err := checkText(text.name, text.text, text.limit); err != nil {
			return err
		}
	}
	if len(c.RedirectURIs) > maxFields {
		return fmt.Errorf("%w: more than %d redirect addresses", ErrInvalid, maxFields)
	}
	for _, uri := range c.RedirectURIs {
		if err := checkText("redirect address", uri, MaxText); err != nil {
			return err
		}
	}
	for _, s := range []Secret{c.Secret, c.PrivateKey, c.RegistrationToken} {
		if len(s.Reveal()) > maxSecret {
			return fmt.Errorf("%w: a secret of the client is longer than %d bytes", ErrInvalid, maxSecret)
		}
	}
	return clients(tenant).checkOwn()
}

// checkOwn is [Principal.check] for the vault's own.
func (p Principal) checkOwn() error {
	p.Issuer = "-"
	return p.check()
}

func (c Client) fields() (fields, error) {
	text, err := json.Marshal(clientRecord{ID: c.ID, Method: c.Method, SecretExpires: c.SecretExpires, RedirectURIs: c.RedirectURIs, RegistrationURI: c.RegistrationURI})
	if err != nil {
		return nil, err
	}
	f := fields{fieldClient: text}
	for name, s := range map[string]Secret{fieldClientSecret: c.Secret, fieldPrivateKey: c.PrivateKey, fieldRegistrationToken: c.RegistrationToken} {
		if !s.IsZero() {
			f[name] = []byte(s.Reveal())
		}
	}
	return f, nil
}

// AddClient stores a registration unless there is one of this name for the
// tenant and the issuer; then it returns that one. A machine whose registration
// was not added should delete it at its server.
func (v *Vault) AddClient(ctx context.Context, tenant string, c Client) (stored Client, added bool, err error) {
	err = v.putClient(ctx, tenant, c, func(tx Tx, row *Row, f fields) error {
		added = false
		old, err := one(tx, Query{Kind: KindClient, ID: row.ID})
		if err == nil {
			stored, err = v.openClient(clients(tenant), old)
			return err
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		added, stored = true, c
		return v.writeClient(tx, clients(tenant), row, f)
	})
	if err == nil && !added {
		err = v.auditClient(ctx, tenant, clientRow(c.Issuer, c.Name), "registered before")
	}
	if err != nil {
		return Client{}, false, err
	}
	return stored, added, nil
}

func (v *Vault) auditClient(ctx context.Context, tenant string, row *Row, purpose string) error {
	return v.audit(ctx, Event{
		Action: ActionRead, Principal: clients(tenant), Kind: KindClient, ID: row.ID, Provider: row.Provider, Label: row.Name,
		Fields: []string{fieldClientSecret, fieldPrivateKey, fieldRegistrationToken}, Purpose: purpose,
	})
}

// SetClient stores a registration in place of what is there.
func (v *Vault) SetClient(ctx context.Context, tenant string, c Client) error {
	return v.putClient(ctx, tenant, c, func(tx Tx, row *Row, f fields) error {
		old, err := one(tx, Query{Kind: KindClient, ID: row.ID})
		if err == nil {
			row = old
		} else if !errors.Is(err, ErrNotFound) {
			return err
		}
		return v.writeClient(tx, clients(tenant), row, f)
	})
}

func (v *Vault) putClient(ctx context.Context, tenant string, c Client, write func(Tx, *Row, fields) error) error {
	if err := v.usable(); err != nil {
		return err
	}
	if err := c.check(tenant); err != nil {
		return err
	}
	f, err := c.fields()
	if err != nil {
		return err
	}
	row := clientRow(c.Issuer, c.Name)
	if err := v.audit(ctx, Event{Action: ActionSave, Principal: clients(tenant), Kind: KindClient, ID: row.ID, Provider: c.Issuer, Label: row.Name}); err != nil {
		return err
	}
	return v.store.Update(ctx, clients(tenant).Key(), func(tx Tx) error { return write(tx, clientRow(c.Issuer, c.Name), f) })
}

func (v *Vault) writeClient(tx Tx, p Principal, row *Row, f fields) error {
	var d base
	if len(row.Detail) > 0 {
		if err := detail(row, &d); err != nil {
			return err
		}
	}
	d.Generation++
	if err := v.seal(p, row, d.Generation, f); err != nil {
		return err
	}
	if err := setDetail(row, d); err != nil {
		return err
	}
	return put(tx, row)
}

// Client returns the tenant's registration at the issuer. An empty name is the
// default one.
func (v *Vault) Client(ctx context.Context, tenant, issuer, name, purpose string) (Client, error) {
	if err := v.usable(); err != nil {
		return Client{}, err
	}
	row, err := v.findClient(ctx, tenant, issuer, name)
	if err != nil {
		return Client{}, err
	}
	if err := v.auditClient(ctx, tenant, row, purpose); err != nil {
		return Client{}, err
	}
	return v.openClient(clients(tenant), row)
}

func (v *Vault) findClient(ctx context.Context, tenant, issuer, name string) (*Row, error) {
	p := clients(tenant)
	if err := p.checkOwn(); err != nil {
		return nil, err
	}
	rows, _, err := v.store.Rows(ctx, p.Key(), Query{Kind: KindClient, ID: clientRow(issuer, name).ID, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, ErrNotFound
	}
	return rows[0], nil
}

func (v *Vault) openClient(p Principal, row *Row) (Client, error) {
	var d base
	if err := detail(row, &d); err != nil {
		return Client{}, err
	}
	f, err := v.open(p, row, d.Generation)
	if err != nil {
		return Client{}, err
	}
	var r clientRecord
	if err := json.Unmarshal(f[fieldClient], &r); err != nil {
		return Client{}, fmt.Errorf("vault: client %s: %w", row.ID, ErrSealed)
	}
	return Client{
		Issuer: row.Provider, Name: row.Name, ID: r.ID, Method: r.Method, SecretExpires: r.SecretExpires,
		RedirectURIs: r.RedirectURIs, RegistrationURI: r.RegistrationURI,
		Secret: NewSecret(string(f[fieldClientSecret])), PrivateKey: NewSecret(string(f[fieldPrivateKey])), RegistrationToken: NewSecret(string(f[fieldRegistrationToken])),
	}, nil
}

// DeleteClient removes the tenant's registration at the issuer. Grants that
// were made with it cannot be renewed any more. None is [ErrNotFound].
func (v *Vault) DeleteClient(ctx context.Context, tenant, issuer, name string) error {
	p := clients(tenant)
	if err := p.checkOwn(); err != nil {
		return err
	}
	row := clientRow(issuer, name)
	if err := v.audit(ctx, Event{Action: ActionDelete, Principal: p, Kind: KindClient, ID: row.ID, Provider: issuer, Label: row.Name}); err != nil {
		return err
	}
	return v.store.Update(ctx, p.Key(), func(tx Tx) error {
		if _, err := one(tx, Query{Kind: KindClient, ID: row.ID}); err != nil {
			return err
		}
		return tx.Delete(KindClient, row.ID)
	})
}

// clientOf reads the registration that the terms name, for a request of the
// vault's own, which is audited as a whole.
func (v *Vault) clientOf(ctx context.Context, t Terms) (Client, error) {
	if t.Client == (ClientRef{}) {
		return Client{}, nil
	}
	row, err := v.findClient(ctx, t.Client.Tenant, t.Client.Issuer, t.Client.Name)
	if err != nil {
		return Client{}, fmt.Errorf("vault: the client registration at %.200q: %w", t.Client.Issuer, err)
	}
	return v.openClient(clients(t.Client.Tenant), row)
}
