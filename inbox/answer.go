package inbox

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrNotOpened: a url question is accepted only after the person agreed to
// exactly its present address, with [Inbox.Open].
var ErrNotOpened = errors.New("inbox: the address was not agreed to")

// Answer gives the person's answer. Content is checked against the question's
// form, and dropped on decline, on cancel and in url mode. Of two answers one
// wins; the other gets a [ClosedError], unless it came with the same key and
// is the same.
func (in *Inbox) Answer(ctx context.Context, p Principal, id QuestionID, a Answer) (*Question, error) {
	switch a.Action {
	case Accept:
	case Decline, Cancel:
		a.Content = nil
	default:
		return nil, fmt.Errorf("%w: an answer is accept, decline or cancel", ErrInvalid)
	}
	if len(a.Content) > maxContent {
		return nil, &LimitError{Reason: ReasonTooLarge, Limit: maxContent}
	}
	if err := checkText("via or assurance", a.Via, a.Assurance); err != nil {
		return nil, err
	}
	var q *questionRecord
	var refused error // committed beside it: the expiry that refuses the answer
	err := in.update(withAhead(ctx, Ahead{Question: id, Call: true, Questions: true}), p.Key(), func(w *work) error {
		refused = nil
		if err := w.enabled(); err != nil {
			return err
		}
		key, before, err := w.remembered("answer", a.Key, string(id), string(a.Action), string(a.Content))
		if err != nil {
			return err
		}
		if q, err = w.question(id); err != nil || before != "" {
			return err
		}
		c, err := w.call(q.Call)
		if err != nil {
			return err
		}
		if err := w.expireDue(c, q); err != nil {
			return err
		}
		if q.State.Closed() {
			refused = q.closed()
			return nil
		}
		if a.Action == Accept {
			if a.Content, err = accepted(q, a.Content); err != nil {
				refused = err
				return w.checked(q, a, err)
			}
		}
		if err := w.answer(q, a); err != nil {
			return err
		}
		if err := w.settle(c); err != nil {
			return err
		}
		return w.remember(key, string(id))
	})
	if err = errors.Join(err, refused); err != nil {
		return nil, single(err)
	}
	return q.copy(), nil
}

// single takes the wrapping of errors.Join off one error.
func single(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		if list := joined.Unwrap(); len(list) == 1 {
			return list[0]
		}
	}
	return err
}

// accepted returns the content to store for an accept.
func accepted(q *questionRecord, content json.RawMessage) (json.RawMessage, error) {
	if q.Mode == URL {
		if q.State != Opened {
			return nil, ErrNotOpened
		}
		return nil, nil // MCP 2025-11-25 elicitation, "Response Actions": accept has no content
	}
	if len(content) == 0 {
		content = json.RawMessage("{}") // a form whose fields are all optional
	}
	if err := check(&q.Question, content); err != nil {
		return nil, err
	}
	return slices.Clone(content), nil
}

func (w *work) answer(q *questionRecord, a Answer) error {
	to := map[Action]QuestionState{Accept: Accepted, Decline: Declined, Cancel: Cancelled}[a.Action]
	if err := w.closeQuestion(q, to, ByPerson); err != nil {
		return err
	}
	q.Answer = &Answer{
		Action: a.Action, Content: a.Content, At: w.now, By: w.principal,
		Via: a.Via, Assurance: a.Assurance,
	}
	e := w.auditQuestion(AuditAnswered, q)
	e.Waited = w.now.Sub(q.Created).Milliseconds()
	e.State, e.Via, e.Assurance, e.Digest = string(to), a.Via, a.Assurance, w.digest(string(q.ID), a.Content)
	return w.audit(e)
}

// checked tells that an answer was refused, and why, without its fields: a
// name that the form does not have may be a part of what was typed.
func (w *work) checked(q *questionRecord, a Answer, why error) error {
	var check *CheckError
	if !errors.As(why, &check) || q.checks >= maxChecks {
		return nil
	}
	q.checks++
	w.touchQuestionQuietly(q)
	e := w.auditQuestion(AuditChecked, q)
	e.Via, e.Assurance = a.Via, a.Assurance
	for _, fault := range check.Errors {
		if code := fault.Code; !slices.Contains(e.Codes, code) {
			e.Codes = append(e.Codes, code)
		}
	}
	return w.audit(e)
}

// closed is the error of an operation on a closed question.
func (q *questionRecord) closed() error {
	e := &ClosedError{Question: q.ID, State: q.State, By: q.ClosedBy, At: q.Closed}
	if q.Answer != nil {
		e.Via = q.Answer.Via
	}
	return e
}

// expireDue lets an expiry that has come win over what is about to happen, even
// if no sweep has seen it yet.
func (w *work) expireDue(c *callRecord, q *questionRecord) error {
	if c.State.Ended() {
		return nil
	}
	if w.passed(c.Deadline) && (c.State == Waiting || c.State == Ready || c.State == Blocked) || c.State == Approving && w.passed(c.ExpiresAt) {
		return w.expireCall(c)
	}
	if q != nil && !q.State.Closed() && w.passed(q.ExpiresAt) {
		return w.byMachine(func() error {
			if err := w.closeQuestion(q, Expired, ByExpiry); err != nil {
				return err
			}
			return w.settle(c)
		})
	}
	return nil
}

// expireCall is for a call whose time has passed.
func (w *work) expireCall(c *callRecord) error {
	reason, detail := ReasonDeadline, "The server's time limit passed."
	switch {
	case w.passed(c.Deadline):
	case c.State == Blocked:
		reason, detail = ReasonBlockedTooLong, "It could not go on for too long."
	case c.State == Approving:
		reason, detail = ReasonNotDecided, "Nobody decided in time."
	}
	return w.byMachine(func() error { return w.giveUp(c, CallExpired, reason, detail) })
}

// giveUp ends a call as its person has not decided it: its time has passed, whatever claims
// it dies, or a rule or somebody else does not allow it. One that may have happened is not
// ended so, since its idempotency key would be gone with it: it is uncertain again, and its
// person decides.
func (w *work) giveUp(c *callRecord, to CallState, reason, detail string) error {
	if c.MarkedBefore && c.State != Waiting { // the answer to a send without a reply is no question
		to, c.resending, c.resendUntil = Uncertain, false, time.Time{}
	}
	return w.moveCall(c, to, reason, detail+" "+c.unsent())
}

// TakeBack makes an answered question open again, with what was answered as
// its suggestion. It is possible until a machine has marked the round as sent
// (or, on a held call, the answer as delivered), and not while one has claimed it.
func (in *Inbox) TakeBack(ctx context.Context, p Principal, id QuestionID) (*Question, error) {
	var q *questionRecord
	err := in.update(ctx, p.Key(), func(w *work) (err error) {
		if err := w.enabled(); err != nil {
			return err
		}
		if q, err = w.question(id); err != nil {
			return err
		}
		if q.Answer == nil {
			if q.State.Closed() {
				return q.closed()
			}
			return ErrOpen
		}
		c, err := w.call(q.Call)
		if err != nil {
			return err
		}
		if !c.canTakeBack(&q.Question) || w.passed(q.ExpiresAt) || w.passed(c.Deadline) {
			return ErrTooLate
		}
		if q.Answer.Content != nil {
			q.Suggested = q.Answer.Content
		}
		if err := w.audit(w.auditQuestion(AuditTakenBack, q)); err != nil {
			return err
		}
		if err := w.reopen(q, Open); err != nil {
			return err
		}
		if c.State == Ready {
			return w.moveCall(c, Waiting, "", "")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return q.copy(), nil
}

// CanTakeBack reports whether the answer to a question of this call could be
// taken back now. [Inbox.TakeBack] decides.
func (c *Call) CanTakeBack(q *Question) bool { return c.canTakeBack(q) }

func (c *Call) canTakeBack(q *Question) bool {
	if q.Answer == nil || q.Call != c.ID || q.ClosedBy != ByPerson {
		return false
	}
	switch c.State {
	case Waiting, Ready, Blocked:
		// Once marked, the answers may have left the machine, whatever came back.
		return q.Round == c.Round && c.RoundSends == 0
	case Sent:
		return c.Held && q.Held && q.Delivery == Undelivered && !c.StopWanted
	}
	return false
}

// Open records that the person agrees to go to the question's address. The
// digest (SHA-256, lower-case hex) is of the address that they were shown: if
// the server has sent another one meanwhile the answer is ErrURLChanged.
func (in *Inbox) Open(ctx context.Context, p Principal, id QuestionID, urlSHA256 string) (*Question, error) {
	var q *questionRecord
	var refused error
	err := in.update(ctx, p.Key(), func(w *work) (err error) {
		refused = nil
		if err := w.enabled(); err != nil {
			return err
		}
		if q, err = w.question(id); err != nil {
			return err
		}
		if q.Mode != URL {
			return fmt.Errorf("%w: only a url question is opened", ErrInvalid)
		}
		c, err := w.call(q.Call)
		if err != nil {
			return err
		}
		if err := w.expireDue(c, q); err != nil {
			return err
		}
		if q.State.Closed() {
			refused = q.closed()
			return nil
		}
		sum := sha256.Sum256([]byte(q.URL))
		if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(urlSHA256)) != 1 {
			return ErrURLChanged
		}
		if q.State == Opened {
			return nil
		}
		if err := w.moveQuestion(q, Opened); err != nil {
			return err
		}
		e := w.auditQuestion(AuditOpened, q)
		e.Digest = w.digest(string(q.ID), []byte(q.URL))
		return w.audit(e)
	})
	if err = errors.Join(err, refused); err != nil {
		return nil, single(err)
	}
	return q.copy(), nil
}

// DeclineRest declines the questions of a call that are still open and returns them. Of
// the answer Via, Assurance and Key count. The same key declines once, and returns none
// then: what the server asked meanwhile, the person has not seen.
func (in *Inbox) DeclineRest(ctx context.Context, p Principal, id CallID, a Answer) ([]*Question, error) {
	if err := checkText("via or assurance", a.Via, a.Assurance); err != nil {
		return nil, err
	}
	var list []*Question
	err := in.update(ctx, p.Key(), func(w *work) error {
		list = nil
		if err := w.enabled(); err != nil {
			return err
		}
		m, before, err := w.remembered("decline rest", a.Key, string(id))
		if err != nil || before != "" {
			return err
		}
		c, err := w.call(id)
		if err != nil {
			return err
		}
		questions, err := w.asked(id)
		if err != nil {
			return err
		}
		for _, q := range questions {
			if q.State.Closed() || q.fault != nil { // nobody could send that answer
				continue
			}
			if err := w.expireDue(c, q); err != nil {
				return err
			}
			if q.State.Closed() {
				continue
			}
			if err := w.answer(q, Answer{Action: Decline, Via: a.Via, Assurance: a.Assurance}); err != nil {
				return err
			}
			list = append(list, q.copy())
		}
		if err := w.settle(c); err != nil {
			return err
		}
		return w.remember(m, string(id))
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
