package host_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/memstore"
)

// refusing is a transport to an address where nothing listens, and later perhaps a server
// that wants a sign-in. It notes when it was tried with the first request of a session.
type refusing struct {
	began time.Time
	mu    sync.Mutex
	tried []time.Duration
	back  bool
}

func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Header.Get("Mcp-Method") == "server/discover" {
		r.tried = append(r.tried, time.Since(r.began))
	}
	if !r.back {
		return nil, syscall.ECONNREFUSED
	}
	return &http.Response{
		StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {"Bearer"}}, Body: http.NoBody, Request: req,
	}, nil
}

func (r *refusing) tries() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tried)
}

// newRefused is a host that runs in this bubble and whose one server refuses all.
func newRefused(t *testing.T, poll time.Duration) (wire *refusing, in *inbox.Inbox, h *host.Host, compose func() *inbox.Call) {
	t.Helper()
	wire = &refusing{began: time.Now()}
	in = inbox.New(memstore.New(nil), seal.NewRing(), &inbox.Options{Poll: poll})
	s := &host.Server{ID: "shop", URL: "http://127.0.0.1:1/mcp"}
	h, err := host.New(in, []*host.Server{s}, &host.Options{Transport: wire, Poll: poll})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return wire, in, h, func() *inbox.Call {
		t.Helper()
		c, err := in.Compose(ctx, ada, inbox.NewCall{Server: "shop", Endpoint: s.Endpoint(), Era: inbox.Modern, Method: "tools/call", Name: "tool"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// A server that is down is tried again after 1, 2, 4, ... and at most 60 seconds,
// however many calls wait for it and however many come meanwhile. A person who looks at
// it does not wait.
func TestBackOffOfReconnects(t *testing.T) {
	t.Parallel()
	const poll = 250 * time.Millisecond
	var gaps []time.Duration
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		gaps = append(gaps, time.Duration(seconds)*time.Second)
	}
	synctest.Test(t, func(t *testing.T) {
		wire, in, h, compose := newRefused(t, poll)
		ctx := t.Context()
		for range 10 {
			compose()
		}
		var total time.Duration
		for _, gap := range gaps {
			time.Sleep(gap / 2)     //nolint:forbidigo // synctest
			late := compose()       // comes while the server is left alone
			time.Sleep(gap - gap/2) //nolint:forbidigo // synctest
			synctest.Wait()
			if c, err := in.Call(ctx, ada, late.ID); err != nil || c.State != inbox.Blocked || c.Reason != inbox.ReasonUnreachable {
				t.Errorf("a call that came later is %s (%s), %v", c.State, c.Reason, err)
			}
			total += gap
		}
		time.Sleep(time.Duration(len(gaps)) * 2 * poll) //nolint:forbidigo // synctest; each try may be so much later

		tried := wire.tries()
		if len(tried) != len(gaps)+1 {
			t.Fatalf("in %v it was tried %d times, want %d: %v", total, len(tried), len(gaps)+1, tried)
		}
		for i, gap := range gaps {
			if got := tried[i+1] - tried[i]; got < gap || got > gap+2*poll {
				t.Errorf("try %d came %v after the one before, want %v and at most %v more", i+2, got, gap, 2*poll)
			}
		}

		if _, err := h.Tools(ctx, ada, "shop"); err == nil {
			t.Error("tools of a server that is down")
		}
		if len(wire.tries()) != len(tried)+1 {
			t.Error("a person who looks has to wait")
		}
	})
}

// A server that is back and wants a sign-in is not tried again until somebody has signed
// in, and its calls say what they wait for.
func TestBackAndWantsASignIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wire, in, _, compose := newRefused(t, 250*time.Millisecond)
		call := compose()
		time.Sleep(5 * time.Second) //nolint:forbidigo // synctest
		wire.mu.Lock()
		wire.back = true
		wire.mu.Unlock()
		time.Sleep(time.Minute) //nolint:forbidigo // synctest
		synctest.Wait()
		if c, err := in.Call(t.Context(), ada, call.ID); err != nil || c.State != inbox.Blocked || c.Reason != inbox.ReasonSignIn {
			t.Errorf("the call is %s (%s), %v", c.State, c.Reason, err)
		}
		before := len(wire.tries())
		time.Sleep(10 * time.Minute) //nolint:forbidigo // synctest
		if after := len(wire.tries()); after != before {
			t.Errorf("it was tried %d times more", after-before)
		}
	})
}

// A server that is down is not tried again once no call waits for it any more.
func TestNobodyWaitsForAServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wire, in, _, compose := newRefused(t, 250*time.Millisecond)
		call := compose()
		time.Sleep(5 * time.Second) //nolint:forbidigo // synctest
		synctest.Wait()
		if c, err := in.Call(t.Context(), ada, call.ID); err != nil || c.Reason != inbox.ReasonUnreachable {
			t.Fatalf("the call is %s (%s), %v", c.State, c.Reason, err)
		}
		if _, err := in.Stop(t.Context(), ada, call.ID); err != nil {
			t.Fatal(err)
		}
		before := len(wire.tries())
		time.Sleep(10 * time.Minute) //nolint:forbidigo // synctest
		if after := len(wire.tries()); after > before+1 {
			t.Errorf("it was tried %d times more", after-before)
		}
	})
}
