package inbox

import (
	"encoding/json"
	"time"
)

// CallID names a call: "c_" and 128 random bits.
type CallID string

// Era says which family of protocol revisions a server speaks.
type Era string

const (
	// Legacy is 2025-06-18 and 2025-11-25: the server calls back while the
	// call is open.
	Legacy Era = "legacy"
	// Modern is 2026-07-28: the result says input_required and the call is
	// sent again with the answers.
	Modern Era = "modern"
)

// Actor says who composed a call.
type Actor string

const (
	Person Actor = "person" // the principal did; it is its own approval
	Model  Actor = "model"  // a model did, on the principal's behalf
)

// Origin says where a call came from.
type Origin struct {
	Client  string // the program, as it names itself
	Surface string // chat, inbox, terminal, api
}

// Trace is the trace that a call belongs to, in the words of W3C Trace Context:
// ids and flags, no content. It is stored with the call, so that a trace goes on
// where another machine goes on with the call. Nothing is decided by it.
type Trace struct {
	Parent string // a traceparent; empty: none
	State  string // a tracestate
}

const (
	maxTraceParent = 64  // bytes; version 00 has 55
	maxTraceState  = 512 // bytes: what has to be propagated (W3C Trace Context 3.3.1.5)
)

// tidy drops what is no trace: a broken one must not keep a call from being made.
func (t Trace) tidy() Trace {
	if t.Parent == "" || len(t.Parent) > maxTraceParent || !visible(t.Parent) {
		return Trace{}
	}
	if len(t.State) > maxTraceState || !visible(t.State) {
		t.State = ""
	}
	return t
}

// visible reports whether the text is of printable ASCII.
func visible(text string) bool {
	for _, b := range []byte(text) {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return true
}

// CallState is a state of a call. The package documentation has the diagram.
type CallState string

const (
	CallNew   CallState = "new"       // not yet decided on; never stored
	Approving CallState = "approving" // a person is asked for permission
	Ready     CallState = "ready"     // to be sent, once NotBefore has passed
	Claimed   CallState = "claimed"   // one machine has it; nothing was sent yet
	Sent      CallState = "sent"      // the mark is committed: the request may have left
	Waiting   CallState = "waiting"   // parked: the round's questions are open
	Blocked   CallState = "blocked"   // something else has to happen first; Reason says what
	Uncertain CallState = "uncertain" // sent, no reply, and no proof that nothing ran

	Done        CallState = "done"        // the wire gave a result
	Failed      CallState = "failed"      // the wire gave an error, or a rule ended it
	Denied      CallState = "denied"      // policy or a person did not allow it
	Stopped     CallState = "stopped"     // the person stopped it
	CallExpired CallState = "expired"     // nobody answered in time
	Interrupted CallState = "interrupted" // its machine went away while it was held; no answer had been delivered
	Lapsed      CallState = "lapsed"      // the server no longer accepts the paused work
)

// Ended reports whether s is an end: an ended call never changes again.
func (s CallState) Ended() bool {
	switch s {
	case Done, Failed, Denied, Stopped, CallExpired, Interrupted, Lapsed:
		return true
	}
	return false
}

// Reasons that the inbox itself gives; the host adds its own. They are stable
// codes, never shown as they are.
const (
	ReasonDeadClaims       = "dead_claims"          // eight machines in a row died before the mark
	ReasonKeepsAsking      = "keeps_asking"         // declined or cancelled twice, and asked again
	ReasonTooManyRounds    = "too_many_rounds"      // Options.Rounds
	ReasonTooManyQuestions = "too_many_questions"   // Options.OpenQuestions, Options.QuestionsPerMinute
	ReasonPerMinute        = "questions_per_minute" // of AuditRefused only: the second of the two
	ReasonTooLarge         = "too_large"            // what the server asked is over a size limit
	ReasonRefused          = "refused_by_policy"    // the policy does not let a question be shown
	ReasonHostStopped      = "host_stopped"         // the machine that held the connection went away
	ReasonLostOwner        = "lost_owner"           // the machine that had sent the call went away
	ReasonNoReply          = "no_reply"             // uncertain: the machine waited in vain
	ReasonTooManyResends   = "too_many_resends"     // of a LimitError of Resend
	ReasonTooLateToResend  = "too_late_to_resend"   // the same; and uncertain: it waited until it may not be sent again by itself any more
	ReasonStopped          = "stopped"              // the person stopped it (uncertain: it may have happened)
	ReasonDeadline         = "deadline"             // the server's expiresAt passed
	ReasonUnanswered       = "unanswered"           // all questions of the round expired
	ReasonBlockedTooLong   = "blocked_too_long"
	ReasonGaveUp           = "gave_up"     // resolved by a person: what happened stays unknown
	ReasonItHappened       = "it_happened" // resolved by a person
	ReasonRunAgain         = "run_again"   // replaced by a new call
	ReasonSignIn           = "sign_in"
	ReasonUnreachable      = "unreachable"
	ReasonServerRemoved    = "server_removed"
	ReasonServerChanged    = "server_changed"
	ReasonDenied           = "denied_by_policy"
	ReasonNotAllowed       = "not_allowed"    // an approval was denied
	ReasonNotDecided       = "not_decided"    // nobody decided an approval in time
	ReasonDisabled         = "disabled"       // the person may not use it any more
	ReasonNeedsApproval    = "needs_approval" // held, where there is no waiting for an approval
)

// Call is one request (tools/call, prompts/get, resources/read) over all its
// rounds. Calls that an Inbox returns are copies; changing one changes nothing.
type Call struct {
	ID           CallID
	Seq          int64 // the number of its first event: later calls of a principal have higher ones
	Principal    Principal
	Conversation string
	Actor        Actor
	Origin       Origin
	Trace        Trace

	Server      string // its key in the servers file
	Endpoint    string
	Fingerprint string // of the tool: name and input schema
	Era         Era    // empty until the first mark, if the composer did not know it
	Method      string
	Name        string
	Arguments   json.RawMessage

	State   CallState
	Reason  string // a stable code
	Detail  string // one plain sentence for people
	Held    bool   // sent, and the server waits on the open connection for an answer that was not delivered
	Version int64  // rises by one with each change that a person can see; renewing a lease is none
	Round   int    // 0 until the server asks

	// RequestState is the server's opaque requestState. It never leaves the host.
	RequestState string `json:"-"`
	// EmptyState says that it gave one, and that it is "": it goes back as well.
	EmptyState bool `json:"-"`

	Owner      string // of the lease: machine and incarnation
	LeaseUntil time.Time
	Fence      int64 // rises with each claim
	Deaths     int   // claims in a row whose owner died before the mark

	Sends        int  // marks: requests that may have left
	Resends      int  // of these, sent again without a person's decision
	Delivered    int  // held answers whose delivery mark is committed
	RoundSends   int  // marks since the round's answers were complete
	MarkedBefore bool // this round was sent before and ended uncertain: "nothing ran" may not be said
	StopWanted   bool // the person asked to stop after the mark: the wire decides

	NotBefore time.Time // ready calls wait for it, and blocked ones until they are tried again; zero = now
	Deadline  time.Time // the server's expiresAt; zero = it gave none
	ExpiresAt time.Time // when the call ends by itself if nothing happens; zero = it does not
	Created   time.Time
	Updated   time.Time
	Ended     time.Time

	Result  json.RawMessage // the raw result or error object, as it came
	IsError bool            // Result is a JSON-RPC error object

	Removed    bool // its retention has passed: arguments, result and the like are gone
	Unreadable bool // what was sealed does not open, or the row is damaged: see [ErrUnreadable]

	Approval ApprovalID // the last one that it waited for, or that it goes on under; empty: none
	Rule     string     // of the policy, that denied it or refused what it asked

	Replaces       CallID // the call that this one runs again
	ReplacedBy     CallID
	IdempotencyKey string // the same for every send of this call
}

// NewCall is what [Inbox.Compose] needs.
type NewCall struct {
	Conversation string
	Actor        Actor // default Person
	Origin       Origin
	Trace        Trace  // that it begins or continues
	Server       string // required
	Endpoint     string
	Fingerprint  string
	Era          Era // may be unknown yet
	Method       string
	Name         string
	Arguments    json.RawMessage // valid JSON or empty, at most 1 MiB

	// What the policy said; at most one is set, and without Ask and Deny the call is
	// allowed. What a person composed is its own approval.
	Rule string  // the name of the rule that allows it, for the trail
	Ask  *Ask    // it waits for an approval, unless a standing one covers it
	Deny *Denial // it is recorded, and has ended

	// Key makes composing idempotent: the same key with the same call gives
	// the call that was made first. Keys are remembered for a day.
	Key string
}
