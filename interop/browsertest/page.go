package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// A Page is one tab.
type Page struct {
	t       testing.TB
	browser *chromium
	ctx     context.Context
	close   context.CancelFunc
	closed  bool
	locale  string // what [Page.Media] left in force
	log     *pageLog
	readers chan struct{} // closed when the goroutine that reads the console ended
}

// Open opens url in a profile of its own and waits until it has loaded. The
// page is closed when the test ends. The viewport is 1280×800.
func Open(t testing.TB, url string) *Page {
	t.Helper()
	browser, err := start()
	if err != nil {
		t.Fatalf("browsertest: %v", err)
	}
	wall := newWall()
	t.Cleanup(wall.server.Close) // after the page's own, which open registers
	p := open(browser.ctx, t, browser, newPageLog(wall), chromedp.WithNewBrowserContext(func(c *target.CreateBrowserContextParams) {
		// Loopback addresses go past a proxy unless told otherwise, and
		// the rest meets the wall.
		c.ProxyServer = wall.server.URL
	}))
	p.Goto(url)
	return p
}

// Tab opens url in a second tab of the same profile.
func (p *Page) Tab(url string) *Page {
	p.t.Helper()
	tab := open(p.ctx, p.t, p.browser, p.log.sibling())
	tab.Goto(url)
	return tab
}

// Popup does what makes the page open a window, and returns that window.
func (p *Page) Popup(do func()) *Page {
	p.t.Helper()
	opened := chromedp.WaitNewTarget(p.ctx, func(*target.Info) bool { return true })
	do()
	select {
	case id := <-opened:
		return open(p.ctx, p.t, p.browser, p.log.sibling(), chromedp.WithTargetID(id))
	case <-time.After(patience):
		p.t.Fatalf("browsertest: no window was opened in %v", patience)
		return nil
	}
}

func open(parent context.Context, t testing.TB, browser *chromium, log *pageLog, options ...chromedp.ContextOption) *Page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, append(options, chromedp.WithListener(log.event))...)
	p := &Page{t: t, browser: browser, ctx: ctx, close: cancel, locale: browserLocale, log: log, readers: make(chan struct{})}
	t.Cleanup(p.Close)
	// Not under a deadline: the tab lives as long as the context of its first call.
	if err := chromedp.Do(ctx); err != nil {
		close(p.readers)
		t.Fatalf("browsertest: opening a tab: %v", err)
	}
	messages := chromedp.Console(ctx)
	go func() {
		defer close(p.readers)
		for message, err := range messages {
			if err != nil {
				return
			}
			log.console(message)
		}
	}()
	log.answerDialogs(ctx)
	call(p, accessibility.Enable, cdp.Empty{})
	// Every page believes to be the one in front, so tests run side by side.
	call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	p.Media(Media{})
	return p
}

// call sends one command to the tab; an error ends the test.
func call[P, R any](p *Page, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	result, err := try(p, command, params)
	if err != nil {
		p.t.Fatalf("browsertest: %s: %v", command.Method, err)
	}
	return result
}

func try[P, R any](p *Page, command cdp.Command[P, R], params P) (R, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Call(ctx, command, params)
}

// Goto loads url in the tab and waits for its load event. Any HTTP status is
// fine; a host that does not answer is not.
func (p *Page) Goto(url string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		p.t.Fatalf("browsertest: loading %s: %v", url, err)
	}
}

// Reload loads the page again, from the server, and waits for its load event.
func (p *Page) Reload() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Reload()); err != nil {
		p.t.Fatalf("browsertest: reloading: %v", err)
	}
}

// Close closes the tab, and first logs what it shows when the test has failed.
// The end of the test does it too.
func (p *Page) Close() {
	if p.closed {
		return
	}
	p.closed = true
	if p.t.Failed() {
		p.t.Log(p.dump())
	}
	p.close()
	<-p.readers
}

// Media is what the page is shown on.
type Media struct {
	Width, Height int     // CSS pixels; 0 means 1280×800
	Dark          bool    // prefers-color-scheme: dark
	ForcedColors  bool    // forced-colors: active
	ReducedMotion bool    // prefers-reduced-motion: reduce
	TextScale     float64 // page zoom of the person, 2 for 200 %; 0 means 1
	Locale        string  // BCP 47, for navigator.language and Accept-Language; empty means en-US
}

// Media changes what the page is shown on. What m leaves zero goes back to its
// default. A page that asked for the language before must be reloaded.
func (p *Page) Media(m Media) {
	p.t.Helper()
	if m.Width == 0 {
		m.Width, m.Height = 1280, 800
	}
	if m.TextScale == 0 {
		m.TextScale = 1
	}
	if m.Locale == "" {
		m.Locale = browserLocale
	}
	// Zooming is what a narrower viewport with larger pixels is.
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width:             int64(float64(m.Width) / m.TextScale),
		Height:            int64(float64(m.Height) / m.TextScale),
		DeviceScaleFactor: m.TextScale,
	})
	either := func(on bool, yes, no string) string {
		if on {
			return yes
		}
		return no
	}
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: either(m.Dark, "dark", "light")},
		{Name: "forced-colors", Value: either(m.ForcedColors, "active", "none")},
		{Name: "prefers-reduced-motion", Value: either(m.ReducedMotion, "reduce", "no-preference")},
	}})
	call(p, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent: p.browser.userAgent, AcceptLanguage: m.Locale,
	})
	// Only the default locale of Intl, which a renderer process has one of and
	// one tab may change: a popup may share its opener's process, so a tab that
	// keeps the browser's own locale must not ask. A second change of the same
	// tab is refused as well, so the first is taken back.
	if m.Locale == p.locale {
		return
	}
	if p.locale != browserLocale {
		call(p, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{})
	}
	if m.Locale != browserLocale {
		call(p, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: m.Locale})
	}
	p.locale = m.Locale
}

// Eval evaluates a JavaScript expression in the page, waits for its promise,
// and returns its JSON value. An exception ends the test.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	value, err := eval[T](p, expression)
	if err != nil {
		p.t.Fatalf("browsertest: %v", err)
	}
	return value
}

func eval[T any](p *Page, expression string) (T, error) {
	var value T
	result, err := try(p, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, ReturnByValue: new(true), AwaitPromise: new(true), UserGesture: new(false),
	})
	if err != nil {
		return value, fmt.Errorf("evaluating %s: %w", expression, err)
	}
	if err := thrown(result.ExceptionDetails); err != nil {
		return value, fmt.Errorf("evaluating %s: %w", expression, err)
	}
	if len(result.Result.Value) == 0 {
		return value, nil // undefined
	}
	if err := json.Unmarshal(result.Result.Value, &value); err != nil {
		return value, fmt.Errorf("evaluating %s: %w", expression, err)
	}
	return value, nil
}

func thrown(details *runtime.ExceptionDetails) error {
	if details == nil {
		return nil
	}
	if details.Exception != nil && details.Exception.Description != "" {
		return fmt.Errorf("the page threw %s", details.Exception.Description)
	}
	return fmt.Errorf("the page threw %s", details.Text)
}

// LocalStorage returns what the page's origin keeps in its local storage.
func (p *Page) LocalStorage() map[string]string {
	p.t.Helper()
	return Eval[map[string]string](p, `({...localStorage})`)
}

// URL returns the address that the tab shows.
func (p *Page) URL() string {
	p.t.Helper()
	return Eval[string](p, `location.href`)
}

// Shot writes a PNG of the viewport to path.
func (p *Page) Shot(path string) {
	p.t.Helper()
	if err := p.shot(path); err != nil {
		p.t.Fatalf("browsertest: taking a screenshot: %v", err)
	}
}

func (p *Page) shot(path string) error {
	result, err := try(p, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, result.Data, 0o644)
}

// Wait waits until cond holds; what says what is awaited. cond is called again
// and again and must not fail the test.
func (p *Page) Wait(what string, cond func() bool) {
	p.t.Helper()
	p.wait(func() error {
		if cond() {
			return nil
		}
		return fmt.Errorf("%s did not happen", what)
	})
}

// wait calls cond until it returns nil; its last error ends the test.
func (p *Page) wait(cond func() error) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := cond()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("browsertest: %v, for %v", err, patience)
		}
		<-time.After(pause)
	}
}

// dump describes the page for the log of a failed test.
func (p *Page) dump() string {
	var b strings.Builder
	section := func(name, text string, err error) {
		if err != nil {
			text = "(" + err.Error() + ")"
		}
		fmt.Fprintf(&b, "--- %s\n%s\n", name, strings.TrimRight(text, "\n"))
	}
	url, err := eval[string](p, `location.href`)
	section("page", url, err)
	text, err := p.text(Query{})
	section("text", text, err)
	nodes, err := p.nodes()
	section("accessibility tree", format(nodes, nil), err)
	p.log.Lock()
	section("console", strings.Join(p.log.messages, "\n"), nil)
	section("requests", strings.Join(p.log.requests, "\n"), nil)
	p.log.Unlock()
	path := filepath.Join(os.TempDir(), "browsertest", strings.NewReplacer("/", "-", " ", "_").Replace(p.t.Name())+".png")
	section("screenshot", path, p.shot(path))
	return b.String()
}
