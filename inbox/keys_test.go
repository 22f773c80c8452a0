package inbox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
)

// TestKeys writes with the keys of a file and reads with them in all ways in
// which another machine, or the next life of this one, may get them.
func TestKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	first, err := inbox.OpenKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	store := memstore.New(nil)
	ann := inbox.Principal{Issuer: "i", Subject: "ann"}
	c, err := inbox.New(store, first, nil).Compose(t.Context(), ann, inbox.NewCall{Server: "s", Method: "tools/call", Arguments: []byte(`{"to":"Oslo"}`)})
	if err != nil {
		t.Fatal(err)
	}
	again, err := inbox.OpenKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read, err := inbox.ReadKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]*inbox.Keys{"opened again": again, "read": read} {
		got, err := inbox.New(store, keys, nil).Call(t.Context(), ann, c.ID)
		if err != nil || string(got.Arguments) != `{"to":"Oslo"}` {
			t.Errorf("keys %s: %+v, %v", name, got, err)
		}
		if printed := fmt.Sprintf("%v %+v %#v", keys, keys, keys); strings.Contains(string(text), printed) || len(printed) > 200 {
			t.Errorf("keys print: %s", printed)
		}
	}
	_, err = inbox.New(store, inbox.NewKeys(), nil).Call(t.Context(), ann, c.ID)
	if !errors.Is(err, inbox.ErrSealed) || !strings.Contains(err.Error(), string(c.ID)) {
		t.Errorf("Call with other keys: %v", err)
	}
	for _, bad := range []string{"", "{}", "not a keyset", string(text[:len(text)/2])} {
		if _, err := inbox.ReadKeys([]byte(bad)); err == nil {
			t.Errorf("ReadKeys(%q) was accepted", bad)
		}
	}
}
