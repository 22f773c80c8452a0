package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"
)

// OtherAccountError says that a person has consented as somebody else than
// before. Nothing is replaced until they say so.
type OtherAccountError struct {
	Provider string
	Label    string
	Old, New Account // zero where the provider did not say, or the old grant does not open
	Decision Secret  // for [Vault.Decide], within ten minutes
}

func (e *OtherAccountError) Error() string { return ErrOtherAccount.Error() }

// Is makes it match [ErrOtherAccount].
func (e *OtherAccountError) Is(target error) bool { return target == ErrOtherAccount }

// Choice is what a person decides about another account.
type Choice string

const (
	Replace  Choice = "replace"   // the old account's tokens are revoked
	KeepBoth Choice = "keep_both" // the new account gets a label of its own
	Discard  Choice = "discard"   // the new account's tokens are revoked
)

// decisionTime is how long a person has to decide.
const decisionTime = 10 * time.Minute

// decisionName is that of the flows in which new secrets wait. Callers of
// Begin cannot use it, since it is empty.
const decisionName = ""

// fieldHeld is what is known of a held grant beside its own fields.
const fieldHeld = "held"

type held struct {
	Label    string        `json:"label"`
	Lifetime time.Duration `json:"lifetime"`
	Flows    []string      `json:"flows,omitempty"`
}

// holdBack seals the new secrets as a flow that waits for a decision.
func (v *Vault) holdBack(tx Tx, p Principal, n NewGrant, old Account, f fields) (*OtherAccountError, error) {
	text, err := json.Marshal(held{Label: n.Label, Lifetime: n.Lifetime, Flows: n.flows()})
	if err != nil {
		return nil, err
	}
	waiting := fields{fieldHeld: text}
	maps.Copy(waiting, f)
	decision, err := v.addFlow(tx, p, decisionName, n.Provider, decisionTime, waiting)
	if err != nil {
		return nil, err
	}
	return &OtherAccountError{Provider: n.Provider, Label: n.Label, Old: old, New: n.Account, Decision: decision}, nil
}

// Decide carries out what the person decided about an [OtherAccountError], and
// returns the new account's grant; that of Discard is zero. The label is the
// one that KeepBoth gives to the new account; if it is taken the error is
// [ErrInvalid] and the decision is still open. A decision is used once; later,
// after ten minutes, and for another principal it is [ErrNotFound].
func (v *Vault) Decide(ctx context.Context, p Principal, decision Secret, choice Choice, label string) (Grant, error) {
	if err := v.begin(p); err != nil {
		return Grant{}, err
	}
	switch choice {
	case Replace, Discard:
	case KeepBoth:
		if label == "" {
			return Grant{}, fmt.Errorf("%w: the new account needs a label of its own", ErrInvalid)
		}
		if err := checkText("label", label, maxShort); err != nil {
			return Grant{}, err
		}
	default:
		return Grant{}, fmt.Errorf("%w: there is no such choice", ErrInvalid)
	}
	id := flowID(decision)
	if err := v.audit(ctx, Event{Action: ActionDecide, Principal: p, Kind: KindFlow, ID: id, Label: label, Purpose: string(choice)}); err != nil {
		return Grant{}, err
	}
	var saved *grant
	err := v.store.Update(ctx, p.Key(), func(tx Tx) error {
		saved = nil
		row, f, err := v.takeFlow(tx, p, id, decisionName)
		if err != nil {
			return err
		}
		var h held
		if err := json.Unmarshal(f[fieldHeld], &h); err != nil {
			return fmt.Errorf("vault: flow %s: %w", id, ErrSealed)
		}
		delete(f, fieldHeld)
		// The access token has grown older while the person thought.
		lifetime := max(h.Lifetime-tx.Now().Sub(row.Created), 0)
		if h.Lifetime > 0 && lifetime == 0 {
			lifetime = time.Microsecond
		}
		switch choice {
		case Discard:
			_, err := v.queueRevocation(tx, p, row.Provider, f)
			return err
		case KeepBoth:
			if _, err := v.grantAt(tx, p, row.Provider, label); !errors.Is(err, ErrNotFound) {
				if err == nil {
					err = fmt.Errorf("%w: the label is taken", ErrInvalid)
				}
				return err
			}
			h.Label = label
		case Replace:
			old, err := v.grantAt(tx, p, row.Provider, h.Label)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			if err == nil {
				if _, err := v.drop(tx, p, old.row, old.d.Generation); err != nil {
					return err
				}
			}
		}
		saved, err = v.addGrant(tx, p, row.Provider, h.Label, lifetime, f, append(h.Flows, id))
		return err
	})
	if err != nil {
		return Grant{}, err
	}
	v.wake()
	if saved == nil {
		return Grant{}, nil
	}
	return v.show(saved), nil
}
