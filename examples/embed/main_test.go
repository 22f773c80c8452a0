package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
)

var ada = inbox.Principal{Issuer: "test", Subject: "ada"}

// TestOverARestart asks with one backend and answers with the next one on the
// same directory.
func TestOverARestart(t *testing.T) {
	t.Parallel()
	kit, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "asker"}, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	type name struct {
		Name string `json:"name"`
	}
	elicit.AddTool(kit, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ struct{}) (name, error) {
		return elicit.Ask[name](ctx, call, "name", "Who are you?")
	})
	server := httptest.NewServer(elicit.NewHTTPHandler(kit, nil))
	defer server.Close()
	servers := []*host.Server{{ID: "asker", URL: server.URL}}
	identify := func(r *http.Request) (*serve.Session, error) {
		if r.Header.Get("X-User") != "ada" {
			return nil, serve.ErrSignedOut
		}
		return &serve.Session{Principal: ada}, nil
	}
	dir := t.TempDir()

	first, err := open(dir, servers, identify)
	if err != nil {
		t.Fatal(err)
	}
	call, err := first.host.Start(t.Context(), ada, host.NewCall{Conversation: "v_1", Server: "asker", Name: "ask"})
	if err != nil {
		t.Fatal(err)
	}
	stop, err := first.host.Step(t.Context(), ada, call.ID)
	if err != nil || stop.Why != host.Asked {
		t.Fatalf("%+v, %v", stop, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := first.run(ended); err != nil {
		t.Fatal(err)
	}

	second, err := open(dir, servers, identify)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- second.run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	var list struct {
		Questions []struct {
			ID string `json:"id"`
		} `json:"questions"`
	}
	if status := send(t, second.api, "", "/v1/questions", "", nil); status != http.StatusUnauthorized {
		t.Errorf("without a session: %d", status)
	}
	if status := send(t, second.api, "ada", "/v1/questions", "", &list); status != http.StatusOK || len(list.Questions) != 1 {
		t.Fatalf("status %d, questions %+v", status, list.Questions)
	}
	if status := send(t, second.api, "ada", "/v1/questions/"+list.Questions[0].ID+"/answer", `{"action":"accept","content":{"name":"Ada"}}`, nil); status != http.StatusOK {
		t.Fatalf("answering: %d", status)
	}
	final, err := second.host.Auto(t.Context(), ada, call.ID, nil)
	if err != nil || final.State != inbox.Done {
		t.Fatalf("%+v, %v", final, err)
	}
}

// send gets path, or posts body to it.
func send(t *testing.T, api http.Handler, user, path, body string, into any) int {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://app.example.com"+path, strings.NewReader(body))
	r.Header.Set("X-User", user)
	r.Header.Set("Content-Type", "application/json")
	api.ServeHTTP(w, r)
	if into != nil && w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatal(err)
		}
	}
	return w.Code
}
