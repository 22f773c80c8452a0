package vaulttest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/vault"
)

func testVault(t *testing.T, store Store) {
	t.Parallel()
	run(t, store, map[string]func(*testing.T, Store){
		"grants":            testGrants,
		"static keys":       testStaticKeys,
		"strangers":         testStrangers,
		"moved blobs":       testMovedBlobs,
		"nothing readable":  testNothingReadable,
		"audit":             testAudit,
		"flows":             testFlows,
		"flow once":         testFlowOnce,
		"clients":           testClients,
		"clients at once":   testClientsAtOnce,
		"other account":     testOtherAccount,
		"undecided":         testUndecided,
		"erase":             testErase,
		"revocation":        testRevocation,
		"revocation at end": testRevocationGivesUp,
	})
}

func testGrants(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	saved := d.save(v, func(n *vault.NewGrant) {
		n.Account = vault.Account{ID: "17", Name: "ada@example.com"}
		n.Scopes = []string{"read"}
	})
	if saved.Status != vault.Alive || saved.Label != vault.DefaultLabel || saved.Account.Name != "ada@example.com" || !saved.Renewable || !slices.Equal(saved.Missing, []string{"write"}) {
		t.Errorf("Save returned %+v", saved)
	}
	d.save(v, func(n *vault.NewGrant) { n.Label = "work" })
	d.save(other, func(n *vault.NewGrant) { n.Provider = "github" })
	for _, machine := range []*vault.Vault{v, other} {
		grants, err := machine.Grants(t.Context(), adaLovelace, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range grants {
			got = append(got, g.Provider+" "+g.Label)
		}
		if want := []string{"github default", server + " default", server + " work"}; !slices.Equal(got, want) {
			t.Errorf("Grants = %q, want %q", got, want)
		}
		if diff := cmp.Diff(saved, grants[1]); diff != "" {
			t.Errorf("(-saved +listed)\n%s", diff)
		}
		if grants, err := machine.Grants(t.Context(), adaLovelace, "github"); len(grants) != 1 || err != nil {
			t.Errorf("Grants of one provider: %d, %v", len(grants), err)
		}
	}
	first := d.token(other)
	if first.Reveal() != "access-1-0" || first.Type() != "Bearer" || first.Grant() != saved.ID || !slices.Equal(first.Scopes(), []string{"read"}) || first.Header().Reveal() != "Bearer access-1-0" {
		t.Errorf("Token = %q, %q, %q, %q", first.Reveal(), first.Type(), first.Grant(), first.Scopes())
	}
	work, err := v.Token(t.Context(), adaLovelace, server, "work", "test")
	if err != nil || work.Reveal() != "access-2-0" {
		t.Errorf("the token under a label is %q, %v", work.Reveal(), err)
	}
	// The same account consents again: one grant, with the new tokens.
	again := d.save(v, func(n *vault.NewGrant) { n.Account = vault.Account{ID: "17", Name: "new name"} })
	if again.ID != saved.ID || again.Account.Name != "new name" {
		t.Errorf("the second consent gave %+v", again)
	}
	if got := d.token(v).Reveal(); got != "access-4-0" {
		t.Errorf("after the second consent the token is %q", got)
	}
	if err := other.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Token(t.Context(), adaLovelace, server, "", "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("a deleted grant gives %v", err)
	}
	if err := v.Delete(t.Context(), adaLovelace, server, ""); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("Delete of what is gone: %v", err)
	}
	if grants, err := v.Grants(t.Context(), adaLovelace, ""); len(grants) != 2 || err != nil {
		t.Errorf("%d grants are left, %v", len(grants), err)
	}
}

func testStaticKeys(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	_, err := v.Save(t.Context(), adaLovelace, vault.NewGrant{Provider: "weather", Secrets: map[string]vault.Secret{
		"api_key": vault.NewSecret("k-1"), "secret": vault.NewSecret("s-1"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"api_key": "k-1", "secret": "s-1"} {
		got, err := v.Secret(t.Context(), adaLovelace, "weather", "", name, "test")
		if err != nil || got.Reveal() != want {
			t.Errorf("Secret(%q) = %q, %v", name, got.Reveal(), err)
		}
	}
	for _, name := range []string{"", "access", "record", "API_KEY", "secret:api_key"} {
		if got, err := v.Secret(t.Context(), adaLovelace, "weather", "", name, "test"); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("Secret(%q) = %q, %v", name, got.Reveal(), err)
		}
	}
	if _, err := v.Token(t.Context(), adaLovelace, "weather", "", "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("a static key gave a token: %v", err)
	}
	if got := d.only(v); !slices.Equal(got.Secrets, []string{"api_key", "secret"}) || got.Renewable || !got.Expires.IsZero() {
		t.Errorf("it shows as %+v", got)
	}
}

// testStrangers: to everybody else a person's rows are not there.
func testStrangers(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	g := d.save(v, func(n *vault.NewGrant) {
		n.Secrets = map[string]vault.Secret{"key": vault.NewSecret("k")}
		n.Account = vault.Account{ID: "1"}
	})
	token := d.token(v)
	state, err := v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize", Provider: server})
	if err != nil {
		t.Fatal(err)
	}
	n := d.provider.Consent()
	n.Account.ID = "2"
	_, err = v.Save(t.Context(), adaLovelace, n)
	other, ok := errors.AsType[*vault.OtherAccountError](err)
	if !ok {
		t.Fatalf("another account: %v", err)
	}
	for name, p := range strangers {
		calls := map[string]error{}
		_, calls["Token"] = v.Token(t.Context(), p, server, "", "test")
		_, calls["Renew"] = v.Renew(t.Context(), p, token, "test")
		_, calls["Secret"] = v.Secret(t.Context(), p, server, "", "key", "test")
		_, calls["Take"] = v.Take(t.Context(), p, "authorize", state, "test")
		_, calls["Decide"] = v.Decide(t.Context(), p, other.Decision, vault.Replace, "")
		calls["Delete"] = v.Delete(t.Context(), p, server, "")
		for call, err := range calls {
			if !errors.Is(err, vault.ErrNotFound) || err.Error() != vault.ErrNotFound.Error() {
				t.Errorf("%s: %s gave %v", name, call, err)
			}
		}
		if grants, err := v.Grants(t.Context(), p, ""); len(grants) != 0 || err != nil {
			t.Errorf("%s sees %d grants, %v", name, len(grants), err)
		}
		if err := v.Erase(t.Context(), p); err != nil {
			t.Errorf("%s: Erase: %v", name, err)
		}
	}
	for _, p := range []vault.Principal{{}, {Issuer: "i"}, {Subject: "s"}, {Issuer: "urn:parley:vault", Subject: "clients"}, {Issuer: "i", Subject: strings.Repeat("s", 2000)}, {Issuer: "\xff", Subject: "s"}} {
		if _, err := v.Save(t.Context(), p, d.provider.Consent()); !errors.Is(err, vault.ErrInvalid) {
			t.Errorf("%v is a principal: %v", p, err)
		}
		if _, err := v.Token(t.Context(), p, server, "", "test"); !errors.Is(err, vault.ErrInvalid) {
			t.Errorf("%v is a principal: %v", p, err)
		}
	}
	// Ada's is all there.
	if got := d.only(v); got.ID != g.ID || got.Status != vault.Alive {
		t.Errorf("after all that the grant is %+v", got)
	}
	if _, err := v.Take(t.Context(), adaLovelace, "authorize", state, "test"); err != nil {
		t.Errorf("after strangers tried it the flow is gone: %v", err)
	}
	if _, err := v.Decide(t.Context(), adaLovelace, other.Decision, vault.Discard, ""); err != nil {
		t.Errorf("after strangers tried it the decision is gone: %v", err)
	}
	if len(d.provider.Revoked()) != 0 {
		t.Errorf("strangers made the vault revoke %q", d.provider.Revoked())
	}
}

// testMovedBlobs: sealed text opens where it was sealed and nowhere else.
func testMovedBlobs(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, raw := d.machine(nil), d.open()
	bob := d.provider.Consent()
	if _, err := v.Save(t.Context(), bobBabbage, bob); err != nil {
		t.Fatal(err)
	}
	d.save(v, nil)
	d.save(v, func(n *vault.NewGrant) { n.Provider = "other" })
	for range 2 {
		d.save(v, func(n *vault.NewGrant) { n.Label = "work" })
	}
	key := func(p vault.Principal) string { return p.Key() }
	grantRow := func(p vault.Principal, provider string) *vault.Row {
		rows := read(t, raw, key(p), vault.Query{Kind: vault.KindGrant, Provider: provider, Name: vault.DefaultLabel})
		if len(rows) != 1 {
			t.Fatalf("%d rows", len(rows))
		}
		return rows[0]
	}
	mine := grantRow(adaLovelace, server)
	before := *mine
	d.save(v, nil) // the next generation
	now := grantRow(adaLovelace, server)
	work := read(t, raw, key(adaLovelace), vault.Query{Kind: vault.KindGrant, Name: "work"})[0]
	bobs, others := grantRow(bobBabbage, server), grantRow(adaLovelace, "other")

	with := func(change func(*vault.Row)) *vault.Row {
		row := *now
		change(&row)
		return &row
	}
	const exchanged = "the refresh token as the access token"
	tampered := map[string]*vault.Row{
		"another person's secrets":     with(func(r *vault.Row) { r.Content = bobs.Content }),
		"another person's secrets, id": with(func(r *vault.Row) { r.Content, r.Detail = bobs.Content, bobs.Detail }),
		"another provider's secrets":   with(func(r *vault.Row) { r.Content = others.Content }),
		"another row's secrets":        with(func(r *vault.Row) { r.Content = work.Content }),
		"an earlier generation":        with(func(r *vault.Row) { r.Content = before.Content }),
		"a later generation's number": with(func(r *vault.Row) {
			r.Detail = bytes.Replace(r.Detail, []byte(`"generation":2`), []byte(`"generation":3`), 1)
		}),
		"cut":                     with(func(r *vault.Row) { r.Content = r.Content[:len(r.Content)-1] }),
		"longer":                  with(func(r *vault.Row) { r.Content = append(slices.Clone(r.Content), 0) }),
		"empty":                   with(func(r *vault.Row) { r.Content = nil }),
		"many fields":             with(func(r *vault.Row) { r.Content = []byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1} }),
		"a long field":            with(func(r *vault.Row) { r.Content = []byte{1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1} }),
		"another format":          with(func(r *vault.Row) { r.Content = append([]byte{2}, r.Content[1:]...) }),
		exchanged:                 with(func(r *vault.Row) { r.Content = swapNames(r.Content, "access", "refresh") }),
		"another provider's name": with(func(r *vault.Row) { r.Provider = "evil" }),
		"text that is not JSON":   with(func(r *vault.Row) { r.Detail = []byte("{") }),
	}
	for name, row := range tampered {
		putRows(t, raw, key(adaLovelace), row)
		if token, err := v.Token(t.Context(), adaLovelace, row.Provider, "", "test"); err == nil {
			t.Errorf("%s: it opens, with %q", name, token.Reveal())
		}
		if name == exchanged {
			putRows(t, raw, key(adaLovelace), now)
			continue // lists do not open the tokens
		}
		grants, err := v.Grants(t.Context(), adaLovelace, row.Provider)
		grants = slices.DeleteFunc(grants, func(g vault.Grant) bool { return g.Label == "work" })
		if err != nil || len(grants) != 1 || grants[0].Status != vault.Unreadable || grants[0].Issuer != "" {
			t.Errorf("%s: it shows as %+v, %v", name, grants, err)
		}
		d.sweep(v)
		putRows(t, raw, key(adaLovelace), now)
	}
	// As a row of somebody else, under the same id.
	update(t, raw, key(bobBabbage), func(tx vault.Tx) error { return tx.Delete(vault.KindGrant, bobs.ID) })
	for name, p := range strangers {
		putRows(t, raw, key(p), now)
		if token, err := v.Token(t.Context(), p, server, "", "test"); !errors.Is(err, vault.ErrSealed) {
			t.Errorf("%s has Ada's token %q, %v", name, token.Reveal(), err)
		}
	}
	// Put back as it was, it opens.
	if got := d.token(v); !got.Equal(d.token(v)) || got.Reveal() == "" {
		t.Error("the row does not open any more")
	}
	// What a write to the database may do: delete. What is broken can be deleted, too.
	putRows(t, raw, key(adaLovelace), tampered["cut"])
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Errorf("a damaged grant cannot be deleted: %v", err)
	}
}

// swapNames exchanges the names of two fields in a row's Content.
func swapNames(content []byte, a, b string) []byte {
	name := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	content = bytes.Replace(content, name(a), name("\x00"), 1)
	content = bytes.Replace(content, name(b), name(a), 1)
	return bytes.Replace(content, name("\x00"), name(b), 1)
}

// testNothingReadable: the store has nothing of a secret in it, in any coding.
func testNothingReadable(t *testing.T, store Store) {
	d := newDesk(t, store)
	raw := &seen{Store: d.open()}
	v := d.machineOn(raw, nil)
	secrets := []string{"SENTINEL-access-0123456789", "SENTINEL-refresh-0123456789", "SENTINEL-key-0123456789", "SENTINEL-verifier-0123456789", "SENTINEL-client-0123456789", "SENTINEL-account-0123456789"}
	n := d.provider.Consent()
	n.Access, n.Refresh, n.Account.ID = vault.NewSecret(secrets[0]), vault.NewSecret(secrets[1]), secrets[5]
	n.Secrets = map[string]vault.Secret{"k": vault.NewSecret(secrets[2])}
	if _, err := v.Save(t.Context(), adaLovelace, n); err != nil {
		t.Fatal(err)
	}
	state, err := v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize", Verifier: vault.NewSecret(secrets[3])})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.SetClient(t.Context(), "", vault.Client{Issuer: "https://as.example", ID: "id", Secret: vault.NewSecret(secrets[4])}); err != nil {
		t.Fatal(err)
	}
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	if len(raw.bytes()) < 1000 {
		t.Fatal("the test sees nothing of what is stored")
	}
	for _, secret := range append(secrets, state.Reveal()) {
		if where := Find(raw.bytes(), secret); where != "" {
			t.Errorf("%q is stored %s", secret, where)
		}
	}
}

// seen keeps what a store was given.
type seen struct {
	vault.Store
	mu  sync.Mutex
	all []byte
}

func (s *seen) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

func (s *seen) Update(ctx context.Context, principal string, f func(vault.Tx) error) error {
	return s.Store.Update(ctx, principal, func(tx vault.Tx) error { return f(seenTx{tx, s}) })
}

type seenTx struct {
	vault.Tx
	seen *seen
}

func (t seenTx) Put(row *vault.Row) error {
	text, err := json.Marshal(row)
	t.seen.mu.Lock()
	t.seen.all = append(append(append(t.seen.all, text...), row.Detail...), row.Content...)
	t.seen.mu.Unlock()
	return errors.Join(err, t.Tx.Put(row))
}

// Find looks for a secret in what came out of somewhere: as it is, or in
// base64, hexadecimal or a URL, upper and lower case. It says how it stands
// there; empty: it does not.
func Find(sink []byte, secret string) string {
	for coding, text := range map[string]string{
		"as it is":          secret,
		"in a URL":          url.QueryEscape(secret),
		"in a URL's path":   url.PathEscape(secret),
		"in hexadecimal":    hex.EncodeToString([]byte(secret)),
		"as JSON":           strings.Trim(string(mustJSON(secret)), `"`),
		"quoted":            strings.Trim(fmt.Sprintf("%q", secret), `"`),
		"as numbers":        strings.Trim(fmt.Sprint([]byte(secret)), "[]"),
		"as numbers in hex": strings.Trim(fmt.Sprintf("%#v", []byte(secret)), "[]byte{}"),
	} {
		if bytes.Contains(bytes.ToLower(sink), []byte(strings.ToLower(text))) {
			return coding
		}
	}
	// In base64 a text looks different at each of three offsets; its middle does not.
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			middle := secret[(3-offset)%3:]
			middle = middle[:len(middle)/3*3]
			if bytes.Contains(sink, []byte(encoding.EncodeToString([]byte(middle)))) {
				return "in base64"
			}
		}
	}
	return ""
}

func mustJSON(v any) []byte {
	text, _ := json.Marshal(v) // of a text
	return text
}

// testAudit: what is not audited does not happen.
func testAudit(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	d.save(v, func(n *vault.NewGrant) { n.Secrets = map[string]vault.Secret{"key": vault.NewSecret("k")} })
	token := d.token(v)
	state, err := v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize"})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.SetClient(t.Context(), "", vault.Client{Issuer: "i", ID: "id"}); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	d.setRefuse(full)
	calls := map[string]error{}
	_, calls["Token"] = v.Token(t.Context(), adaLovelace, server, "", "test")
	_, calls["Renew"] = v.Renew(t.Context(), adaLovelace, token, "test")
	_, calls["Secret"] = v.Secret(t.Context(), adaLovelace, server, "", "key", "test")
	_, calls["Client"] = v.Client(t.Context(), "", "i", "", "test")
	_, calls["Take"] = v.Take(t.Context(), adaLovelace, "authorize", state, "test")
	_, calls["Save"] = v.Save(t.Context(), adaLovelace, d.provider.Consent())
	_, calls["Begin"] = v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize"})
	for call, err := range calls {
		if !errors.Is(err, vault.ErrNotAudited) || !errors.Is(err, full) {
			t.Errorf("%s without audit: %v", call, err)
		}
	}
	if n := d.provider.Requests(); n != 0 {
		t.Errorf("%d refresh requests were sent unaudited", n)
	}
	d.setRefuse(nil)
	if _, err := v.Take(t.Context(), adaLovelace, "authorize", state, "test"); err != nil {
		t.Errorf("an audit that failed used the flow up: %v", err)
	}
	if _, err := v.Renew(t.Context(), adaLovelace, token, "test"); err != nil {
		t.Errorf("after the audit came back: %v", err)
	}
	// A person who wants it gone gets it gone.
	d.setRefuse(full)
	if err := v.Delete(t.Context(), adaLovelace, server, ""); !errors.Is(err, vault.ErrNotAudited) {
		t.Errorf("Delete: %v", err)
	}
	if err := v.Sweep(t.Context()); !errors.Is(err, vault.ErrNotAudited) || len(d.provider.Revoked()) != 0 {
		t.Errorf("unaudited, tokens were revoked: %q, %v", d.provider.Revoked(), err)
	}
	d.setRefuse(nil)
	if grants, err := v.Grants(t.Context(), adaLovelace, ""); len(grants) != 0 || err != nil {
		t.Errorf("a grant is there after an unaudited Delete: %v, %v", grants, err)
	}
	for _, e := range d.events {
		if e.Action == vault.ActionRead && e.Kind == vault.KindGrant && (e.Principal != adaLovelace || e.Provider != server || e.Label != vault.DefaultLabel || e.Purpose != "test" || len(e.Fields) != 1 || e.ID == "") {
			t.Errorf("an event is %+v", e)
		}
		if e.Kind == vault.KindClient && e.Principal != (vault.Principal{}) {
			t.Errorf("a registration belongs to %v", e.Principal)
		}
	}
}

func testFlows(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	flow := vault.Flow{Name: "authorize", Provider: server, Label: "work", Issuer: "https://as.example", Verifier: vault.NewSecret("v"), Nonce: vault.NewSecret("n"), Data: json.RawMessage(`{"a":1}`)}
	begin := func(f vault.Flow) vault.Secret {
		t.Helper()
		state, err := v.Begin(t.Context(), adaLovelace, f)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	state := begin(flow)
	if raw, err := base64.RawURLEncoding.DecodeString(state.Reveal()); err != nil || len(raw) != 32 {
		t.Errorf("a state of %d bytes, %v", len(raw), err)
	}
	if state.Equal(begin(flow)) {
		t.Error("two flows have one state")
	}
	for name, state := range map[string]vault.Secret{"authorize": vault.NewSecret(state.Reveal() + "x"), "": state, "logout": state, "Authorize": state, "decision": state} {
		if _, err := v.Take(t.Context(), adaLovelace, name, state, "test"); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("Take(%q, %.6s…): %v", name, state.Reveal(), err)
		}
	}
	got, err := other.Take(t.Context(), adaLovelace, "authorize", state, "test")
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != flow.Name || got.Provider != flow.Provider || got.Label != flow.Label || got.Issuer != flow.Issuer || string(got.Data) != `{"a":1}` ||
		!got.Verifier.Equal(flow.Verifier) || !got.Nonce.Equal(flow.Nonce) || got.Began.IsZero() || got.TTL != 10*time.Minute {
		t.Errorf("Take = %+v", got)
	}
	if _, err := v.Take(t.Context(), adaLovelace, "authorize", state, "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("a flow was taken twice: %v", err)
	}
	late := begin(flow)
	d.clock.Advance(10*time.Minute + time.Second)
	if _, err := v.Take(t.Context(), adaLovelace, "authorize", late, "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("a flow was taken late: %v", err)
	}
	d.sweep(v)
	if rows := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: vault.KindFlow}); len(rows) != 0 {
		t.Errorf("%d flows stay for ever", len(rows))
	}
	for name, bad := range map[string]vault.Flow{
		"no name": {}, "long": {Name: "n", TTL: time.Hour + 1}, "negative": {Name: "n", TTL: -1}, "no JSON": {Name: "n", Data: json.RawMessage("{")},
		"much": {Name: "n", Data: json.RawMessage(`"` + strings.Repeat("x", 64<<10) + `"`)}, "control": {Name: "n", Label: "a\x00b"},
	} {
		if _, err := v.Begin(t.Context(), adaLovelace, bad); !errors.Is(err, vault.ErrInvalid) {
			t.Errorf("Begin(%s): %v", name, err)
		}
	}
	var limit error
	begun := 0
	for ; begun < 200 && limit == nil; begun++ {
		_, limit = v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "n", TTL: time.Minute})
	}
	if !errors.Is(limit, vault.ErrLimit) || begun != 101 {
		t.Errorf("after %d flows: %v", begun, limit)
	}
	d.clock.Advance(time.Minute + time.Second)
	begin(flow) // what has ended makes room
}

// testFlowOnce: of many who come with one state at once, one gets the flow.
func testFlowOnce(t *testing.T, store Store) {
	d := newDesk(t, store)
	machines := []*vault.Vault{d.machine(nil), d.machine(nil)}
	state, err := machines[0].Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize"})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	var taken atomic.Int64
	for i := range 50 {
		wait.Go(func() {
			_, err := machines[i%2].Take(t.Context(), adaLovelace, "authorize", state, "test")
			if err == nil {
				taken.Add(1)
			} else if !errors.Is(err, vault.ErrNotFound) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if taken.Load() != 1 {
		t.Errorf("%d of 50 got it", taken.Load())
	}
}

func testClients(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	c := vault.Client{
		Issuer: "https://as.example", Name: "default", ID: "id", Secret: vault.NewSecret("s"), Method: "client_secret_basic", PrivateKey: vault.NewSecret("k"),
		SecretExpires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), RedirectURIs: []string{"https://p.example/cb"},
		RegistrationURI: "https://as.example/r/1", RegistrationToken: vault.NewSecret("rt"),
	}
	if _, added, err := v.AddClient(t.Context(), "acme", c); err != nil || !added {
		t.Fatalf("AddClient: %v, %v", added, err)
	}
	second := c
	second.ID = "id-2"
	if got, added, err := other.AddClient(t.Context(), "acme", second); err != nil || added || got.ID != "id" || got.Secret.Reveal() != "s" {
		t.Errorf("the second AddClient: %q, %v, %v", got.ID, added, err)
	}
	got, err := other.Client(t.Context(), "acme", c.Issuer, "", "test")
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != c.ID || !got.Secret.Equal(c.Secret) || !got.PrivateKey.Equal(c.PrivateKey) || !got.RegistrationToken.Equal(c.RegistrationToken) ||
		got.Method != c.Method || !got.SecretExpires.Equal(c.SecretExpires) || !slices.Equal(got.RedirectURIs, c.RedirectURIs) || got.RegistrationURI != c.RegistrationURI || got.Issuer != c.Issuer || got.Name != c.Name {
		t.Errorf("Client = %+v", got)
	}
	for _, miss := range [][3]string{{"", c.Issuer, ""}, {"acme2", c.Issuer, ""}, {"acme", c.Issuer + "/", ""}, {"acme", c.Issuer, "b"}} {
		if _, err := v.Client(t.Context(), miss[0], miss[1], miss[2], "test"); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("Client(%q): %v", miss, err)
		}
		if err := v.DeleteClient(t.Context(), miss[0], miss[1], miss[2]); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("DeleteClient(%q): %v", miss, err)
		}
	}
	if err := v.SetClient(t.Context(), "acme", second); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Client(t.Context(), "acme", c.Issuer, "", "test"); err != nil || got.ID != "id-2" {
		t.Errorf("after SetClient: %q, %v", got.ID, err)
	}
	if err := v.DeleteClient(t.Context(), "acme", c.Issuer, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Client(t.Context(), "acme", c.Issuer, "", "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("after DeleteClient: %v", err)
	}
}

// testClientsAtOnce: machines that register at the same time end with one registration.
func testClientsAtOnce(t *testing.T, store Store) {
	d := newDesk(t, store)
	machines := []*vault.Vault{d.machine(nil), d.machine(nil)}
	var wait sync.WaitGroup
	var added atomic.Int64
	stored := make([]string, 10)
	for i := range stored {
		wait.Go(func() {
			c, first, err := machines[i%2].AddClient(t.Context(), "", vault.Client{Issuer: "i", ID: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
			}
			if first {
				added.Add(1)
			}
			stored[i] = c.ID
		})
	}
	wait.Wait()
	if added.Load() != 1 || len(slices.Compact(stored)) != 1 {
		t.Errorf("%d were added; the callers have %q", added.Load(), stored)
	}
}

func testOtherAccount(t *testing.T, store Store) {
	tests := map[string]struct {
		old, next string
		choice    vault.Choice
		label     string
		tokens    map[string]string // by label, afterwards
		revoked   []string
	}{
		"replace":      {"1", "2", vault.Replace, "", map[string]string{"": "access-2-0"}, []string{"refresh-1-0", "access-1-0"}},
		"keep both":    {"1", "2", vault.KeepBoth, "two", map[string]string{"": "access-1-0", "two": "access-2-0"}, nil},
		"discard":      {"1", "2", vault.Discard, "", map[string]string{"": "access-1-0"}, []string{"refresh-2-0", "access-2-0"}},
		"not told":     {"1", "", vault.Discard, "", map[string]string{"": "access-1-0"}, []string{"refresh-2-0", "access-2-0"}},
		"told at last": {"", "2", vault.Replace, "", map[string]string{"": "access-2-0"}, []string{"refresh-1-0", "access-1-0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, store)
			v, other := d.machine(nil), d.machine(nil)
			d.save(v, func(n *vault.NewGrant) { n.Account.ID = test.old })
			n := d.provider.Consent()
			n.Account.ID = test.next
			_, err := v.Save(t.Context(), adaLovelace, n)
			asked, ok := errors.AsType[*vault.OtherAccountError](err)
			if !ok || !errors.Is(err, vault.ErrOtherAccount) || asked.Old.ID != test.old || asked.New.ID != test.next {
				t.Fatalf("Save as another account: %v", err)
			}
			if got := d.token(v).Reveal(); got != "access-1-0" {
				t.Errorf("before the decision the token is %q", got)
			}
			for _, bad := range []struct {
				choice vault.Choice
				label  string
			}{{"", ""}, {vault.KeepBoth, ""}, {vault.KeepBoth, "default"}} {
				if _, err := other.Decide(t.Context(), adaLovelace, asked.Decision, bad.choice, bad.label); !errors.Is(err, vault.ErrInvalid) {
					t.Errorf("Decide(%q, %q): %v", bad.choice, bad.label, err)
				}
			}
			if _, err := v.Take(t.Context(), adaLovelace, "decision", asked.Decision, "test"); !errors.Is(err, vault.ErrNotFound) {
				t.Errorf("a decision was taken as a flow: %v", err)
			}
			g, err := other.Decide(t.Context(), adaLovelace, asked.Decision, test.choice, test.label)
			if err != nil {
				t.Fatal(err)
			}
			if test.choice != vault.Discard && g.Account.ID != test.next {
				t.Errorf("Decide returned %+v", g)
			}
			for label, want := range test.tokens {
				token, err := v.Token(t.Context(), adaLovelace, server, label, "test")
				if err != nil || token.Reveal() != want {
					t.Errorf("under %q the token is %q, %v; want %q", label, token.Reveal(), err, want)
				}
			}
			if _, err := v.Decide(t.Context(), adaLovelace, asked.Decision, test.choice, test.label); !errors.Is(err, vault.ErrNotFound) {
				t.Errorf("it was decided twice: %v", err)
			}
			d.sweep(v)
			if got := d.provider.Revoked(); !slices.Equal(got, test.revoked) {
				t.Errorf("revoked are %q, want %q", got, test.revoked)
			}
		})
	}
}

// testUndecided: nobody decided, so the new account's tokens are not kept.
func testUndecided(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	d.save(v, func(n *vault.NewGrant) { n.Account.ID = "1" })
	n := d.provider.Consent()
	n.Account.ID = "2"
	_, err := v.Save(t.Context(), adaLovelace, n)
	asked, ok := errors.AsType[*vault.OtherAccountError](err)
	if !ok {
		t.Fatal(err)
	}
	d.clock.Advance(10*time.Minute + time.Second)
	if _, err := v.Decide(t.Context(), adaLovelace, asked.Decision, vault.Replace, ""); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("decided late: %v", err)
	}
	d.sweep(v)
	if got, want := d.provider.Revoked(), []string{"refresh-2-0", "access-2-0"}; !slices.Equal(got, want) {
		t.Errorf("revoked are %q, want %q", got, want)
	}
	if got := d.token(v).Reveal(); got != "access-1-0" {
		t.Errorf("the token is %q", got)
	}
	if d.audited(vault.ActionExpired) != 1 {
		t.Error("it was not audited")
	}
}

func testErase(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, raw := d.machine(nil), d.open()
	for i := range 5 {
		d.save(v, func(n *vault.NewGrant) { n.Label = fmt.Sprint(i); n.Account.ID = "1" })
	}
	n := d.provider.Consent()
	n.Label, n.Account.ID = "0", "2"
	if _, err := v.Save(t.Context(), adaLovelace, n); !errors.Is(err, vault.ErrOtherAccount) {
		t.Fatal(err)
	}
	if _, err := v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize"}); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Save(t.Context(), bobBabbage, d.provider.Consent()); err != nil {
		t.Fatal(err)
	}
	if err := v.Erase(t.Context(), adaLovelace); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []vault.Kind{vault.KindGrant, vault.KindFlow} {
		if rows := read(t, raw, adaLovelace.Key(), vault.Query{Kind: kind}); len(rows) != 0 {
			t.Errorf("%d rows of kind %s are left", len(rows), kind)
		}
	}
	d.sweep(v)
	if got := d.provider.Revoked(); len(got) != 12 {
		t.Errorf("%d tokens were revoked, want both of 5 grants and of an open decision: %q", len(got), got)
	}
	if rows := read(t, raw, adaLovelace.Key(), vault.Query{Kind: vault.KindRevocation}); len(rows) != 0 {
		t.Errorf("%d revocations are left", len(rows))
	}
	if grants, err := v.Grants(t.Context(), bobBabbage, ""); len(grants) != 1 || err != nil {
		t.Errorf("Bob has %d grants, %v", len(grants), err)
	}
}

// testRevocation: local first, the refresh token before the access token, and
// again until the provider has taken it.
func testRevocation(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	var tries []string
	trouble := map[string]error{"refresh-1-0": &vault.EndpointError{Class: vault.Unavailable, Status: 503}}
	d.provider.Revoking = func(token string) error {
		tries = append(tries, token)
		return trouble[token]
	}
	d.save(v, nil)
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	want := func(all ...string) {
		t.Helper()
		if !slices.Equal(tries, all) {
			t.Errorf("tried are %q, want %q", tries, all)
		}
		tries = nil
	}
	want() // before anybody is asked the grant is gone
	d.sweep(v)
	want("refresh-1-0")
	d.sweep(other)
	want() // in its cool-down
	d.clock.Advance(time.Minute + time.Second)
	d.sweep(other)
	want("refresh-1-0")
	// A panic of the endpoint, with the token in it, is a failure like others.
	trouble = nil
	d.provider.Revoking = func(token string) error {
		tries = append(tries, token)
		if token == "access-1-0" && len(tries) == 2 {
			panic(token)
		}
		return nil
	}
	d.clock.Advance(time.Hour)
	d.sweep(v)
	want("refresh-1-0", "access-1-0")
	d.clock.Advance(time.Hour)
	d.sweep(v)
	want("access-1-0")
	d.clock.Advance(24 * time.Hour)
	d.sweep(v)
	want()

	// What the server says it will never do is not asked again.
	d.save(v, nil)
	d.provider.Revoking = func(token string) error {
		tries = append(tries, token)
		return &vault.EndpointError{Class: vault.Refused, Status: 400, Code: "unsupported_token_type"}
	}
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	d.sweep(v)
	want("refresh-2-0", "access-2-0")
	d.clock.Advance(24 * time.Hour)
	d.sweep(v)
	want()

	// Without an endpoint for it there is nothing to do.
	d.save(v, func(n *vault.NewGrant) { n.Terms.RevocationEndpoint = "" })
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	d.sweep(v)
	want()
}

func testRevocationGivesUp(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	tries := 0
	d.provider.Revoking = func(string) error { tries++; return errors.New("no") }
	d.save(v, nil)
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	for range 24 * 8 {
		d.sweep(v)
		d.clock.Advance(time.Hour)
	}
	if tries < 20 || tries > 60 {
		t.Errorf("%d tries in 7 days", tries)
	}
	if n := d.audited(vault.ActionGaveUp); n != 1 {
		t.Errorf("%d audit events say that it was given up", n)
	}
	if rows := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: vault.KindRevocation}); len(rows) != 0 {
		t.Errorf("%d revocations stay for ever", len(rows))
	}
}
