package host_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/memstore"
)

// failing is a store that can be out of reach for a while.
type failing struct {
	inbox.Store
	down atomic.Bool
	told atomic.Int32 // failures since
}

var errDown = errors.New("store out of reach")

func (f *failing) Update(ctx context.Context, p string, g func(inbox.Tx) error) error {
	if f.down.Load() {
		f.told.Add(1)
		return errDown
	}
	return f.Store.Update(ctx, p, g)
}

func (f *failing) View(ctx context.Context, p string, g func(inbox.Tx) error) error {
	if f.down.Load() {
		f.told.Add(1)
		return errDown
	}
	return f.Store.View(ctx, p, g)
}

// A store that fails for a moment costs neither an outcome nor a held question.
func TestStoreFailsForAMoment(t *testing.T) {
	t.Parallel()
	store := &failing{Store: memstore.New(nil)}
	b := &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return store }}
	working, finish := make(chan struct{}), make(chan struct{})
	modern, wire := web(t, "modern", &hosttest.Script{Tools: map[string]hosttest.Tool{
		"work": func(x *hosttest.Exchange) { close(working); <-finish; x.Text("done") },
	}})
	old, _ := web(t, "legacy", legacy("2025-11-25"))
	lost := make(chan struct{})
	once := sync.OnceFunc(func() { close(lost) })
	r := newRig(t, b, &rigOptions{host: host.Options{Log: slog.New(told(func(what string) {
		if what == "host: recording failed finish" {
			once()
		}
	}))}}, modern, old)
	r.run()
	held := r.start("legacy", "ask", "")
	q := r.next(held.ID)
	call := r.start("modern", "work", "")
	<-working

	store.down.Store(true)
	close(finish)
	// Until the outcome could not be stored, and someone was told three times that the store is out of reach.
	<-lost
	for store.told.Load() < 3 {
		runtime.Gosched()
	}
	store.down.Store(false)

	if got := text(t, r.until(call.ID, inbox.Done)); got != "done" || len(wire.Calls()) != 1 {
		t.Errorf("got %s after %d sends", got, len(wire.Calls()))
	}
	r.answer(q, inbox.Accept, `{"n":1}`)
	if got := text(t, r.end(held.ID)); got != `{"action":"accept","content":{"n":1}}` {
		t.Errorf("the held call got %s", got)
	}
}

// doubtful is a store that can lose the word of a commit: what is written is
// stored, and whoever wrote it gets an error. lose is asked about the rows that
// an update has put.
type doubtful struct {
	inbox.Store
	lose func(calls []*inbox.CallRow, questions []*inbox.QuestionRow) bool
}

func (s *doubtful) Update(ctx context.Context, p string, f func(inbox.Tx) error) error {
	var tx *doubtfulTx
	err := s.Store.Update(ctx, p, func(inner inbox.Tx) error {
		tx = &doubtfulTx{Tx: inner}
		return f(tx)
	})
	if err == nil && s.lose(tx.calls, tx.questions) {
		return errDown
	}
	return err
}

type doubtfulTx struct {
	inbox.Tx
	calls     []*inbox.CallRow
	questions []*inbox.QuestionRow
}

func (tx *doubtfulTx) PutCall(row *inbox.CallRow) error {
	tx.calls = append(tx.calls, row)
	return tx.Tx.PutCall(row)
}

func (tx *doubtfulTx) PutQuestion(row *inbox.QuestionRow) error {
	tx.questions = append(tx.questions, row)
	return tx.Tx.PutQuestion(row)
}

// A mark is stored, and the machine is told that it failed. It sends nothing,
// and knows that it did not: the call is sent again and never uncertain.
func TestMarkInDoubt(t *testing.T) {
	t.Parallel()
	var marks atomic.Int32
	var uncertain atomic.Bool
	store := &doubtful{Store: memstore.New(nil), lose: func(calls []*inbox.CallRow, _ []*inbox.QuestionRow) bool {
		for _, c := range calls {
			switch c.State {
			case inbox.Uncertain:
				uncertain.Store(true)
			case inbox.Sent:
				return marks.Add(1) <= 4 // more than a server gets before it counts as unreachable
			}
		}
		return false
	}}
	b := &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return store }}
	shop, wire := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}})
	r := newRig(t, b, &rigOptions{inbox: inbox.Options{Lease: 10 * time.Second}}, shop, program(t, "program", "modern"))
	r.run()
	for server, tool := range map[string]string{"shop": "tool", "program": "env"} {
		marks.Store(0)
		r.until(r.start(server, tool, "").ID, inbox.Done)
		if marks.Load() < 5 || uncertain.Load() { // a renewal of the lease may be one more
			t.Errorf("%s: %d marks, uncertain: %t; want five and never", server, marks.Load(), uncertain.Load())
		}
	}
	if n := len(wire.Calls()); n != 1 {
		t.Errorf("%d sends, want one", n)
	}
}

// The mark of an answer to a held question is stored, and the machine is told
// that it failed. The server gets the answer, once.
func TestDeliveryInDoubt(t *testing.T) {
	t.Parallel()
	var armed atomic.Bool
	var puts atomic.Int32
	store := &doubtful{Store: memstore.New(nil), lose: func(_ []*inbox.CallRow, questions []*inbox.QuestionRow) bool {
		// The first is the answer, the second its mark.
		return armed.Load() && len(questions) > 0 && puts.Add(1) == 2
	}}
	b := &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return store }}
	s, _ := web(t, "legacy", legacy("2025-11-25"))
	r := newRig(t, b, nil, s)
	r.run()
	call := r.start("legacy", "ask", "")
	q := r.next(call.ID)
	armed.Store(true)
	r.answer(q, inbox.Accept, `{"n":1}`)
	if got := text(t, r.end(call.ID)); got != `{"action":"accept","content":{"n":1}}` {
		t.Errorf("the server got %s", got)
	}
	if puts.Load() < 2 {
		t.Error("the word of the mark was not lost")
	}
}

// A server asks while the store is out of reach, and the word that its question
// is stored is lost: it waits for its answer, and the person sees one question.
func TestHoldInDoubt(t *testing.T) {
	t.Parallel()
	var holds atomic.Int32
	away := &failing{Store: memstore.New(nil)}
	store := &doubtful{Store: away, lose: func(_ []*inbox.CallRow, questions []*inbox.QuestionRow) bool {
		return len(questions) > 0 && holds.Add(1) == 1
	}}
	b := &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return store }}
	working, ask := make(chan struct{}), make(chan struct{})
	s, _ := web(t, "legacy", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"ask": func(x *hosttest.Exchange) { close(working); <-ask; x.Text(say(read(x.Elicit(askName)))) },
	}})
	r := newRig(t, b, nil, s)
	r.run()
	call := r.start("legacy", "ask", "")
	<-working
	away.down.Store(true)
	close(ask)
	for away.told.Load() < 3 {
		runtime.Gosched()
	}
	away.down.Store(false)
	r.step(call.ID, host.Held) // by polling: with the word of the commit its hint was lost
	r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
	if got := text(t, r.end(call.ID)); got != `{"action":"accept","content":{"name":"Ada"}}` {
		t.Errorf("the server got %s", got)
	}
	list, err := r.in.Questions(t.Context(), ada, inbox.QuestionFilter{Call: call.ID})
	if err != nil || len(list) != 1 || holds.Load() < 2 {
		t.Errorf("%d questions (%v) after %d writes, want one", len(list), err, holds.Load())
	}
}

// troubled is a store in which single operations can fail. trouble is asked
// about each row of a call that is put (*inbox.CallRow), each query for calls
// (inbox.CallQuery), each query for questions outside of an update
// (inbox.QuestionQuery), and each look at what is due (nil).
type troubled struct {
	inbox.Store
	trouble func(op any) error
}

func (s *troubled) Update(ctx context.Context, p string, f func(inbox.Tx) error) error {
	return s.Store.Update(ctx, p, func(tx inbox.Tx) error { return f(troubledTx{tx, s, false}) })
}

func (s *troubled) View(ctx context.Context, p string, f func(inbox.Tx) error) error {
	return s.Store.View(ctx, p, func(tx inbox.Tx) error { return f(troubledTx{tx, s, true}) })
}

func (s *troubled) Due(ctx context.Context, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	if err := s.trouble(nil); err != nil {
		return nil, err
	}
	return s.Store.Due(ctx, after, limit)
}

type troubledTx struct {
	inbox.Tx
	store *troubled
	view  bool
}

func (tx troubledTx) PutCall(row *inbox.CallRow) error {
	if err := tx.store.trouble(row); err != nil {
		return err
	}
	return tx.Tx.PutCall(row)
}

func (tx troubledTx) Calls(q inbox.CallQuery) ([]*inbox.CallRow, error) {
	if err := tx.store.trouble(q); err != nil {
		return nil, err
	}
	return tx.Tx.Calls(q)
}

func (tx troubledTx) Questions(q inbox.QuestionQuery) ([]*inbox.QuestionRow, error) {
	if tx.view {
		if err := tx.store.trouble(q); err != nil {
			return nil, err
		}
	}
	return tx.Tx.Questions(q)
}

// newTroubled is a machine whose store asks trouble, with one call that is
// ready, and its server, which cannot be connected to while down is true.
func newTroubled(t *testing.T, o rigOptions, trouble func(op any) error) (r *rig, down *atomic.Bool) {
	t.Helper()
	down = new(atomic.Bool)
	s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
		if x.State == nil {
			x.Asks("{"+request("name", askName)+"}", "s")
			return
		}
		x.Text("ok")
	}}})
	store := &troubled{Store: memstore.New(nil), trouble: trouble}
	b := &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return store }}
	first := newRig(t, b, nil, s)
	first.start("shop", "tool", "") // while it is up
	first.Close()
	dialer := &net.Dialer{}
	o.host.Transport = &http.Transport{
		DisableKeepAlives: true, // each request connects
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if down.Load() {
				return nil, syscall.ECONNREFUSED
			}
			return dialer.DialContext(ctx, network, addr)
		},
	}
	return newRig(t, b, &o, s), down
}

// The server comes back while it cannot be written down that it was away. A
// retry that comes before the block finds nothing to unblock; there has to be
// one after it.
func TestBlockIsWrittenLate(t *testing.T) {
	t.Parallel()
	for name, connected := range map[string]bool{"away at the connect": false, "away at the send": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var blocks, looks atomic.Int32
			var back atomic.Bool // the server
			first := make(chan struct{})
			r, down := newTroubled(t, rigOptions{}, func(op any) error {
				switch op := op.(type) {
				case nil:
					if back.Load() {
						looks.Add(1)
					}
				case *inbox.CallRow:
					// Until the machine had its opportunities to try the server again.
					if op.State == inbox.Blocked && looks.Load() < 5 {
						if blocks.Add(1) == 1 {
							close(first)
						}
						return errDown
					}
				}
				return nil
			})
			// A person who looks at the tools connects without regard to the back-off.
			look := func() {
				if _, err := r.Tools(t.Context(), ada, "shop"); err != nil {
					t.Fatal(err)
				}
			}
			if connected {
				look()
			}
			down.Store(true)
			r.run()
			<-first
			down.Store(false)
			look()
			back.Store(true)
			call := r.only()
			r.until(call.ID, inbox.Waiting)
			r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
			r.until(call.ID, inbox.Done)
		})
	}
}

// only is the one call that there is.
func (r *rig) only() *inbox.Call {
	r.t.Helper()
	list, err := r.in.Calls(r.t.Context(), ada, inbox.CallFilter{})
	if err != nil || len(list) != 1 {
		r.t.Fatalf("%d calls, want 1 (%v)", len(list), err)
	}
	return list[0]
}

// The server is back and the store fails when its calls are to go on: they are
// tried again.
func TestUnblockFails(t *testing.T) {
	t.Parallel()
	var fails atomic.Int32
	r, down := newTroubled(t, rigOptions{}, func(op any) error {
		if q, ok := op.(inbox.CallQuery); ok && len(q.States) == 1 && q.States[0] == inbox.Blocked && !q.Brief && fails.Add(1) <= 2 {
			return errDown
		}
		return nil
	})
	call := r.only()
	down.Store(true)
	r.run()
	r.until(call.ID, inbox.Blocked)
	down.Store(false)
	r.until(call.ID, inbox.Waiting)
	if got := fails.Load(); got != 3 {
		t.Errorf("%d attempts to let calls go on, want 3", got)
	}
}
