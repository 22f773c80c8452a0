package vault

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Flow is something that was begun and is finished once, soon, by the same
// person: an authorization that waits for its callback, above all.
type Flow struct {
	Name     string // what is begun, such as "authorize"; [Vault.Take] has to name it, too
	Provider string
	Label    string
	// Issuer is the authorization server that the callback has to come from:
	// compare it with "iss" byte for byte (RFC 9207 2.4).
	Issuer   string
	Verifier Secret          // of PKCE (RFC 7636 4.1)
	Nonce    Secret          // of OpenID Connect
	Data     json.RawMessage // whatever else the caller needs again, sealed; at most 64 KiB
	TTL      time.Duration   // default and, for Name "authorize", advice: 10 min; at most 1 h
	Began    time.Time       // set by Take
}

const (
	defaultFlowTime = 10 * time.Minute
	maxFlowTime     = time.Hour
	maxFlows        = 100 // of one principal
	maxFlowData     = 64 << 10
)

const (
	fieldFlow     = "flow"
	fieldVerifier = "verifier"
	fieldNonce    = "nonce"
)

// flowRecord is what is sealed of a flow beside its secrets.
type flowRecord struct {
	Name   string          `json:"name"`
	Label  string          `json:"label"`
	Issuer string          `json:"issuer"`
	Data   json.RawMessage `json:"data"`
}

// Begin stores a flow and returns its state: 256 random bits in base64url, for
// an address. The store has only its hash, so that nobody who reads the store
// can finish the flow.
func (v *Vault) Begin(ctx context.Context, p Principal, flow Flow) (state Secret, err error) {
	if err := v.begin(p); err != nil {
		return Secret{}, err
	}
	if flow.TTL == 0 {
		flow.TTL = defaultFlowTime
	}
	if flow.TTL < 0 || flow.TTL > maxFlowTime {
		return Secret{}, fmt.Errorf("%w: a flow of %v", ErrInvalid, flow.TTL)
	}
	if flow.Name == "" {
		return Secret{}, fmt.Errorf("%w: a flow has a name", ErrInvalid)
	}
	for _, text := range []struct {
		name, text string
		limit      int
	}{{"flow's name", flow.Name, maxShort}, {"provider", flow.Provider, MaxText}, {"label", flow.Label, maxShort}, {"issuer", flow.Issuer, MaxText}} {
		if err := checkText(text.name, text.text, text.limit); err != nil {
			return Secret{}, err
		}
	}
	if len(flow.Data) > maxFlowData || len(flow.Verifier.Reveal()) > maxSecret || len(flow.Nonce.Reveal()) > maxSecret {
		return Secret{}, fmt.Errorf("%w: the flow's data are too large", ErrInvalid)
	}
	if len(flow.Data) > 0 && !json.Valid(flow.Data) {
		return Secret{}, fmt.Errorf("%w: the flow's data are not JSON", ErrInvalid)
	}
	text, err := json.Marshal(flowRecord{Name: flow.Name, Label: flow.Label, Issuer: flow.Issuer, Data: flow.Data})
	if err != nil {
		return Secret{}, err
	}
	f := fields{fieldFlow: text, fieldVerifier: []byte(flow.Verifier.Reveal()), fieldNonce: []byte(flow.Nonce.Reveal())}
	if err := v.audit(ctx, Event{Action: ActionSave, Principal: p, Kind: KindFlow, Provider: flow.Provider, Label: flow.Label, Purpose: flow.Name}); err != nil {
		return Secret{}, err
	}
	err = v.store.Update(ctx, p.Key(), func(tx Tx) error {
		state, err = v.addFlow(tx, p, flow.Name, flow.Provider, flow.TTL, f)
		return err
	})
	return state, err
}

// addFlow stores a row under the hash of a fresh state.
func (v *Vault) addFlow(tx Tx, p Principal, name, provider string, ttl time.Duration, f fields) (Secret, error) {
	rows, err := tx.Rows(Query{Kind: KindFlow, Limit: maxFlows})
	if err != nil {
		return Secret{}, err
	}
	open := 0
	for _, row := range rows {
		if tx.Now().Before(row.Due) {
			open++
			continue
		}
		// What has ended makes room, also where nobody sweeps.
		if _, err := v.dropFlow(tx, p, row); err != nil {
			return Secret{}, err
		}
		if err := tx.Delete(KindFlow, row.ID); err != nil {
			return Secret{}, err
		}
	}
	if open >= maxFlows {
		return Secret{}, fmt.Errorf("%w: %d flows are open", ErrLimit, maxFlows)
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	state := NewSecret(base64.RawURLEncoding.EncodeToString(random[:]))
	if name == decisionName {
		name = "decision" // a stored name is never empty; what counts is sealed
	}
	row := &Row{Kind: KindFlow, ID: flowID(state), Provider: provider, Name: name, Due: tx.Now().Add(ttl)}
	d := base{Generation: 1}
	if err := v.seal(p, row, d.Generation, f); err != nil {
		return Secret{}, err
	}
	if err := setDetail(row, d); err != nil {
		return Secret{}, err
	}
	return state, put(tx, row)
}

func flowID(state Secret) string {
	sum := sha256.Sum256([]byte(state.Reveal()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// takeFlow removes a flow and returns what was sealed. One that has ended stays
// for the sweep, which revokes what a decision held.
func (v *Vault) takeFlow(tx Tx, p Principal, id, name string) (*Row, fields, error) {
	row, err := one(tx, Query{Kind: KindFlow, ID: id})
	if err != nil {
		return nil, nil, err
	}
	if !tx.Now().Before(row.Due) {
		return nil, nil, ErrNotFound
	}
	f, err := v.openFlow(p, row)
	if err != nil {
		return nil, nil, err
	}
	sealedName, err := flowName(row, f)
	if err != nil {
		return nil, nil, err
	}
	if sealedName != name {
		return nil, nil, ErrNotFound
	}
	return row, f, tx.Delete(KindFlow, id)
}

func (v *Vault) openFlow(p Principal, row *Row) (fields, error) {
	var d base
	if err := detail(row, &d); err != nil {
		return nil, err
	}
	return v.open(p, row, d.Generation)
}

// flowName is the name that was sealed.
func flowName(row *Row, f fields) (string, error) {
	if f[fieldHeld] != nil {
		return decisionName, nil
	}
	var r flowRecord
	if err := json.Unmarshal(f[fieldFlow], &r); err != nil {
		return "", fmt.Errorf("vault: flow %s: %w", row.ID, ErrSealed)
	}
	return r.Name, nil
}

// Take returns the principal's flow of this name and state, and removes it:
// of any number of callers one gets it. Everybody else, another principal
// included, gets [ErrNotFound], as for a flow that ended or never was, and
// takes nothing away from the one that it belongs to.
func (v *Vault) Take(ctx context.Context, p Principal, name string, state Secret, purpose string) (Flow, error) {
	if err := v.begin(p); err != nil {
		return Flow{}, err
	}
	id := flowID(state)
	rows, now, err := v.store.Rows(ctx, p.Key(), Query{Kind: KindFlow, ID: id, Limit: 1})
	if err != nil {
		return Flow{}, err
	}
	if len(rows) == 0 || !now.Before(rows[0].Due) || name == decisionName || rows[0].Name != name {
		return Flow{}, ErrNotFound
	}
	// Before it is taken: an audit that fails does not use the flow up.
	if err := v.audit(ctx, Event{Action: ActionRead, Principal: p, Kind: KindFlow, ID: id, Provider: rows[0].Provider, Fields: []string{fieldVerifier, fieldNonce}, Purpose: purpose}); err != nil {
		return Flow{}, err
	}
	var row *Row
	var f fields
	err = v.store.Update(ctx, p.Key(), func(tx Tx) (err error) {
		row, f, err = v.takeFlow(tx, p, id, name)
		return err
	})
	if err != nil {
		return Flow{}, err
	}
	var r flowRecord
	if err := json.Unmarshal(f[fieldFlow], &r); err != nil {
		return Flow{}, fmt.Errorf("vault: flow %s: %w", id, ErrSealed)
	}
	return Flow{
		Name: r.Name, Provider: row.Provider, Label: r.Label, Issuer: r.Issuer, Data: r.Data,
		Verifier: NewSecret(string(f[fieldVerifier])), Nonce: NewSecret(string(f[fieldNonce])),
		TTL: row.Due.Sub(row.Created), Began: row.Created,
	}, nil
}

// Finished returns the principal's grant that the flow of this state brought, or the
// decision: a callback, or a choice, may come again because its answer was lost. It is
// [ErrNotFound] if there is none, or it is not alive any more, or another consent has
// taken its place.
func (v *Vault) Finished(ctx context.Context, p Principal, state Secret) (Grant, error) {
	if err := v.begin(p); err != nil {
		return Grant{}, err
	}
	rows, _, err := v.store.Rows(ctx, p.Key(), Query{Kind: KindGrant, Limit: maxGrants})
	if err != nil {
		return Grant{}, err
	}
	id := flowID(state)
	for _, row := range rows {
		g, err := readGrant(p, row)
		if err != nil || !slices.Contains(g.d.Flows, id) { // of one that cannot be read nothing is known
			continue
		}
		if shown := v.show(g); shown.Status == Alive {
			return shown, nil
		}
	}
	return Grant{}, ErrNotFound
}
