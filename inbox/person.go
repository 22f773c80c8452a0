package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes that no call, question or answer goes beyond.
const (
	maxArguments = 1 << 20
	maxParams    = 1 << 20
	maxContent   = 256 << 10
	maxResult    = 32 << 20
	maxText      = 4 << 10 // ids, names, reasons
	maxPage      = 500
)

// Compose records a call: it is ready to be sent, waits for an approval, or has
// been denied, as the policy said that the caller has asked.
func (in *Inbox) Compose(ctx context.Context, p Principal, n NewCall) (*Call, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if n.Actor == "" {
		n.Actor = Person
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	var made *callRecord
	err := in.update(ctx, p.Key(), func(w *work) error {
		if err := w.enabled(); err != nil {
			return err
		}
		key, before, err := w.remembered("compose", n.Key, n.fields()...)
		if err != nil {
			return err
		}
		if before != "" {
			made, err = w.call(CallID(before))
			return err
		}
		if made, err = w.composeUnder(n); err != nil {
			return err
		}
		return w.remember(key, string(made.ID))
	})
	if err != nil {
		return nil, err
	}
	return made.copy(), nil
}

// checkText bounds texts that no rule reads, and refuses what not every
// database can store as text.
func checkText(name string, texts ...string) error {
	for _, text := range texts {
		if len(text) > maxText {
			return fmt.Errorf("%w: %s is longer than %d bytes", ErrInvalid, name, maxText)
		}
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%w: %s is not text", ErrInvalid, name)
		}
	}
	return nil
}

func (n *NewCall) check() error {
	for _, field := range []struct{ name, value string }{
		{"conversation", n.Conversation}, {"server", n.Server}, {"endpoint", n.Endpoint},
		{"fingerprint", n.Fingerprint}, {"method", n.Method}, {"name", n.Name}, {"key", n.Key},
		{"client", n.Origin.Client}, {"surface", n.Origin.Surface}, {"rule", n.Rule},
	} {
		if err := checkText(field.name, field.value); err != nil {
			return err
		}
	}
	switch {
	case n.Server == "":
		return fmt.Errorf("%w: a call needs a server", ErrInvalid)
	case n.Method == "":
		return fmt.Errorf("%w: a call needs a method", ErrInvalid)
	case n.Actor != Person && n.Actor != Model:
		return fmt.Errorf("%w: the actor is a person or a model", ErrInvalid)
	case n.Era != "" && n.Era != Legacy && n.Era != Modern:
		return fmt.Errorf("%w: the era is legacy or modern", ErrInvalid)
	case len(n.Arguments) > maxArguments:
		return &LimitError{Reason: ReasonTooLarge, Limit: maxArguments}
	case len(n.Arguments) > 0 && !json.Valid(n.Arguments):
		return fmt.Errorf("%w: the arguments are not JSON", ErrInvalid)
	}
	switch {
	case n.Ask != nil && n.Deny != nil, n.Rule != "" && (n.Ask != nil || n.Deny != nil):
		return fmt.Errorf("%w: a call is allowed, asked about or denied", ErrInvalid)
	case n.Ask != nil:
		return n.Ask.check()
	case n.Deny != nil:
		return n.Deny.check()
	}
	return nil
}

func (n *NewCall) fields() []string {
	return []string{n.Conversation, string(n.Actor), n.Server, n.Method, n.Name, string(n.Arguments)}
}

func (w *work) compose(n NewCall, replaces CallID) (*callRecord, error) {
	c := w.newCall(n, replaces)
	if err := w.tellComposed(c); err != nil {
		return nil, err
	}
	return c, w.moveCall(c, Ready, "", "")
}

// composeUnder composes as the policy said.
func (w *work) composeUnder(n NewCall) (*callRecord, error) {
	c := w.newCall(n, "")
	by, fits, err := w.allowed(c, &Allowed{Rule: n.Rule, Ask: n.Ask})
	if err != nil {
		return nil, err
	}
	if fits && n.Deny == nil {
		c.told = by
	}
	if err := w.tellComposed(c); err != nil {
		return nil, err
	}
	switch {
	case n.Deny != nil:
		c.Rule = n.Deny.Rule
		return c, w.byMachine(func() error { return w.deny(c, ReasonDenied, n.Deny.sentence()) })
	case !fits:
		return c, w.byMachine(func() error { return w.ask(c, n.Ask) })
	}
	return c, w.moveCall(c, Ready, "", "")
}

func (w *work) newCall(n NewCall, replaces CallID) *callRecord {
	c := &callRecord{Call: Call{
		ID: CallID(randomID("c_")), Principal: w.principal, Conversation: n.Conversation,
		Actor: n.Actor, Origin: n.Origin, Trace: n.Trace.tidy(), Server: n.Server, Endpoint: n.Endpoint,
		Fingerprint: n.Fingerprint, Era: n.Era, Method: n.Method, Name: n.Name,
		Arguments: slices.Clone(n.Arguments), State: CallNew, Created: w.now,
		Replaces: replaces, IdempotencyKey: randomID("i_"),
	}}
	keep(&w.calls, c.ID, c)
	return c
}

func (w *work) tellComposed(c *callRecord) error {
	e := w.auditCall(AuditComposed, c)
	e.Method, e.Actor, e.Replaces, e.Via = c.Method, c.Actor, c.Replaces, c.Origin.Surface
	e.Rule, e.Approval = c.told.rule, c.told.approval
	e.Digest = w.digest(string(c.ID), c.Arguments)
	return w.audit(e)
}

// remembered looks for an idempotency key. It returns the memory to store the
// result with, or the result of the first time.
func (w *work) remembered(op, key string, request ...string) (memory, string, error) {
	if key == "" {
		return memory{}, "", nil
	}
	if err := checkText("the key", key); err != nil {
		return memory{}, "", err
	}
	text, err := json.Marshal(request)
	if err != nil {
		return memory{}, "", err
	}
	sum := sha256.Sum256(text)
	m := memory{key: op + ":" + key, Digest: sum[:]}
	stored, err := w.tx.Remembered(m.key)
	if errors.Is(err, ErrNotFound) {
		return m, "", nil
	}
	if err != nil {
		return memory{}, "", err
	}
	var before memory
	if err := json.Unmarshal(stored, &before); err != nil {
		return memory{}, "", fmt.Errorf("inbox: a remembered key is damaged: %w", err)
	}
	if string(before.Digest) != string(m.Digest) {
		return memory{}, "", ErrKeyReused
	}
	return m, before.Result, nil
}

// memory is what is stored for an idempotency key: a digest of the request,
// never the request, and the id of what it made.
type memory struct {
	key    string
	Digest []byte `json:"digest"`
	Result string `json:"result"`
}

func (w *work) remember(m memory, result string) error {
	if m.key == "" {
		return nil
	}
	m.Result = result
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return w.tx.Remember(m.key, value, w.now.Add(keyTime))
}

// Call returns one of the person's calls. One that cannot be read comes with [ErrUnreadable].
func (in *Inbox) Call(ctx context.Context, p Principal, id CallID) (*Call, error) {
	var c *callRecord
	err := in.view(withAhead(ctx, Ahead{Of: id, Call: true}), p.Key(), func(w *work) (err error) {
		c, err = w.anyCall(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.copy(), c.fault
}

// Question returns one of the person's questions. One that cannot be read comes with
// [ErrUnreadable].
func (in *Inbox) Question(ctx context.Context, p Principal, id QuestionID) (*Question, error) {
	var q *questionRecord
	err := in.view(withAhead(ctx, Ahead{Question: id}), p.Key(), func(w *work) (err error) {
		q, err = w.anyQuestion(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return q.copy(), q.fault
}

// CallFilter selects calls; zero fields do not select.
type CallFilter struct {
	Conversation string
	Server       string
	States       []CallState
	Before       int64 // the Seq of the last call of the page before
	Limit        int   // default 100, at most 500

	// Brief lists without reading what was sealed: of a brief call Origin.Client,
	// Endpoint, Fingerprint, Name, Arguments, Detail, RequestState, EmptyState, Result and
	// IdempotencyKey are empty. A result has up to 32 MiB, so a page of whole
	// calls may fill the memory; [Inbox.Call] reads one.
	Brief bool
}

// Calls lists the person's calls, newest first. The next page is the one
// before the Seq of the last call; calls that are composed meanwhile do not
// move the pages.
func (in *Inbox) Calls(ctx context.Context, p Principal, f CallFilter) ([]*Call, error) {
	list := []*Call{}
	var faults []string
	err := in.view(ctx, p.Key(), func(w *work) error {
		list, faults = list[:0], nil
		rows, err := w.tx.Calls(CallQuery{
			Conversation: f.Conversation, Server: f.Server, States: f.States,
			Before: f.Before, Limit: pageSize(f.Limit), Brief: f.Brief,
		})
		if err != nil {
			return err
		}
		open := w.openCall
		if f.Brief {
			open = w.openBrief
		}
		for _, row := range rows {
			c, err := open(row)
			if err != nil {
				return err
			}
			list = append(list, c.copy())
			if c.fault != nil {
				faults = append(faults, string(c.ID))
			}
		}
		return nil
	})
	in.report(faults)
	return list, err
}

// QuestionFilter selects questions; zero fields do not select.
type QuestionFilter struct {
	Call         CallID
	Conversation string
	Server       string
	States       []QuestionState
	Before       int64 // the Seq of the last question of the page before
	Limit        int   // default 100, at most 500
}

// Questions lists the person's questions, newest first, in pages like [Inbox.Calls].
func (in *Inbox) Questions(ctx context.Context, p Principal, f QuestionFilter) ([]*Question, error) {
	list := []*Question{}
	if f.Call != "" {
		ctx = withAhead(ctx, Ahead{Of: f.Call, Questions: true})
	}
	var faults []string
	err := in.view(ctx, p.Key(), func(w *work) error {
		list, faults = list[:0], nil
		rows, err := w.tx.Questions(QuestionQuery{
			Call: f.Call, Conversation: f.Conversation, Server: f.Server, States: f.States,
			Before: f.Before, Limit: pageSize(f.Limit),
		})
		if err != nil {
			return err
		}
		for _, row := range rows {
			q, err := w.openQuestion(row)
			if err != nil {
				return err
			}
			list = append(list, q.copy())
			if q.fault != nil {
				faults = append(faults, string(q.ID))
			}
		}
		return nil
	})
	in.report(faults)
	return list, err
}

func pageSize(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, maxPage)
}

// Conversation returns the newest 500 calls (brief ones, see [CallFilter]) and
// questions of a conversation, oldest first, from one snapshot, and the number of the last event that the
// snapshot contains. A conversation that nobody used is empty.
func (in *Inbox) Conversation(ctx context.Context, p Principal, conversation string) (calls []*Call, questions []*Question, event int64, err error) {
	if conversation == "" { // a filter that is empty would select everything
		return nil, nil, 0, fmt.Errorf("%w: which conversation", ErrInvalid)
	}
	var faults []string
	err = in.view(ctx, p.Key(), func(w *work) error {
		calls, questions, faults = nil, nil, nil
		callRows, err := w.tx.Calls(CallQuery{Conversation: conversation, Limit: maxPage, Brief: true})
		if err != nil {
			return err
		}
		for _, row := range slices.Backward(callRows) {
			c, err := w.openBrief(row)
			if err != nil {
				return err
			}
			calls = append(calls, c.copy())
			if c.fault != nil {
				faults = append(faults, string(c.ID))
			}
		}
		questionRows, err := w.tx.Questions(QuestionQuery{Conversation: conversation, Limit: maxPage})
		if err != nil {
			return err
		}
		for _, row := range slices.Backward(questionRows) {
			q, err := w.openQuestion(row)
			if err != nil {
				return err
			}
			questions = append(questions, q.copy())
			if q.fault != nil {
				faults = append(faults, string(q.ID))
			}
		}
		_, event, err = w.tx.EventBounds()
		return err
	})
	in.report(faults)
	return calls, questions, event, err
}

// Wait returns the call as soon as its version is higher than since, or at
// once if it has ended: an ended call does not change any more. One that cannot be
// read comes with [ErrUnreadable], and as late.
func (in *Inbox) Wait(ctx context.Context, p Principal, id CallID, since int64) (*Call, error) {
	var c *Call
	var fault error
	err := in.await(ctx, p.Key(), id, func() (bool, error) {
		var now *Call // kept by nobody who waits: many may, and a call is large
		if now, fault = in.Call(ctx, p, id); now == nil {
			return false, fault
		}
		if now.Version <= since && !now.State.Ended() {
			return false, nil
		}
		c = now
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return c, fault
}

// Events lists the person's events after the given number, in order, at most
// limit (default 100, at most 500). ErrReset says that some of them are gone,
// or that the number is from another store: read everything anew and go on
// from [Inbox.LastEvent].
func (in *Inbox) Events(ctx context.Context, p Principal, after int64, limit int) ([]Event, error) {
	var events []Event
	err := in.view(ctx, p.Key(), func(w *work) error {
		first, last, err := w.tx.EventBounds()
		if err != nil {
			return err
		}
		if after < first-1 || after > last {
			return ErrReset
		}
		events, err = w.tx.Events(after, pageSize(limit))
		return err
	})
	return events, err
}

// LastEvent returns the number of the person's latest event, 0 if there is none.
func (in *Inbox) LastEvent(ctx context.Context, p Principal) (int64, error) {
	var last int64
	err := in.view(ctx, p.Key(), func(w *work) (err error) {
		_, last, err = w.tx.EventBounds()
		return err
	})
	return last, err
}
