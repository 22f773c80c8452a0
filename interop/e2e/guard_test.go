package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/pgreplay"
	"github.com/parley-mcp/parley/internal/servicetest"
)

// travelGuard is the replay guard of a travel desk: none, or one on a database
// whose leases are held, or over at once, as if half a minute had passed.
const travelGuard = "PARLEY_E2E_TRAVEL_GUARD" // "", "held DSN" or "gone DSN"

func travelGuarded() (elicit.ReplayGuard, error) {
	kind, dsn, _ := strings.Cut(os.Getenv(travelGuard), " ")
	if kind == "" {
		return nil, nil
	}
	guard, err := pgreplay.Open(context.Background(), dsn, &pgreplay.Options{Connections: 2})
	if err != nil {
		return nil, err
	}
	return leasing{guard, map[string]time.Duration{"held": time.Hour}[kind]}, nil
}

// leasing gives leases of its own length, however slow the machine is.
type leasing struct {
	elicit.ReplayGuard
	lease time.Duration
}

func (l leasing) Take(ctx context.Context, record elicit.CallRecord, _, keep time.Duration) (elicit.CallRecord, bool, error) {
	return l.ReplayGuard.Take(ctx, record, l.lease, keep)
}

func (l leasing) Renew(ctx context.Context, key string, fence int64, _ time.Duration) error {
	return l.ReplayGuard.Renew(ctx, key, fence, l.lease)
}

// A counter stands in front of a server and counts the calls of its tools. The
// reply to one of them can get lost.
type counter struct {
	url   string
	calls atomic.Int32
	lose  atomic.Bool // the next reply to a call
}

func newCounter(t *testing.T, target string) *counter {
	t.Helper()
	c := &counter{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		call := r.Header.Get("Mcp-Method") == "tools/call"
		if call {
			c.calls.Add(1)
		}
		to, err := http.NewRequestWithContext(r.Context(), r.Method, target, bytes.NewReader(body))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		to.Header = r.Header.Clone()
		response, err := http.DefaultTransport.RoundTrip(to)
		if err != nil {
			panic(http.ErrAbortHandler) // the server is gone, and so is this
		}
		defer response.Body.Close()
		reply, err := io.ReadAll(response.Body)
		if err != nil || call && c.lose.CompareAndSwap(true, false) {
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), response.Header)
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(reply) // the host sees for itself
	}))
	t.Cleanup(server.Close)
	c.url = server.URL + "/mcp"
	return c
}

// guarded is a host in front of a desk with a durable replay guard.
func guarded(t *testing.T, guard, pause string) (*parley, *desk, *counter) {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), addr: servicetest.FreeAddr(t), guard: guard + " " + servicetest.Postgres(t)}
	d.again(pause)
	c := newCounter(t, d.url())
	return serve(t, map[string]any{"travel": map[string]any{"url": c.url}}), d, c
}

// bookAPI books a flight and answers up to the last question.
func (p *parley) bookAPI(conversation string) (id string) {
	p.t.Helper()
	id = p.run(conversation, "travel", "book_flight", `{"from":"Hamburg","to":"Tokyo","date":"2026-12-24"}`).ID
	q := p.open(1)[0]
	content := map[string]any{"bags": "1"}
	for _, f := range q.View.Fields {
		if len(f.Options) > 0 {
			content[f.Name] = f.Options[0].Value
		}
	}
	p.answer(q.ID, map[string]any{"action": "accept", "input": content})
	return id
}

// confirmAPI agrees to the price.
func (p *parley) confirmAPI() {
	p.t.Helper()
	p.answer(p.open(1)[0].ID, map[string]any{"action": "accept", "content": map[string]any{"confirmed": true}})
}

func (p *parley) answer(id string, body map[string]any) {
	p.t.Helper()
	if got := p.api("POST", "/v1/questions/"+id+"/answer", body); got.Status != http.StatusOK {
		p.t.Fatalf("the answer: %d %s", got.Status, got.Body)
	}
}

// The reply gets lost when all was done. The server says that it keeps records,
// so the host sends the call again by itself and gets what it came to.
func TestGuardRepliesAgain(t *testing.T) {
	t.Parallel()
	p, d, c := guarded(t, "held", "never")
	id := p.bookAPI("v_lost")
	q := p.open(1)[0]
	before := c.calls.Load()
	c.lose.Store(true)
	p.answer(q.ID, map[string]any{"action": "accept", "content": map[string]any{"confirmed": true}})
	got := p.await(id, "done", "failed") // uncertain for a moment
	if got.State != "done" || !strings.Contains(string(got.Result), "Booked") || d.bookings() != 1 || c.calls.Load() != before+2 {
		t.Errorf("%s (%s) %s: %d bookings, %d sends", got.State, got.Reason, got.Result, d.bookings(), c.calls.Load()-before)
	}
}

// The server dies in the middle and comes back. Its records say that the call was
// begun and not how it ended, so it is a person's to decide: the host does not send
// it again by itself, not even when it is started anew.
func TestGuardOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for guard, says := range map[string]string{"gone": "does not know whether the work was done", "held": "still busy with this call"} {
		t.Run(guard, func(t *testing.T) {
			t.Parallel()
			p, d, c := guarded(t, guard, "before")
			id := p.bookAPI("v_killed")
			p.confirmAPI()
			d.wait("before")
			d.kill()
			d.again("never")
			// The host may send it again: the server says that it keeps records.
			p.says(id, 0, says)
			if d.bookings() != 0 {
				t.Fatalf("%d bookings", d.bookings())
			}
			sends := c.calls.Load()
			p.kill()
			p.again()
			other := p.bookAPI("v_other") // a whole call that goes well meanwhile
			p.confirmAPI()
			if end := p.await(other, "done", "failed", "uncertain"); end.State != "done" || d.bookings() != 1 {
				t.Fatalf("another call: %s (%s), %d bookings", end.State, end.Reason, d.bookings())
			}
			if n := c.calls.Load() - sends; n != 3 {
				t.Errorf("%d sends, want the 3 of the other call: the host sent the uncertain one again", n)
			}
			// Nor does the server run it, when a person wants it sent.
			before := p.await(id, "uncertain").Version
			p.resolve(id, "send_again")
			p.says(id, before, says)
			if n := c.calls.Load() - sends; n != 4 || d.bookings() != 1 {
				t.Errorf("%d sends, want one more than 3; %d bookings", n, d.bookings())
			}
			p.resolve(id, "it_happened")
			p.await(id, "done")
		})
	}
}

func (p *parley) resolve(id, how string) {
	p.t.Helper()
	body, err := json.Marshal(map[string]string{"how": how})
	if err != nil {
		p.t.Fatal(err)
	}
	if got := p.api("POST", "/v1/calls/"+id+"/resolve", string(body)); got.Status != http.StatusOK {
		p.t.Fatalf("%s: %d %s", how, got.Status, got.Body)
	}
}

// says waits until the call is uncertain because of what the server says, in a
// version after the one before.
func (p *parley) says(id string, before int64, text string) {
	p.t.Helper()
	eventually(p.t, "the server to say that it "+text, func() bool {
		c := p.await(id, "uncertain", "done", "failed")
		if c.State != "uncertain" {
			p.t.Fatalf("the call is %s (%s): %s", c.State, c.Reason, c.Text)
		}
		return c.Version > before && strings.Contains(c.Text, text)
	})
}
