package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/internal/fakeprovider"
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
	begin := browsertest.ByRole("button", "Sign in to shop")
	page.Click(begin)
	page.WaitText("Check that this is where you have your account.")
	if findings := page.Axe(); len(findings) > 0 {
		t.Errorf("axe: %q", findings)
	}
	address := browsertest.Eval[string](page, `(() => { const find = (root) => { for (const node of root.querySelectorAll('*')) { if (node.dataset && node.dataset.action === 'leave') return node.href; const inner = node.shadowRoot && find(node.shadowRoot); if (inner) return inner } return '' }; return find(document) })()`)
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
	tab.Click(browsertest.ByCSS(`[data-action=back]`))
	tab.WaitText("greet")
	if provider.Counts().Exchange != 1 {
		t.Errorf("%d exchanges", provider.Counts().Exchange)
	}
}
