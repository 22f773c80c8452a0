package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// A person signs in to a server in a browser: the page shows where it goes before it
// goes there, the way back ends the sign-in, and the server's tools are there.
func TestSignInToAServer(t *testing.T) {
	t.Parallel()
	provider, issuer := fakeprovider.Start(t, nil)
	mcp := hosttest.NewServer(t, &hosttest.Script{
		Tools: map[string]hosttest.Tool{"greet": func(x *hosttest.Exchange) { x.Text("hello") }},
		Intercept: func(w http.ResponseWriter, r *http.Request, _ string) bool {
			passed := false
			provider.Protect(issuer, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
			return !passed
		},
	})
	p := serve(t, map[string]any{"shop": map[string]any{"url": mcp.URL, "parley": map[string]any{"oauth": map[string]any{"scopes": []string{"openid"}}}}})
	page := signIn(t, p)
	begin := browsertest.ByCSS(`[data-server="shop"] [data-action="sign-in"]`) // another one stands where the tools would be
	page.Click(begin)
	page.WaitText("Check that this is where you have your account.")
	if findings := page.Axe(); len(findings) > 0 {
		t.Errorf("axe: %q", findings)
	}
	address := leaves(page)
	if !strings.HasPrefix(address, issuer+"/authorize?") {
		t.Fatalf("the page leads to %q", address)
	}
	tab := page.Tab(address) // the provider consents at once, and sends the browser back
	tab.WaitText("You are signed in to shop as ada@id.example.")
	if at := browsertest.Eval[string](tab, `location.href`); at != p.base+"/sign-in/servers/callback" {
		t.Errorf("the address still says %q", at)
	}
	for _, one := range []*browsertest.Page{page, tab} {
		for _, fault := range faults(one) {
			// Before the sign-in the server's tools cannot be listed, and browsers say so.
			if !strings.Contains(fault, "502") || !strings.Contains(fault, "/v1/servers/shop/tools") {
				t.Errorf("the console: %s", fault)
			}
		}
	}
	if findings := tab.Axe(); len(findings) > 0 {
		t.Errorf("axe: %q", findings)
	}
	// The same way back again: an answer may be lost on its way to the browser.
	page.Tab(address).WaitText("You are signed in to shop as ada@id.example.")
	tab.Click(browsertest.ByCSS(`[data-action=back]`))
	tab.WaitText("greet")
	if provider.Counts().Exchange != 1 {
		t.Errorf("%d exchanges", provider.Counts().Exchange)
	}
}

// An answer of a proxy in front, or that it took too long, does not say whether the sign-in
// is done: it is asked again, also when it then is over.
func TestSignInCutByAProxy(t *testing.T) {
	t.Parallel()
	p := serve(t, map[string]any{"shop": map[string]any{"url": "http://" + servicetest.FreeAddr(t), "parley": map[string]any{"oauth": map[string]any{"scopes": []string{"openid"}}}}})
	to, err := url.Parse(p.base)
	if err != nil {
		t.Fatal(err)
	}
	cut := make(chan func(w http.ResponseWriter), 1)
	pass := httputil.NewSingleHostReverseProxy(to)
	pass.FlushInterval = -1
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/servers/sign-in/callback" {
			select {
			case answer := <-cut:
				answer(w)
				return
			default:
			}
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	page := browsertest.Open(t, strings.Replace(p.address, p.base, front.URL, 1))
	page.WaitText("Signed in")
	again := browsertest.ByCSS(`[data-action="again"]`)
	for _, test := range []struct {
		status     int
		kind, body string
	}{
		{http.StatusBadGateway, "text/html", "<!doctype html><title>502 Bad Gateway</title>"},
		{http.StatusGatewayTimeout, "text/html", "<!doctype html><title>504 Gateway Time-out</title>"},
		{http.StatusGatewayTimeout, "application/problem+json", `{"type":"about:blank","title":"It took too long.","status":504,"code":"timeout"}`},
	} {
		cut <- func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", test.kind)
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}
		page.Goto(front.URL + "/sign-in/servers/callback?state=nobody-began-this&code=x")
		page.Click(again)
		page.WaitText("was begun by somebody else") // the host's own answer
		page.WaitFor(again)
	}
	page.Goto(front.URL + "/sign-in/servers/callback?state=nobody-began-this&code=x")
	page.WaitText("was begun by somebody else")
	if n := page.Count(again); n != 0 {
		t.Errorf("%d buttons to ask again about a sign-in that nobody began", n)
	}
}

// leaves is the address that the page leads to.
func leaves(page *browsertest.Page) string {
	return browsertest.Eval[string](page, `(() => { const find = (root) => { for (const node of root.querySelectorAll('*')) { if (node.dataset && node.dataset.action === 'leave') return node.href; const inner = node.shadowRoot && find(node.shadowRoot); if (inner) return inner } return '' }; return find(document) })()`)
}

// A sign-in that failed is begun anew where it ended.
func TestSignInFailsAndIsBegunAnew(t *testing.T) {
	t.Parallel()
	provider, issuer := fakeprovider.Start(t, nil)
	mcp := hosttest.NewServer(t, &hosttest.Script{
		Intercept: func(w http.ResponseWriter, r *http.Request, _ string) bool {
			passed := false
			provider.Protect(issuer, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
			return !passed
		},
	})
	p := serve(t, map[string]any{"shop": map[string]any{"url": mcp.URL, "parley": map[string]any{"oauth": map[string]any{"scopes": []string{"openid"}}}}})
	page := signIn(t, p)
	begin := browsertest.ByCSS(`[data-server="shop"] [data-action="sign-in"]`)
	page.Click(begin)
	page.WaitText("Check that this is where you have your account.")
	provider.Misbehave("token", fakeprovider.Fault{Status: http.StatusServiceUnavailable})
	tab := page.Tab(leaves(page))
	tab.WaitText("its authorization server cannot be reached now")
	if findings := tab.Axe(); len(findings) > 0 {
		t.Errorf("axe: %q", findings)
	}
	tab.Click(browsertest.ByCSS(`[data-action="sign-in"]`))
	tab.WaitText("Check that this is where you have your account.")
	if findings := tab.Axe(); len(findings) > 0 {
		t.Errorf("axe: %q", findings)
	}
	page.Tab(leaves(tab)).WaitText("You are signed in to shop as ada@id.example.")
}
