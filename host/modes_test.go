package host_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

const askPage = `{"mode":"url","message":"Pay for it","url":"https://pay.example/x","elicitationId":"e1"}`

// A host declares the modes that its surfaces can answer and no others, and a question
// of another mode is refused: by an error to a legacy server, by the end of the call in
// the modern era and after the error -32042. What it has it asks.
func TestModes(t *testing.T) {
	t.Parallel()
	const noForm, noPage = "it is a form, and this host did not offer to show any", "it is a page to open, and this host did not offer to open any"
	tests := map[string]struct {
		modes     []inbox.Mode
		declared  string // as the member capabilities
		form, url string // why a question is refused; empty: it is asked
	}{
		"by default": {nil, `{"elicitation":{"form":{},"url":{}}}`, "", ""},
		"both":       {[]inbox.Mode{inbox.URL, inbox.Form, inbox.URL}, `{"elicitation":{"form":{},"url":{}}}`, "", ""},
		"form":       {[]inbox.Mode{inbox.Form}, `{"elicitation":{"form":{}}}`, "", noPage},
		"url":        {[]inbox.Mode{inbox.URL}, `{"elicitation":{"url":{}}}`, noForm, ""},
		"none":       {[]inbox.Mode{}, `{}`, noForm, noPage},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			initialized := make(chan string, 1)
			asks := func(params string) hosttest.Tool {
				return func(x *hosttest.Exchange) { x.Text(say(read(x.Elicit(params)))) }
			}
			old, _ := web(t, "old", &hosttest.Script{
				Revision: "2025-11-25", Sessionless: true,
				Tools: map[string]hosttest.Tool{
					"form": asks(askSize), "url": asks(askPage),
					"error": func(x *hosttest.Exchange) {
						x.Error(-32042, "pay first", `{"elicitations":[`+askPage+`]}`)
					},
				},
				Methods: map[string]hosttest.Tool{"initialize": func(x *hosttest.Exchange) {
					var p struct {
						Capabilities json.RawMessage `json:"capabilities"`
					}
					_ = json.Unmarshal(x.Params, &p)
					initialized <- string(p.Capabilities)
					x.Result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
				}},
			})
			parks := func(params string) hosttest.Tool {
				return func(x *hosttest.Exchange) { x.Asks("{"+request("q", params)+"}", "s") }
			}
			modern, wire := web(t, "new", &hosttest.Script{Tools: map[string]hosttest.Tool{
				"form": parks(askSize), "url": parks(askPage),
				"mixed": func(x *hosttest.Exchange) {
					x.Asks("{"+request("a", askSize)+","+request("b", askPage)+"}", "s")
				},
			}})
			r := newRig(t, nil, &rigOptions{host: host.Options{Modes: test.modes}}, old, modern)

			// refused starts a call and expects that it fails with these words and asks nothing.
			refused := func(server, tool, what string) {
				t.Helper()
				call := r.start(server, tool, "")
				end := r.step(call.ID, "")
				want := server + " asked a question that cannot be shown: " + what + "."
				if got := host.Explain(end, ""); end.State != inbox.Failed || end.Reason != host.ReasonBadQuestion || got != want || len(end.Result) == 0 {
					t.Errorf("%s of %s ended %s, %q with %s; want failed, %q", tool, server, end.State, got, end.Result, want)
				}
				if all, err := r.in.Questions(t.Context(), ada, inbox.QuestionFilter{Call: call.ID}); err != nil || len(all) != 0 {
					t.Errorf("%s of %s asked %d questions (%v)", tool, server, len(all), err)
				}
			}
			asked := func(server, tool string, why host.Why, questions int) {
				t.Helper()
				call := r.start(server, tool, "")
				r.step(call.ID, why)
				if n := len(r.open(call.ID)); n != questions {
					t.Errorf("%s of %s asks %d questions, want %d", tool, server, n, questions)
				}
			}
			for mode, what := range map[string]string{"form": test.form, "url": test.url} {
				if what == "" {
					asked("old", mode, host.Held, 1)
					asked("new", mode, host.Asked, 1)
					continue
				}
				if got := text(t, r.end(r.start("old", mode, "").ID)); !strings.HasPrefix(got, "error -32602") {
					t.Errorf("a question of mode %s got %s, want -32602", mode, got)
				}
				refused("new", mode, what)
			}
			if test.url == "" {
				asked("old", "error", host.Asked, 1)
			} else {
				refused("old", "error", test.url)
			}
			switch {
			case test.form != "":
				refused("new", "mixed", test.form)
			case test.url != "":
				refused("new", "mixed", test.url)
			default:
				asked("new", "mixed", host.Asked, 2)
			}

			if got := <-initialized; got != test.declared {
				t.Errorf("initialize declared %s, want %s", got, test.declared)
			}
			for _, call := range wire.Calls() {
				if got := string(received(t, call).Meta["io.modelcontextprotocol/clientCapabilities"]); got != test.declared {
					t.Errorf("a call declared %s, want %s", got, test.declared)
				}
			}
		})
	}
	if _, err := host.New(nil, nil, &host.Options{Modes: []inbox.Mode{"dance"}}); !errors.Is(err, host.ErrInvalid) {
		t.Errorf("a mode that is none: %v", err)
	}
}
