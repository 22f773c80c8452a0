package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/notify/natsnotify"
	"github.com/parley-mcp/parley/notify/pgnotify"
	"github.com/parley-mcp/parley/store/pgstore"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

// unreliable does to the hints of a notifier what a network may do.
type unreliable struct {
	inbox.Notifier
	mu      sync.Mutex
	n       int
	held    []inbox.Hint
	deliver func(u *unreliable, ctx context.Context, hint inbox.Hint) error
}

func (u *unreliable) Notify(ctx context.Context, hint inbox.Hint) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n++
	return u.deliver(u, ctx, hint)
}

// faults are what may happen to hints.
var faults = map[string]func(u *unreliable, ctx context.Context, hint inbox.Hint) error{
	"all arrive": func(u *unreliable, ctx context.Context, hint inbox.Hint) error { return u.Notifier.Notify(ctx, hint) },
	"every second is dropped": func(u *unreliable, ctx context.Context, hint inbox.Hint) error {
		if u.n%2 == 0 {
			return nil
		}
		return u.Notifier.Notify(ctx, hint)
	},
	"doubled": func(u *unreliable, ctx context.Context, hint inbox.Hint) error {
		return errors.Join(u.Notifier.Notify(ctx, hint), u.Notifier.Notify(ctx, hint))
	},
	"delayed and reordered": func(u *unreliable, ctx context.Context, hint inbox.Hint) error {
		if u.held = append(u.held, hint); len(u.held) < 4 {
			return nil
		}
		var errs []error
		for i := range u.held {
			errs = append(errs, u.Notifier.Notify(ctx, u.held[len(u.held)-1-i]))
		}
		u.held = nil
		return errors.Join(errs...)
	},
	"none arrives":  func(*unreliable, context.Context, inbox.Hint) error { return nil },
	"sending fails": func(*unreliable, context.Context, inbox.Hint) error { return errors.New("no way") },
	"of other things": func(u *unreliable, ctx context.Context, hint inbox.Hint) error {
		return u.Notifier.Notify(ctx, inbox.Hint{Principal: hint.Principal, Call: "c_none", Ready: true})
	},
}

// TestUnreliable carries calls over two machines, whatever happens to the hints
// between them: polling alone must do.
func TestUnreliable(t *testing.T) {
	t.Parallel()
	ways := map[string]func(t *testing.T, dsn, name string) inbox.Notifier{
		"pgnotify": func(t *testing.T, dsn, name string) inbox.Notifier {
			n, err := pgnotify.Open(t.Context(), dsn, &pgnotify.Options{Channel: name})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { n.Close() })
			return n
		},
		"natsnotify": func(t *testing.T, _, name string) inbox.Notifier {
			n, err := natsnotify.Open(t.Context(), servicetest.NATS(t), &natsnotify.Options{Prefix: name})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { n.Close() })
			return n
		},
	}
	for way, open := range ways {
		for fault, deliver := range faults {
			t.Run(way+", "+fault, func(t *testing.T) {
				t.Parallel()
				dsn, name, ring := servicetest.Postgres(t), servicetest.Name(), seal.NewRing()
				machine := func() *inbox.Inbox {
					store, err := pgstore.Open(t.Context(), dsn, &pgstore.Options{Connections: 4})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { store.Close() })
					return inbox.New(store, ring, &inbox.Options{
						Notifier: &unreliable{Notifier: open(t, dsn, name), deliver: deliver}, Poll: 50 * time.Millisecond,
					})
				}
				carry(t, machine(), machine())
			})
		}
	}
}

// carry runs calls on a, whose questions are answered on b, while both wait for
// what the other does.
func carry(t *testing.T, a, b *inbox.Inbox) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ann := inbox.Principal{Issuer: "https://id.example", Subject: "ann"}
	const calls = 3
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			if err := one(ctx, a, b, ann, fmt.Sprint("s", i)); err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func one(ctx context.Context, a, b *inbox.Inbox, p inbox.Principal, server string) error {
	c, err := b.Compose(ctx, p, inbox.NewCall{Server: server, Method: "tools/call", Name: "book", Era: inbox.Modern})
	if err != nil {
		return err
	}
	worked := make(chan error, 1)
	go func() { // the machine that works on it
		worked <- func() error {
			claim, _, err := a.Claim(ctx, p, c.ID)
			if err != nil {
				return err
			}
			if _, err := a.Mark(ctx, claim, inbox.Binding{}); err != nil {
				return err
			}
			c, err := a.Park(ctx, claim, inbox.Asked{RequestState: "s", Questions: []inbox.NewQuestion{{
				Key: "q", Params: json.RawMessage(`{"mode":"form","message":"Seat?","requestedSchema":{"type":"object","properties":{"seat":{"type":"string"}}}}`),
			}}})
			for err == nil && c.State != inbox.Ready { // until it was answered elsewhere
				c, err = a.Wait(ctx, p, c.ID, c.Version)
			}
			if err != nil {
				return err
			}
			if claim, _, err = a.Claim(ctx, p, c.ID); err != nil {
				return err
			}
			if _, err = a.Mark(ctx, claim, inbox.Binding{}); err != nil {
				return err
			}
			_, err = a.Finish(ctx, claim, inbox.Outcome{State: inbox.Done})
			return err
		}()
	}()
	for c.State != inbox.Waiting { // where the person is
		if c, err = b.Wait(ctx, p, c.ID, c.Version); err != nil {
			return errors.Join(err, <-worked)
		}
	}
	open, err := b.Questions(ctx, p, inbox.QuestionFilter{Call: c.ID})
	if err != nil {
		return err
	}
	if _, err := b.Answer(ctx, p, open[0].ID, inbox.Answer{Action: inbox.Decline}); err != nil {
		return err
	}
	for c.State != inbox.Done {
		if c, err = b.Wait(ctx, p, c.ID, c.Version); err != nil {
			return errors.Join(err, <-worked)
		}
	}
	return <-worked
}
