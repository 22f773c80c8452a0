package elicit_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

func TestNewServerRefuses(t *testing.T) {
	t.Parallel()
	good := filepath.Join(t.TempDir(), "keys.json")
	if _, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "x"}, nil), &elicit.Options{KeysFile: good, Audience: "x"}); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(damaged, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		options elicit.Options
		want    string
	}{
		{"keys file without an audience", elicit.Options{KeysFile: good}, "audience"},
		{"keyset without an audience", elicit.Options{Keyset: []byte("{}")}, "audience"},
		{"blank audience", elicit.Options{KeysFile: good, Audience: " "}, "audience"},
		{"both", elicit.Options{KeysFile: good, Keyset: []byte("{}"), Audience: "x"}, "both"},
		{"no keyset", elicit.Options{Keyset: []byte("{}"), Audience: "x"}, "keyset"},
		{"damaged", elicit.Options{KeysFile: damaged, Audience: "x"}, damaged},
		{"negative lifetime", elicit.Options{Lifetime: -time.Second}, "lifetime"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "x"}, nil), &test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %q", err, test.want)
			}
		})
	}
	if _, err := elicit.NewServer(nil, nil); err == nil {
		t.Error("a server without a server")
	}
}

// TestOtherMachine goes on with a call on a server that was given the same
// keys as text.
func TestOtherMachine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	first := newVictim(t, "files", path)
	state := pausedState(t, first, nil)
	keyset, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	server, handler := newServer(t, &elicit.Options{Keyset: keyset, Audience: "files"})
	ran := false
	elicit.AddTool(server, &mcp.Tool{Name: "delete"}, func(ctx context.Context, call *elicit.Call, in deletion) (none, error) {
		consent, err := elicit.Confirm(ctx, call, "sure", "Delete "+in.Path+"?")
		ran = consent == elicit.Yes
		return none{}, err
	})
	client := elicittest.Connect(t, handler, modern, nil, nil)
	if _, err := client.Send(t.Context(), "tools/call", map[string]any{
		"name": "delete", "arguments": json.RawMessage(`{"path":"/a","count":1}`), "requestState": state, "inputResponses": yes,
	}); err != nil {
		t.Fatal(err)
	}
	if !ran {
		t.Error("the answer got lost")
	}
}

// TestProgress reports to clients that want to know.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			server, handler := newServer(t, nil)
			elicit.AddTool(server, &mcp.Tool{Name: "work"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
				call.Progress(ctx, 1, 2, "half")
				return none{}, nil
			})
			got := make(chan *mcp.ProgressNotificationParams, 1)
			client := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{},
				ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
					got <- req.Params
				},
			})
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: serve(t, handler), MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { session.Close() })
			params := &mcp.CallToolParams{Name: "work"}
			params.SetProgressToken("t")
			if _, err := session.CallTool(t.Context(), params); err != nil {
				t.Fatal(err)
			}
			if p := <-got; p.Progress != 1 || p.Total != 2 || p.Message != "half" || p.ProgressToken != "t" {
				t.Errorf("progress %+v", p)
			}
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "work"}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRequest is a copy that a handler cannot damage.
func TestRequest(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, &elicit.Options{Principal: byHeader})
	elicit.AddTool(server, &mcp.Tool{Name: "look"}, func(_ context.Context, call *elicit.Call, in deletion) (none, error) {
		request := call.Request()
		if request.Method != "tools/call" || request.Name != "look" || request.ClientName != "elicittest" || request.ClientVersion != "1" {
			t.Errorf("request %+v", request)
		}
		clear(request.Arguments)
		if got := string(call.Request().Arguments); got != `{"path":"/a"}` {
			t.Errorf("arguments %q", got)
		}
		if want := (elicit.Principal{Issuer: "https://id.example", Tenant: "t1", Subject: "ada"}); call.Principal() != want || want.IsZero() {
			t.Errorf("principal %+v", call.Principal())
		}
		return none{}, nil
	})
	client := elicittest.Connect(t, handler, modern, nil, &elicittest.Options{Header: ada})
	result, err := client.Call(t.Context(), "look", json.RawMessage(`{"path":"/a"}`))
	if err != nil || result.IsError {
		t.Error(err, result)
	}
}
