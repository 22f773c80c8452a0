package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// TestLanguages: in a page of another language the elements speak it, in its direction,
// and fit into a narrow window. A question and a permission are on it.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for language, want := range map[string]struct{ direction, heading, question, button string }{
		"de": {"ltr", "1 Frage wartet, 1 Erlaubnis zu entscheiden", "An desk senden", "In dieser Unterhaltung erlauben"},
		"ar": {"rtl", "سؤال واحد بانتظارك، إذن واحد للبت فيه", "إرسال إلى desk", "السماح في هذه المحادثة"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			var base, token string
			mux := http.NewServeMux()
			mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				fmt.Fprintf(w, `<!doctype html><html lang="%s" dir="%s"><meta name="viewport" content="width=device-width"><title>Product</title><link rel="icon" href="/icon.png">
					<main><parley-inbox base="%s"></parley-inbox></main><script src="/token.js"></script><script type="module" src="%s/assets/elements.js"></script>`, language, want.direction, base, base)
			})
			mux.HandleFunc("GET /token.js", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
				fmt.Fprintf(w, `document.querySelector('parley-inbox').getToken = async () => %s;`, quote(token))
			})
			mux.HandleFunc("GET /icon.png", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "image/png") })
			origin := newSite(t, mux)
			o := newOffice(t, officeTools, origin)
			base, token = o.base, o.mint("zoe", "job-1", "read", "answer")
			zoe := inbox.Principal{Issuer: "https://product.example", Subject: "zoe"}
			for tool, arguments := range map[string]string{"book": `{}`, "clean": `{"rows":12,"note":"all"}`} {
				if _, err := o.host.Start(t.Context(), zoe, host.NewCall{
					Conversation: "job-1", Actor: inbox.Model, Server: "desk", Name: tool, Arguments: json.RawMessage(arguments),
				}); err != nil {
					t.Fatal(err)
				}
			}
			page := browsertest.Open(t, origin)
			page.WaitFor(byRole("heading", want.heading))
			page.WaitFor(button(want.question))
			page.WaitFor(button(want.button))
			if got := browsertest.Eval[string](page, `getComputedStyle(document.querySelector('parley-inbox')).direction`); got != want.direction {
				t.Errorf("the direction is %s", got)
			}
			sound(t, page)
			page.Media(browsertest.Media{Width: 320, Height: 640})
			shot(page, "language-"+language)
		})
	}
}
