package elicit_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/elicit/elicittest"
)

// post sends a body straight to the handler, as a modern call.
func post(handler http.Handler, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(body))
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "delete",
	} {
		req.Header.Set(key, value)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, req)
	return recorder
}

// FuzzRequestState presents states that this server did not make.
func FuzzRequestState(f *testing.F) {
	v := newVictim(f, "", "")
	state := pausedState(f, v, nil)
	for _, seed := range []string{"a", "AAAA", "====", state[:len(state)/2], state + "A", "\x00", "é"} {
		f.Add(seed)
	}
	asked := v.asked.Load()
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || text == state {
			return // no state starts afresh; this one is good
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		recorder := post(v.handler, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete","arguments":{"path":"/a","count":1},"requestState":`+string(quoted)+
			`,"inputResponses":{"sure":{"action":"accept","content":{"confirmed":true}}},`+modernMeta+`}}`)
		if recorder.Code != http.StatusBadRequest || !strings.Contains(recorder.Body.String(), `"reason":"invalid_request_state"`) {
			t.Errorf("HTTP %d %s", recorder.Code, recorder.Body)
		}
		if v.asked.Load() != asked || v.ran.Load() != 0 {
			t.Error("the handler ran")
		}
	})
}

// FuzzInputResponses answers a good state with anything. Only the one right
// answer may count, and no answer may end the process.
func FuzzInputResponses(f *testing.F) {
	v := newVictim(f, "", "")
	state := pausedState(f, v, nil)
	for _, seed := range []string{
		`{"sure":{"action":"accept","content":{"confirmed":true}}}`,
		`{"sure":{"action":"accept","content":{"confirmed":false}}}`,
		`{"sure":{"action":"accept","content":{"confirmed":"true"}}}`,
		`{"sure":{"roots":[]}}`, `{"sure":null}`, `[]`, `null`, `{"sure":{"action":"decline"}}`,
		`{"sure":{"action":"accept","content":{"confirmed":true},"content":{}}}`,
		`{"sure":{"action":"accept","content":{"confirmed":1e9999}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, responses string) {
		if !json.Valid([]byte(responses)) {
			return // the body itself would be malformed
		}
		before := v.ran.Load()
		recorder := post(v.handler, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete","arguments":{"path":"/a","count":1},"requestState":"`+state+
			`","inputResponses":`+responses+`,`+modernMeta+`}}`)
		if recorder.Code != http.StatusOK && recorder.Code != http.StatusBadRequest {
			t.Errorf("HTTP %d %s", recorder.Code, recorder.Body)
		}
		var list map[string]json.RawMessage
		var sure struct {
			Action  string
			Content map[string]json.RawMessage
		}
		consent := json.Unmarshal([]byte(responses), &list) == nil && json.Unmarshal(list["sure"], &sure) == nil &&
			sure.Action == "accept" && strings.TrimSpace(string(sure.Content["confirmed"])) == "true"
		if ran := v.ran.Load() != before; ran && !consent {
			t.Errorf("ran without consent: %s", responses)
		}
	})
}

// TestLegacyGarbage answers a legacy question with bodies of every shape.
func TestLegacyGarbage(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`null`, `[]`, `"x"`, `{"action":"accept","content":{"confirmed":true},"_meta":"x"}`, `{"action":"accept","content":{"confirmed":true},"_meta":{"io.github.parley-mcp/raw":"{\"action\":\"accept\"}"}}`} {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, "", "")
			client := elicittest.Connect(t, v.handler, "2025-11-25", func(elicittest.Question) elicittest.Answer {
				return elicittest.Answer{Raw: json.RawMessage(raw)}
			}, nil)
			_, err := client.Call(t.Context(), "delete", map[string]any{"path": "/a"})
			var refused *elicittest.Error
			if err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			// Only where the content itself says yes, whatever _meta claims.
			if want := strings.Contains(raw, "confirmed"); (v.ran.Load() == 1) != want {
				t.Errorf("ran %d times", v.ran.Load())
			}
		})
	}
}
