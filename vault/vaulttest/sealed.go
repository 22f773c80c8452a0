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
	"testing"

	"github.com/parley-mcp/parley/vault"
)

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
	t.seen.mu.Lock()
	t.seen.all = append(append(fmt.Appendf(t.seen.all, "%+v", *row), row.Detail...), row.Content...)
	t.seen.mu.Unlock()
	return t.Tx.Put(row)
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
		"as JSON":           strings.Trim(inJSON(secret), `"`),
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

func inJSON(text string) string {
	written, _ := json.Marshal(text)
	return string(written)
}
