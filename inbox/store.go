package inbox

import (
	"context"
	"time"
)

// Store keeps the rows of an inbox. It is a thin driver: all rules are in
// [Inbox], and package inboxtest holds what every store has to pass.
//
// Every row belongs to one principal, and a transaction sees the rows of one
// principal only, so nothing can cross from one person to another by a rule
// that forgot to look. Write transactions of one principal run one after
// another (a lock on the principal's row), which is all the isolation that the
// rules need.
//
// Times are stored in UTC to the microsecond; the zero time is stored as none.
// Methods are safe for concurrent use, by several handles on one database too.
type Store interface {
	// Update runs f in one write transaction and commits if f returns nil.
	// f may run more than once, so it keeps its effects to the Tx and to
	// variables that it sets anew each time, and it does not call the store.
	// After a commit whose success is
	// not known Update returns an error; it never returns nil for a
	// transaction that is not durable.
	Update(ctx context.Context, principal string, f func(Tx) error) error

	// View runs f on a consistent snapshot. Writing in it is an error.
	View(ctx context.Context, principal string, f func(Tx) error) error

	// Ready lists calls in state ready whose NotBefore has passed, in the order
	// of (Updated, id) and beginning after the given one, of these servers or, with
	// none, of all. In its answers Due is Updated.
	Ready(ctx context.Context, servers []string, after Ref, limit int) ([]Ref, error)

	// Due lists calls, questions and approvals whose Due has passed, in the
	// order of (Due, id), beginning after the given one.
	Due(ctx context.Context, after Ref, limit int) ([]Ref, error)

	// NextDue returns how long it is, by the clock of the store, until the
	// earliest Due of all rows and NotBefore of ready calls that is yet to come;
	// zero if there is none.
	NextDue(ctx context.Context) (time.Duration, error)

	// Owned lists calls, in the order of their ids and beginning after the
	// given one, whose Owner begins with prefix.
	Owned(ctx context.Context, prefix string, after CallID, limit int) ([]Ref, error)

	// Find lists the server's calls that are in the state, in the order of
	// their ids and beginning after the given one.
	Find(ctx context.Context, server string, state CallState, after CallID, limit int) ([]Ref, error)

	// Servers lists the servers of all calls that are in one of the states, in
	// their order by bytes.
	Servers(ctx context.Context, states []CallState) ([]string, error)

	// CountCalls counts the server's calls, of everybody, that are in the state,
	// and CountQuestions the open questions of everybody. Either stops at most.
	// They are for figures on a screen: a moment's work beside whatever has ended.
	CountCalls(ctx context.Context, server string, state CallState, most int) (int, error)
	CountQuestions(ctx context.Context, most int) (int, error)

	// Assigned lists approvals that are assigned, of everybody, in the order of
	// (created, id). In its answers Due is Created.
	Assigned(ctx context.Context, q AssignedQuery) ([]Ref, error)

	// Ended lists calls that ended at least age ago, in the order of
	// (Ended, id), beginning after the given one. In its answers Due is Ended.
	Ended(ctx context.Context, age time.Duration, after Ref, limit int) ([]Ref, error)

	// Audit lists the audit rows of everybody with higher numbers than after,
	// in their order. A row is listed only once no row with a lower number can
	// come any more, so whoever reads on from the last number misses none.
	Audit(ctx context.Context, after int64, limit int) ([]*AuditRow, error)

	// TrimAudit removes audit rows that are at least age old, oldest first. It
	// looks at limit rows at most, and returns how many it removed.
	TrimAudit(ctx context.Context, age time.Duration, limit int) (int, error)

	// Seals counts the calls, questions and approvals of everybody by the
	// beginning of their Content, those with most rows first and at most limit.
	// Rows without Content do not count. It reads every row: it is for a
	// rotation of keys, not for each start.
	Seals(ctx context.Context, limit int) ([]Seal, error)

	// Stale lists calls, then questions, then approvals of everybody, each in
	// the order of their ids and beginning after the given row, whose Content
	// begins with something else than prefix, which has [SealPrefix] bytes.
	// Rows without Content are not listed.
	Stale(ctx context.Context, prefix []byte, after Ref, limit int) ([]Ref, error)

	Close() error
}

// SealPrefix is how many bytes of a Content say which key sealed it.
const SealPrefix = 5

// Seal is how many rows have a Content that begins with Prefix, which is
// shorter than [SealPrefix] only where the whole Content is.
type Seal struct {
	Prefix []byte
	Rows   int64
}

// Ref points at a row from outside of its principal's transactions.
type Ref struct {
	Principal string // key
	Call      CallID
	Question  QuestionID // empty: the call itself
	Approval  ApprovalID // the same
	Due       time.Time  // in answers of Ready, Due, Ended and Assigned
}

// ID is the id of the row.
func (r Ref) ID() string {
	switch {
	case r.Question != "":
		return string(r.Question)
	case r.Approval != "":
		return string(r.Approval)
	}
	return string(r.Call)
}

// Tx is one transaction on the rows of one principal. It is used by one
// goroutine. Rows that it returns belong to the caller.
type Tx interface { //nolint:interfacebloat // three kinds of rows, and what goes with them in one transaction
	// Now is the time of the store, the same for the whole transaction.
	// Leases and expiries use it, so that the clocks of machines do not matter.
	Now() time.Time

	Call(id CallID) (*CallRow, error) // or ErrNotFound
	PutCall(*CallRow) error           // adds it or replaces it
	// Calls lists newest first.
	Calls(CallQuery) ([]*CallRow, error)

	Question(id QuestionID) (*QuestionRow, error) // or ErrNotFound
	PutQuestion(*QuestionRow) error
	// Questions lists newest first.
	Questions(QuestionQuery) ([]*QuestionRow, error)
	// CountQuestions counts the server's questions that are not closed, and
	// those created at or after since.
	CountQuestions(server string, since time.Time) (open, recent int, err error)

	Approval(id ApprovalID) (*ApprovalRow, error) // or ErrNotFound
	PutApproval(*ApprovalRow) error
	// Approvals lists newest first.
	Approvals(ApprovalQuery) ([]*ApprovalRow, error)

	// Remembered returns what Remember stored under key, or ErrNotFound if
	// there is nothing or it expired.
	Remembered(key string) ([]byte, error)
	// Remember stores value under key until expires, and drops what has expired.
	Remember(key string, value []byte, expires time.Time) error

	// Append adds an event and returns its number: one more than the last
	// of this principal, from 1.
	Append(kind EventKind, id string) (int64, error)
	// Events lists the events after the given number, in order.
	Events(after int64, limit int) ([]Event, error)
	// EventBounds returns the numbers of the oldest event that is kept and of
	// the last one that was appended; first is last+1 if none is kept.
	EventBounds() (first, last int64, err error)
	// TrimEvents drops events with numbers below first.
	TrimEvents(first int64) error

	// AppendAudit adds an audit row of the principal. Its ID is given by the
	// store; ID and Principal of the argument do not count.
	AppendAudit(*AuditRow) error
	// Audits lists the principal's audit rows, newest first.
	Audits(AuditQuery) ([]*AuditRow, error)

	// Disabled is what SetDisabled stored last; false if nothing was.
	Disabled() (bool, error)
	SetDisabled(bool) error

	// Erase removes everything that is stored of the principal, the number of
	// its last event and its key included, and leaves one audit row in its
	// place, which belongs to nobody. Only a principal that is disabled stays so,
	// with its key and nothing else. It is the last thing that a transaction does.
	Erase(last *AuditRow) error
}

// CallRow is what a store keeps of a call: columns to search by, and two that
// only the inbox reads.
type CallRow struct {
	ID           CallID
	Seq          int64
	Conversation string
	Server       string
	State        CallState
	Version      int64
	Owner        string    // of the lease; empty: none
	Due          time.Time // when a sweep has to look at it; zero: never
	NotBefore    time.Time
	Created      time.Time
	Updated      time.Time
	Ended        time.Time // until the content was removed; then zero
	Detail       []byte    // JSON
	Content      []byte    // sealed
}

// QuestionRow is what a store keeps of a question.
type QuestionRow struct {
	ID           QuestionID
	Seq          int64
	Call         CallID
	Conversation string
	Server       string
	State        QuestionState
	Version      int64
	Due          time.Time
	Created      time.Time
	Closed       time.Time
	Detail       []byte
	Content      []byte
}

// ApprovalRow is what a store keeps of an approval.
type ApprovalRow struct {
	ID           ApprovalID
	Seq          int64
	Call         CallID
	Conversation string
	Server       string
	State        ApprovalState
	Version      int64
	Assignee     string // key of a principal or a group; empty: the row's own principal
	Standing     string // what it covers beyond its call; empty: nothing
	Due          time.Time
	Created      time.Time
	Closed       time.Time
	Detail       []byte
	Content      []byte
}

// AuditRow is what a store keeps of something that happened. No operation
// changes one.
type AuditRow struct {
	ID        int64  // rises, over all principals
	Principal string // key; empty: of nobody
	At        time.Time
	Kind      AuditKind
	Call      CallID // empty: of no call
	Detail    []byte // JSON
}

// AuditQuery selects audit rows of the transaction's principal. Zero fields do not select.
type AuditQuery struct {
	Call   CallID
	Kinds  []AuditKind
	Before int64 // only with a lower ID
	Limit  int
}

// CallQuery selects calls of the transaction's principal. Zero fields do not select.
type CallQuery struct {
	Conversation string
	Server       string
	States       []CallState
	Before       int64 // only with a lower Seq
	Limit        int
	Brief        bool // rows come with nil Content, which is not read: it may be large
}

// QuestionQuery selects questions of the transaction's principal. Zero fields do not select.
type QuestionQuery struct {
	Call         CallID
	Conversation string
	Server       string
	States       []QuestionState
	Before       int64
	Limit        int
}

// ApprovalQuery selects approvals of the transaction's principal. Zero fields do not select.
type ApprovalQuery struct {
	Call         CallID
	Conversation string
	States       []ApprovalState
	Standing     []string // with one of these
	Stands       bool     // with any
	Before       int64
	Limit        int
}

// AssignedQuery selects approvals of everybody.
type AssignedQuery struct {
	Assignees []string   // with one of these; without any there are none
	ID        ApprovalID // this one; empty: all
	Open      bool       // only open ones
	After     ApprovalID // beginning after this one, if it is set
	AfterTime time.Time  // which was created then
	Limit     int
}

// EventKind says what an event is about.
type EventKind string

const (
	CallEvent     EventKind = "call"
	QuestionEvent EventKind = "question"
	ApprovalEvent EventKind = "approval"
	RefusalEvent  EventKind = "refusal" // its ID is a server: see [Inbox.Refusals]
)

// Event says that a row changed; the row itself is read anew.
type Event struct {
	Seq  int64 // per principal, from 1, without gaps
	Kind EventKind
	ID   string
}
