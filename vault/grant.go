package vault

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// GrantID is the id of a grant. Knowing it grants nothing.
type GrantID string

// Status of a grant.
type Status string

const (
	// Alive: it can be used.
	Alive Status = "alive"
	// ReconnectNeeded: its refresh token is of no use any more. The person has
	// to consent again; until then nobody asks the authorization server.
	ReconnectNeeded Status = "reconnect_needed"
	// Dead: the authorization server refuses to renew it for a reason that a
	// new consent does not change, such as an unknown client. It is asked once
	// per cool-down, and alive again when it agrees.
	Dead Status = "dead"
	// Unreadable: it was sealed with keys that this machine does not have, or
	// is damaged. It is never stored.
	Unreadable Status = "unreadable"
)

// Reason says why a grant is not alive.
type Reason string

const (
	ReasonRefused      Reason = "refused"       // invalid_grant: revoked, expired, or used by somebody else
	ReasonLostReply    Reason = "lost_reply"    // the answer to a renewal was lost, and the refresh token with it
	ReasonNotRenewable Reason = "not_renewable" // its token has ended, and nothing renews it
	ReasonClient       Reason = "client"        // the authorization server refuses the client or the request
)

// Account is who the person is at the provider.
type Account struct {
	ID   string `json:"id"`   // stable; empty: the provider does not say
	Name string `json:"name"` // for people
}

// Grant is what can be shown of a grant: no secret.
type Grant struct {
	ID        GrantID
	Provider  string
	Label     string
	Status    Status
	Reason    Reason
	Account   Account
	Issuer    string
	Scopes    []string // granted; nil: nobody said
	Missing   []string // asked for and not granted
	Secrets   []string // names of the secrets of a static key
	Expires   time.Time
	Renewable bool
	RetryAt   time.Time // of a cool-down; zero: none
	Created   time.Time
	Updated   time.Time
	// Generation rises with each change of the secrets: that of [Token.Generation].
	Generation int64
}

// DefaultLabel is the label of the account of a person who has one.
const DefaultLabel = "default"

const (
	maxGrants   = 1000 // of one principal
	maxScopes   = 256
	maxLifetime = 10 * 365 * 24 * time.Hour
)

// Names of the sealed fields of a grant. Secrets of a static key have secretPrefix.
const (
	fieldAccess  = "access"
	fieldRefresh = "refresh"
	fieldRecord  = "record"
	secretPrefix = "secret:"
)

// record is what is sealed of a grant beside its secrets: who can write to the
// database can change none of it.
type record struct {
	Terms   Terms    `json:"terms"`
	Account Account  `json:"account"`
	Type    string   `json:"type"`
	Asked   []string `json:"asked"`
	Scopes  []string `json:"scopes"`
}

// grantDetail is what a renewal needs to know before it opens anything.
type grantDetail struct {
	base
	Expires   time.Time     `json:"expires,omitzero"`  // of the access token, by the store's clock; zero: never
	Lifetime  time.Duration `json:"lifetime,omitzero"` // of the access token
	Margin    time.Duration `json:"margin,omitzero"`   // Terms.Renewal.Margin
	Renewable bool          `json:"renewable,omitzero"`
	Reason    Reason        `json:"reason,omitzero"`
	Code      string        `json:"code,omitzero"` // of RFC 6749 5.2
	Rotates   bool          `json:"rotates,omitzero"`
	Flows     []string      `json:"flows,omitempty"` // hashes of the states that brought it: of the flow, and of a decision

	Fence      int64     `json:"fence,omitzero"` // of the last lease
	LeaseUntil time.Time `json:"lease_until,omitzero"`
	LeaseOwner string    `json:"lease_owner,omitzero"`
	IntentAt   time.Time `json:"intent_at,omitzero"`  // a request of this lease may have left; zero: none has
	Lost       int       `json:"lost,omitzero"`       // requests whose answers were lost since the last success
	LostFirst  time.Time `json:"lost_first,omitzero"` // when the first of them was sent
	Fails      int       `json:"fails,omitzero"`      // in a row
	Wait       time.Time `json:"wait,omitzero"`       // end of the cool-down
	Rejected   time.Time `json:"rejected,omitzero"`   // when this generation was made because the one before was refused with 401; zero: it was not
}

// grant is a row of its kind, read.
type grant struct {
	p   Principal
	row *Row
	d   grantDetail

	refused int64 // in a renewal: the generation that a 401 refused
}

func readGrant(p Principal, row *Row) (*grant, error) {
	g := &grant{p: p, row: row}
	if err := detail(row, &g.d); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *grant) id() GrantID { return GrantID(g.row.ID) }

func (g *grant) status() Status { return Status(g.row.Status) }

func (g *grant) put(tx Tx) error {
	if err := setDetail(g.row, g.d); err != nil {
		return err
	}
	return put(tx, g.row)
}

// release ends a lease.
func (g *grant) release() {
	g.d.LeaseUntil, g.d.LeaseOwner, g.d.IntentAt = time.Time{}, "", time.Time{}
}

// settled forgets all trouble: there is a new token.
func (g *grant) settled() {
	g.release()
	g.d.Lost, g.d.LostFirst, g.d.Fails, g.d.Wait = 0, time.Time{}, 0, time.Time{}
	g.d.Reason, g.d.Code, g.row.Status = "", "", string(Alive)
}

func (g *grant) reconnect(reason Reason) error {
	return &ReconnectError{Grant: g.id(), Provider: g.row.Provider, Label: g.row.Name, Reason: reason}
}

func (v *Vault) loadGrant(tx Tx, p Principal, id GrantID) (*grant, error) {
	row, err := one(tx, Query{Kind: KindGrant, ID: string(id)})
	if err != nil {
		return nil, err
	}
	return readGrant(p, row)
}

func (v *Vault) openRecord(g *grant) (record, error) {
	f, err := v.open(g.p, g.row, g.d.Generation, fieldRecord)
	if err != nil {
		return record{}, err
	}
	return readRecord(g.row, f)
}

func readRecord(row *Row, f fields) (record, error) {
	var r record
	if err := json.Unmarshal(f[fieldRecord], &r); err != nil {
		return r, fmt.Errorf("vault: %s %s has no record that can be read: %w", row.Kind, row.ID, ErrSealed)
	}
	return r, nil
}

// renewable reports whether there is something to renew the token with.
func renewable(t Terms, f fields) bool {
	if t.TokenEndpoint == "" {
		return false
	}
	switch t.Renewal.By {
	case RenewByRefreshToken:
		return len(f[fieldRefresh]) > 0
	case RenewByAccessToken:
		return len(f[fieldAccess]) > 0
	case RenewByClient:
		return true
	}
	return false
}

// Grants lists the principal's grants at the provider or, if it is empty, at
// all, in the order of provider and label.
func (v *Vault) Grants(ctx context.Context, p Principal, provider string) ([]Grant, error) {
	if err := v.begin(p); err != nil {
		return nil, err
	}
	rows, _, err := v.store.Rows(ctx, p.Key(), Query{Kind: KindGrant, Provider: provider, Limit: maxGrants})
	if err != nil {
		return nil, err
	}
	grants := make([]Grant, 0, len(rows))
	for _, row := range rows {
		g, err := readGrant(p, row)
		if err != nil {
			grants = append(grants, Grant{ID: GrantID(row.ID), Provider: row.Provider, Label: row.Name, Status: Unreadable, Created: row.Created, Updated: row.Updated})
			continue
		}
		grants = append(grants, v.show(g))
	}
	slices.SortFunc(grants, func(a, b Grant) int {
		if c := strings.Compare(a.Provider, b.Provider); c != 0 {
			return c
		}
		return strings.Compare(a.Label, b.Label)
	})
	return grants, nil
}

// show leaves out what is secret.
func (v *Vault) show(g *grant) Grant {
	shown := Grant{
		ID: g.id(), Provider: g.row.Provider, Label: g.row.Name, Status: g.status(), Reason: g.d.Reason,
		Expires: g.d.Expires, Renewable: g.d.Renewable, RetryAt: g.d.Wait,
		Created: g.row.Created, Updated: g.row.Updated, Generation: g.d.Generation,
	}
	r, err := v.openRecord(g)
	if err != nil {
		shown.Status = Unreadable
		return shown
	}
	shown.Account, shown.Issuer, shown.Scopes = r.Account, r.Terms.Issuer, r.Scopes
	for _, scope := range r.Asked {
		if !slices.Contains(r.Scopes, scope) {
			shown.Missing = append(shown.Missing, scope)
		}
	}
	_ = eachSealed(g.row.Content, func(text, _ []byte) error { // read before, by openRecord
		if name, ok := strings.CutPrefix(string(text), secretPrefix); ok {
			shown.Secrets = append(shown.Secrets, name)
		}
		return nil
	})
	return shown
}

// Delete removes the principal's grant at the provider under the label; empty
// is [DefaultLabel]. It is gone when Delete returns; its tokens are revoked
// after that, by [Vault.Run] on any machine, for as long as it takes. An audit
// that fails does not keep what a person wants gone: its error is returned
// after the grant was deleted.
func (v *Vault) Delete(ctx context.Context, p Principal, provider, label string) error {
	_, audit, err := v.delete(ctx, p, provider, label, false)
	if err != nil {
		return err
	}
	v.wake()
	return audit
}

// delete removes a grant, and returns the revocation that is left to do, if any. With
// claim it is this machine's to try first.
func (v *Vault) delete(ctx context.Context, p Principal, provider, label string, claim bool) (left *revocation, audit, err error) {
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	if label == "" {
		label = DefaultLabel
	}
	audit = v.audit(ctx, Event{Action: ActionDelete, Principal: p, Kind: KindGrant, Provider: provider, Label: label})
	err = v.store.Update(ctx, p.Key(), func(tx Tx) error {
		left = nil
		g, err := v.grantAt(tx, p, provider, label)
		if err != nil {
			return err
		}
		if err := unwantAll(tx, provider, label); err != nil {
			return err
		}
		left, err = v.drop(tx, p, g.row, g.d.Generation)
		if err != nil || left == nil || !claim {
			return err
		}
		return v.claimRevocation(tx, left)
	})
	return left, audit, err
}

// drop deletes a row with tokens, and leaves its revocation behind; nil: there is
// none to do. A row that does not open is deleted all the same.
func (v *Vault) drop(tx Tx, p Principal, row *Row, generation int64) (left *revocation, err error) {
	f, err := v.open(p, row, generation)
	if err != nil {
		v.options.Log.Warn("deleted without revocation", "row", row.ID, "err", err)
	} else if left, err = v.queueRevocation(tx, p, row.Provider, f); err != nil {
		return nil, err
	}
	return left, tx.Delete(row.Kind, row.ID)
}

func names(f fields) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(name string) bool { return name == fieldRecord })
}
