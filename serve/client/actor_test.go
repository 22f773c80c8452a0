package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve/client"
)

// A host that reads past the actor has nobody take a model for a person, or a person for
// a model.
func TestMadeForAnotherActor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		asked        inbox.Actor
		reply        string
		token, calls bool // whether what is made is right
	}{
		{inbox.Model, `{"id":"x"}`, false, false}, // a version that knows no actors
		{inbox.Model, `{"id":"x","actor":"person"}`, false, false},
		{inbox.Model, `{"id":"x","actor":"model"}`, true, true},
		{inbox.Person, `{"id":"x"}`, true, true},
		{inbox.Person, `{"id":"x","actor":"person"}`, true, true},
		{inbox.Person, `{"id":"x","actor":"model"}`, false, false},
		{"", `{"id":"x"}`, true, true},
		{"", `{"id":"x","actor":"model"}`, false, true}, // of a call the session says it
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, test.reply)
		}))
		t.Cleanup(server.Close)
		c := client.New(server.URL, nil)
		token, err := c.MintToken(t.Context(), client.TokenRequest{Actor: test.asked})
		if (err == nil) != test.token || err != nil && (!errors.Is(err, client.ErrActor) || token != nil) {
			t.Errorf("a token for %q, answered %s: %+v, %v", test.asked, test.reply, token, err)
		}
		call, err := c.Compose(t.Context(), client.NewCall{Actor: test.asked}, "")
		if (err == nil) != test.calls || err != nil && !errors.Is(err, client.ErrActor) || call == nil || call.ID != "x" {
			t.Errorf("a call by %q, answered %s: %+v, %v", test.asked, test.reply, call, err)
		}
	}
}
