package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
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
	in := inbox.New(memstore.New(nil), seal.NewRing(), nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(serve.New(h, in, &serve.Options{
		Streams: most,
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
	_, stopBob := bob.stream(nil)
	defer stopBob()

	stops[0]()
	for ann.try("/v1/events") == http.StatusTooManyRequests { // until the host has noticed
		if t.Context().Err() != nil {
			t.Fatal("a stream that ended still counts")
		}
	}
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
