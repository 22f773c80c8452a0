package browsertest_test

import (
	"flag"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/interop/browsertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { browsertest.Main(m) }

// serve starts the site in testdata under a policy as strict as the product's.
func serve(t *testing.T) string {
	files := http.FileServer(http.Dir("testdata"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
		if r.URL.Path == "/favicon.ico" {
			return
		}
		if r.URL.Path == "/401" {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte("<!doctype html><title>Sign in</title><p>Who are you?"))
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestFillFixAndSend(t *testing.T) {
	t.Parallel()
	url := serve(t)
	p := browsertest.Open(t, url+"/page.html")
	travel := browsertest.ByRole("group", "travel asks")

	p.Press("Tab", "Tab", "Shift+Tab")
	if got, want := p.Focused(), `textbox "Amount"`; got != want {
		t.Errorf("Focused() = %s, want %s", got, want)
	}
	p.Type("12x")
	p.Click(browsertest.ByRole("button", "Send to travel"))
	p.WaitText("Amount must be a whole number")
	golden(t, "error.txt", p.AX(travel))

	p.Press("Backspace", "Control+a")
	p.Type("7")
	p.Press("Enter", "Tab")
	p.Click(browsertest.ByRole("checkbox", "Meal").In(travel))
	p.Focus(browsertest.ByRole("button", "Send to travel"))
	p.Press("Space")
	p.WaitText("travel: 7, , w, true")
	if diff := cmp.Diff(map[string]string{"travel": "7"}, p.LocalStorage()); diff != "" {
		t.Errorf("LocalStorage() (-want +got):\n%s", diff)
	}
	if faults := p.Console(); len(faults) > 0 {
		t.Errorf("errors on the console: %q", faults)
	}
	want := []string{"GET " + url + "/page.html", "GET " + url + "/card.js"}
	got := slices.DeleteFunc(p.Requests(), func(r string) bool { return strings.HasSuffix(r, "/favicon.ico") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Requests() (-want +got):\n%s", diff)
	}

	p.Reload()
	if text := p.Text(browsertest.ByCSS("#shown").In(browsertest.ByCSS("demo-card[server=travel]"))); text != "" {
		t.Errorf("after a reload the card says %q", text)
	}
	if got := p.LocalStorage()["travel"]; got != "7" {
		t.Errorf("after a reload the storage holds %q, want 7", got)
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t)+"/page.html")
	p.WaitFor(browsertest.ByRole("button", "Send to bank"))
	if got := p.Count(browsertest.ByRole("textbox", "Amount")); got != 2 {
		t.Errorf("%d fields called Amount, want 2", got)
	}
	browsertest.Eval[any](p, `document.querySelector('demo-card').remove()`)
	p.WaitGone(browsertest.ByRole("group", "travel asks"))
	p.Fill("Amount", "1")
	p.Fill("Amount", "2")
	p.Fill("Day", "2026-07-28")
	p.Fill("Seat", "Aisle")
	p.Click(browsertest.ByRole("button", "Send to bank"))
	p.WaitText("bank: 2, 2026-07-28, a, false")
	p.Fill("Amount", "")
	p.Click(browsertest.ByCSS("section > button:not([disabled])"))
	p.WaitText("Amount must be a whole number")
}

// A page that draws itself anew, or moves the focus, while it is worked on.
func TestRestlessPage(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t)+"/page.html")
	send := browsertest.ByRole("button", "Send to bank")
	p.WaitFor(send)
	browsertest.Eval[any](p, `void (() => {
		document.querySelector('demo-card').remove();
		const {shadowRoot} = document.querySelector('demo-card');
		const amount = shadowRoot.querySelector('#amount');
		amount.value = 'old';
		amount.addEventListener('focus', () => queueMicrotask(() => shadowRoot.querySelector('#day').focus()), {once: true});
		const button = shadowRoot.querySelector('button');
		button.addEventListener('mousedown', () => { // a new one in its place
			const next = button.cloneNode(true);
			next.onclick = button.onclick;
			button.replaceWith(next);
			next.addEventListener('mousedown', () => { // another one in its place, and it moves down
				next.before(document.createElement('button'));
				next.addEventListener('mousedown', () => {
					next.ariaDisabled = 'true';
					setTimeout(() => { next.ariaDisabled = null; });
				}, {once: true});
			}, {once: true});
		}, {once: true});
	})()`)
	p.Fill("Amount", "7")
	p.Click(send)
	p.WaitText("bank: 7, , w, false")
}

func TestText(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t)+"/page.html")
	p.WaitText("Send to bank")
	text := p.Text(browsertest.Query{})
	for _, want := range []string{"Questions", "Text of the page", "Send to travel", "Whole number."} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "nobody sees this") {
		t.Errorf("the text has what nobody sees:\n%s", text)
	}
	if got := p.Text(browsertest.ByCSS("#outside")); got != "Text of the page" {
		t.Errorf("Text(#outside) = %q", got)
	}
	golden(t, "page.txt", p.AX())
}

func TestMedia(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t)+"/page.html")
	const facts = `[innerWidth, innerHeight, matchMedia('(prefers-color-scheme: dark)').matches, matchMedia('(forced-colors: active)').matches,
		matchMedia('(prefers-reduced-motion: reduce)').matches, navigator.language, new Intl.NumberFormat().resolvedOptions().locale].join()`
	for _, test := range []struct {
		media browsertest.Media
		want  string
	}{
		{browsertest.Media{}, "1280,800,false,false,false,en-US,en-US"},
		{browsertest.Media{Width: 320, Height: 640, Dark: true, Locale: "de"}, "320,640,true,false,false,de,de"},
		{browsertest.Media{Width: 640, Height: 640, TextScale: 2, ForcedColors: true, ReducedMotion: true, Locale: "ar"}, "320,320,false,true,true,ar,ar"},
		{browsertest.Media{}, "1280,800,false,false,false,en-US,en-US"},
	} {
		p.Media(test.media)
		p.Reload()
		if got := browsertest.Eval[string](p, facts); got != test.want {
			t.Errorf("Media(%+v) shows the page %s, want %s", test.media, got, test.want)
		}
	}
	path := filepath.Join(t.TempDir(), "shot.png")
	p.Shot(path)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if config, err := png.DecodeConfig(file); err != nil || config.Width != 1280 || config.Height != 800 {
		t.Errorf("the screenshot is %d×%d (%v), want 1280×800", config.Width, config.Height, err)
	}
}

func TestProfilesAndTabs(t *testing.T) {
	t.Parallel()
	url := serve(t)
	p, stranger := browsertest.Open(t, url+"/page.html"), browsertest.Open(t, url+"/page.html")
	browsertest.Eval[any](p, `localStorage.setItem('mine', '1')`)
	tab := p.Tab(url + "/other.html")
	if got := tab.LocalStorage()["mine"]; got != "1" {
		t.Errorf("the second tab's storage holds %q, want 1", got)
	}
	if got := stranger.LocalStorage(); len(got) > 0 {
		t.Errorf("the other profile's storage holds %v, want nothing", got)
	}
	popup := p.Popup(func() { p.Click(browsertest.ByRole("link", "Open other")) })
	popup.WaitText("Another page")
	if got, want := popup.URL(), url+"/other.html"; got != want {
		t.Errorf("the window shows %s, want %s", got, want)
	}
	popup.Close()
	// A window that can reach its opener shares its process.
	popup = p.Popup(func() { browsertest.Eval[any](p, `void window.open('/other.html')`) })
	popup.WaitText("Another page")
	popup.Close()
	tab.Close()
	p.Goto(url + "/401")
	p.WaitText("Who are you?")
}

func TestNothingGoesBeyond(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t)+"/page.html")
	beyond := func() []string {
		return slices.DeleteFunc(p.Requests(), func(r string) bool { return !strings.HasPrefix(r, "beyond: ") })
	}
	if got := beyond(); len(got) > 0 {
		t.Errorf("before the click: %q", got)
	}
	p.Click(browsertest.ByRole("link", "Leave"))
	p.Wait("the visit to bank.example", func() bool { return slices.Contains(beyond(), "beyond: CONNECT bank.example:443") })
}

func TestConsole(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t)+"/page.html")
	browsertest.Eval[any](p, `setTimeout(() => { console.log('fine'); console.error('bad'); fetch('https://tracker.example/').catch(() => {}); alert('stop'); undefinedName })`)
	p.Wait("all faults", func() bool {
		all := strings.Join(p.Console(), "\n")
		return strings.Contains(all, "error: bad") && strings.Contains(all, "tracker.example") &&
			strings.Contains(all, "dialog: stop") && strings.Contains(all, "undefinedName")
	})
	if all := strings.Join(p.Console(), "\n"); strings.Contains(all, "log: fine") {
		t.Errorf("console.log is among the faults:\n%s", all)
	}
}

func TestAxe(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t)+"/page.html")
	p.WaitFor(browsertest.ByRole("button", "Send to bank"))
	before := p.Axe()
	// A fault in a shadow root must be seen: a field without a name.
	browsertest.Eval[any](p, `document.querySelector('demo-card').shadowRoot.append(document.createElement('textarea'))`)
	after := p.Axe()
	if len(after) != len(before)+1 || !slices.ContainsFunc(after, func(f string) bool { return strings.HasPrefix(f, "label: ") }) {
		t.Errorf("axe found %q, and with a nameless field %q", before, after)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
