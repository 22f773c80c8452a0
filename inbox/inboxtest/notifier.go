package inboxtest

import (
	"context"
	"sync"
	"testing"
	"time"

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
	receive := func(ctx context.Context, t *testing.T, ch <-chan inbox.Hint, want inbox.Hint) {
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
			case <-ctx.Done():
				t.Fatalf("no hint %+v", want)
			}
		}
	}
	for name, test := range map[string]func(ctx context.Context, t *testing.T, a, b inbox.Notifier){
		"to others and to itself": func(ctx context.Context, t *testing.T, a, b inbox.Notifier) {
			here, err := a.Subscribe(ctx, "ann")
			must(t, "Subscribe", err)
			there, err := b.Subscribe(ctx, "ann")
			must(t, "Subscribe", err)
			full := inbox.Hint{Principal: "ann", Call: "c_1", Question: "q_1", Ready: true, Removed: true}
			must(t, "Notify", a.Notify(ctx, full))
			receive(ctx, t, here, full)
			receive(ctx, t, there, full)
		},
		"only of one person": func(ctx context.Context, t *testing.T, a, b inbox.Notifier) {
			ann, err := b.Subscribe(ctx, "ann")
			must(t, "Subscribe", err)
			all, err := b.Subscribe(ctx, "")
			must(t, "Subscribe", err)
			for _, h := range []inbox.Hint{hint("bob", "c_1"), hint("ann|x", "c_2"), hint("ann", "c_3")} {
				must(t, "Notify", a.Notify(ctx, h))
				receive(ctx, t, all, h)
			}
			for {
				var got inbox.Hint
				select {
				case got = <-ann:
				case <-ctx.Done():
					t.Fatal("no hint for ann")
				}
				if got.Principal != "ann" {
					t.Fatalf("ann got %+v", got)
				}
				if got.Call == "c_3" {
					return
				}
			}
		},
		"ends with its context": func(ctx context.Context, t *testing.T, a, b inbox.Notifier) {
			sub, cancel := context.WithCancel(ctx)
			ch, err := a.Subscribe(sub, "ann")
			must(t, "Subscribe", err)
			other, err := b.Subscribe(ctx, "ann")
			must(t, "Subscribe", err)
			cancel()
			for range ch { // until it is closed
			}
			must(t, "Notify", a.Notify(ctx, hint("ann", "c_1")))
			receive(ctx, t, other, hint("ann", "c_1"))
			if _, err := a.Subscribe(sub, "ann"); err == nil {
				t.Error("Subscribe with an ended context was accepted")
			}
		},
		"a slow reader holds nobody up": func(ctx context.Context, t *testing.T, a, b inbox.Notifier) {
			slow, err := a.Subscribe(ctx, "ann")
			must(t, "Subscribe", err)
			for range 10_000 {
				must(t, "Notify", a.Notify(ctx, hint("ann", "c_1")))
			}
			receive(ctx, t, slow, hint("ann", "c_1")) // having lost some, it still has one to read
			quick, err := b.Subscribe(ctx, "ann")
			must(t, "Subscribe", err)
			must(t, "Notify", a.Notify(ctx, hint("ann", "c_2")))
			receive(ctx, t, quick, hint("ann", "c_2"))
		},
		"many at once": func(ctx context.Context, t *testing.T, a, b inbox.Notifier) {
			var wg sync.WaitGroup
			for i := range 8 {
				n := []inbox.Notifier{a, b}[i%2]
				wg.Go(func() {
					sub, cancel := context.WithCancel(ctx)
					ch, err := n.Subscribe(sub, "ann")
					if err != nil {
						t.Errorf("Subscribe: %v", err)
					}
					for range 20 {
						if err := n.Notify(ctx, hint("ann", "c_1")); err != nil {
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
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a notifier that loses all fails
			defer cancel()
			test(ctx, t, a, b)
		})
	}
}
