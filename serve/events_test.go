package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/internal/conform"
	"github.com/parley-mcp/parley/store/memstore"
)

// A sse is one event of a stream.
type sse struct{ id, event, data string }

// stream opens the event stream and returns what reads its next event.
func (b *bench) stream(header http.Header) (next func() sse, stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+"/v1/events", http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Authorization", "Bearer "+b.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		b.t.Fatalf("content type %q", got)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return func() sse {
			b.t.Helper()
			var e sse
			for lines.Scan() {
				name, value, _ := strings.Cut(lines.Text(), ": ")
				switch name {
				case "id":
					e.id = value
				case "event":
					e.event = value
				case "data":
					e.data = value
				case "":
					if e.event != "" {
						conform.Stream(b.t, e.event, []byte(e.data))
						return e
					}
				}
			}
			b.t.Fatalf("the stream ended: %v", lines.Err())
			return e
		}, func() {
			cancel()
			resp.Body.Close()
		}
}

func TestEventsFollowACall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	next, stop := b.stream(nil)
	defer stop()
	if e := next(); e.event != "hello" || e.id != "0" || e.data != `{"seq":0}` {
		t.Fatalf("the first event is %+v", e)
	}
	c := b.run("seat", map[string]any{})
	last := int64(0)
	seen := map[string]bool{}
	for !seen["question open"] || !seen["call waiting"] {
		e := next()
		id, err := strconv.ParseInt(e.id, 10, 64)
		if err != nil || id <= last {
			t.Fatalf("event %q after %d", e.id, last)
		}
		last = id
		var row struct{ ID, State string }
		(&reply{t: t, body: []byte(e.data)}).decode(&row)
		seen[e.event+" "+row.State] = true
		if strings.Contains(e.data, "request_state") || strings.Contains(e.data, `"state":"state"`) {
			t.Errorf("the request state left the host: %s", e.data)
		}
	}

	// A reader that comes back gets what it missed, and nothing twice.
	b.post("/v1/calls/"+c.ID+"/stop", nil).want(http.StatusOK)
	back, stopBack := b.stream(http.Header{"Last-Event-Id": {fmt.Sprint(last)}})
	defer stopBack()
	seen = map[string]bool{}
	for !seen["call stopped"] || !seen["question withdrawn"] {
		e := back()
		var row struct{ State string }
		(&reply{t: t, body: []byte(e.data)}).decode(&row)
		seen[e.event+" "+row.State] = true
	}

	// A cursor from another store is answered with a reset.
	lost, stopLost := b.stream(http.Header{"Last-Event-Id": {"999999"}})
	defer stopLost()
	if e := lost(); e.event != "reset" {
		t.Errorf("an unknown cursor gives %+v", e)
	}
}

// A person has a bounded number of streams; one that ends makes room, and nobody
// else is in the way.
func TestEventStreamsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 3
	limited := make(chan string, 1)
	in := inbox.New(memstore.New(nil), seal.NewRing(), nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(serve.New(h, in, &serve.Options{
		Streams: most,
		Limited: func(reason string) {
			select {
			case limited <- reason:
			default: // of those that come back until the host has noticed
			}
		},
		Identify: func(r *http.Request) (*serve.Session, error) {
			return &serve.Session{Principal: inbox.Principal{Issuer: "test", Subject: r.Header.Get("Authorization")}}, nil
		},
	}).Handler())
	t.Cleanup(func() {
		api.CloseClientConnections() // ends the streams
		api.Close()
	})
	ann, bob := &bench{t: t, base: api.URL, token: "ann"}, &bench{t: t, base: api.URL, token: "bob"}
	stops := make([]func(), most)
	for i := range stops {
		_, stops[i] = ann.stream(nil)
		defer stops[i]()
	}
	var p struct {
		Params struct {
			Reason string
			Limit  int
		}
	}
	ann.get("/v1/events").code(http.StatusTooManyRequests, "limit").decode(&p)
	if p.Params.Reason != "too_many_streams" || p.Params.Limit != most {
		t.Errorf("params %+v", p.Params)
	}
	if reason := <-limited; reason != serve.ReasonTooManyStreams {
		t.Errorf("limited by %q", reason)
	}
	_, stopBob := bob.stream(nil)
	defer stopBob()

	stops[0]()
	for ann.try("/v1/events") == http.StatusTooManyRequests { // until the host has noticed
		if t.Context().Err() != nil {
			t.Fatal("a stream that ended still counts")
		}
	}
}

// Requests that wait for a call take places of the same count, each as long as it waits:
// beside streams, and streams beside them. Some places are for streams alone, so that
// programs that wait for a person's answer leave the person's page one. A request that
// does not wait takes none.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	b := setupWith(t, &serve.Options{Local: local, Streams: 2})
	c := b.run("seat", map[string]any{})
	poll := "/v1/calls/" + c.ID + "?since=" + jsonText(c.Version)
	refused := func(path string, limit int) {
		t.Helper()
		var p struct {
			Params struct {
				Reason string
				Limit  int
			}
		}
		r := b.get(path).code(http.StatusTooManyRequests, "limit").decode(&p)
		if p.Params.Reason != serve.ReasonTooManyStreams || p.Params.Limit != limit || r.header.Get("Retry-After") == "" {
			t.Errorf("params %+v, Retry-After %q", p.Params, r.header.Get("Retry-After"))
		}
	}

	// One waits. It is refused while it meets one of those by which this is found out:
	// these give their place back before they are answered.
	limit, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	waited := make(chan int, 1)
	go func() {
		status := http.StatusTooManyRequests
		for status == http.StatusTooManyRequests && limit.Err() == nil {
			status = b.try(poll + "&wait=60")
		}
		waited <- status
	}()
	for b.try(poll+"&wait=0.001") != http.StatusTooManyRequests {
		if limit.Err() != nil {
			t.Fatal("who waits takes no place")
		}
	}
	refused(poll+"&wait=30", 1)
	_, stop := b.stream(nil)
	defer stop()
	refused("/v1/events", 2)
	b.post("/v1/calls/"+c.ID+"/stop", nil).want(http.StatusOK).decode(&c)
	if status := <-waited; status != http.StatusOK {
		t.Errorf("who waited got %d", status)
	}

	poll = "/v1/calls/" + c.ID + "?since=" + jsonText(c.Version)
	b.get(poll + "&wait=0.001").want(http.StatusOK)
	_, stop = b.stream(nil)
	defer stop()
	refused(poll+"&wait=30", 2)
	b.get(poll).want(http.StatusOK)
	b.get(poll + "&wait=0").want(http.StatusOK)
}

// try opens a stream, closes it, and returns its status.
func (b *bench) try(path string) int {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.base+path, http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// The bound that nobody has to set.
func TestEventStreamsAreBoundedByDefault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 32 {
		_, stop := b.stream(nil)
		defer stop()
	}
	b.get("/v1/events").code(http.StatusTooManyRequests, "limit")
}

// Whoever may name any number of people opens no more streams than their issuer may have,
// and all issuers together no more than the host has; what is closed can be opened again.
func TestEventStreamsOfManyPeople(t *testing.T) {
	t.Parallel()
	in := inbox.New(memstore.New(nil), seal.NewRing(), nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(serve.New(h, in, &serve.Options{
		IssuerStreams: 3, AllStreams: 5,
		Identify: func(r *http.Request) (*serve.Session, error) {
			issuer, subject, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "/")
			return &serve.Session{Principal: inbox.Principal{Issuer: issuer, Subject: subject}}, nil
		},
	}).Handler())
	t.Cleanup(func() {
		api.CloseClientConnections() // ends the streams
		api.Close()
	})
	as := func(who string) *bench { return &bench{t: t, base: api.URL, token: who} }
	refused := func(who, reason string, limit int) {
		t.Helper()
		var p struct {
			Params struct {
				Reason string
				Limit  int
			}
		}
		as(who).get("/v1/events").code(http.StatusTooManyRequests, "limit").decode(&p)
		if p.Params.Reason != reason || p.Params.Limit != limit {
			t.Errorf("%s: params %+v", who, p.Params)
		}
	}
	var stop func()
	for _, who := range []string{"acme/1", "acme/2", "acme/3"} {
		_, stop = as(who).stream(nil)
		defer stop()
	}
	refused("acme/4", serve.ReasonTooManyIssuerStreams, 3)
	for _, who := range []string{"other/1", "third/1"} { // acme does not take what is theirs
		_, stop := as(who).stream(nil)
		defer stop()
	}
	refused("other/2", serve.ReasonTooManyAllStreams, 5)
	stop() // of acme/3
	for {
		// The host notices a closed connection a moment later.
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, api.URL+"/v1/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer acme/4")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		cancel()
		if resp.StatusCode == http.StatusOK {
			return
		}
	}
}
