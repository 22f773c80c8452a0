package vault

import (
	"context"
	"errors"
	"time"
)

const sweepPage = 100

// Run sweeps until ctx ends: flows that nobody finished are removed, tokens
// revoked, keys read again where they came from, and this machine reported to
// those who rotate them. Every machine runs it. It returns nil when ctx has
// ended; a store that is away is logged, and tried again.
func (v *Vault) Run(ctx context.Context) error {
	ticker := time.NewTicker(v.options.Poll)
	defer ticker.Stop()
	for {
		if err := v.Sweep(ctx); err != nil && ctx.Err() == nil {
			v.options.Log.Warn("sweep", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-v.kick:
		}
	}
}

// Sweep does once what [Vault.Run] does all the time. The error joins those of
// its parts and of single rows, which do not keep it from the others.
func (v *Vault) Sweep(ctx context.Context) error {
	reload := v.keys.Reload()
	if err := v.usable(); err != nil {
		return errors.Join(err, reload)
	}
	errs := []error{
		reload,
		v.report(ctx),
		v.sweep(ctx, KindFlow, v.endFlow),
		v.sweep(ctx, KindMachine, v.forgetMachine),
	}
	if v.options.Endpoint != nil {
		errs = append(errs, v.sweep(ctx, KindRevocation, v.revoke))
	}
	return errors.Join(errs...)
}

func (v *Vault) sweep(ctx context.Context, kind Kind, f func(context.Context, Ref) error) error {
	var errs []error
	for after := (Ref{}); ; {
		refs, err := v.store.Due(ctx, kind, after, sweepPage)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, ref := range refs {
			if err := f(ctx, ref); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if len(errs) < 10 { // the others say the same
					errs = append(errs, err)
				}
			}
			after = ref
		}
		if len(refs) < sweepPage {
			return errors.Join(errs...)
		}
	}
}

// endFlow removes a flow that was not finished. If it held tokens, since nobody
// decided about another account, they are revoked.
func (v *Vault) endFlow(ctx context.Context, ref Ref) error {
	p, err := ParsePrincipal(ref.Principal)
	if err != nil {
		return err
	}
	expired := Event{}
	err = v.store.Update(ctx, ref.Principal, func(tx Tx) error {
		expired = Event{}
		row, err := one(tx, Query{Kind: KindFlow, ID: ref.ID})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil || tx.Now().Before(row.Due) {
			return err
		}
		if expired, err = v.dropFlow(tx, p, row); err != nil {
			return err
		}
		return tx.Delete(KindFlow, row.ID)
	})
	if err != nil || expired.Action == "" {
		return err
	}
	v.wake()
	return v.audit(ctx, expired)
}

// dropFlow queues the tokens of a flow that held some.
func (v *Vault) dropFlow(tx Tx, p Principal, row *Row) (expired Event, err error) {
	f, err := v.openFlow(p, row)
	if err != nil {
		v.options.Log.Warn("deleted without looking into it", "row", row.ID, "err", err)
		return Event{}, nil
	}
	if f[fieldHeld] == nil {
		return Event{}, nil
	}
	_, err = v.queueRevocation(tx, p, row.Provider, f)
	return Event{Action: ActionExpired, Principal: p, Kind: KindFlow, ID: row.ID, Provider: row.Provider}, err
}

// Erase removes all that is stored of the principal. What remains, sealed and
// for at most [Options.RevokeFor], are the tokens that are still to be revoked:
// forgetting them would leave access to the person's accounts open. An audit
// that fails does not keep it; its error is returned after all is gone.
func (v *Vault) Erase(ctx context.Context, p Principal) error {
	if err := p.check(); err != nil {
		return err
	}
	audit := v.audit(ctx, Event{Action: ActionErase, Principal: p})
	for more := true; more; {
		err := v.store.Update(ctx, p.Key(), func(tx Tx) error {
			more = false
			for _, kind := range []Kind{KindGrant, KindFlow, KindWanted} {
				rows, err := tx.Rows(Query{Kind: kind, Limit: sweepPage})
				if err != nil {
					return err
				}
				more = more || len(rows) == sweepPage
				for _, row := range rows {
					if err := v.eraseRow(tx, p, row); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := v.forgetRevocations(ctx, p); err != nil {
		return err
	}
	v.wake()
	return audit
}

func (v *Vault) eraseRow(tx Tx, p Principal, row *Row) error {
	var err error
	switch row.Kind {
	case KindGrant:
		var d base
		if detail(row, &d) == nil {
			_, err = v.drop(tx, p, row, d.Generation)
			return err
		}
	case KindFlow:
		_, err = v.dropFlow(tx, p, row)
	}
	if err != nil {
		return err
	}
	return tx.Delete(row.Kind, row.ID)
}

// forgetRevocations keeps what is still to be revoked of a person who was erased out of
// the audit, which would bring their name back.
func (v *Vault) forgetRevocations(ctx context.Context, p Principal) error {
	for after, last := "", ""; ; after = last {
		err := v.store.Update(ctx, p.Key(), func(tx Tx) error {
			last = ""
			rows, err := tx.Rows(Query{Kind: KindRevocation, After: after, Limit: sweepPage})
			if err != nil {
				return err
			}
			if len(rows) == sweepPage {
				last = rows[len(rows)-1].ID
			}
			for _, row := range rows {
				r := &revocation{p: p, row: row}
				if detail(row, &r.d) != nil || r.d.Forgotten {
					continue
				}
				r.d.Forgotten = true
				if err := r.put(tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || last == "" {
			return err
		}
	}
}
