package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Key is a key and how much is sealed with it.
type Key struct {
	ID      uint32
	Primary bool // it seals
	Enabled bool // it opens
	Here    bool // this machine has it
	Rows    int64
}

// Machine is a machine that runs on the store, and the keys that it has.
type Machine struct {
	Name    string
	Seen    time.Time
	Primary uint32
	Keys    []uint32 // that open
}

// Has reports whether the machine opens what the key sealed.
func (m Machine) Has(key uint32) bool { return slices.Contains(m.Keys, key) }

// Report says what a vault holds, without a secret.
type Report struct {
	Keys     []Key
	Counts   []Count // by kind, provider, status and key
	Machines []Machine
	Time     time.Time // of the store
}

// maxCounts bounds a report.
const maxCounts = 10_000

// Report counts the rows of all principals. It is for operators.
func (v *Vault) Report(ctx context.Context) (Report, error) {
	var r Report
	byKey := map[uint32]*Key{}
	var order []uint32
	for _, info := range v.keys.Keys() {
		byKey[info.ID] = &Key{ID: info.ID, Primary: info.Primary, Enabled: info.Enabled, Here: true}
		order = append(order, info.ID)
	}
	for after := (Count{}); ; {
		counts, err := v.store.Counts(ctx, after, sweepPage)
		if err != nil {
			return Report{}, err
		}
		for _, c := range counts {
			after = c
			if c.Key != 0 {
				if byKey[c.Key] == nil {
					byKey[c.Key] = &Key{ID: c.Key}
					order = append(order, c.Key)
				}
				byKey[c.Key].Rows += c.N
			}
			if c.Kind != KindMachine {
				r.Counts = append(r.Counts, c)
			}
		}
		if len(r.Counts) > maxCounts {
			return Report{}, fmt.Errorf("vault: more than %d kinds of rows to report", maxCounts)
		}
		if len(counts) < sweepPage {
			break
		}
	}
	for _, id := range order {
		r.Keys = append(r.Keys, *byKey[id])
	}
	var err error
	r.Machines, r.Time, err = v.machines(ctx)
	return r, err
}

// Check refuses keys that are not all that the store's rows were sealed with,
// before they seal anything. A machine does it once, when it starts.
func (v *Vault) Check(ctx context.Context) error {
	r, err := v.Report(ctx)
	if err != nil {
		return err
	}
	for _, key := range r.Keys {
		if key.Rows > 0 && !key.Enabled {
			return fmt.Errorf("vault: %d rows are sealed with key %d, which is not among the keys of this machine, or disabled", key.Rows, key.ID)
		}
	}
	return nil
}

// Resealed is what [Vault.Reseal] has done.
type Resealed struct {
	Done       int64 // rows that are sealed with the primary key now
	Unreadable int64 // rows that no key here opens: they stay as they are
}

// Reseal seals every row with the primary key that is sealed with another one,
// a row at a time, while other machines go on. What it has done stays done: cut
// or killed, it goes on with the rest when it is called again. A row that does
// not open is counted and left.
//
// Other machines may make new rows with an old key until they have the primary
// key as theirs; a rotation is over when [Vault.Report] says so.
func (v *Vault) Reseal(ctx context.Context, progress func(Resealed)) (Resealed, error) {
	var done Resealed
	if err := v.usable(); err != nil {
		return done, err
	}
	primary := v.keys.Primary()
	if err := v.audit(ctx, Event{Action: ActionRotate, Purpose: fmt.Sprintf("to key %d", primary)}); err != nil {
		return done, err
	}
	for after := (Ref{}); ; {
		refs, err := v.store.Stale(ctx, primary, after, sweepPage)
		if err != nil {
			return done, err
		}
		for _, ref := range refs {
			after = ref
			resealed, err := v.reseal(ctx, ref, primary)
			switch {
			case errors.Is(err, ErrSealed):
				done.Unreadable++
				v.options.Log.Warn("a row stays with its key", "row", ref.ID, "err", err)
			case err != nil:
				return done, err
			case resealed:
				done.Done++
			}
		}
		if progress != nil && len(refs) > 0 {
			progress(done)
		}
		if len(refs) < sweepPage {
			return done, nil
		}
	}
}

func (v *Vault) reseal(ctx context.Context, ref Ref, primary uint32) (resealed bool, err error) {
	p, err := ParsePrincipal(ref.Principal)
	if err != nil {
		return false, err
	}
	err = v.store.Update(ctx, ref.Principal, func(tx Tx) error {
		resealed = false
		row, err := one(tx, Query{Kind: ref.Kind, ID: ref.ID})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil || row.Key == primary || row.Key == 0 {
			return err
		}
		var d base
		if err := detail(row, &d); err != nil {
			return fmt.Errorf("%w: %w", err, ErrSealed)
		}
		f, err := v.open(p, row, d.Generation)
		if err != nil {
			return err
		}
		if err := v.seal(p, row, d.Generation, f); err != nil {
			return err
		}
		resealed = row.Key == primary
		return put(tx, row)
	})
	return resealed, err
}

// machineDetail is what a machine tells about itself.
type machineDetail struct {
	base
	Primary uint32   `json:"primary"`
	Keys    []uint32 `json:"keys"`
}

// machineTime is how long a machine counts as running after its last report.
const machineTime = 5 * time.Minute

func machineOwner() Principal {
	return Principal{Issuer: ownIssuer, Subject: "machines"}
}

// report tells the others which keys this machine has.
func (v *Vault) report(ctx context.Context) error {
	d := machineDetail{Primary: v.keys.Primary()}
	for _, key := range v.keys.Keys() {
		if key.Enabled {
			d.Keys = append(d.Keys, key.ID)
		}
	}
	return v.store.Update(ctx, machineOwner().Key(), func(tx Tx) error {
		row, err := one(tx, Query{Kind: KindMachine, ID: v.options.Machine})
		if errors.Is(err, ErrNotFound) {
			row, err = &Row{Kind: KindMachine, ID: v.options.Machine, Name: v.options.Machine}, nil
		}
		if err != nil {
			return err
		}
		row.Due = tx.Now().Add(machineTime)
		if err := setDetail(row, d); err != nil {
			return err
		}
		return put(tx, row)
	})
}

func (v *Vault) forgetMachine(ctx context.Context, ref Ref) error {
	return v.store.Update(ctx, ref.Principal, func(tx Tx) error {
		row, err := one(tx, Query{Kind: KindMachine, ID: ref.ID})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil || tx.Now().Before(row.Due) {
			return err
		}
		return tx.Delete(KindMachine, ref.ID)
	})
}

// machines lists those that reported in the last five minutes.
func (v *Vault) machines(ctx context.Context) ([]Machine, time.Time, error) {
	var machines []Machine
	for after := ""; ; {
		rows, now, err := v.store.Rows(ctx, machineOwner().Key(), Query{Kind: KindMachine, After: after, Limit: sweepPage})
		if err != nil {
			return nil, now, err
		}
		for _, row := range rows {
			after = row.ID
			var d machineDetail
			if err := json.Unmarshal(row.Detail, &d); err != nil || !now.Before(row.Due) {
				continue
			}
			machines = append(machines, Machine{Name: row.ID, Seen: row.Updated, Primary: d.Primary, Keys: d.Keys})
		}
		if len(rows) < sweepPage {
			return machines, now, nil
		}
	}
}
