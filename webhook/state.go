package webhook

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// A state is what is known of an endpoint, in the store.
type state struct {
	Owner string    `json:"owner"` // the machine that sends
	Until time.Time `json:"until"` // the end of its lease, in the store's time
	Fence int64     `json:"fence"` // rises with each lease

	Since  time.Time `json:"since"`         // what happened before is not told
	Cursor int64     `json:"cursor"`        // the last entry of the log that was read
	Gone   time.Time `json:"gone,omitzero"` // when it answered 410: it gets nothing until it is turned on again
	Waits  []waiting `json:"waits,omitempty"`
	Dead   []Letter  `json:"dead,omitempty"`

	// When this machine read it: by the store, and by its own clock.
	read, readHere time.Time
}

// time is that of the store: the next try may be another machine's, whose clock is
// another one too. Of the own clock only what has passed counts.
func (s *Sender) time(st *state) time.Time { return st.read.Add(s.now().Sub(st.readHere)) }

// waiting is a message that is not delivered yet.
type waiting struct {
	Entry int64     `json:"entry"`
	Tries int       `json:"tries,omitempty"`
	Next  time.Time `json:"next"`
}

// A Letter is a message that was given up.
type Letter struct {
	Entry int64     `json:"entry"` // of the audit log
	Tries int       `json:"tries"`
	At    time.Time `json:"at"`
	Why   string    `json:"why"`
}

// due are the messages whose time has come, the oldest first.
func (st *state) due(now time.Time) []waiting {
	var list []waiting
	for _, w := range st.Waits {
		if !w.Next.After(now) {
			list = append(list, w)
		}
	}
	return list
}

// settle records what became of a message, and reports whether it was given up.
func (st *state) settle(w waiting, a answer, now time.Time) (dead bool) {
	i := slices.IndexFunc(st.Waits, func(o waiting) bool { return o.Entry == w.Entry })
	if i < 0 {
		return false
	}
	switch {
	case a.ok():
		st.Waits = slices.Delete(st.Waits, i, i+1)
	case w.Tries >= len(backoff):
		st.Waits = slices.Delete(st.Waits, i, i+1)
		st.Dead = append(st.Dead, Letter{Entry: w.Entry, Tries: w.Tries + 1, At: now.UTC(), Why: a.why})
		st.Dead = st.Dead[max(0, len(st.Dead)-mostDead):]
		return true
	default:
		st.Waits[i].Next = now.Add(max(backoff[w.Tries], a.after))
		st.Waits[i].Tries++
	}
	return false
}

// end is for an endpoint that wants nothing more. What waited is a dead letter.
func (st *state) end(now time.Time) {
	st.Gone = now.UTC()
	for _, w := range st.Waits {
		st.Dead = append(st.Dead, Letter{Entry: w.Entry, Tries: w.Tries, At: st.Gone, Why: "the endpoint answered 410"})
	}
	st.Dead = st.Dead[max(0, len(st.Dead)-mostDead):]
	st.Waits = nil
}

// Where an endpoint's state stands in the store: a row of nobody, which its lock makes
// one transaction at a time.
func row(e *Endpoint) string { return "parley||webhook " + e.ID }

const stateName = "state"

// kept is how long a state is remembered that nobody writes: an endpoint that was away
// for longer begins anew.
const kept = 365 * 24 * time.Hour

var errLease = errors.New("webhook: another machine sends for this endpoint")

func readState(tx inbox.Tx) (*state, error) {
	value, err := tx.Remembered(stateName)
	if errors.Is(err, inbox.ErrNotFound) {
		return &state{}, nil
	}
	if err != nil {
		return nil, err
	}
	st := &state{}
	if err := json.Unmarshal(value, st); err != nil {
		return nil, fmt.Errorf("webhook: a stored state is damaged: %w", err)
	}
	return st, nil
}

func writeState(tx inbox.Tx, st *state) error {
	value, err := json.Marshal(st)
	if err != nil {
		return err
	}
	return tx.Remember(stateName, value, tx.Now().Add(kept))
}

// take gets the lease, or keeps it, and reads the state. mine is false if another
// machine has it, or the endpoint is gone.
func (s *Sender) take(ctx context.Context, e *Endpoint) (st *state, mine bool, err error) {
	err = s.store.Update(ctx, row(e), func(tx inbox.Tx) error {
		if st, err = readState(tx); err != nil {
			return err
		}
		st.read, st.readHere = tx.Now(), s.now()
		if mine = st.Gone.IsZero(); !mine {
			return nil
		}
		if mine = st.Owner == s.machine || !tx.Now().Before(st.Until); !mine {
			return nil
		}
		if st.Owner != s.machine {
			st.Owner = s.machine
			st.Fence++
		}
		if st.Since.IsZero() {
			st.Since = tx.Now()
		}
		st.Until = tx.Now().Add(s.lease)
		return writeState(tx, st)
	})
	return st, mine, err
}

// save stores the state, if this machine's lease was not taken over.
func (s *Sender) save(ctx context.Context, e *Endpoint, st *state) error {
	return s.store.Update(ctx, row(e), func(tx inbox.Tx) error {
		now, err := readState(tx)
		if err != nil {
			return err
		}
		if now.Owner != s.machine || now.Fence != st.Fence {
			return errLease
		}
		st.Until = tx.Now().Add(s.lease)
		return writeState(tx, st)
	})
}

// A Status says how an endpoint does.
type Status struct {
	ID     string   `json:"id"`
	Waits  int      `json:"waits"` // messages that are not delivered yet
	Tries  int      `json:"tries"` // of the one that was tried most
	Dead   []Letter `json:"dead"`  // the newest last
	Behind bool     `json:"behind"`
	// Gone is when it answered 410. It gets nothing until it is turned on again.
	Gone *time.Time `json:"gone,omitempty"`
}

// Status lists the endpoints.
func (s *Sender) Status(ctx context.Context) ([]Status, error) {
	list := make([]Status, 0, len(s.endpoints))
	for _, e := range s.endpoints {
		var st *state
		err := s.store.View(ctx, row(e), func(tx inbox.Tx) (err error) {
			st, err = readState(tx)
			return err
		})
		if err != nil {
			return nil, err
		}
		one := Status{ID: e.ID, Waits: len(st.Waits), Dead: append([]Letter{}, st.Dead...), Behind: len(st.Waits) >= mostWaits}
		if !st.Gone.IsZero() {
			one.Gone = &st.Gone
		}
		for _, w := range st.Waits {
			one.Tries = max(one.Tries, w.Tries)
		}
		list = append(list, one)
	}
	return list, nil
}

// Redeliver lets the dead letters of an endpoint be tried again, and turns on again one
// that answered 410: what happened meanwhile is not told. It returns how many letters.
func (s *Sender) Redeliver(ctx context.Context, id string) (n int, err error) {
	i := slices.IndexFunc(s.endpoints, func(e *Endpoint) bool { return e.ID == id })
	if i < 0 {
		return 0, fmt.Errorf("webhook: endpoint %q: %w", id, inbox.ErrNotFound)
	}
	err = s.store.Update(ctx, row(s.endpoints[i]), func(tx inbox.Tx) error {
		st, err := readState(tx)
		if err != nil {
			return err
		}
		n = len(st.Dead)
		for _, d := range st.Dead {
			st.Waits = append(st.Waits, waiting{Entry: d.Entry, Next: tx.Now()})
		}
		st.Dead = nil
		if !st.Gone.IsZero() {
			st.Gone, st.Since = time.Time{}, tx.Now()
		}
		// Whoever sends reads its state anew: what it holds lacks these.
		st.Fence++
		st.Owner, st.Until = "", time.Time{}
		return writeState(tx, st)
	})
	return n, err
}

func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand, since Go 1.24)
	return hex.EncodeToString(b[:])
}
