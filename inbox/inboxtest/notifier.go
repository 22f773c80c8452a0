package inboxtest

import (
	"context"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/inbox"
)

// TestNotifier runs the suite. open returns two ends of one notifier, such as
// of two machines; a notifier of one process returns the same one twice.
func TestNotifier(t *testing.T, open func(t *testing.T) (a, b inbox.Notifier)) {
	hint := func(principal, call string) inbox.Hint {
		return inbox.Hint{Principal: principal, Call: inbox.CallID(call)}
	}
	must := func(t *testing.T, op string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
	}
	// receive waits for a hint; a doubled or an earlier one may come before it.
	receive := func(t *testing.T, ch <-chan inbox.Hint, want inbox.Hint) {
		t.Helper()
		for {
			select {
			case got, ok := <-ch:
				if !ok {
					t.Fatalf("the channel was closed before %+v", want)
				}
				if got == want {
					return
				}
			case <-t.Context().Done():
				t.Fatalf("no hint %+v", want)
			}
		}
	}
	for name, test := range map[string]func(t *testing.T, a, b inbox.Notifier){
		"to others and to itself": func(t *testing.T, a, b inbox.Notifier) {
			here, err := a.Subscribe(t.Context(), "ann")
			must(t, "Subscribe", err)
			there, err := b.Subscribe(t.Context(), "ann")
			must(t, "Subscribe", err)
			full := inbox.Hint{Principal: "ann", Call: "c_1", Question: "q_1", Ready: true}
			must(t, "Notify", a.Notify(t.Context(), full))
			receive(t, here, full)
			receive(t, there, full)
		},
		"only of one person": func(t *testing.T, a, b inbox.Notifier) {
			ann, err := b.Subscribe(t.Context(), "ann")
			must(t, "Subscribe", err)
			all, err := b.Subscribe(t.Context(), "")
			must(t, "Subscribe", err)
			for _, h := range []inbox.Hint{hint("bob", "c_1"), hint("ann|x", "c_2"), hint("ann", "c_3")} {
				must(t, "Notify", a.Notify(t.Context(), h))
				receive(t, all, h)
			}
			for {
				got := <-ann
				if got.Principal != "ann" {
					t.Fatalf("ann got %+v", got)
				}
				if got.Call == "c_3" {
					return
				}
			}
		},
		"ends with its context": func(t *testing.T, a, b inbox.Notifier) {
			ctx, cancel := context.WithCancel(t.Context())
			ch, err := a.Subscribe(ctx, "ann")
			must(t, "Subscribe", err)
			other, err := b.Subscribe(t.Context(), "ann")
			must(t, "Subscribe", err)
			cancel()
			for range ch { // until it is closed
			}
			must(t, "Notify", a.Notify(t.Context(), hint("ann", "c_1")))
			receive(t, other, hint("ann", "c_1"))
			if _, err := a.Subscribe(ctx, "ann"); err == nil {
				t.Error("Subscribe with an ended context was accepted")
			}
		},
		"a slow reader holds nobody up": func(t *testing.T, a, b inbox.Notifier) {
			slow, err := a.Subscribe(t.Context(), "ann")
			must(t, "Subscribe", err)
			for range 10_000 {
				must(t, "Notify", a.Notify(t.Context(), hint("ann", "c_1")))
			}
			receive(t, slow, hint("ann", "c_1")) // having lost some, it still has one to read
			quick, err := b.Subscribe(t.Context(), "ann")
			must(t, "Subscribe", err)
			must(t, "Notify", a.Notify(t.Context(), hint("ann", "c_2")))
			receive(t, quick, hint("ann", "c_2"))
		},
		"many at once": func(t *testing.T, a, b inbox.Notifier) {
			var wg sync.WaitGroup
			for i := range 8 {
				n := []inbox.Notifier{a, b}[i%2]
				wg.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					ch, err := n.Subscribe(ctx, "ann")
					if err != nil {
						t.Errorf("Subscribe: %v", err)
					}
					for range 20 {
						if err := n.Notify(t.Context(), hint("ann", "c_1")); err != nil {
							t.Errorf("Notify: %v", err)
						}
					}
					<-ch
					cancel()
					for range ch {
					}
				})
			}
			wg.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			test(t, a, b)
		})
	}
}
