package vault

import (
	"context"
	"errors"
	"time"
)

// revocationDetail is what is known of tokens that are to be revoked.
type revocationDetail struct {
	base
	Tries int `json:"tries"`
	// Forgotten: the person was erased, and the audit hears no more of them.
	Forgotten bool `json:"forgotten,omitzero"`
}

// Revoked says what became of the tokens of a grant that was deleted.
type Revoked string

const (
	// RevokedDone: the authorization server has said that they are of no use any more.
	RevokedDone Revoked = "revoked"
	// RevokedLater: it could not be reached or did not do it; [Vault.Run] of any
	// machine tries again, for [Options.RevokeFor].
	RevokedLater Revoked = "pending"
	// RevokedNot: it offers no revocation (RFC 7009), so tokens end as it lets them end.
	RevokedNot Revoked = "not_offered"
)

// Revoke is [Vault.Delete], and makes the first try to revoke the tokens itself: two
// requests at most, within ctx and the bounds of the vault. The grant is gone before
// anybody is asked, and however that ends, and if ctx ends; err says that it is not.
func (v *Vault) Revoke(ctx context.Context, p Principal, provider, label string) (Revoked, error) {
	claim := v.options.Endpoint != nil
	left, audit, err := v.delete(context.WithoutCancel(ctx), p, provider, label, claim)
	switch {
	case err != nil:
		return "", err
	case left == nil:
		return RevokedNot, audit
	case !claim:
		return RevokedLater, audit
	}
	done, err := v.tryRevocation(ctx, left)
	if err != nil {
		v.options.Log.Warn("a token is not revoked yet", "provider", left.row.Provider, "row", left.row.ID, "err", err)
		return RevokedLater, audit
	}
	return done, audit
}

// revocation is a row of its kind, read.
type revocation struct {
	p   Principal
	row *Row
	d   revocationDetail
}

func (r *revocation) ref() Ref { return Ref{Principal: r.p.Key(), Kind: KindRevocation, ID: r.row.ID} }

// event is what the audit is told.
func (r *revocation) event(action Action) Event {
	e := Event{Action: action, Principal: r.p, Kind: KindRevocation, ID: r.row.ID, Provider: r.row.Provider}
	if r.d.Forgotten {
		e.Principal = Principal{}
	}
	return e
}

func (r *revocation) put(tx Tx) error {
	if err := setDetail(r.row, r.d); err != nil {
		return err
	}
	return put(tx, r.row)
}

// queueRevocation leaves the tokens among the fields to be revoked: a row of
// its own, so that the grant can be gone at once. Where the provider has no
// revocation endpoint there is nothing to do, and nothing is returned.
func (v *Vault) queueRevocation(tx Tx, p Principal, provider string, f fields) (*revocation, error) {
	row := &Row{Kind: KindRevocation, ID: "r_" + randomText(), Provider: provider, Due: tx.Now()}
	row.Name = row.ID
	record, err := readRecord(row, f)
	if err != nil || record.Terms.RevocationEndpoint == "" {
		return nil, err
	}
	tokens := fields{fieldRecord: f[fieldRecord]}
	for _, name := range []string{fieldRefresh, fieldAccess} {
		if len(f[name]) > 0 {
			tokens[name] = f[name]
		}
	}
	if len(tokens) == 1 {
		return nil, nil
	}
	r := &revocation{p: p, row: row, d: revocationDetail{base: base{Generation: 1}}}
	if err := v.seal(p, row, r.d.Generation, tokens); err != nil {
		return nil, err
	}
	return r, r.put(tx)
}

// Revocations are tried again after 1 min, 2 min, 4 min and so on up to 6 h.
const (
	revokePause    = time.Minute
	maxRevokePause = 6 * time.Hour
)

// claimRevocation makes the next try this machine's, for as long as it can take: two
// machines that sweep send it once.
func (v *Vault) claimRevocation(tx Tx, r *revocation) error {
	r.row.Due = tx.Now().Add(2*v.options.RequestTimeout + max(revokePause, min(revokePause<<min(r.d.Tries, 20), maxRevokePause)))
	r.d.Tries++
	return r.put(tx)
}

// revoke makes one try at a row whose time has come.
func (v *Vault) revoke(ctx context.Context, ref Ref) error {
	p, err := ParsePrincipal(ref.Principal)
	if err != nil {
		return err
	}
	var r *revocation
	var over bool
	err = v.store.Update(ctx, ref.Principal, func(tx Tx) error {
		r, over = nil, false
		row, err := one(tx, Query{Kind: KindRevocation, ID: ref.ID})
		if err != nil || tx.Now().Before(row.Due) {
			return err
		}
		r = &revocation{p: p, row: row}
		if err := detail(row, &r.d); err != nil {
			return err
		}
		if over = tx.Now().Sub(row.Created) >= v.options.RevokeFor; over {
			return tx.Delete(KindRevocation, row.ID)
		}
		return v.claimRevocation(tx, r)
	})
	if r == nil || err != nil {
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return err
	}
	if over {
		v.options.Log.Error("a token could not be revoked in time", "provider", r.row.Provider, "row", r.row.ID)
		return v.audit(ctx, r.event(ActionGaveUp))
	}
	_, err = v.tryRevocation(ctx, r)
	return err
}

// tryRevocation makes a try that is this machine's.
func (v *Vault) tryRevocation(ctx context.Context, r *revocation) (Revoked, error) {
	f, err := v.open(r.p, r.row, r.d.Generation)
	if err != nil {
		return "", err
	}
	record, err := readRecord(r.row, f)
	if err != nil {
		return "", err
	}
	told := r.event(ActionRevoke)
	told.Fields = names(f)
	if err := v.audit(ctx, told); err != nil {
		return "", err
	}
	client, err := v.clientOf(ctx, record.Terms)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", err
	}
	done := RevokedNot
	// The refresh token first: while it works it makes access tokens (and
	// servers that know better end both with it, RFC 7009 2.1).
	for _, token := range []struct{ field, hint string }{{fieldRefresh, "refresh_token"}, {fieldAccess, "access_token"}} {
		if len(f[token.field]) == 0 {
			continue
		}
		secret := NewSecret(string(f[token.field]))
		if token.field == fieldAccess {
			if secret, _, _, err = unpackAccess(r.row, f[fieldAccess]); err != nil {
				return "", err
			}
		}
		err := v.sendRevocation(ctx, RevokeRequest{
			Provider: r.row.Provider, Terms: record.Terms.clone(), Client: client, Token: secret, Hint: token.hint,
		})
		switch {
		case err == nil:
			done = RevokedDone
		case isUnsupported(err): // RFC 7009 2.2.1: it never will
		default:
			v.options.Log.Warn("a token is not revoked yet", "provider", r.row.Provider, "row", r.row.ID, "err", err)
			done = RevokedLater
		}
		if done == RevokedLater {
			break
		}
		delete(f, token.field)
	}
	// What the requests have led to is written down also when nobody waits any more.
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.options.RequestTimeout)
	defer cancel()
	if done == RevokedLater {
		return done, v.keepRevocation(keep, r.ref(), f)
	}
	return done, v.store.Update(keep, r.p.Key(), func(tx Tx) error { return tx.Delete(KindRevocation, r.row.ID) })
}

func isUnsupported(err error) bool {
	failed, ok := errors.AsType[*EndpointError](err)
	return ok && failed.Code == "unsupported_token_type"
}

func (v *Vault) sendRevocation(ctx context.Context, request RevokeRequest) (err error) {
	ctx, cancel := context.WithTimeout(ctx, v.options.RequestTimeout)
	defer cancel()
	defer func() {
		if recover() != nil { // its text may quote a token
			err = &EndpointError{Class: Lost, Err: errors.New("the endpoint's client panicked")}
		}
	}()
	if err := v.options.Endpoint.Revoke(ctx, request); err != nil {
		return classify(err)
	}
	return nil
}

// keepRevocation leaves for the next try what was not revoked in this one.
func (v *Vault) keepRevocation(ctx context.Context, ref Ref, left fields) error {
	p, err := ParsePrincipal(ref.Principal)
	if err != nil {
		return err
	}
	return v.store.Update(ctx, ref.Principal, func(tx Tx) error {
		row, err := one(tx, Query{Kind: KindRevocation, ID: ref.ID})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		var d revocationDetail
		if err := detail(row, &d); err != nil {
			return err
		}
		d.Generation++
		if err := v.seal(p, row, d.Generation, left); err != nil {
			return err
		}
		row.Due = tx.Now().Add(max(revokePause, min(revokePause<<min(d.Tries-1, 20), maxRevokePause)))
		if err := setDetail(row, d); err != nil {
			return err
		}
		return put(tx, row)
	})
}
