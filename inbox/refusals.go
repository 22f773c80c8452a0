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
// they were over a limit, or the policy did not let them through.
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
	Told  micros `json:"told,omitempty"` // the last event
}

const (
	refusalsKey  = "refused questions"
	refusalsTime = 30 * 24 * time.Hour // after the last one
	maxRefusals  = 100                 // servers
	refusalsPace = 2 * time.Second     // between two events of one server: it could push all others out
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
		return w.refused(server, n, ReasonTooManyQuestions)
	})
}

func refusedEntry(server, limit string, n int) AuditEntry {
	return AuditEntry{Kind: AuditRefused, Server: server, Reason: limit, Count: n}
}

// RefusedQuestion is a question that the policy does not let the person see.
type RefusedQuestion struct {
	Mode  Mode
	Rule  string // the name of the rule
	Count int    // of the questions that are not shown because of it: those of its round; default 1
}

func (r *RefusedQuestion) check() error {
	if r == nil {
		return nil
	}
	if r.Mode != Form && r.Mode != URL && r.Mode != "" || r.Count < 0 {
		return fmt.Errorf("%w: what question was refused", ErrInvalid)
	}
	return checkText("the rule", r.Rule)
}

// maxNotShown is how many refused entries one call has in the audit log.
const maxNotShown = 20

// RefuseQuestion records that a question, which a legacy server asked on the open
// connection of a sent call, was refused because of the policy. The call goes on.
func (in *Inbox) RefuseQuestion(ctx context.Context, claim *Claim, r RefusedQuestion) error {
	if err := r.check(); err != nil {
		return err
	}
	_, err := in.with(ctx, claim, "refuse a question", onlySent, func(w *work, c *callRecord) error {
		return w.notShown(c, &r)
	})
	return err
}

// notShown records what the policy does not let the person see. A server could fill the
// log with it.
func (w *work) notShown(c *callRecord, r *RefusedQuestion) error {
	n := max(1, r.Count)
	e := w.auditCall(AuditRefused, c)
	e.Mode, e.Rule, e.Reason, e.Count = r.Mode, r.Rule, ReasonRefused, n
	if c.notShown >= maxNotShown {
		w.observe(e)
	} else {
		c.notShown++
		w.touchQuietly(c)
		if err := w.audit(e); err != nil {
			return err
		}
	}
	return w.countRefused(c.Server, n)
}

// refused counts n questions of the server over the limit.
func (w *work) refused(server string, n int, limit string) error {
	w.observe(refusedEntry(server, limit, n))
	return w.countRefused(server, n)
}

func (w *work) countRefused(server string, n int) error {
	all, err := w.refusals()
	if err != nil {
		return err
	}
	r, known := all[server]
	if !known {
		if r.Since = toMicros(w.now); len(all) >= maxRefusals {
			oldest := slices.MinFunc(slices.Collect(maps.Keys(all)), func(a, b string) int { return cmp.Compare(all[a].Last, all[b].Last) })
			delete(all, oldest)
		}
	}
	r.Count, r.Last = r.Count+n, toMicros(w.now)
	if w.now.Sub(r.Told.time()) >= refusalsPace {
		r.Told = r.Last
		if err := w.tellRefusal(server); err != nil {
			return err
		}
	}
	all[server] = r
	return w.rememberRefusals(all)
}

// tellRefusal lets pages know that what [Inbox.Refusals] says of the server has changed.
func (w *work) tellRefusal(server string) error {
	w.hints = append(w.hints, Hint{Principal: w.key})
	_, err := w.event(RefusalEvent, server)
	return err
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
		return refusals{}, nil //nolint:nilerr // damaged: counting begins anew, and nobody's questions wait for it
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
		for _, known := range slices.Sorted(maps.Keys(all)) {
			if server != "" && server != known {
				continue
			}
			delete(all, known)
			if err := w.tellRefusal(known); err != nil {
				return err
			}
		}
		return w.rememberRefusals(all)
	})
}
