package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/interop/browsertest"
)

func TestDataDirectoryInUse(t *testing.T) {
	t.Parallel()
	p := demo(t)
	command := exec.CommandContext(t.Context(), binary, "demo", "--data", p.data, "--addr", "127.0.0.1:0", "--travel-addr", "127.0.0.1:0")
	out, _ := command.CombinedOutput() // the exit code is looked at
	if code := command.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), "is in use by another parley") || !strings.Contains(string(out), "--data") {
		t.Errorf("a second parley on the same data ended with %d and said:\n%s", code, out)
	}
	if got := p.api("GET", "/v1/session", nil); got.Status != 200 {
		t.Errorf("after that the first one answers %d", got.Status)
	}
}

// A server that does not start, or is none, is said to be so, and is in nobody's way.
func TestServersInTrouble(t *testing.T) {
	t.Parallel()
	website := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>A website</title>")
	}))
	t.Cleanup(website.Close)
	p := serve(t, map[string]any{
		"good":    map[string]any{"url": hosttest.NewServer(t, &hosttest.Script{Tools: modernTools}).URL},
		"away":    map[string]any{"url": "http://" + servicetest.FreeAddr(t) + "/mcp"},
		"website": map[string]any{"url": website.URL},
		"missing": map[string]any{"url": website.URL + "/no/such/page", "headers": map[string]any{"X-Token": "geheim"}},
		"absent":  map[string]any{"command": "/no/such/program", "env": map[string]any{"TOKEN": "geheim"}},
		"quits":   program(t, "quits"),
		"echoes":  map[string]any{"command": "cat"},
	})
	page := signIn(t, p)
	for _, test := range []struct{ server, says string }{
		{"away", "nothing listens at its address"},
		{"website", "did not answer as an MCP server"},
		{"missing", ""},
		{"absent", "its program is not there"},
		{"quits", "the licence file is missing"},
		{"echoes", ""},
	} {
		got := p.api("GET", "/v1/servers/"+test.server+"/tools", nil)
		tr := got.trouble(t)
		if tr.Status != 502 || tr.Code != "unreachable" || !strings.Contains(tr.Detail, test.server) || !strings.Contains(tr.Detail, test.says) {
			t.Errorf("the tools of %s: %d %s, want 502 with its name and why: %q", test.server, got.Status, got.Body, test.says)
		}
		page.Click(byCSS(`input[name="server"][value="` + test.server + `"]`)) // its label may say already that it cannot be reached
		page.WaitText(tr.Detail)
		page.WaitFor(button("Try again"))

		var c call
		run := p.api("POST", "/v1/calls", map[string]any{"conversation": "v_trouble", "server": test.server, "tool": "ask", "arguments": map[string]any{}})
		if run.Status == 201 {
			run.decode(t, &c)
			if c = p.await(c.ID, "blocked", "failed"); !strings.Contains(c.Text, test.server) {
				t.Errorf("a call of %s is %s: %q, want a sentence that names it", test.server, c.State, c.Text)
			}
		} else if tr := run.trouble(t); !strings.Contains(tr.Detail, test.server) {
			t.Errorf("running a tool of %s: %d %s, want a sentence that names it", test.server, run.Status, run.Body)
		}
	}
	if got := p.api("GET", "/v1/servers", nil).Body + page.Text(browsertest.Query{}); strings.Contains(got, "geheim") {
		t.Errorf("the page or the API shows a secret of the servers file: %s", got)
	}
	// None of them is in the way of the others.
	page.Click(radio("good").In(byRole("group", "Server")))
	runTool(page, "ask", "Say a word")
}

func TestToolsThatFail(t *testing.T) {
	t.Parallel()
	p, _ := recorder(t, "2026-07-28")
	page := signIn(t, p)
	pick(page, "fails")
	page.Click(button("Run fails"))
	page.WaitText("recorder says that this went wrong.")
	page.WaitText("the printer is on fire")
	page.Click(button("Run another tool"))
	pick(page, "refuses")
	page.Click(button("Run refuses"))
	page.WaitText("recorder refused the call.")
	page.WaitText("the shop is closed")
	page.WaitText("Error code -32000")
	for _, c := range p.calls() {
		if c.State != "failed" || c.Text == "" {
			t.Errorf("the call is %s: %q, want failed with a sentence", c.State, c.Text)
		}
	}
}

// A server that dies in the middle of a call leaves it uncertain.
func TestServerDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(t *testing.T) map[string]any{
		"over HTTP": func(t *testing.T) map[string]any {
			return map[string]any{"url": hosttest.NewServer(t, scripts["mortal"]).URL}
		},
		"a program": func(t *testing.T) map[string]any { return program(t, "mortal") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, map[string]any{"shop": server(t)})
			page := signIn(t, p)
			pick(page, "die")
			page.Click(button("Run die"))
			page.WaitText("It is not known whether this happened")
			page.WaitFor(button("Send again"))
			page.Click(button("It happened"))
			page.WaitText("You said that it happened.")
			// The server is used again when it is needed.
			page.Click(button("Run another tool"))
			pick(page, "live")
			page.Click(button("Run live"))
			page.WaitText("alive and well")
		})
	}
}

// A required field that cannot be drawn stops Send; the person can still say no.
func TestFormOutOfTheSubset(t *testing.T) {
	t.Parallel()
	p, _ := recorder(t, "2026-07-28")
	page := signIn(t, p)
	runTool(page, "nested", "Where to?")
	page.WaitText("This cannot be sent.")
	page.WaitText("Address")
	for _, name := range []string{"Send to recorder", "Review answers", "Accept and tell recorder"} {
		if n := page.Count(button(name)); n != 0 {
			t.Errorf("%d buttons %q under a form that cannot be sent", n, name)
		}
	}
	id := p.open(1)[0].ID
	got := p.api("POST", "/v1/questions/"+id+"/answer", `{"action":"accept","content":{"name":"x","address":{"street":"y"}}}`)
	if got.Status < 400 || got.Status >= 500 {
		t.Errorf("accepting it through the API: %d %s, want a refusal", got.Status, got.Body)
	}
	page.Click(button("Decline"))
	page.WaitText("You declined")
	if action, content := received(t, p.await(p.calls()[0].ID, "done")); action != "decline" || content != nil {
		t.Errorf("the server got %s with %s, want decline", action, content)
	}
}

// A call that waits for a person goes on only at the server, and with the tool,
// that it was made for.
func TestServerChangesWhileAsked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, says string
		change     func(t *testing.T, p *parley, other *atomic.Bool)
	}{
		{"removed from the file", "no longer among the servers", func(t *testing.T, p *parley, _ *atomic.Bool) {
			p.args[2] = serversFile(t, map[string]any{"bank": map[string]any{"url": "http://" + servicetest.FreeAddr(t) + "/mcp"}})
		}},
		{"at another address", "has changed since the call was made", func(t *testing.T, p *parley, _ *atomic.Bool) {
			s := hosttest.NewServer(t, &hosttest.Script{Tools: modernTools})
			p.args[2] = serversFile(t, map[string]any{"shop": map[string]any{"url": s.URL}})
		}},
		{"another tool of that name", "has changed since the call was made", func(_ *testing.T, _ *parley, other *atomic.Bool) {
			other.Store(true)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var other atomic.Bool
			s := hosttest.NewServer(t, &hosttest.Script{Tools: modernTools, Listed: func(int) string {
				if other.Load() {
					return `[{"name":"ask","inputSchema":{"type":"object","properties":{"more":{"type":"string"}}}}]`
				}
				return `[{"name":"ask","inputSchema":{"type":"object"}}]`
			}})
			p := serve(t, map[string]any{"shop": map[string]any{"url": s.URL}})
			page := signIn(t, p)
			runTool(page, "ask", "Say a word")
			p.kill()
			test.change(t, p, &other)
			p.again()
			page.Reload()
			page.WaitFor(byRole("textbox", "Word"))
			page.Fill("Word", "unsent")
			page.Click(button("Send to shop"))
			page.WaitText("Cannot go on yet")
			page.WaitText(test.says)
			page.WaitFor(button("Run again"))
			if n := len(s.Calls()); n != 1 {
				t.Errorf("the server was called %d times, want once: the answer must stay here", n)
			}
		})
	}
}
