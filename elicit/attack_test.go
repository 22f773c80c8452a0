package elicit_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// byHeader takes the principal from headers, as a reverse proxy might set them.
func byHeader(_ context.Context, extra *mcp.RequestExtra) (elicit.Principal, error) {
	p := elicit.Principal{
		Issuer:  extra.Header.Get("X-Issuer"),
		Tenant:  extra.Header.Get("X-Tenant"),
		Subject: extra.Header.Get("X-Subject"),
	}
	if p.Subject == "refused" {
		return elicit.Principal{}, errors.New("nobody")
	}
	return p, nil
}

type deletion struct {
	Path  string  `json:"path"`
	Count float64 `json:"count,omitempty"`
}

// victim is a server with tools that must not run without consent.
type victim struct {
	server  *elicit.Server
	handler http.Handler
	asked   atomic.Int64 // runs of a handler
	ran     atomic.Int64 // deletions
	now     atomic.Int64 // nanoseconds after start
}

func newVictim(t testing.TB, audience, keys string) *victim {
	t.Helper()
	v := &victim{}
	v.server, v.handler = newServer(t, &elicit.Options{
		Principal: byHeader, Audience: audience, KeysFile: keys, Lifetime: time.Hour,
		Limits: elicit.Limits{QuestionsPerMinute: 1 << 20},
	})
	v.server.SetNow(func() time.Time { return start.Add(time.Duration(v.now.Load())) })
	for _, name := range []string{"delete", "erase"} {
		elicit.AddTool(v.server, &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, call *elicit.Call, in deletion) (none, error) {
			v.asked.Add(1)
			consent, err := elicit.Confirm(ctx, call, "sure", "Delete "+in.Path+"?")
			if err == nil && consent == elicit.Yes {
				v.ran.Add(1)
			}
			return none{}, err
		})
	}
	return v
}

var ada = http.Header{"X-Issuer": {"https://id.example"}, "X-Tenant": {"t1"}, "X-Subject": {"ada"}}

// pausedState returns the state of a call that waits for consent.
func pausedState(t testing.TB, v *victim, header http.Header) string {
	t.Helper()
	client := elicittest.Connect(t, v.handler, modern, elicittest.Script(t), &elicittest.Options{Header: header})
	raw, err := client.Send(t.Context(), "tools/call", map[string]any{"name": "delete", "arguments": map[string]any{"path": "/a", "count": 1}})
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		RequestState string `json:"requestState"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || result.RequestState == "" {
		t.Fatalf("no state in %s", raw)
	}
	return result.RequestState
}

var yes = map[string]any{"sure": map[string]any{"action": "accept", "content": map[string]any{"confirmed": true}}}

// TestStateAttacks presents a good state where it does not belong. Each must
// get the same answer, and nothing may run.
func TestStateAttacks(t *testing.T) { //nolint:tparallel // one after the other: they count runs
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys.json")
	v := newVictim(t, "files", keys)
	other := newVictim(t, "archive", keys) // shares the keys, not the audience
	stranger := newVictim(t, "files", filepath.Join(t.TempDir(), "keys.json"))
	state := pausedState(t, v, ada)

	with := func(key, value string) http.Header {
		header := ada.Clone()
		header.Set(key, value)
		return header
	}
	good := map[string]any{"path": "/a", "count": 1}
	type attack struct {
		name   string
		on     *victim
		header http.Header
		tool   string
		args   any
		state  string
		after  time.Duration
	}
	attacks := []attack{
		{name: "other tool", tool: "erase"},
		{name: "other argument", args: map[string]any{"path": "/b", "count": 1}},
		{name: "argument more", args: map[string]any{"path": "/a", "count": 1, "x": 1}},
		{name: "argument less", args: map[string]any{"path": "/a"}},
		{name: "number beyond binary64", args: json.RawMessage(`{"path":"/a","count":1.00000000000000000001}`)},
		{name: "other subject", header: with("X-Subject", "bob")},
		{name: "other issuer", header: with("X-Issuer", "https://evil.example")},
		{name: "other tenant", header: with("X-Tenant", "t2")},
		{name: "anonymous", header: http.Header{}},
		{name: "principal moved across its parts", header: http.Header{"X-Issuer": {"https://id.example"}, "X-Tenant": {"t1ada"}}},
		{name: "other audience", on: other},
		{name: "other keys", on: stranger},
		{name: "expired", after: time.Hour},
		{name: "garbage", state: "garbage"},
		{name: "not base64", state: "!" + state[1:]},
		{name: "padding", state: state + "=="},
		{name: "white space", state: state[:10] + "\n" + state[10:]},
		{name: "twice", state: state + state},
		{name: "too large", state: strings.Repeat("A", 1<<20)},
	}
	for i := range attacks {
		a := &attacks[i]
		if a.on == nil {
			a.on = v
		}
		if a.header == nil {
			a.header = ada
		}
		if a.tool == "" {
			a.tool = "delete"
		}
		if a.args == nil {
			a.args = good
		}
		if a.state == "" {
			a.state = state
		}
	}
	var first *elicittest.Error
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			asked, ran := a.on.asked.Load(), a.on.ran.Load()
			a.on.now.Store(int64(a.after))
			defer a.on.now.Store(0)
			client := elicittest.Connect(t, a.on.handler, modern, elicittest.Script(t), &elicittest.Options{Header: a.header})
			_, err := client.Send(t.Context(), "tools/call", map[string]any{
				"name": a.tool, "arguments": a.args, "requestState": a.state, "inputResponses": yes,
			})
			var refused *elicittest.Error
			if !errors.As(err, &refused) {
				t.Fatalf("not refused: %v", err)
			}
			if first == nil {
				first = refused
			}
			if diff := cmp.Diff(first, refused); diff != "" {
				t.Errorf("this refusal differs (-first +this):\n%s", diff)
			}
			if refused.Code != -32602 || refused.Status != http.StatusBadRequest || string(refused.Data) != `{"reason":"invalid_request_state"}` {
				t.Errorf("refusal %+v, data %s", refused, refused.Data)
			}
			if a.on.asked.Load() != asked || a.on.ran.Load() != ran {
				t.Error("the handler ran")
			}
		})
	}
	t.Run("legacy", func(t *testing.T) {
		client := elicittest.Connect(t, v.handler, "2025-11-25", elicittest.Script(t), &elicittest.Options{Header: ada})
		_, err := client.Send(t.Context(), "tools/call", map[string]any{"name": "delete", "arguments": good, "requestState": state, "inputResponses": yes})
		var refused *elicittest.Error
		if !errors.As(err, &refused) || refused.Code != -32602 || string(refused.Data) != `{"reason":"invalid_request_state"}` {
			t.Errorf("not refused: %v", err)
		}
	})
	t.Run("the real thing", func(t *testing.T) {
		client := elicittest.Connect(t, v.handler, modern, elicittest.Script(t), &elicittest.Options{Header: ada})
		// The same arguments in another spelling are the same call.
		_, err := client.Send(t.Context(), "tools/call", map[string]any{
			"name": "delete", "arguments": json.RawMessage(`{"count":1.0,"path":"\u002fa"}`), "requestState": state, "inputResponses": yes,
		})
		if err != nil || v.ran.Load() != 1 {
			t.Errorf("ran %d times, error %v: the state was good all along", v.ran.Load(), err)
		}
	})
}

// TestStateBytes changes and cuts the state at each of its bytes.
func TestStateBytes(t *testing.T) {
	t.Parallel()
	v := newVictim(t, "", "")
	state := pausedState(t, v, nil)
	before := v.asked.Load()
	try := func(changed string) {
		t.Helper()
		recorder := post(v.handler, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete","arguments":{"path":"/a","count":1},"requestState":"`+changed+
			`","inputResponses":{"sure":{"action":"accept","content":{"confirmed":true}}},`+modernMeta+`}}`)
		if recorder.Code != http.StatusBadRequest || !strings.Contains(recorder.Body.String(), `"data":{"reason":"invalid_request_state"}`) {
			t.Errorf("state %q: HTTP %d %s", changed, recorder.Code, recorder.Body)
		}
	}
	for i := range state {
		replacement := byte('A')
		if state[i] == 'A' {
			replacement = 'B'
		}
		try(state[:i] + string(replacement) + state[i+1:])
		if i > 0 { // no state at all starts the call afresh
			try(state[:i])
		}
	}
	if v.asked.Load() != before || v.ran.Load() != 0 {
		t.Error("a handler ran")
	}
}

// TestAnswersWithoutState are answers to nothing: the call starts afresh.
func TestAnswersWithoutState(t *testing.T) {
	t.Parallel()
	v := newVictim(t, "", "")
	client := elicittest.Connect(t, v.handler, modern, elicittest.Script(t), &elicittest.Options{Header: ada})
	raw, err := client.Send(t.Context(), "tools/call", map[string]any{"name": "delete", "arguments": map[string]any{"path": "/a"}, "inputResponses": yes})
	if err != nil {
		t.Fatal(err)
	}
	questions, err := elicittest.Questions(raw)
	if err != nil || len(questions) != 1 || questions[0].Key != "sure" {
		t.Errorf("questions %v, error %v", questions, err)
	}
	if v.ran.Load() != 0 {
		t.Error("ran without consent")
	}
}

// TestNoPrincipal refuses a request whose person cannot be verified.
func TestNoPrincipal(t *testing.T) {
	t.Parallel()
	v := newVictim(t, "", "")
	client := elicittest.Connect(t, v.handler, modern, elicittest.Script(t), &elicittest.Options{Header: http.Header{"X-Subject": {"refused"}}})
	_, err := client.Send(t.Context(), "tools/call", map[string]any{"name": "delete", "arguments": map[string]any{"path": "/a"}})
	var refused *elicittest.Error
	if !errors.As(err, &refused) || v.asked.Load() != 0 {
		t.Errorf("error %v, %d runs", err, v.asked.Load())
	}
}

// TestStolenSession presents a legacy session id as somebody else: with the same
// user id, but another issuer. To them the session is not there.
func TestStolenSession(t *testing.T) {
	t.Parallel()
	v := newVictim(t, "", "")
	header := ada.Clone()
	asked := 0
	client := elicittest.Connect(t, v.handler, "2025-11-25", func(elicittest.Question) elicittest.Answer {
		asked++
		return elicittest.Accept(map[string]any{"confirmed": true})
	}, &elicittest.Options{Header: header})
	for _, part := range []string{"X-Issuer", "X-Tenant", "X-Subject"} {
		header.Set(part, "other")
		_, err := client.Call(t.Context(), "delete", map[string]any{"path": "/a"})
		if err == nil || !strings.Contains(err.Error(), "HTTP 404: session not found") {
			t.Errorf("%s: %v", part, err)
		}
		header.Set(part, ada.Get(part))
	}
	if asked != 0 || v.asked.Load() != 0 {
		t.Error("somebody else got into the session")
	}
	if result, err := client.Call(t.Context(), "delete", map[string]any{"path": "/a"}); err != nil || result.IsError || v.ran.Load() != 1 {
		t.Error(err, result)
	}
}

// TestAnswerFromAnother has somebody else answer while the call is open.
func TestAnswerFromAnother(t *testing.T) {
	t.Parallel()
	v := newVictim(t, "", "")
	header := ada.Clone()
	tried := false
	client := elicittest.Connect(t, v.handler, "2025-11-25", func(elicittest.Question) elicittest.Answer {
		tried = true
		header.Set("X-Issuer", "https://evil.example") // for the answer
		return elicittest.Accept(map[string]any{"confirmed": true})
	}, &elicittest.Options{Header: header})
	_, err := client.Call(t.Context(), "delete", map[string]any{"path": "/a"})
	header.Set("X-Issuer", ada.Get("X-Issuer")) // its own again, to end the session
	if err == nil || !strings.Contains(err.Error(), "HTTP 404: session not found") || !tried || v.ran.Load() != 0 {
		t.Errorf("tried %t, ran %d times, error %v", tried, v.ran.Load(), err)
	}
}

// TestArgumentsRefused refuses arguments whose digest would be ambiguous.
func TestArgumentsRefused(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"duplicate key": `{"path":"/a","path":"/b"}`,
		"huge number":   `{"path":"/a","count":1e300000000}`,
	} {
		for _, revision := range elicittest.Revisions {
			t.Run(name+"/"+revision, func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, "", "")
				client := elicittest.Connect(t, v.handler, revision, elicittest.Script(t), nil)
				result, err := client.Call(t.Context(), "delete", json.RawMessage(args))
				if err == nil && !result.IsError {
					t.Errorf("accepted: %s", result.Raw)
				}
				if v.asked.Load() != 0 {
					t.Error("the handler ran")
				}
			})
		}
	}
}
