package browsertest

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// pageLog notes what a tab asked for and complained about.
type pageLog struct {
	sync.Mutex
	requests []string
	messages []string // the whole console
	faults   []string // its errors
	dialogs  chan string
	beyond   *wall // shared by the tabs of a profile
}

func newPageLog(beyond *wall) *pageLog {
	return &pageLog{dialogs: make(chan string, 16), beyond: beyond}
}

// sibling is the log of another tab in the same profile.
func (l *pageLog) sibling() *pageLog { return newPageLog(l.beyond) }

// event runs on the goroutine that reads from Chromium and must not block.
func (l *pageLog) event(event any) {
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		if strings.HasPrefix(event.Request.URL, "data:") {
			return // goes nowhere
		}
		l.Lock()
		l.requests = append(l.requests, event.Request.Method+" "+event.Request.URL)
		l.Unlock()
	case *page.EventJavascriptDialogOpening:
		l.fault("dialog: " + event.Message)
		select {
		case l.dialogs <- event.Message:
		default:
		}
	}
}

// answerDialogs accepts every alert, confirm and beforeunload, which would
// otherwise stop the page for ever. Each is noted as a fault.
func (l *pageLog) answerDialogs(ctx context.Context) {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.dialogs:
				_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			}
		}
	}()
}

func (l *pageLog) fault(text string) {
	l.Lock()
	defer l.Unlock()
	l.messages = append(l.messages, text)
	l.faults = append(l.faults, text)
}

func (l *pageLog) console(message chromedp.ConsoleMessage) {
	text := fmt.Sprintf("%s: %s", message.Type, message.Text)
	if message.URL != "" {
		text += fmt.Sprintf(" (%s:%d)", message.URL, message.Line+1)
	}
	if message.IsException() || message.Type == chromedp.ConsoleError {
		l.fault(text)
		return
	}
	l.Lock()
	defer l.Unlock()
	l.messages = append(l.messages, text)
}

// Requests returns what the tab asked for since it was opened, as "GET
// http://host/path", and what anything in its profile sent to a host that is
// not this machine, as "beyond: CONNECT host:443". Redirects and requests of
// the same page's frames count.
func (p *Page) Requests() []string {
	p.log.Lock()
	requests := slices.Clone(p.log.requests)
	p.log.Unlock()
	p.log.beyond.Lock()
	defer p.log.beyond.Unlock()
	return append(requests, p.log.beyond.seen...)
}

// Console returns the errors on the page's console since it was opened:
// uncaught exceptions, console.error, failed loads, violations of a content
// security policy, and dialogs.
func (p *Page) Console() []string {
	p.log.Lock()
	defer p.log.Unlock()
	return slices.Clone(p.log.faults)
}

// A wall stands between a profile and the rest of the world: a proxy that
// notes every request and refuses it. It sees what the page's own log does not,
// such as a preconnect, and no name is looked up on the way to it.
type wall struct {
	sync.Mutex
	seen   []string
	server *httptest.Server
}

func newWall() *wall {
	w := &wall{}
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.Lock()
		w.seen = append(w.seen, "beyond: "+r.Method+" "+r.RequestURI)
		w.Unlock()
		http.Error(rw, "tests reach no other machine", http.StatusForbidden)
	}))
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.server.Start()
	return w
}
