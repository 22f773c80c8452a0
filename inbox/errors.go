package inbox

import (
	"errors"
	"fmt"
	"time"
)

// Errors of an inbox. Test with errors.Is; those with fields have a type too.
var (
	// ErrNotFound: there is no such row, or it is another person's.
	ErrNotFound = errors.New("inbox: not found")
	// ErrClosed: the question is closed. See [ClosedError].
	ErrClosed = errors.New("inbox: the question is closed")
	// ErrOpen: the question has no answer to deliver (yet, or again).
	ErrOpen = errors.New("inbox: the question is open")
	// ErrCheck: the answer does not fit the question. See [CheckError].
	ErrCheck = errors.New("inbox: the answer does not fit the question")
	// ErrURLChanged: the address is not the one that was agreed to.
	ErrURLChanged = errors.New("inbox: the address has changed")
	// ErrTooLate: the answer may have been sent and cannot be taken back.
	ErrTooLate = errors.New("inbox: too late to take the answer back")
	// ErrState: the operation does not apply to the state of the call. See [StateError].
	ErrState = errors.New("inbox: not possible in this state")
	// ErrFenced: the claim is not the call's any more.
	ErrFenced = errors.New("inbox: the claim was lost")
	// ErrStopped: the person stopped the call; nothing may be sent.
	ErrStopped = errors.New("inbox: the call was stopped")
	// ErrExpired: the call's time passed before it could be sent.
	ErrExpired = errors.New("inbox: the call has expired")
	// ErrLimit: a limit was reached. See [LimitError].
	ErrLimit = errors.New("inbox: over a limit")
	// ErrInvalid: an argument that no state would accept.
	ErrInvalid = errors.New("inbox: invalid")
	// ErrKeyReused: the idempotency key came before with something else.
	ErrKeyReused = errors.New("inbox: the idempotency key was used for something else")
	// ErrReset: the events after this number are gone; read everything anew.
	ErrReset = errors.New("inbox: the events are no longer kept")
	// ErrStoreFull: the store has no room; nothing of the operation was stored.
	ErrStoreFull = errors.New("inbox: the store is full")
	// ErrNothing: there is no call to claim.
	ErrNothing = errors.New("inbox: nothing is ready")
)

// ClosedError says what closed the question.
type ClosedError struct {
	Question QuestionID
	State    QuestionState
	By       Closer
	At       time.Time
	Via      string // of the answer that closed it, if one did
}

func (e *ClosedError) Error() string {
	return fmt.Sprintf("inbox: the question is closed: %s, by %s", e.State, e.By)
}

// Is makes it match [ErrClosed].
func (e *ClosedError) Is(target error) bool { return target == ErrClosed }

// StateError says which state stood in the way.
type StateError struct {
	Call  CallID
	State CallState
	Op    string

	// Wait is how long a ready call is still to be left alone, by the clock of the store;
	// zero: it is not that.
	Wait time.Duration
}

func (e *StateError) Error() string {
	return fmt.Sprintf("inbox: %s is not possible while the call is %s", e.Op, e.State)
}

// Is makes it match [ErrState].
func (e *StateError) Is(target error) bool { return target == ErrState }

// LimitError says which limit was reached.
type LimitError struct {
	Reason string // a stable code, such as ReasonTooManyQuestions
	Limit  int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("inbox: over a limit: %s (%d)", e.Reason, e.Limit)
}

// Is makes it match [ErrLimit].
func (e *LimitError) Is(target error) bool { return target == ErrLimit }
