package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
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
	for k, v := range header {
		req.Header[k] = v
	}
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
