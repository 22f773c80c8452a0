package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// patience bounds every wait. It is generous, because a loaded machine with
// the race detector is slow; only a failing test ever waits that long.
const patience = 20 * time.Second

// browserLocale is what Chromium speaks when no test asks for another.
const browserLocale = "en-US"

// chromium is the process that the pages of a test binary share.
type chromium struct {
	ctx       context.Context // parent of every page's context
	userAgent string
}

var shared struct {
	sync.Mutex
	main    bool // Main is running
	started bool
	browser *chromium
	err     error
	stop    []context.CancelFunc
}

// Main runs the tests and then ends Chromium. A package that calls [Open] has
//
//	func TestMain(m *testing.M) { browsertest.Main(m) }
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is [Main] for a package that has more to end than Chromium: it returns
// the exit code.
func Run(m *testing.M) int {
	shared.Lock()
	shared.main = true
	shared.Unlock()
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	for _, stop := range slices.Backward(shared.stop) {
		stop()
	}
	return code
}

// start returns the shared Chromium and launches it when it is not running.
func start() (*chromium, error) {
	shared.Lock()
	defer shared.Unlock()
	if !shared.main {
		return nil, errors.New("the package lacks func TestMain(m *testing.M) { browsertest.Main(m) }")
	}
	if !shared.started {
		shared.started = true
		shared.browser, shared.err = launch()
	}
	return shared.browser, shared.err
}

// preferences name a search engine on this machine: Chromium connects ahead of
// need to the one that it has, which would be noted as the page's doing.
const preferences = `{"default_search_provider_data": {"template_url_data": {
	"short_name": "none", "keyword": "none", "url": "http://127.0.0.1:9/?q={searchTerms}", "safe_for_autoreplace": false
}}, "search": {"suggest_enabled": false}}`

func launch() (*chromium, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	// Everything that Chromium writes goes here.
	home, err := os.MkdirTemp("", "browsertest-")
	if err != nil {
		return nil, err
	}
	shared.stop = append(shared.stop, func() { remove(home) })
	profile := filepath.Join(home, "profile")
	if err := os.MkdirAll(filepath.Join(profile, "Default"), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(profile, "Default", "Preferences"), []byte(preferences), 0o600); err != nil {
		return nil, err
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Env("HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "TMPDIR="+home),
		chromedp.UserDataDir(profile),
		chromedp.NoSandbox, // root, as in a container, cannot have the sandbox
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		// Chromium's own business meets a closed port; a page's profile has a
		// proxy of its own.
		chromedp.ProxyServer("127.0.0.1:9"),
		chromedp.Flag("disable-features", "Translate,AutofillServerCommunication,OptimizationHints,MediaRouter"),
		chromedp.Flag("lang", browserLocale),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(2*time.Minute),
	)...)
	shared.stop = append(shared.stop, stop)
	ctx, cancel := chromedp.NewContext(alloc)
	shared.stop = append(shared.stop, cancel)
	if err := chromedp.Do(ctx); err != nil {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	version, err := chromedp.CallBrowser(ctx, browser.GetVersion, cdp.Empty{})
	if err != nil {
		return nil, fmt.Errorf("asking %s for its version: %w", path, err)
	}
	return &chromium{ctx: ctx, userAgent: version.UserAgent}, nil
}

// find returns the path of the installed browser.
func find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("chromium is not installed: run make deps, or apt-get install chromium")
}

// remove deletes dir, in which a process that is about to end may still write.
func remove(dir string) {
	for range 100 {
		if os.RemoveAll(dir) == nil {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}
