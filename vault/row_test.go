package vault

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func testVault(t interface{ Fatal(...any) }) *Vault {
	v, err := New(NewMemory(nil), NewKeys(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzContent: a row's Content is what who writes to the database chose. It
// opens only as it was sealed, and nothing else makes the vault crash or take
// more memory than the row has.
func FuzzContent(f *testing.F) {
	v := testVault(f)
	p := Principal{Issuer: "i", Subject: "s"}
	row := &Row{Kind: KindGrant, ID: "g", Provider: "p"}
	if err := v.seal(p, row, 1, fields{"a": []byte("x"), "b": nil}); err != nil {
		f.Fatal(err)
	}
	f.Add(row.Content)
	f.Add([]byte{})
	f.Add([]byte{1, 0})
	f.Add([]byte{1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{2, 1, 1, 'a', 1, 'b'})
	f.Fuzz(func(t *testing.T, content []byte) {
		other := *row
		other.Content = content
		got, err := v.open(p, &other, 1)
		switch {
		case err != nil && !errors.Is(err, ErrSealed):
			t.Errorf("open: %v", err)
		case err == nil && len(got) > 0 && !bytes.Equal(content, row.Content):
			t.Errorf("what was not sealed so opens as %q", got)
		}
		_ = has(&other, "a")
	})
}

func FuzzParsePrincipal(f *testing.F) {
	f.Add("https%3A%2F%2Fid.example|acme|ada")
	f.Add("a||b|c")
	f.Add("%|%|%")
	f.Fuzz(func(t *testing.T, key string) {
		p, err := ParsePrincipal(key)
		if err != nil {
			return
		}
		again, err := ParsePrincipal(p.Key())
		if err != nil || again != p {
			t.Errorf("%q is %+v, whose key %q is %+v, %v", key, p, p.Key(), again, err)
		}
	})
}

// TestSealAndOpenRows: what is sealed opens, in its place and nowhere else.
func TestSealAndOpenRows(t *testing.T) {
	t.Parallel()
	v := testVault(t)
	text := rapid.SampledFrom([]string{"", "a", "b", "ab", "a|b", "ü", "https://id.example/"})
	type spot struct {
		p                  Principal
		kind, provider, id string
		generation         int64
	}
	draw := rapid.Custom(func(t *rapid.T) spot {
		return spot{
			p:    Principal{Issuer: text.Draw(t, "issuer"), Tenant: text.Draw(t, "tenant"), Subject: text.Draw(t, "subject")},
			kind: text.Draw(t, "kind"), provider: text.Draw(t, "provider"), id: text.Draw(t, "id"), generation: rapid.Int64Range(0, 2).Draw(t, "generation"),
		}
	})
	row := func(s spot) *Row { return &Row{Kind: Kind(s.kind), Provider: s.provider, ID: s.id} }
	rapid.Check(t, func(t *rapid.T) {
		here, there := draw.Draw(t, "here"), draw.Draw(t, "there")
		secrets := fields(rapid.MapOfN(rapid.StringN(1, 10, 40), rapid.SliceOf(rapid.Byte()), 1, 5).Draw(t, "secrets"))
		sealed := row(here)
		if err := v.seal(here.p, sealed, here.generation, secrets); err != nil {
			t.Fatal(err)
		}
		got, err := v.open(here.p, sealed, here.generation)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(secrets, got, cmp.Comparer(bytes.Equal)); diff != "" {
			t.Fatalf("(-sealed +opened)\n%s", diff)
		}
		if here == there {
			return
		}
		moved := row(there)
		moved.Content = sealed.Content
		if _, err := v.open(there.p, moved, there.generation); !errors.Is(err, ErrSealed) {
			t.Fatalf("sealed at %+v, it opens at %+v: %v", here, there, err)
		}
	})
}

// TestDetailKeepsWhatItDoesNotKnow: a newer version on the same store may have
// written more.
func TestDetailKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	row := &Row{Detail: []byte(`{"generation":1,"newer":{"a":[1,2.50]},"fails":3}`)}
	var d grantDetail
	if err := detail(row, &d); err != nil {
		t.Fatal(err)
	}
	d.Generation, d.Fails = 2, 0
	if err := setDetail(row, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"newer":{"a":[1,2.50]}`, `"generation":2`} {
		if !bytes.Contains(row.Detail, []byte(want)) {
			t.Errorf("%s is missing in %s", want, row.Detail)
		}
	}
	if bytes.Contains(row.Detail, []byte("fails")) { // zero members are left out
		t.Errorf("what it knows stayed as it was: %s", row.Detail)
	}
}
