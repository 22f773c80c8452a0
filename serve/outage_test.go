package serve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/client"
	"github.com/parley-mcp/parley/store/memstore"
)

var ann = inbox.Principal{Issuer: "https://id.example", Subject: "ann"}

// An outage is a host whose store, or whose product's own session check, can fail.
type outage struct {
	*bench
	store   *moodyStore
	inbox   *inbox.Inbox
	host    *host.Host
	logged  chan string // one for each line of the log
	product atomic.Value
}

// failure is what the product's session check says; an atomic.Value holds no nil.
type failure struct{ err error }

// newOutage takes options without an Identify for those of a product.
func newOutage(t *testing.T, options *serve.Options) *outage {
	t.Helper()
	o := &outage{store: &moodyStore{Store: memstore.New(nil)}, logged: make(chan string, 1000)}
	o.store.mood.Store("well")
	o.product.Store(failure{})
	if options.Local == nil {
		options.Identify = func(*http.Request) (*serve.Session, error) {
			return &serve.Session{Principal: ann}, o.product.Load().(failure).err
		}
	}
	options.Log = slog.New(slog.NewTextHandler(lines(o.logged), nil))
	o.inbox = inbox.New(o.store, inbox.NewKeys(), nil)
	var err error
	o.host, err = host.New(o.inbox, []*host.Server{{ID: "desk", URL: hosttest.NewServer(t, script()).URL}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := serve.New(o.host, o.inbox, options)
	s.SetKeepAlive(1) // a look at the session all the time
	api := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		api.CloseClientConnections() // ends the streams
		api.Close()
		o.host.Close()
	})
	o.bench = &bench{t: t, base: api.URL}
	return o
}

// lines is a writer of the log's lines.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default: // nobody counts so many
	}
	return len(p), nil
}

// said is what the log has had since the last time.
func (o *outage) said() string {
	var b strings.Builder
	for {
		select {
		case line := <-o.logged:
			b.WriteString(line)
		default:
			return b.String()
		}
	}
}

// start makes an event for ann.
func (o *outage) start() {
	o.t.Helper()
	if _, err := o.host.Start(context.WithoutCancel(o.t.Context()), ann, host.NewCall{Conversation: "v_1", Server: "desk", Name: "plain", Arguments: []byte(`{"n":1}`)}); err != nil {
		o.t.Error(err)
	}
}

// unavailable asks all kinds of routes, each of which has to say that the host has
// trouble, and to be logged once.
func (o *outage) unavailable(what string) {
	o.t.Helper()
	o.said()
	for _, route := range []struct{ method, path string }{
		{http.MethodGet, "/v1/session"}, {http.MethodGet, "/v1/questions/q_1"}, {http.MethodPost, "/v1/questions/q_1/answer"},
		{http.MethodGet, "/v1/events"}, {http.MethodGet, "/v1/calls/c_1?since=0&wait=1"}, {http.MethodGet, "/"},
	} {
		r := o.do(route.method, route.path, nil, nil)
		if route.path == "/" {
			r.want(http.StatusServiceUnavailable)
		} else {
			r.code(http.StatusServiceUnavailable, "unavailable")
		}
		if r.header.Get("Retry-After") == "" || r.header.Get("WWW-Authenticate") != "" {
			o.t.Errorf("%s: %s: headers %v", what, r.what, r.header)
		}
		if strings.Contains(string(r.body), "7c1f") || strings.Contains(string(r.body), "db:") {
			o.t.Errorf("%s: %s shows the error: %s", what, r.what, r.body)
		}
		if said := o.said(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "refused") || strings.Contains(said, "7c1f") {
			o.t.Errorf("%s: the log of %s: %q", what, r.what, said)
		}
	}
}

// A store that is away signs nobody out: not a person with the bearer of this machine,
// not one whom a product knows, and not a page with a token.
func TestOutageSignsNobodyOut(t *testing.T) {
	t.Parallel()
	local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	key, row, err := serve.NewAPIKey("acme", "https://acme.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := newOutage(t, &serve.Options{Local: local, APIKeys: []*serve.APIKey{row}, Keys: inbox.NewKeys()})
	var in struct{ Token string }
	o.post("/v1/sign-in", map[string]string{"token": local.OneTime()}).want(http.StatusOK).decode(&in)
	bearer := in.Token
	o.token = key
	o.post("/v1/embed-tokens", person("ann", "v_1", "read", "answer")).code(http.StatusForbidden, "namespace")
	o.post("/v1/embed-tokens", map[string]any{"subject": "ann", "conversation": "v_1", "scopes": []string{"read", "answer"}}).want(http.StatusCreated).decode(&in)
	for what, token := range map[string]string{"bearer": bearer, "embed token": in.Token} {
		o.token = token
		o.store.mood.Store("fails")
		if what == "bearer" {
			o.unavailable(what)
		} else {
			// Of a token the page of the host itself knows nothing.
			o.get("/v1/session").code(http.StatusServiceUnavailable, "unavailable")
			o.get("/v1/events").code(http.StatusServiceUnavailable, "unavailable")
			o.post("/v1/questions/q_1/answer", nil).code(http.StatusServiceUnavailable, "unavailable")
		}
		// Whoever is nobody is told so without the store, and a key is not a person's.
		o.token = "guessed"
		o.get("/v1/session").code(http.StatusUnauthorized, "signed_out")
		o.store.mood.Store("well")
		o.token = token
		o.get("/v1/session").want(http.StatusOK)
	}
	// A back end with its key hears of no fault of its key.
	o.store.mood.Store("fails")
	o.token = key
	o.post("/v1/embed-tokens", map[string]any{"subject": "ann", "conversation": "v_1", "scopes": []string{"read"}}).want(http.StatusInternalServerError)
	o.post("/v1/embed-tokens/revoke", map[string]any{"subject": "ann"}).want(http.StatusNoContent) // it writes
}

// What a product's own check says is taken by its word alone: only ErrSignedOut ends a
// session, whatever else an error wraps.
func TestIdentifyFails(t *testing.T) {
	t.Parallel()
	door := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "who are you") })
	o := newOutage(t, &serve.Options{SignIn: door})
	for what, err := range map[string]error{
		"plain":               errors.New("postgres://u:7c1f@db: connection refused"),
		"with a row's error":  fmt.Errorf("db: the session: %w: refused", inbox.ErrNotFound),
		"with a limit":        fmt.Errorf("refused: %w", &inbox.LimitError{Reason: "sessions"}),
		"with a body":         fmt.Errorf("refused: %w", &http.MaxBytesError{Limit: 1}),
		"with a token":        errors.New(`db: refused {"access_token":"7c1f"}`),
		"with its own time":   fmt.Errorf("db: refused: %w", context.DeadlineExceeded),
		"given up on its own": fmt.Errorf("db: refused: %w", context.Canceled),
	} {
		o.product.Store(failure{err})
		o.unavailable(what)
	}
	for what, err := range map[string]error{
		"signed out": serve.ErrSignedOut, "wrapped": fmt.Errorf("7c1f: %w", serve.ErrSignedOut), "beside others": errors.Join(inbox.ErrNotFound, serve.ErrSignedOut),
	} {
		o.product.Store(failure{err})
		o.get("/v1/session").code(http.StatusUnauthorized, "signed_out")
		if said := o.said(); said != "" {
			t.Errorf("%s: %q", what, said)
		}
		if r := o.get("/").want(http.StatusOK); !bytes.Contains(r.body, []byte("who are you")) {
			t.Errorf("%s: not sent to sign in: %s", what, r.body)
		}
	}
	o.product.Store(failure{fmt.Errorf("by the product: %w", inbox.ErrDisabled)})
	o.get("/v1/session").code(http.StatusForbidden, "disabled")
	o.product.Store(failure{})
	o.store.mood.Store("fails")
	o.unavailable("the store")
	o.store.mood.Store("well")
	o.get("/v1/session").want(http.StatusOK)
}

// A long poll whose session cannot be checked at its end says so.
func TestOutageInALongPoll(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	o := newOutage(t, &serve.Options{})
	c, err := o.host.Start(t.Context(), ann, host.NewCall{Conversation: "v_1", Server: "desk", Name: "plain", Arguments: []byte(`{"n":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	s := serve.New(o.host, o.inbox, &serve.Options{Log: slog.New(slog.DiscardHandler), Identify: func(*http.Request) (*serve.Session, error) {
		if asked.Add(1) > 1 {
			return nil, errors.New("away")
		}
		return &serve.Session{Principal: ann}, nil
	}})
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, fmt.Sprintf("http://localhost/v1/calls/%s?since=%d&wait=0.01", c.ID, c.Version), http.NoBody))
	if w.Code != http.StatusServiceUnavailable || asked.Load() != 2 {
		t.Errorf("%d %s, asked %d times", w.Code, w.Body, asked.Load())
	}
}

// A stream whose session cannot be checked ends, with a line in the log and no word of a
// sign-out to the reader.
func TestOutageEndsAStream(t *testing.T) {
	t.Parallel()
	o := newOutage(t, &serve.Options{})
	var asked atomic.Int64
	logged := make(chan string, 10)
	s := serve.New(o.host, o.inbox, &serve.Options{Log: slog.New(slog.NewTextHandler(lines(logged), nil)), Identify: func(*http.Request) (*serve.Session, error) {
		if asked.Add(1) > 2 {
			return nil, errors.New("away")
		}
		return &serve.Session{Principal: ann}, nil
	}})
	s.SetKeepAlive(1)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/v1/events", http.NoBody))
	if body := w.Body.String(); w.Code != http.StatusOK || strings.Count(body, "event: ") != 1 || !strings.Contains(body, "event: hello") {
		t.Errorf("%d %s", w.Code, body)
	}
	if len(logged) != 1 {
		t.Fatalf("%d lines are logged", len(logged))
	}
	if line := <-logged; !strings.Contains(line, "could not be checked") || !strings.Contains(line, "away") {
		t.Errorf("the log: %s", line)
	}
}

// A reader of events lives through an outage: its stream ends, coming back is answered
// 503, and once the store is back it goes on. It ends when it is signed out.
func TestEventsOverAnOutage(t *testing.T) {
	t.Parallel()
	o := newOutage(t, &serve.Options{})
	ended := make(chan struct{})
	for e, err := range client.New(o.base, nil).Events(t.Context(), 0) {
		switch {
		case client.Code(err) == "signed_out":
			select {
			case <-ended:
			default:
				t.Error("the reader was told that it is signed out")
			}
		case err != nil:
			t.Fatal(err)
		case e.Kind == "hello":
			o.store.mood.Store("fails")
			go func() {
				first, second := <-o.logged, <-o.logged // the stream, and the answer to coming back
				if !strings.Contains(first+second, "could not be checked") || !strings.Contains(second, "/v1/events") {
					t.Errorf("the log: %s%s", first, second)
				}
				o.store.mood.Store("well")
				o.start()
			}()
		case e.Kind == "call":
			close(ended)
			o.product.Store(failure{serve.ErrSignedOut})
		}
	}
}

// Keys that cannot be used at the moment end no token.
func TestKeysAwaySignNobodyOut(t *testing.T) {
	t.Parallel()
	ring, err := seal.OpenKMS(filepath.Join(t.TempDir(), "keys.json"), plainKMS{}, &seal.KMSOptions{MaxAge: 1})
	if err != nil {
		t.Fatal(err)
	}
	key, row, err := serve.NewAPIKey("acme", "https://acme.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := newOutage(t, &serve.Options{APIKeys: []*serve.APIKey{row}, Keys: ring})
	var out embedToken
	o.token = key
	o.post("/v1/embed-tokens", map[string]any{"subject": "ann", "conversation": "v_1", "scopes": []string{"read"}}).want(http.StatusCreated).decode(&out)
	o.token = out.Token
	o.get("/v1/session").code(http.StatusServiceUnavailable, "unavailable")
}

// A plainKMS keeps nothing secret.
type plainKMS struct{}

func (plainKMS) Encrypt(plaintext, _ []byte) ([]byte, error)  { return plaintext, nil }
func (plainKMS) Decrypt(ciphertext, _ []byte) ([]byte, error) { return ciphertext, nil }
