package inbox

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
)

// notified is a notifier that counts its subscriptions, and may fail.
type notified struct {
	Local
	subscribed int
	err        error
}

func (n *notified) Subscribe(ctx context.Context, key string) (<-chan Hint, error) {
	n.subscribed++
	if n.err != nil {
		return nil, n.err
	}
	return n.Local.Subscribe(ctx, key)
}

func got(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// TestWatches: many who wait for calls of one person share a subscription, each
// hears of its own call, and the last who leaves ends it.
func TestWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &notified{}
		s := newWatches(n, slog.New(slog.DiscardHandler))
		join := func(id CallID) (<-chan struct{}, func()) {
			ch, leave, err := s.join(t.Context(), "ann", id)
			if err != nil {
				t.Fatal(err)
			}
			return ch, leave
		}
		one, leaveOne := join("c_1")
		again, leaveAgain := join("c_1")
		two, leaveTwo := join("c_2")
		if n.subscribed != 1 {
			t.Errorf("%d subscriptions", n.subscribed)
		}
		tell := func(hint Hint) {
			if err := n.Notify(t.Context(), hint); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		tell(Hint{Principal: "ann", Call: "c_1", Question: "q"})
		tell(Hint{Principal: "ann", Call: "c_1"}) // there is one to read already
		if !got(one) || !got(again) || got(one) || got(two) {
			t.Error("a hint about a call went elsewhere")
		}
		tell(Hint{Principal: "bob", Call: "c_1"})
		if got(one) || got(two) {
			t.Error("a hint about another person was heard")
		}
		tell(Hint{Principal: "ann"}) // about everything, such as an erasure
		if !got(one) || !got(again) || !got(two) {
			t.Error("a hint about no call was not heard by all")
		}
		leaveOne()
		leaveTwo()
		tell(Hint{Principal: "ann", Call: "c_1"})
		if got(one) || !got(again) {
			t.Error("who has left was told, or who has not was not")
		}
		leaveAgain()
		synctest.Wait() // the test ends with no goroutine of it
		if len(s.people) != 0 || len(n.subs) != 0 {
			t.Errorf("%d people and %d subscriptions are left", len(s.people), len(n.subs))
		}
		_, leave := join("c_1")
		leave()
		if n.subscribed != 2 {
			t.Errorf("%d subscriptions after a new one", n.subscribed)
		}
	})
}

// TestWatchesWithoutHints: who waits polls, and the next tries again.
func TestWatchesWithoutHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &notified{err: errors.New("away")}
		s := newWatches(n, slog.New(slog.DiscardHandler))
		_, leave, err := s.join(t.Context(), "ann", "c_1")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		n.err = nil
		ch, leaveAgain, err := s.join(t.Context(), "ann", "c_1")
		if err != nil {
			t.Fatal(err)
		}
		leave() // of the earlier watch: the later one stays
		if err := n.Notify(t.Context(), Hint{Principal: "ann", Call: "c_1"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !got(ch) {
			t.Error("no hint after the notifier came back")
		}
		leaveAgain()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, leave, err = s.join(ctx, "ann", "c_1")
		if err == nil { // the subscription was as fast
			leave()
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("join with an ended context: %v", err)
		}
		synctest.Wait()
		if len(s.people) != 0 {
			t.Error("a watch is left")
		}
	})
}
