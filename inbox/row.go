package inbox

import (
	"bytes"
	"encoding/json"
	"time"
)

// Rows in a store have a part that is read as it is (states, times, counts) and
// a sealed part: everything that a person, a server or a model wrote. The seal
// is bound to the principal and the row, so a sealed part that is moved to
// another row does not open.
const (
	callPurpose     = "inbox call"
	questionPurpose = "inbox question"
)

// micros is a time as it is stored: UTC, to the microsecond, 0 for the zero time.
type micros int64

func toMicros(t time.Time) micros {
	if t.IsZero() {
		return 0
	}
	return micros(t.UnixMicro())
}

func (m micros) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}

// callDetail is the readable part of a call's row.
type callDetail struct {
	Actor        Actor      `json:"actor,omitempty"`
	Surface      string     `json:"surface,omitempty"`
	TraceParent  string     `json:"trace_parent,omitempty"`
	TraceState   string     `json:"trace_state,omitempty"`
	Era          Era        `json:"era,omitempty"`
	Method       string     `json:"method,omitempty"`
	Reason       string     `json:"reason,omitempty"`
	Held         bool       `json:"held,omitempty"`
	Round        int        `json:"round,omitempty"`
	Rounds       int        `json:"rounds,omitempty"`
	Agains       int        `json:"agains,omitempty"`
	Asks         int        `json:"asks,omitempty"`
	Blocks       int        `json:"blocks,omitempty"`
	BlockedAt    micros     `json:"blocked_at,omitempty"`
	SignIn       bool       `json:"sign_in,omitempty"`
	LeaseUntil   micros     `json:"lease_until,omitempty"`
	Fence        int64      `json:"fence,omitempty"`
	Deaths       int        `json:"deaths,omitempty"`
	Sends        int        `json:"sends,omitempty"`
	Resends      int        `json:"resends,omitempty"`
	Resending    bool       `json:"resending,omitempty"`
	ResendUntil  micros     `json:"resend_until,omitempty"`
	Delivered    int        `json:"delivered,omitempty"`
	RoundSends   int        `json:"round_sends,omitempty"`
	MarkedBefore bool       `json:"marked_before,omitempty"`
	StopWanted   bool       `json:"stop_wanted,omitempty"`
	Deadline     micros     `json:"deadline,omitempty"`
	ExpiresAt    micros     `json:"expires_at,omitempty"`
	IsError      bool       `json:"is_error,omitempty"`
	Approval     ApprovalID `json:"approval,omitempty"`
	Rule         string     `json:"rule,omitempty"`
	AllowedBy    string     `json:"allowed_by,omitempty"`
	AllowedUnder ApprovalID `json:"allowed_under,omitempty"`
	NotShown     int        `json:"not_shown,omitempty"`
	Removed      bool       `json:"removed,omitempty"`
	Ended        micros     `json:"ended,omitempty"` // of a call whose content was removed; before that it is in the row
	Replaces     CallID     `json:"replaces,omitempty"`
	ReplacedBy   CallID     `json:"replaced_by,omitempty"`
	Lost         bool       `json:"lost,omitempty"` // this part was damaged: what is here is of later
}

// callContent is the sealed part. Raw JSON is []byte: encoding/json would
// rewrite a RawMessage, and it has to stay as it came.
type callContent struct {
	Client         string `json:"client,omitempty"`
	Endpoint       string `json:"endpoint,omitempty"`
	Fingerprint    string `json:"fingerprint,omitempty"`
	Name           string `json:"name,omitempty"`
	Arguments      []byte `json:"arguments,omitempty"`
	Detail         string `json:"detail,omitempty"`
	RequestState   string `json:"request_state,omitempty"`
	EmptyState     bool   `json:"empty_state,omitempty"`
	Result         []byte `json:"result,omitempty"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

type questionDetail struct {
	Mode      Mode     `json:"mode"`
	Round     int      `json:"round"`
	Position  int      `json:"position,omitempty"`
	Asked     int      `json:"asked,omitempty"`
	Held      bool     `json:"held,omitempty"`
	ClosedBy  Closer   `json:"closed_by,omitempty"`
	Delivery  Delivery `json:"delivery,omitempty"`
	Completed micros   `json:"completed,omitempty"`
	ExpiresAt micros   `json:"expires_at"`
	Action    Action   `json:"action,omitempty"`
	At        micros   `json:"at,omitempty"`
	Via       string   `json:"via,omitempty"`
	Assurance string   `json:"assurance,omitempty"`
	Shown     []string `json:"shown,omitempty"`
	Checks    int      `json:"checks,omitempty"`
	Removed   bool     `json:"removed,omitempty"`
	Remind    micros   `json:"remind,omitempty"`
	Lost      bool     `json:"lost,omitempty"`
}

type questionContent struct {
	Key       string `json:"key,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Message   string `json:"message,omitempty"`
	Params    []byte `json:"params,omitempty"`
	URL       string `json:"url,omitempty"`
	Content   []byte `json:"content,omitempty"`
	Suggested []byte `json:"suggested,omitempty"`
	Note      string `json:"note,omitempty"`
}

// callRecord is a call inside a transaction.
type callRecord struct {
	Call
	rounds    int       // rounds that count against Options.Rounds
	agains    int       // sends in a row that brought neither an end nor a question
	blocks    int       // in a row, since its server could not be reached
	blockedAt time.Time // when it was blocked first since it was sent
	signIn    bool      // a sign-in was wanted since then
	asks      int       // questions of the present round whose answers the next send carries
	told      authority // by what it leaves, as the trail told it last
	notShown  int       // questions that the policy refused, as far as the trail tells

	// resending: it is to be sent again without a person's decision, or was so sent. Like
	// resendUntil it outlives a mark.
	resending bool

	// resendUntil is when a call that is to be sent again without a person's decision may
	// be marked no more. It outlives a mark: on proof that nothing of that send ran, the
	// one before is as uncertain as it was.
	resendUntil time.Time

	fault error // why it cannot be read; its seal is kept
	lost  bool  // the readable part was damaged

	sealed, plain []byte // the content as it was read, so that it is sealed anew only if it changed
	more, within  members
	dirty         dirt
}

type questionRecord struct {
	Question
	shown  []string  // by these surfaces
	checks int       // answers that did not fit
	remind time.Time // when an entry of the audit log tells that it will expire; zero: it did, or never

	fault error // as a call's
	lost  bool

	sealed, plain []byte
	more, within  members
	dirty         dirt
}

// copy is for callers, who may keep it for days: it does not keep the row.
func (c *callRecord) copy() *Call {
	made := c.Call
	return &made
}

// copy is for callers, as a call's is.
func (q *questionRecord) copy() *Question {
	made := q.Question
	return &made
}

type dirt int

const (
	clean dirt = iota
	quiet      // to be stored, but nothing that a person can see
	seen       // a new version, an event, a hint
)

// openBrief reads the readable part of a row that came without its content.
// It is for looking only: storing what it returns would lose the content.
func (w *work) openBrief(row *CallRow) (*callRecord, error) {
	var detail callDetail
	if err := json.Unmarshal(row.Detail, &detail); err != nil {
		detail = callDetail{Actor: Model, Lost: true}
	}
	c := w.record(row, detail, callContent{})
	c.spoil(row, nil)
	return c, nil
}

// openCall reads a row, and what can be read of one that cannot: see fault.
func (w *work) openCall(row *CallRow) (*callRecord, error) {
	var detail callDetail
	more, err := w.decode(row.Detail, &detail)
	if err != nil {
		detail, more = callDetail{Actor: Model, Lost: true}, nil
	}
	var content callContent
	plain, within, fault, err := w.open(callPurpose, "call", string(row.ID), row.Content, &content)
	if err != nil {
		return nil, err
	}
	if detail.Lost { // it would not say what it is part of
		content = callContent{}
	}
	c := w.record(row, detail, content)
	c.sealed, c.plain, c.more, c.within = row.Content, plain, more, within
	c.spoil(row, fault)
	return c, nil
}

// spoil marks what cannot be read.
func (c *callRecord) spoil(row *CallRow, fault error) {
	if c.lost {
		c.dueOf(row.Due)
		if fault == nil {
			fault = &unreadableError{"call " + string(row.ID), errDamaged}
		}
	}
	if fault != nil {
		c.fault, c.Unreadable, c.Detail = fault, true, contentGone
	}
}

func (w *work) record(row *CallRow, detail callDetail, content callContent) *callRecord {
	ended := row.Ended
	if detail.Removed {
		ended = detail.Ended.time()
	}
	return &callRecord{
		Call: Call{
			ID: row.ID, Seq: row.Seq, Principal: w.principal, Conversation: row.Conversation,
			Actor: detail.Actor, Origin: Origin{Client: content.Client, Surface: detail.Surface},
			Trace:  Trace{Parent: detail.TraceParent, State: detail.TraceState},
			Server: row.Server, Endpoint: content.Endpoint, Fingerprint: content.Fingerprint,
			Era: detail.Era, Method: detail.Method, Name: content.Name, Arguments: content.Arguments,
			State: row.State, Reason: detail.Reason, Detail: content.Detail, Held: detail.Held,
			Version: row.Version, Round: detail.Round, RequestState: content.RequestState, EmptyState: content.EmptyState,
			Owner: row.Owner, LeaseUntil: detail.LeaseUntil.time(), Fence: detail.Fence, Deaths: detail.Deaths,
			Sends: detail.Sends, Resends: detail.Resends, Delivered: detail.Delivered,
			RoundSends: detail.RoundSends, MarkedBefore: detail.MarkedBefore, StopWanted: detail.StopWanted,
			NotBefore: row.NotBefore, Deadline: detail.Deadline.time(), ExpiresAt: detail.ExpiresAt.time(),
			Created: row.Created, Updated: row.Updated, Ended: ended,
			Result: content.Result, IsError: detail.IsError, Removed: detail.Removed,
			Approval: detail.Approval, Rule: detail.Rule, Replaces: detail.Replaces, ReplacedBy: detail.ReplacedBy, IdempotencyKey: content.IdempotencyKey,
		},
		rounds: detail.Rounds, agains: detail.Agains, asks: detail.Asks, blocks: detail.Blocks, blockedAt: detail.BlockedAt.time(), signIn: detail.SignIn,
		resending: detail.Resending || detail.ResendUntil != 0, resendUntil: detail.ResendUntil.time(),
		told: authority{detail.AllowedBy, detail.AllowedUnder}, notShown: detail.NotShown,
		lost: detail.Lost,
	}
}

func (w *work) callRow(c *callRecord) (*CallRow, error) {
	ended, removed := c.Ended, micros(0)
	if c.Removed { // a store lists it no more as one whose content is to be removed
		ended, removed = time.Time{}, toMicros(c.Ended)
	}
	detail, err := c.more.with(callDetail{
		Actor: c.Actor, Surface: c.Origin.Surface, TraceParent: c.Trace.Parent, TraceState: c.Trace.State, Era: c.Era, Method: c.Method, Reason: c.Reason,
		Held: c.Held, Round: c.Round, Rounds: c.rounds, Agains: c.agains, Asks: c.asks, Blocks: c.blocks, BlockedAt: toMicros(c.blockedAt), SignIn: c.signIn,
		LeaseUntil: toMicros(c.LeaseUntil), Fence: c.Fence, Deaths: c.Deaths,
		Sends: c.Sends, Resends: c.Resends, Resending: c.resending, ResendUntil: toMicros(c.resendUntil), Delivered: c.Delivered, RoundSends: c.RoundSends,
		MarkedBefore: c.MarkedBefore, StopWanted: c.StopWanted,
		Deadline: toMicros(c.Deadline), ExpiresAt: toMicros(c.ExpiresAt),
		IsError: c.IsError, Removed: c.Removed, Ended: removed,
		Approval: c.Approval, Rule: c.Rule, AllowedBy: c.told.rule, AllowedUnder: c.told.approval, NotShown: c.notShown,
		Replaces: c.Replaces, ReplacedBy: c.ReplacedBy, Lost: c.lost,
	})
	if err != nil {
		return nil, err
	}
	plain, err := c.within.with(callContent{
		Client: c.Origin.Client, Endpoint: c.Endpoint, Fingerprint: c.Fingerprint, Name: c.Name,
		Arguments: c.Arguments, Detail: c.Detail, RequestState: c.RequestState, EmptyState: c.EmptyState, Result: c.Result,
		IdempotencyKey: c.IdempotencyKey,
	})
	if err != nil {
		return nil, err
	}
	if c.fault == nil && (c.sealed == nil || !bytes.Equal(plain, c.plain)) {
		c.sealed, c.plain = w.in.keys.Seal(callPurpose, []string{w.key, string(c.ID)}, plain), plain
	}
	return &CallRow{
		ID: c.ID, Seq: c.Seq, Conversation: c.Conversation, Server: c.Server, State: c.State,
		Version: c.Version, Owner: c.Owner, Due: c.due(), NotBefore: c.NotBefore,
		Created: c.Created, Updated: c.Updated, Ended: ended,
		Detail: detail, Content: c.sealed,
	}, nil
}

// due is when a sweep has to look at the call.
func (c *callRecord) due() time.Time {
	switch c.State {
	case Claimed, Sent:
		return c.LeaseUntil
	case Ready, Approving:
		return c.ExpiresAt
	case Blocked:
		return sooner(c.NotBefore, c.ExpiresAt)
	case Waiting:
		return c.Deadline // without one its questions expire one by one
	}
	return time.Time{}
}

// openQuestion is openCall for a question.
func (w *work) openQuestion(row *QuestionRow) (*questionRecord, error) {
	var detail questionDetail
	more, err := w.decode(row.Detail, &detail)
	if err != nil {
		detail, more = questionDetail{Mode: Form, Lost: true}, nil
	}
	var content questionContent
	plain, within, fault, err := w.open(questionPurpose, "question", string(row.ID), row.Content, &content)
	if err != nil {
		return nil, err
	}
	if detail.Lost {
		content = questionContent{}
	}
	q := &questionRecord{
		Question: Question{
			ID: row.ID, Seq: row.Seq, Call: row.Call, Principal: w.principal,
			Conversation: row.Conversation, Server: row.Server,
			Key: content.Key, Digest: content.Digest, Mode: detail.Mode, Message: content.Message,
			Params: content.Params, URL: content.URL, Round: detail.Round, Position: detail.Position,
			Asked: detail.Asked, Held: detail.Held, State: row.State, ClosedBy: detail.ClosedBy, Delivery: detail.Delivery,
			Completed: detail.Completed.time(),
			Suggested: content.Suggested, Note: content.Note, Removed: detail.Removed, Version: row.Version,
			Created: row.Created, ExpiresAt: detail.ExpiresAt.time(), Closed: row.Closed,
		},
		shown: detail.Shown, checks: detail.Checks, remind: detail.Remind.time(), lost: detail.Lost,
		sealed: row.Content, plain: plain, more: more, within: within,
	}
	if detail.Action != "" {
		q.Answer = &Answer{
			Action: detail.Action, Content: content.Content, At: detail.At.time(),
			By: w.principal, Via: detail.Via, Assurance: detail.Assurance,
		}
	}
	if q.lost {
		q.ExpiresAt = row.Due
		if fault == nil {
			fault = &unreadableError{"question " + string(row.ID), errDamaged}
		}
	}
	if fault != nil {
		q.fault, q.Unreadable, q.Note = fault, true, contentGone
	}
	return q, nil
}

func (w *work) questionRow(q *questionRecord) (*QuestionRow, error) {
	d := questionDetail{
		Mode: q.Mode, Round: q.Round, Position: q.Position, Asked: q.Asked,
		Held: q.Held, ClosedBy: q.ClosedBy, Delivery: q.Delivery, Completed: toMicros(q.Completed), ExpiresAt: toMicros(q.ExpiresAt),
		Shown: q.shown, Checks: q.checks, Removed: q.Removed, Remind: toMicros(q.remind), Lost: q.lost,
	}
	s := questionContent{
		Key: q.Key, Digest: q.Digest, Message: q.Message, Params: q.Params, URL: q.URL,
		Suggested: q.Suggested, Note: q.Note,
	}
	if a := q.Answer; a != nil {
		d.Action, d.At, d.Via, d.Assurance = a.Action, toMicros(a.At), a.Via, a.Assurance
		s.Content = a.Content
	}
	detail, err := q.more.with(d)
	if err != nil {
		return nil, err
	}
	plain, err := q.within.with(s)
	if err != nil {
		return nil, err
	}
	if q.fault == nil && (q.sealed == nil || !bytes.Equal(plain, q.plain)) {
		q.sealed, q.plain = w.in.keys.Seal(questionPurpose, []string{w.key, string(q.ID)}, plain), plain
	}
	row := &QuestionRow{
		ID: q.ID, Seq: q.Seq, Call: q.Call, Conversation: q.Conversation, Server: q.Server,
		State: q.State, Version: q.Version, Created: q.Created, Closed: q.Closed,
		Detail: detail, Content: q.sealed,
	}
	if !q.State.Closed() {
		row.Due = sooner(q.ExpiresAt, q.remind)
	}
	return row, nil
}
