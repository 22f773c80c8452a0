package elicit_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-mcp/parley/elicit/elicittest"
	"github.com/parley-mcp/parley/internal/seal"
)

// TestKeyRing rotates the key while calls wait: what an old key sealed opens as
// long as the key is there, and is refused like any other state when it is not.
func TestKeyRing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	state := pausedState(t, newVictim(t, "files", path), ada)
	present := func(state string) (ran bool, refused *elicittest.Error) {
		t.Helper()
		v := newVictim(t, "files", path) // a machine that starts with the keys of now
		client := elicittest.Connect(t, v.handler, modern, elicittest.Script(t), &elicittest.Options{Header: ada})
		_, err := client.Send(t.Context(), "tools/call", map[string]any{
			"name": "delete", "arguments": map[string]any{"path": "/a", "count": 1}, "requestState": state, "inputResponses": yes,
		})
		if err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		if asked := v.asked.Load(); (refused != nil) != (asked == 0) {
			t.Errorf("the handler ran %d times, error %v", asked, err)
		}
		return v.ran.Load() == 1, refused
	}
	first, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	old := first.Primary()
	id, err := seal.AddKey(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ran, _ := present(state); !ran {
		t.Error("a key was added, and the old one does not open")
	}
	if err := seal.PromoteKey(path, nil, id); err != nil {
		t.Fatal(err)
	}
	if ran, _ := present(state); !ran {
		t.Error("another key is primary, and the old one does not open")
	}
	newer := pausedState(t, newVictim(t, "files", path), ada)
	if err := seal.DisableKey(path, nil, old); err != nil {
		t.Fatal(err)
	}
	if ran, refused := present(state); ran || refused == nil || refused.Code != -32602 || string(refused.Data) != `{"reason":"invalid_request_state"}` {
		t.Errorf("ran %t, refused with %v: the key is gone", ran, refused)
	}
	if ran, _ := present(newer); !ran {
		t.Error("the new key does not open what it sealed")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}
