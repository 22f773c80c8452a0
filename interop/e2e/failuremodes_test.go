package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// The ways in which an elicitation goes wrong, each with what its person sees.
// docs/threat-model.md has the table.

// A website is where url questions lead. It counts its visitors.
type website struct {
	url    string
	visits atomic.Int32
}

func newWebsite(t *testing.T) *website {
	t.Helper()
	site := &website{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/favicon") {
			http.NotFound(w, r)
			return
		}
		site.visits.Add(1)
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>Website</title><p>You have come to the website.")
	}))
	t.Cleanup(server.Close)
	site.url = server.URL
	return site
}

// agree opens the address of the card on the page: a loopback address comes with a warning.
func agree(page *browsertest.Page) (site *browsertest.Page) {
	open := byCSS(`[data-action="open"]`)
	page.WaitFor(open)
	if page.Count(byCSS(`[data-part="findings"] .warn`)) > 0 {
		page.Click(open)
		page.WaitText("Are you sure?")
	}
	site = page.Popup(func() { page.Click(open) })
	site.WaitText("You have come to the website.")
	return site
}

// visit is the params of a url question.
func visit(id, address string) string {
	return fmt.Sprintf(`{"mode":"url","message":"Pay for it","elicitationId":%q,"url":%q}`, id, address)
}

// completed says that the person is done at the address of e1.
const completed = `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}`

// payFirst ends a call with the error that asks for a page.
func payFirst(x *hosttest.Exchange, address string) {
	x.Error(-32042, "pay first", `{"elicitations":[`+visit("e1", address)+`]}`)
}

// shop serves one tool, pay, which asks for a page.
func shop(t *testing.T, revision string, pay hosttest.Tool) (*parley, *hosttest.Server) {
	t.Helper()
	s := hosttest.NewServer(t, &hosttest.Script{Revision: revision, Tools: map[string]hosttest.Tool{"pay": pay}})
	return serve(t, map[string]any{"shop": map[string]any{"url": s.URL}}), s
}

// Form but no url: a server that needs a page meets a client that has forms
// only. The page of this program answers both, and says so in both eras; what a
// host with one of them does is in package host, TestModes. A question of mode url
// without an address is no question, whatever form it brings.
func TestFailureFormButNoURL(t *testing.T) {
	t.Parallel()
	const nowhere = `{"mode":"url","message":"Pay for it","elicitationId":"e1","requestedSchema":{"type":"object","properties":{"card":{"type":"string"}}}}`
	const both = `{"elicitation":{"form":{},"url":{}}}`
	told, initialized := make(chan string, 1), make(chan string, 1)
	legacy := hosttest.NewServer(t, &hosttest.Script{
		Revision: "2025-11-25", Sessionless: true,
		Tools: map[string]hosttest.Tool{"pay": func(x *hosttest.Exchange) {
			told <- string(x.Elicit(nowhere))
			x.Text("no address, no sale")
		}},
		Methods: map[string]hosttest.Tool{"initialize": func(x *hosttest.Exchange) {
			var p struct {
				Capabilities json.RawMessage `json:"capabilities"`
			}
			_ = json.Unmarshal(x.Params, &p)
			select {
			case initialized <- string(p.Capabilities):
			default:
			}
			x.Result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
		}},
	})
	declared := make(chan string, 1)
	modernOne := hosttest.NewServer(t, &hosttest.Script{Tools: map[string]hosttest.Tool{
		"buy": func(x *hosttest.Exchange) {
			declared <- string(x.Meta["io.modelcontextprotocol/clientCapabilities"])
			x.Asks("{"+modern("pay", nowhere)+"}", "waits")
		},
	}})
	p := serve(t, map[string]any{
		"everything": everything(t), "old": map[string]any{"url": legacy.URL}, "new": map[string]any{"url": modernOne.URL},
	})
	// The example server offers this tool only to clients that declare url.
	if got := p.api("GET", "/v1/servers/everything/tools", nil); !strings.Contains(got.Body, `"trigger-url-elicitation"`) {
		t.Errorf("a server that looks first offers %s", got.Body)
	}

	old := p.await(p.run("v_old", "old", "pay", "{}").ID, "done")
	if got := <-told; !strings.Contains(got, "-32602") || strings.Contains(got, "action") {
		t.Errorf("the server was told %s, want the error -32602 and no answer", got)
	}
	if got := texts(t, old); len(got) != 1 || got[0] != "no address, no sale" {
		t.Errorf("the call says %q", got)
	}

	page := signIn(t, p)
	p.run("v_new", "new", "buy", "{}")
	page.Goto(p.base + "/?c=v_new")
	page.WaitText("new asked a question that cannot be shown: it names no address.")
	p.open(0)
	if got := <-declared; got != both {
		t.Errorf("a modern server was told of the capabilities %s, want %s", got, both)
	}
	if got := <-initialized; got != both {
		t.Errorf("a legacy server was told of the capabilities %s, want %s", got, both)
	}
}

// Content fails the server's check: what fits the form may still be wrong, which
// only the server knows. It asks again and says why; the person's first answer
// is filled in, and nothing is sent by itself.
func TestFailureContentFailsTheCheck(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			const again = "Not that word. Say another one"
			wrong := strings.Replace(askWord, "Say a word", again, 1)
			tool := func(x *hosttest.Exchange) {
				switch {
				case x.State == nil:
					x.Asks("{"+modern("word", askWord)+"}", "first")
				case *x.State == "first" && strings.Contains(string(x.Responses["word"]), "rude"):
					x.Asks("{"+modern("word#2", wrong)+"}", "second")
				default:
					x.Text(say(x.Responses["word#2"]))
				}
			}
			if revision != "2026-07-28" {
				tool = func(x *hosttest.Exchange) {
					answer := x.Elicit(askWord)
					if strings.Contains(string(answer), "rude") {
						answer = x.Elicit(wrong)
					}
					x.Text(say(answer))
				}
			}
			p, s := shop(t, revision, tool)
			page := signIn(t, p)
			runTool(page, "pay", "Say a word")
			page.WaitFor(byRole("textbox", "Word"))
			page.Fill("Word", "rude")
			page.Click(button("Send to shop"))
			page.WaitText(again)
			p.open(1)
			before := len(s.Calls())
			page.Fill("Word", "kind")
			page.Click(button("Send to shop").In(card(page, again)))
			if action, content := received(t, p.await(p.calls()[0].ID, "done")); action != "accept" || string(content) != `{"word":"kind"}` {
				t.Errorf("the server got %s with %s", action, content)
			}
			if want := map[string]int{"2026-07-28": 1, "2025-11-25": 0}[revision]; len(s.Calls())-before != want {
				t.Errorf("the server was called %d times after its second question, want %d", len(s.Calls())-before, want)
			}
		})
	}
}

// Decline, and cancel, of a page: the server hears exactly that, nobody has been
// to the website, and a call that ended with -32042 is not sent again.
func TestFailureDeclineOrCancel(t *testing.T) {
	t.Parallel()
	for _, how := range []struct{ press, action, says string }{
		{"Decline", "decline", "You declined"},
		{"Cancel question", "cancel", "You cancelled this question"},
	} {
		t.Run(how.action, func(t *testing.T) {
			t.Parallel()
			site := newWebsite(t)
			asks := map[string]hosttest.Tool{
				"2026-07-28": func(x *hosttest.Exchange) {
					if x.State == nil {
						x.Asks("{"+modern("pay", visit("e1", site.url))+"}", "waits")
						return
					}
					x.Text(say(x.Responses["pay"]))
				},
				"2025-11-25": func(x *hosttest.Exchange) { x.Text(say(x.Elicit(visit("e1", site.url)))) },
			}
			errs := hosttest.NewServer(t, &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
				"error": func(x *hosttest.Exchange) { payFirst(x, site.url) },
			}})
			servers := map[string]any{"errs": map[string]any{"url": errs.URL}}
			for revision, tool := range asks {
				s := hosttest.NewServer(t, &hosttest.Script{Revision: revision, Tools: map[string]hosttest.Tool{revision: tool}})
				servers["s"+revision] = map[string]any{"url": s.URL}
			}
			p := serve(t, servers)
			page := signIn(t, p)
			for tool, server := range map[string]string{"2026-07-28": "s2026-07-28", "2025-11-25": "s2025-11-25", "error": "errs"} {
				c := p.run("v_"+tool, server, tool, "{}")
				page.Goto(p.base + "/?c=v_" + tool)
				page.WaitFor(button(how.press))
				page.Click(button(how.press))
				page.WaitText(how.says)
				c = p.await(c.ID, "done", "failed")
				if tool == "error" {
					if c.State != "failed" || c.Reason != "declined" {
						t.Errorf("after the error the call is %s (%s): %s", c.State, c.Reason, c.Text)
					}
					continue
				}
				if action, content := received(t, c); action != how.action || content != nil {
					t.Errorf("%s: the server got %s with %s, want %s alone", tool, action, content, how.action)
				}
			}
			if n := len(errs.Calls()); n != 1 {
				t.Errorf("the call that ended with the error was sent %d times", n)
			}
			if n := site.visits.Load(); n != 0 {
				t.Errorf("%d visits to a website that nobody agreed to", n)
			}
		})
	}
}

// The browser is closed, the page's own and the website's: that is no answer. The
// question is where it was, also for who comes back with another browser.
func TestFailureBrowserClosed(t *testing.T) {
	t.Parallel()
	site := newWebsite(t)
	p, s := shop(t, "2025-11-25", func(x *hosttest.Exchange) {
		if x.N == 0 {
			payFirst(x, site.url)
			return
		}
		x.Text("paid")
	})
	page := signIn(t, p)
	runTool(page, "pay", "Pay for it")
	address := page.URL()
	agree(page).Close()
	page.WaitFor(button("I have finished"))
	page.Close()

	other := browsertest.Open(t, p.fresh())
	other.WaitText("1 question waiting")
	other.Goto(address)
	if q := p.open(1)[0]; q.State != "opened" || len(s.Calls()) != 1 {
		t.Errorf("the question is %s after %d calls", q.State, len(s.Calls()))
	}
	other.Click(button("I have finished"))
	if got := texts(t, p.await(p.calls()[0].ID, "done")); len(got) != 1 || got[0] != "paid" || len(s.Calls()) != 2 {
		t.Errorf("%q after %d calls", got, len(s.Calls()))
	}
}

// The address is over before it was opened. By the server's own time the call
// ends, says so, and nothing is sent; where the server finds out later it gives
// a new address, which is agreed to anew.
func TestFailureAddressExpired(t *testing.T) {
	t.Parallel()
	t.Run("by the server's time", func(t *testing.T) {
		t.Parallel()
		site := newWebsite(t)
		p, s := shop(t, "2026-07-28", func(x *hosttest.Exchange) {
			over := time.Now().Add(10 * time.Second).UTC().Format(time.RFC3339Nano)
			x.Result(`{"resultType":"input_required","_meta":{"io.github.parley-mcp/expiresAt":"` + over + `"},
				"inputRequests":{` + modern("pay", visit("e1", site.url)) + `},"requestState":"waits"}`)
		})
		page := signIn(t, p)
		runTool(page, "pay", "Pay for it")
		id := p.calls()[0].ID
		p.await(id, "expired")
		page.WaitText("so the question ended")
		page.WaitFor(button("Run again"))
		if n := page.Count(byCSS(`[data-action="open"]`)); n != 0 {
			t.Errorf("%d buttons open an address that is over", n)
		}
		late := p.api("POST", "/v1/questions/"+p.await(id, "expired").Questions[0]+"/answer", map[string]any{"action": "decline"}).trouble(t)
		if late.Code != "question_closed" || late.ClosedBy != "expiry" || late.Detail != "The time to answer has passed." {
			t.Errorf("an answer now is %+v", late)
		}
		if len(s.Calls()) != 1 || site.visits.Load() != 0 {
			t.Errorf("%d calls, %d visits", len(s.Calls()), site.visits.Load())
		}
	})
	t.Run("by the server's word", func(t *testing.T) {
		t.Parallel()
		site := newWebsite(t)
		p, s := shop(t, "2026-07-28", func(x *hosttest.Exchange) {
			switch {
			case x.State == nil:
				x.Asks("{"+modern("pay", visit("e1", site.url+"/old"))+"}", "first")
			case *x.State == "first":
				x.Asks("{"+modern("pay#2", visit("e2", site.url+"/fresh"))+"}", "second")
			default:
				x.Text(say(x.Responses["pay#2"]))
			}
		})
		page := signIn(t, p)
		runTool(page, "pay", "Pay for it")
		agree(page).Close()
		page.Click(button("I have finished"))
		page.WaitText("The server asks again with a new address.")
		if q := p.open(1)[0]; q.State != "open" {
			t.Errorf("the fresh address is %s before anybody agreed", q.State)
		}
		if got := page.Text(byCSS(`[data-part="address"]`)); got != site.url+"/fresh" {
			t.Errorf("the card shows %s", got)
		}
		agree(page)
		page.Click(button("I have finished"))
		if action, _ := received(t, p.await(p.calls()[0].ID, "done")); action != "accept" || len(s.Calls()) != 3 || site.visits.Load() != 2 {
			t.Errorf("%s after %d calls and %d visits", action, len(s.Calls()), site.visits.Load())
		}
	})
}

// The completion is lost: the server told a host that was gone by then. The
// person says that they have finished (MCP 2025-11-25 elicitation, "Completion
// Notifications for URL Mode Elicitation" C2).
func TestFailureCompletionLost(t *testing.T) {
	t.Parallel()
	site := newWebsite(t)
	p, s := shop(t, "2025-11-25", func(x *hosttest.Exchange) {
		if x.N == 0 {
			payFirst(x, site.url)
			return
		}
		x.Text("paid")
	})
	page := signIn(t, p)
	runTool(page, "pay", "Pay for it")
	q := p.open(1)[0]
	p.kill()
	s.Standalone(completed) // in the session of a host that is gone
	s.ForgetSessions()
	p.again()
	page.Reload()
	page.WaitText("Pay for it")
	if got := p.open(1)[0]; got.ID != q.ID || got.State != "open" || len(s.Calls()) != 1 {
		t.Errorf("the question is %s after %d calls", got.State, len(s.Calls()))
	}
	agree(page)
	page.Click(button("I have finished"))
	page.WaitText("Answer from shop")
	if got := texts(t, p.await(q.Call, "done")); len(got) != 1 || got[0] != "paid" || len(s.Calls()) != 2 {
		t.Errorf("%q after %d calls", got, len(s.Calls()))
	}
}

// The call is retried after the completion: once, by itself. Whatever comes
// later, a second completion or the person's own word, sends nothing more.
func TestFailureRetriedAfterCompletion(t *testing.T) {
	t.Parallel()
	site := newWebsite(t)
	p, s := shop(t, "2025-11-25", func(x *hosttest.Exchange) {
		if x.N == 0 {
			payFirst(x, site.url)
			return
		}
		x.Text("paid")
	})
	page := signIn(t, p)
	runTool(page, "pay", "Pay for it")
	q := p.open(1)[0]
	agree(page)
	page.WaitFor(button("I have finished"))
	s.Standalone(completed)
	page.WaitText("Answer from shop") // without another click
	page.WaitText("that you are done on")
	if got := texts(t, p.await(q.Call, "done")); len(got) != 1 || got[0] != "paid" || len(s.Calls()) != 2 {
		t.Errorf("%q after %d calls", got, len(s.Calls()))
	}
	late := p.api("POST", "/v1/questions/"+q.ID+"/answer", map[string]any{"action": "accept"}).trouble(t)
	if late.Code != "question_closed" || late.ClosedBy != "server" || late.Detail != "The server said that it is done there, and the call went on." {
		t.Errorf("the person's word after it: %+v", late)
	}
	s.Standalone(completed)
	// A second call of the same kind shows that the host has read that, and would have acted on it.
	p.await(p.run("v_next", "shop", "pay", "{}").ID, "done")
	if n := len(s.Calls()); n != 3 {
		t.Errorf("the server was called %d times, want 3", n)
	}
	if got := faults(page); len(got) > 0 {
		t.Errorf("errors on the console: %q", got)
	}
}

// A look-alike domain: the card shows the name in letters that cannot deceive,
// says what it looks like, and opens nothing at the first click. What hides its
// true host altogether is never opened.
func TestFailureLookAlikeDomain(t *testing.T) {
	t.Parallel()
	addresses := map[string]string{
		"cyrillic": "https://p\u0430ypal.com/pay",
		"hidden":   "https://paypal.com@pay.example/pay",
	}
	tools := map[string]hosttest.Tool{}
	for name, address := range addresses {
		tools[name] = func(x *hosttest.Exchange) {
			if x.State == nil {
				x.Asks("{"+modern("pay", strings.ReplaceAll(visit("e1", address), `\\u`, `\u`))+"}", "waits")
				return
			}
			x.Text(say(x.Responses["pay"]))
		}
	}
	s := hosttest.NewServer(t, &hosttest.Script{Tools: tools})
	p := serve(t, map[string]any{"shop": map[string]any{"url": s.URL}})
	page := signIn(t, p)

	runTool(page, "cyrillic", "Pay for it")
	if got := page.Text(byCSS(`[data-part="site"] strong`)); got != "xn--pypal-4ve.com" {
		t.Errorf("the card calls the website %s", got)
	}
	if got := page.Text(byCSS(`[data-part="findings"]`)); !strings.Contains(got, "Warning:") || !strings.Contains(got, "paypal.com") {
		t.Errorf("the card warns %q", got)
	}
	page.Click(byCSS(`[data-action="open"]`))
	page.WaitText("Are you sure?")
	page.WaitFor(button("Open xn--pypal-4ve.com anyway"))
	if q := p.open(1)[0]; q.State != "open" {
		t.Errorf("the question is %s after a first click", q.State)
	}
	page.Click(button("Do not open"))
	page.Click(button("Decline"))
	page.WaitText("You declined")

	page.Click(button("Run another tool"))
	runTool(page, "hidden", "Parley does not open this address.")
	q := p.open(1)[0]
	if n := page.Count(byCSS(`[data-question="` + q.ID + `"] [data-action="open"]`)); n != 0 {
		t.Errorf("%d buttons open what is refused", n)
	}
	page.Click(button("Decline").In(byCSS(`[data-question="` + q.ID + `"]`)))
	if action, _ := received(t, p.await(q.Call, "done")); action != "decline" {
		t.Errorf("the server got %s", action)
	}
	for _, request := range page.Requests() {
		if strings.Contains(request, "pypal") || strings.Contains(request, "pay.example") {
			t.Errorf("the page asked for %s", request)
		}
	}
}
