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
}

// queueRevocation leaves the tokens among the fields to be revoked: a row of
// its own, so that the grant can be gone at once. Where the provider has no
// revocation endpoint there is nothing to do.
func (v *Vault) queueRevocation(tx Tx, p Principal, provider string, f fields) error {
	row := &Row{Kind: KindRevocation, ID: "r_" + randomText(), Provider: provider, Due: tx.Now()}
	row.Name = row.ID
	r, err := readRecord(row, f)
	if err != nil || r.Terms.RevocationEndpoint == "" {
		return err
	}
	tokens := fields{fieldRecord: f[fieldRecord]}
	for _, name := range []string{fieldRefresh, fieldAccess} {
		if len(f[name]) > 0 {
			tokens[name] = f[name]
		}
	}
	if len(tokens) == 1 {
		return nil
	}
	d := revocationDetail{base: base{Generation: 1}}
	if err := v.seal(p, row, d.Generation, tokens); err != nil {
		return err
	}
	if err := setDetail(row, d); err != nil {
		return err
	}
	return put(tx, row)
}

// Revocations are tried again after 1 min, 2 min, 4 min and so on up to 6 h.
const (
	revokePause    = time.Minute
	maxRevokePause = 6 * time.Hour
)

// revoke makes one try at a row whose time has come.
func (v *Vault) revoke(ctx context.Context, ref Ref) error {
	p, err := ParsePrincipal(ref.Principal)
	if err != nil {
		return err
	}
	// The try is claimed first, for as long as it can take: two machines that
	// sweep send it once.
	var row *Row
	var d revocationDetail
	var over bool
	err = v.store.Update(ctx, ref.Principal, func(tx Tx) (err error) {
		d, over = revocationDetail{}, false
		row, err = one(tx, Query{Kind: KindRevocation, ID: ref.ID})
		if err != nil || tx.Now().Before(row.Due) {
			row = nil
			return err
		}
		if err := detail(row, &d); err != nil {
			return err
		}
		if over = tx.Now().Sub(row.Created) >= v.options.RevokeFor; over {
			return tx.Delete(KindRevocation, row.ID)
		}
		row.Due = tx.Now().Add(2*v.options.RequestTimeout + max(revokePause, min(revokePause<<min(d.Tries, 20), maxRevokePause)))
		d.Tries++
		if err := setDetail(row, d); err != nil {
			return err
		}
		return put(tx, row)
	})
	if row == nil || err != nil {
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return err
	}
	if over {
		v.options.Log.Error("a token could not be revoked in time", "provider", row.Provider, "row", row.ID)
		return v.audit(ctx, Event{Action: ActionGaveUp, Principal: p, Kind: KindRevocation, ID: row.ID, Provider: row.Provider})
	}
	f, err := v.open(p, row, d.Generation)
	if err != nil {
		return err
	}
	r, err := readRecord(row, f)
	if err != nil {
		return err
	}
	if err := v.audit(ctx, Event{Action: ActionRevoke, Principal: p, Kind: KindRevocation, ID: row.ID, Provider: row.Provider, Fields: names(f)}); err != nil {
		return err
	}
	client, err := v.clientOf(ctx, r.Terms)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	// The refresh token first: while it works it makes access tokens (and
	// servers that know better end both with it, RFC 7009 2.1).
	for _, token := range []struct{ field, hint string }{{fieldRefresh, "refresh_token"}, {fieldAccess, "access_token"}} {
		if len(f[token.field]) == 0 {
			continue
		}
		secret := NewSecret(string(f[token.field]))
		if token.field == fieldAccess {
			if secret, _, _, err = unpackAccess(row, f[fieldAccess]); err != nil {
				return err
			}
		}
		err := v.sendRevocation(ctx, RevokeRequest{
			Provider: row.Provider, Terms: r.Terms.clone(), Client: client, Token: secret, Hint: token.hint,
		})
		if err != nil {
			v.options.Log.Warn("a token is not revoked yet", "provider", row.Provider, "row", row.ID, "err", err)
			return v.keepRevocation(ctx, ref, f)
		}
		delete(f, token.field)
	}
	return v.store.Update(ctx, ref.Principal, func(tx Tx) error { return tx.Delete(KindRevocation, ref.ID) })
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
		failed := classify(err)
		if failed.Code == "unsupported_token_type" { // RFC 7009 2.2.1: it never will
			return nil
		}
		return failed
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
