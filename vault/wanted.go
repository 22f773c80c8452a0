package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// fieldWanted is the sealed list of a row of [KindWanted]: who can write to the
// database cannot choose what a person is asked to allow.
const fieldWanted = "wanted"

// Want remembers that the provider wants these scopes of the principal beyond what
// they have allowed, so that the next consent asks for them, on whichever machine
// (RFC 6750 3.1, insufficient_scope). They are forgotten as far as a consent under
// the label grants them, and when the grant is deleted. More than 256 are not kept.
func (v *Vault) Want(ctx context.Context, p Principal, provider, label string, scopes []string) error {
	if err := v.begin(p); err != nil {
		return err
	}
	if label == "" {
		label = DefaultLabel
	}
	if provider == "" {
		return fmt.Errorf("%w: scopes are wanted by a provider", ErrInvalid)
	}
	for _, text := range []struct {
		name, text string
		limit      int
	}{{"provider", provider, MaxText}, {"label", label, maxShort}} {
		if err := checkText(text.name, text.text, text.limit); err != nil {
			return err
		}
	}
	for _, scope := range scopes {
		if err := checkText("scope", scope, MaxText); err != nil {
			return err
		}
	}
	if len(scopes) == 0 {
		return nil
	}
	return v.store.Update(ctx, p.Key(), func(tx Tx) error {
		row, wanted, err := v.wantedAt(tx, p, provider, label)
		if errors.Is(err, ErrNotFound) {
			row, err = &Row{Kind: KindWanted, ID: "w_" + randomText(), Provider: provider, Name: label}, nil
		}
		if err != nil {
			return err
		}
		before := len(wanted)
		for _, scope := range scopes {
			if !slices.Contains(wanted, scope) && len(wanted) < maxScopes {
				wanted = append(wanted, scope)
			}
		}
		if len(wanted) == before {
			return nil
		}
		return v.putWanted(tx, p, row, wanted)
	})
}

// Wanted are the scopes of [Vault.Want], by provider, of the principal's grants under
// the label; those of one provider, or of all if it is empty.
func (v *Vault) Wanted(ctx context.Context, p Principal, provider, label string) (map[string][]string, error) {
	if err := v.begin(p); err != nil {
		return nil, err
	}
	if label == "" {
		label = DefaultLabel
	}
	rows, _, err := v.store.Rows(ctx, p.Key(), Query{Kind: KindWanted, Provider: provider, Name: label, Limit: maxGrants})
	if err != nil {
		return nil, err
	}
	all := make(map[string][]string, len(rows))
	for _, row := range rows {
		wanted, err := v.openWanted(p, row)
		if errors.Is(err, ErrSealed) { // as good as none: the provider will say it again
			continue
		}
		if err != nil {
			return nil, err
		}
		all[row.Provider] = wanted
	}
	return all, nil
}

// wantedAt finds a row of its kind. One that does not open is as good as none.
func (v *Vault) wantedAt(tx Tx, p Principal, provider, label string) (*Row, []string, error) {
	row, err := one(tx, Query{Kind: KindWanted, Provider: provider, Name: label})
	if err != nil {
		return nil, nil, err
	}
	wanted, err := v.openWanted(p, row)
	if errors.Is(err, ErrSealed) {
		return row, nil, nil
	}
	return row, wanted, err
}

func (v *Vault) openWanted(p Principal, row *Row) ([]string, error) {
	var d base
	if err := detail(row, &d); err != nil {
		return nil, err
	}
	text, err := v.openOne(p, row, d.Generation, fieldWanted)
	if err != nil {
		return nil, err
	}
	var wanted []string
	if err := json.Unmarshal(text, &wanted); err != nil {
		return nil, fmt.Errorf("vault: %s %s: %w", row.Kind, row.ID, ErrSealed)
	}
	return wanted, nil
}

func (v *Vault) putWanted(tx Tx, p Principal, row *Row, wanted []string) error {
	text, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	var d base
	if len(row.Detail) > 0 {
		if err := detail(row, &d); err != nil {
			return err
		}
	}
	d.Generation++
	if err := v.seal(p, row, d.Generation, fields{fieldWanted: text}); err != nil {
		return err
	}
	if err := setDetail(row, d); err != nil {
		return err
	}
	return put(tx, row)
}

// unwant forgets what a consent has granted.
func (v *Vault) unwant(tx Tx, g *grant, f fields) error {
	row, wanted, err := v.wantedAt(tx, g.p, g.row.Provider, g.row.Name)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	r, err := readRecord(g.row, f)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(wanted), func(scope string) bool { return slices.Contains(r.Scopes, scope) })
	switch len(left) {
	case 0:
		return tx.Delete(KindWanted, row.ID)
	case len(wanted):
		return nil
	}
	return v.putWanted(tx, g.p, row, left)
}

// unwantAll forgets all that was wanted under the label.
func unwantAll(tx Tx, provider, label string) error {
	row, err := one(tx, Query{Kind: KindWanted, Provider: provider, Name: label})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.Delete(KindWanted, row.ID)
}
