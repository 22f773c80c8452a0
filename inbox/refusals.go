package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Refusal says how many questions of a server a person was not shown, because
// they were over a limit.
type Refusal struct {
	Server string
	Count  int
	Since  time.Time // the first of them
	Last   time.Time
}

// refusals are remembered under one key, by server.
type refusals map[string]refusal

type refusal struct {
	Count int    `json:"count"`
	Since micros `json:"since"`
	Last  micros `json:"last"`
}

const (
	refusalsKey  = "refused questions"
	refusalsTime = 30 * 24 * time.Hour // after the last one
	maxRefusals  = 100                 // servers
)

// Refused records that the host refused n questions of the server by a limit of
// its own. Those that the inbox refuses it records itself.
func (in *Inbox) Refused(ctx context.Context, p Principal, server string, n int) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := checkText("the server", server); err != nil {
		return err
	}
	if server == "" || n < 1 {
		return fmt.Errorf("%w: which server, and how many", ErrInvalid)
	}
	return in.update(ctx, p.Key(), func(w *work) error {
		_, err := w.refused(server, n)
		return err
	})
}

// refused counts and reports whether it is the first of the server.
func (w *work) refused(server string, n int) (first bool, err error) {
	all, err := w.refusals()
	if err != nil {
		return false, err
	}
	r, known := all[server]
	if !known {
		if r.Since = toMicros(w.now); len(all) >= maxRefusals {
			oldest := slices.MinFunc(slices.Collect(maps.Keys(all)), func(a, b string) int { return cmp.Compare(all[a].Last, all[b].Last) })
			delete(all, oldest)
		}
	}
	r.Count, r.Last = r.Count+n, toMicros(w.now)
	all[server] = r
	return !known, w.rememberRefusals(all)
}

func (w *work) refusals() (refusals, error) {
	value, err := w.tx.Remembered(refusalsKey)
	if errors.Is(err, ErrNotFound) {
		return refusals{}, nil
	}
	if err != nil {
		return nil, err
	}
	var all refusals
	if err := json.Unmarshal(value, &all); err != nil || all == nil {
		return nil, errors.New("inbox: what is remembered of refused questions is damaged")
	}
	return all, nil
}

func (w *work) rememberRefusals(all refusals) error {
	value, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return w.tx.Remember(refusalsKey, value, w.now.Add(refusalsTime))
}

// Refusals lists the servers whose questions the person was not shown, the
// latest first, until the person clears them or for 30 days after the last.
func (in *Inbox) Refusals(ctx context.Context, p Principal) ([]Refusal, error) {
	list := []Refusal{}
	err := in.view(ctx, p.Key(), func(w *work) error {
		list = list[:0]
		all, err := w.refusals()
		for server, r := range all {
			list = append(list, Refusal{Server: server, Count: r.Count, Since: r.Since.time(), Last: r.Last.time()})
		}
		slices.SortFunc(list, func(a, b Refusal) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Server, b.Server)) })
		return err
	})
	return list, err
}

// ClearRefusals forgets what the person has seen of the server; empty: of all.
func (in *Inbox) ClearRefusals(ctx context.Context, p Principal, server string) error {
	return in.update(ctx, p.Key(), func(w *work) error {
		all, err := w.refusals()
		if err != nil || len(all) == 0 {
			return err
		}
		delete(all, server)
		if server == "" {
			clear(all)
		}
		return w.rememberRefusals(all)
	})
}
