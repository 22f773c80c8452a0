package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// NewGrant is what a consent, or the entry of a key, brings.
type NewGrant struct {
	Provider string // required: a provider's key, or the address of a server
	Label    string // which of several accounts; empty: "default"
	Account  Account

	Access   Secret
	Refresh  Secret
	Type     string
	Lifetime time.Duration // of Access, from now; 0: Terms.Renewal.Lifetime, and if that is 0, for ever
	Asked    []string      // scopes that were asked for
	Scopes   []string      // scopes that were granted; nil: as asked (RFC 6749 5.1)

	Secrets map[string]Secret // of a static key, by the name of its field

	Terms Terms

	// Flow is the state of the flow that brought it, if one did: see [Vault.Finished].
	Flow Secret
}

// flows are the hashes of the states by which the grant is found.
func (n *NewGrant) flows() []string {
	if n.Flow.IsZero() {
		return nil
	}
	return []string{flowID(n.Flow)}
}

func (n *NewGrant) check() error {
	if n.Label == "" {
		n.Label = DefaultLabel
	}
	if n.Provider == "" {
		return fmt.Errorf("%w: a grant has a provider", ErrInvalid)
	}
	for _, text := range []struct {
		name, text string
		limit      int
	}{
		{"provider", n.Provider, MaxText}, {"label", n.Label, maxShort}, {"account's id", n.Account.ID, MaxText},
		{"account's name", n.Account.Name, MaxText}, {"token's type", n.Type, maxShort},
	} {
		if err := checkText(text.name, text.text, text.limit); err != nil {
			return err
		}
	}
	if len(n.Asked) > maxScopes || len(n.Scopes) > maxScopes {
		return fmt.Errorf("%w: more than %d scopes", ErrInvalid, maxScopes)
	}
	for _, scope := range slices.Concat(n.Asked, n.Scopes) {
		if err := checkText("scope", scope, MaxText); err != nil {
			return err
		}
	}
	if n.Lifetime < 0 || n.Lifetime > maxLifetime {
		return fmt.Errorf("%w: a lifetime of %v", ErrInvalid, n.Lifetime)
	}
	if len(n.Secrets) > maxFields {
		return fmt.Errorf("%w: more than %d secrets", ErrInvalid, maxFields)
	}
	all := maps.Clone(n.Secrets)
	if all == nil {
		all = map[string]Secret{}
	}
	for name := range n.Secrets {
		if name == "" {
			return fmt.Errorf("%w: a secret without a name", ErrInvalid)
		}
		if err := checkText("secret's name", name, maxShort-len(secretPrefix)); err != nil {
			return err
		}
	}
	all[" access token"], all[" refresh token"] = n.Access, n.Refresh
	empty := true
	for name, s := range all {
		if len(s.Reveal()) > maxSecret {
			return fmt.Errorf("%w: %s is longer than %d bytes", ErrInvalid, strings.TrimSpace(name), maxSecret)
		}
		empty = empty && s.IsZero()
	}
	if empty {
		return fmt.Errorf("%w: a grant without a secret", ErrInvalid)
	}
	return n.Terms.check()
}

// fields are the grant's secrets as they are sealed.
func (n *NewGrant) fields() (fields, error) {
	scopes := n.Scopes
	if scopes == nil {
		scopes = n.Asked
	}
	text, err := json.Marshal(record{Terms: n.Terms, Account: n.Account, Type: n.Type, Asked: n.Asked, Scopes: scopes})
	if err != nil {
		return nil, err
	}
	f := fields{fieldRecord: text}
	if !n.Access.IsZero() {
		f[fieldAccess] = packAccess(n.Access, n.Type, scopes)
	}
	if !n.Refresh.IsZero() {
		f[fieldRefresh] = []byte(n.Refresh.Reveal())
	}
	for name, s := range n.Secrets {
		f[secretPrefix+name] = []byte(s.Reveal())
	}
	return f, nil
}

// fill writes the fields of a new consent, which these flows brought, into the grant.
func (v *Vault) fill(g *grant, now time.Time, lifetime time.Duration, f fields, flows []string) error {
	r, err := readRecord(g.row, f)
	if err != nil {
		return err
	}
	g.d.Generation++
	g.d.Fence++ // who still renews what was there before is too late
	g.settled()
	g.d.Rejected = time.Time{}
	g.d.Flows = flows
	g.d.Margin = r.Terms.Renewal.Margin
	g.d.Renewable = renewable(r.Terms, f)
	g.d.Rotates = true // until an answer says otherwise
	g.expire(now, lifetime, r.Terms)
	if len(f[fieldAccess]) == 0 && g.d.Renewable { // the first use makes one
		g.d.Expires, g.d.Lifetime = now, 0
	}
	return v.seal(g.p, g.row, g.d.Generation, f)
}

// expire sets the end of the access token.
func (g *grant) expire(now time.Time, lifetime time.Duration, t Terms) {
	if lifetime == 0 {
		lifetime = t.Renewal.Lifetime
	}
	g.d.Lifetime, g.d.Expires = lifetime, time.Time{}
	if lifetime > 0 {
		g.d.Expires = now.Add(lifetime)
	}
}

// Save stores what a consent or the entry of a key has brought, in place of
// what the principal had at this provider under this label.
//
// If that belonged to another account, or only one of the two accounts is
// known, nothing is replaced: the new secrets wait, sealed, for ten minutes,
// and the error is an [*OtherAccountError] that [Vault.Decide] takes.
func (v *Vault) Save(ctx context.Context, p Principal, n NewGrant) (Grant, error) {
	if err := v.begin(p); err != nil {
		return Grant{}, err
	}
	if err := n.check(); err != nil {
		return Grant{}, err
	}
	f, err := n.fields()
	if err != nil {
		return Grant{}, err
	}
	if err := v.audit(ctx, Event{Action: ActionSave, Principal: p, Kind: KindGrant, Provider: n.Provider, Label: n.Label, Fields: names(f)}); err != nil {
		return Grant{}, err
	}
	var saved *grant
	var other *OtherAccountError
	err = v.store.Update(ctx, p.Key(), func(tx Tx) error {
		saved, other = nil, nil
		g, err := v.grantAt(tx, p, n.Provider, n.Label)
		switch {
		case errors.Is(err, ErrNotFound):
			saved, err = v.addGrant(tx, p, n.Provider, n.Label, n.Lifetime, f, n.flows())
			return err
		case err != nil:
			return err
		}
		r, err := v.openRecord(g)
		if err != nil && !errors.Is(err, ErrSealed) {
			return err
		}
		if err != nil || r.Account.ID != n.Account.ID { // what cannot be read cannot be compared
			other, err = v.holdBack(tx, p, n, r.Account, f)
			return err
		}
		if err := v.fill(g, tx.Now(), n.Lifetime, f, n.flows()); err != nil {
			return err
		}
		if err := v.unwant(tx, g, f); err != nil {
			return err
		}
		saved = g
		return g.put(tx)
	})
	if err != nil {
		return Grant{}, err
	}
	if other != nil {
		return Grant{}, other
	}
	return v.show(saved), nil
}

// grantAt finds the principal's grant by where it stands.
func (v *Vault) grantAt(tx Tx, p Principal, provider, label string) (*grant, error) {
	row, err := one(tx, Query{Kind: KindGrant, Provider: provider, Name: label})
	if err != nil {
		return nil, err
	}
	return readGrant(p, row)
}

func (v *Vault) addGrant(tx Tx, p Principal, provider, label string, lifetime time.Duration, f fields, flows []string) (*grant, error) {
	rows, err := tx.Rows(Query{Kind: KindGrant, Limit: maxGrants})
	if err != nil {
		return nil, err
	}
	if len(rows) >= maxGrants {
		return nil, fmt.Errorf("%w: %d grants", ErrLimit, maxGrants)
	}
	g := &grant{p: p, row: &Row{Kind: KindGrant, ID: "g_" + randomText(), Provider: provider, Name: label}}
	if err := v.fill(g, tx.Now(), lifetime, f, flows); err != nil {
		return nil, err
	}
	if err := v.unwant(tx, g, f); err != nil {
		return nil, err
	}
	return g, g.put(tx)
}
