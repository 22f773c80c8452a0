package e2e_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

// A wire leads to a server. It can hold one call up while something is done to
// a process, and it knows when each call was on it and which end broke it off. A
// server that is gone breaks the connections to it.
type wire struct {
	url     string
	tickets chan *ticket
	hits    int // calls that were held up

	mu      sync.Mutex
	flights map[int][]*flight // by the number of the call
	closed  map[net.Conn]time.Time
}

// A flight is one request of a call on the wire, from its arrival until the
// reply has left, or until an end broke it off.
type flight struct {
	from, to time.Time
	sender   net.Conn
	left     time.Time // when the sender's connection ended, zero while it stands
	broken   bool      // the server's end did
}

type connKey struct{}

// Where on its way a call is held up.
const (
	beforeServer = "before the server has it"
	beforeReply  = "before its reply is back"
)

// A ticket holds up the call that takes it, once.
type ticket struct {
	where string
	now   chan struct{} // closed when the call is held up, or will not be
	acted chan struct{} // closed when it may go on
	once  sync.Once
}

type ticketKey struct{}

// maxCall bounds a request that calls a tool, in bytes.
const maxCall = 1 << 20

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{tickets: make(chan *ticket), flights: map[int][]*flight{}, closed: map[net.Conn]time.Time{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host}) },
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			if held, ok := r.Request.Context().Value(ticketKey{}).(*ticket); ok && held.where == beforeReply {
				held.use()
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0), // connections break all the time
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		// What is forwarded reaches the server also when its sender dies meanwhile.
		ctx := context.WithoutCancel(r.Context())
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Method") == "" {
			// Of the era before: a server that is slow to say what it speaks does not pass for one.
			http.Error(out, "this server speaks 2026-07-28", http.StatusBadRequest)
			return
		}
		if r.Header.Get("Mcp-Method") == "tools/call" {
			body, err := io.ReadAll(io.LimitReader(r.Body, maxCall))
			if err != nil {
				return // its sender died before it was whole
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			defer w.fly(r, body)()
			select {
			case held := <-w.tickets:
				defer held.pass() // also where there was no reply to hold up
				if held.where == beforeServer {
					held.use()
				}
				ctx = context.WithValue(ctx, ticketKey{}, held)
			default:
			}
		}
		proxy.ServeHTTP(out, r.WithContext(ctx))
	}))
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.closed[c] = time.Now()
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	w.url = server.URL + to.Path
	return w
}

var cityNumber = regexp.MustCompile(`"City (\d+)"`)

// fly notes the flight of a call. What it returns is deferred: a panic says that
// an end broke it off, and it was the server's, unless the sender is gone.
func (w *wire) fly(r *http.Request, body []byte) (land func()) {
	found := cityNumber.FindSubmatch(body)
	if found == nil {
		return func() {}
	}
	n, _ := strconv.Atoi(string(found[1])) // digits
	f := &flight{from: time.Now(), to: time.Now().Add(24 * time.Hour)}
	f.sender, _ = r.Context().Value(connKey{}).(net.Conn)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flights[n] = append(w.flights[n], f)
	stays := context.AfterFunc(r.Context(), func() { // the handler still runs: the sender has gone
		w.mu.Lock()
		defer w.mu.Unlock()
		f.left = time.Now()
	})
	return func() {
		failed := recover()
		f.land(w, failed != nil && stays())
		if failed != nil {
			panic(failed)
		}
		stays()
	}
}

func (f *flight) land(w *wire, broken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f.to, f.broken = time.Now(), broken
}

// flown are the flights of a call.
func (w *wire) flown(call int) (list []flight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.flights[call] {
		if f.left.IsZero() {
			f.left = w.closed[f.sender]
		}
		list = append(list, *f)
	}
	return list
}

func (k *ticket) pass() { k.once.Do(func() { close(k.now) }) }

func (k *ticket) use() {
	k.pass()
	<-k.acted
}

// strike holds up the next call and acts. The act fails the test itself, so it
// runs in the caller's goroutine.
func (w *wire) strike(ctx context.Context, where string, act func()) {
	held := &ticket{where: where, now: make(chan struct{}), acted: make(chan struct{})}
	defer close(held.acted)
	select {
	case w.tickets <- held:
		w.hits++
	case <-ctx.Done():
		return
	case <-time.After(5 * time.Second): // no call is sent any more
		act()
		return
	}
	select {
	case <-held.now:
	case <-ctx.Done():
	}
	act()
}
