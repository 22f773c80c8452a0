package natsnotify_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/inbox/inboxtest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/notify/natsnotify"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

func mustOpen(t *testing.T, address, prefix string) *natsnotify.Notifier {
	t.Helper()
	n, err := natsnotify.Open(t.Context(), address, &natsnotify.Options{Prefix: prefix})
	if err != nil {
		t.Fatalf("this test needs NATS: run `make deps-services`, which starts one, or name one in %s: %v", servicetest.NATSVariable, err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return n
}

func TestNotifier(t *testing.T) {
	t.Parallel()
	inboxtest.TestNotifier(t, func(t *testing.T) (a, b inbox.Notifier) {
		prefix := servicetest.Name()
		return mustOpen(t, servicetest.NATS(t), prefix), mustOpen(t, servicetest.NATS(t), prefix)
	})
}

// TestReconnect loses the connection: everybody is told to look, and hints
// arrive again.
func TestReconnect(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(servicetest.NATS(t))
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, server.Host)
	prefix := servicetest.Name()
	a := mustOpen(t, servicetest.NATS(t), prefix)
	b := mustOpen(t, "nats://"+p.address+"/ignored", prefix)
	ann, err := b.Subscribe(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		p.cut()
		if h := next(t, ann); h != (inbox.Hint{Principal: "ann", Ready: true}) {
			t.Errorf("ann got %+v", h)
		}
		want := inbox.Hint{Principal: "ann", Call: inbox.CallID(fmt.Sprint("c_", i))}
		if err := a.Notify(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if got := next(t, ann); got != want {
			t.Errorf("got %+v", got)
		}
	}
}

// next is the next hint. A notifier that loses all fails.
func next(t *testing.T, ch <-chan inbox.Hint) inbox.Hint {
	t.Helper()
	select {
	case h := <-ch:
		return h
	case <-time.After(30 * time.Second):
		t.Fatal("no hint")
		return inbox.Hint{}
	}
}

// proxy leads to the server.
type proxy struct {
	address string
	mu      sync.Mutex
	open    []net.Conn
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		c.Close()
	}
	p.open = nil
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: ln.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.open = append(p.open, in, out)
			p.mu.Unlock()
			wg.Go(func() { _, _ = io.Copy(out, in); out.Close() })
			wg.Go(func() { _, _ = io.Copy(in, out); in.Close() })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		p.cut()
		wg.Wait()
	})
	return p
}

// TestErrors: none repeats the password, or hangs.
func TestErrors(t *testing.T) {
	t.Parallel()
	const password = "s3ntinel"
	for _, address := range []string{
		"nats://parley:" + password + "@127.0.0.1:1",
		"nats://parley:" + password + "@127.0.0.1:port",
		"nats://" + password + "%zz@host",
		"http://parley:" + password + "@127.0.0.1:4222",
		"nats://parley:" + password + "@127.0.0.1:1/a.*.b",
		"nats://parley:" + password + "@127.0.0.1:1/a/b",
		password,
	} {
		n, err := natsnotify.Open(t.Context(), address, nil)
		if err == nil {
			n.Close()
			t.Errorf("%s was opened", address)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("the error repeats the password: %v", err)
		}
	}
	n := mustOpen(t, servicetest.NATS(t), servicetest.Name())
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := n.Notify(t.Context(), inbox.Hint{}); !errors.Is(err, natsnotify.ErrClosed) {
		t.Errorf("Notify after Close: %v", err)
	}
	if _, err := n.Subscribe(t.Context(), ""); !errors.Is(err, natsnotify.ErrClosed) {
		t.Errorf("Subscribe after Close: %v", err)
	}
}

// TestPrefix: the path of the address, and the option over it.
func TestPrefix(t *testing.T) {
	t.Parallel()
	name := servicetest.Name()
	a, b := mustOpen(t, servicetest.NATS(t)+"/"+name, ""), mustOpen(t, servicetest.NATS(t)+"/other", name)
	all, err := b.Subscribe(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := inbox.Hint{Principal: "ann", Call: "c_1"}
	if err := a.Notify(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if got := next(t, all); got != want {
		t.Errorf("got %+v", got)
	}
}
