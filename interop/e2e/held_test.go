package e2e_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/interop/stranger"
)

// everything is the entry of the servers file for the protocol's example server.
func everything(t *testing.T) map[string]any {
	t.Helper()
	command, err := stranger.Everything(t.Context(), "stdio")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"command": command.Path, "args": command.Args[1:]}
}

// A held call whose machine dies before an answer went out has not happened.
func TestHeldCallCrashWhileAsked(t *testing.T) {
	t.Parallel()
	servers := map[string]func(t *testing.T) map[string]any{
		"over HTTP": func(t *testing.T) map[string]any {
			s := hosttest.NewServer(t, &hosttest.Script{Revision: "2025-11-25", Tools: legacyTools})
			return map[string]any{"url": s.URL}
		},
		"a program":  func(t *testing.T) map[string]any { return program(t, "legacy") },
		"a stranger": everything,
	}
	tools := map[string]struct{ name, asks string }{
		"a stranger": {"trigger-elicitation-request", "Please provide inputs for the following fields"},
	}
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, ok := tools[name]
			if !ok {
				tool.name, tool.asks = "ask", "Say a word"
			}
			p := serve(t, map[string]any{"shop": server(t)})
			page := signIn(t, p)
			runTool(page, tool.name, tool.asks)
			p.kill()
			p.again()
			page.Reload()
			page.WaitText("Interrupted")
			page.WaitText("The question ended because")
			p.open(0)

			page.Click(button("Run again"))
			page.WaitText("This runs an earlier call again.")
			q := p.open(1)[0]
			if q.Message == "" {
				t.Error("the question has no text")
			}
			page.WaitFor(button("Decline"))
			page.Click(button("Decline"))
			page.WaitText("You declined")
			p.await(q.Call, "done", "failed")
			if n := page.Count(button("Run again")); n != 0 {
				t.Errorf("%d buttons Run again after it was run again and done", n)
			}
		})
	}
}

// After an answer went out nobody knows what the server did with it.
func TestHeldCallCrashAfterDelivery(t *testing.T) {
	t.Parallel()
	s := hosttest.NewServer(t, &hosttest.Script{Revision: "2025-11-25", Tools: legacyTools})
	p := serve(t, map[string]any{"shop": map[string]any{"url": s.URL}})
	page := signIn(t, p)
	runTool(page, "twice", "Say a word")
	page.Fill("Word", "first")
	page.Click(button("Send to shop"))
	page.WaitText("Which size?") // the server has the first answer
	p.kill()
	p.again()
	page.Reload()
	page.WaitText("It is not known whether this happened")
	page.WaitText("again from the top, as a new call")
	p.open(0)

	page.Click(button("Send again"))
	page.WaitText("This runs an earlier call again.")
	page.WaitText("From your earlier answer")
	if n := len(s.Calls()); n != 2 {
		t.Errorf("the server was called %d times, want twice", n)
	}
	page.Click(button("Review answers"))
	page.WaitText("from your earlier answer")
	page.Click(button("Send to shop"))
	page.WaitFor(byRole("textbox", "Size"))
	page.Fill("Size", "3")
	page.Click(button("Review answers"))
	page.Click(button("Send to shop"))
	page.WaitText("Answer from shop")
	calls := p.calls()
	if len(calls) != 2 {
		t.Fatalf("%d calls, want the first and its replacement", len(calls))
	}
	c := p.await(calls[1].ID, "done")
	if c.Replaces != calls[0].ID {
		t.Errorf("the second call replaces %q, want %q", c.Replaces, calls[0].ID)
	}
	for _, want := range []string{`\"first\"`, `\"size\":3`} {
		if !strings.Contains(string(c.Result), want) {
			t.Errorf("the server reports %s, want %s in it", c.Result, want)
		}
	}
}

// A host that is stopped tells the server that holds its call open, and the
// person sees what became of it.
func TestStopWhileHeld(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	s := hosttest.NewServer(t, &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"ask": func(x *hosttest.Exchange) {
			answer := string(x.Elicit(askWord))
			told <- answer
			x.Text(answer)
		},
	}})
	p := serve(t, map[string]any{"shop": map[string]any{"url": s.URL}})
	page := signIn(t, p)
	runTool(page, "ask", "Say a word")
	page.Fill("Word", "not sent")
	p.stop()
	if got := <-told; !strings.Contains(got, "host_stopped") || !strings.Contains(got, "-32000") || strings.Contains(got, "action") {
		t.Errorf("the server was told %s, want the error host_stopped and no answer", got)
	}
	p.again()
	page.Reload()
	page.WaitText("Interrupted")
	page.Click(button("Run again"))
	page.WaitText("This runs an earlier call again.")
	p.open(1)
}
