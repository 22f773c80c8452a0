// Package vectors_test holds the browser's half against Go's: the tables that
// packages link and form test themselves with are given to a real Chromium, in
// which the product's own scripts run under the product's own policy. Where the
// two disagree about what an address is, or what a person answered, one is wrong.
//
// The accessibility trees in testdata/ax are what a screen reader is told. go
// test -update rewrites them; read the difference aloud.
package vectors_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/interop/browsertest"
	"github.com/parley-mcp/parley/web"
)

var update = flag.Bool("update", false, "rewrite the accessibility trees in testdata/ax")

func TestMain(m *testing.M) { browsertest.Main(m) }

// bundle builds web/src/testonly with the product's own bundler.
var bundle = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "parley-vectors-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	command := exec.Command("go", "run", "./bundle", "-src", "../web/src/testonly", "-out", dir)
	command.Dir = filepath.Join("..", "..", "tools")
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("bundling: %w\n%s", err, out)
	}
	return os.ReadFile(filepath.Join(dir, "testOnlyForm.js"))
})

const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Form</title>
<link rel="icon" href="%s"><link rel="stylesheet" href="%s">%s</head><body><main><h1>Forms</h1><h2>Conversation</h2>%s</main></body></html>`

// serve starts a site under the product's policy: / with the form on its own,
// /card with the card of question q1 as pages embed it, /twice with two copies of
// the script, /private with an inbox that keeps no drafts.
func serve(t *testing.T, question any) string {
	t.Helper()
	script, err := bundle()
	if err != nil {
		t.Fatal(err)
	}
	html := func(scripts, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, page, web.AssetPath("icon.svg"), web.AssetPath("page.css"), scripts, body)
		}
	}
	javascript := func(text []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			w.Write(text)
		}
	}
	fill, err := os.ReadFile(filepath.Join("testdata", "fill.js"))
	if err != nil {
		t.Fatal(err)
	}
	reply := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(v)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", html(`<script src="/fill.js"></script><script type="module" src="/form.js"></script>`, "<h3>Call</h3>"))
	mux.Handle("GET /card", html(`<script type="module" src="`+web.AssetPath("elements.js")+`"></script>`,
		`<parley-question question-id="q1"></parley-question>`))
	mux.Handle("GET /private", html(`<script type="module" src="`+web.AssetPath("elements.js")+`"></script>`, `<parley-inbox no-drafts></parley-inbox>`))
	mux.Handle("GET /twice", html(`<script type="module" src="`+web.AssetPath("elements.js")+`"></script><script type="module" src="/assets/elements.js"></script>`,
		`<parley-question question-id="q1"></parley-question>`))
	mux.Handle("GET /form.js", javascript(script))
	mux.Handle("GET /fill.js", javascript(fill))
	mux.Handle("GET /assets/", web.Assets())
	mux.Handle("GET /v1/session", reply(map[string]any{"principal": map[string]string{"subject": "ada"}, "name": "Ada"}))
	mux.Handle("GET /v1/questions/q1", reply(question))
	mux.Handle("GET /v1/questions", reply(map[string]any{"questions": []any{question}}))
	mux.Handle("GET /v1/approvals", reply(map[string]any{"approvals": []any{}}))
	mux.Handle("GET /v1/refusals", reply(map[string]any{"refusals": []any{}}))
	mux.HandleFunc("POST /v1/questions/q1/shown", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.Handle("GET /v1/servers", reply(map[string]any{"servers": []any{}}))
	mux.Handle("GET /v1/conversations", reply(map[string]any{"conversations": []any{}}))
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: hello\ndata: {}\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", web.CSP)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// jsString is text as an expression of JavaScript.
func jsString(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

// faultless fails the test if the page complained or asked another machine.
func faultless(t *testing.T, p *browsertest.Page) {
	t.Helper()
	for _, fault := range p.Console() {
		t.Errorf("the page's console: %s", fault)
	}
	for _, request := range p.Requests() {
		// The one thing that a page sends by itself is that a card was in sight.
		shown := strings.HasPrefix(request, "POST http://127.0.0.1:") && strings.HasSuffix(request, "/v1/questions/q1/shown")
		if !strings.HasPrefix(request, "GET http://127.0.0.1:") && !shown {
			t.Errorf("the page asked for %s", request)
		}
	}
}
