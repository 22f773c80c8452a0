package elicit

import (
	"errors"
	"fmt"
)

// Outcome says what became of a question: often not an answer
// (MCP 2026-07-28 elicitation, "Error Handling" S1, S2; MCP 2026-07-28 mrtr,
// "Server Requirements" S12). The zero Outcome means that it was
// not asked.
type Outcome string

// The outcomes of a question.
const (
	Accepted     Outcome = "accepted"     // the person sent an answer that fits
	Pending      Outcome = "pending"      // asked, no answer in this run of the handler
	Declined     Outcome = "declined"     // the person said no to the question
	Cancelled    Outcome = "cancelled"    // the person put the question away undecided
	Expired      Outcome = "expired"      // nobody answered in time
	Unanswerable Outcome = "unanswerable" // the client cannot put this question to a person
	Invalid      Outcome = "invalid"      // what came back is no answer to the question
)

// What an [*Unanswered] matches with [errors.Is].
var (
	// ErrPending ends this run of the handler; return it as it is. The kit asks
	// the question and runs the handler again when there is an answer.
	ErrPending      = errors.New("question is pending")
	ErrDeclined     = errors.New("question was declined")
	ErrCancelled    = errors.New("question was cancelled")
	ErrExpired      = errors.New("question expired")
	ErrUnanswerable = errors.New("question cannot be put to a person")
	ErrInvalid      = errors.New("answers did not fit the question")
)

// Unanswered is the error of a question without an accepted answer. It matches
// exactly one of [ErrPending], [ErrDeclined], [ErrCancelled], [ErrExpired],
// [ErrUnanswerable] and [ErrInvalid].
//
// A handler may act on any of them but ErrPending: after that nothing more is
// asked or memoised in this run, and whatever the handler returns is dropped.
// A handler that just returns the error gets the right result for each.
type Unanswered struct {
	Key     string  // the author's key of the question
	Outcome Outcome // never Accepted
	Reason  string  // for people and models; never holds a value of an answer

	message string // the question's own text, for the results the kit writes
	mode    Mode
	fields  []string // fields of the question, with titles, for clients that cannot ask
	args    []string // fields that the tool also takes as an argument
}

func (u *Unanswered) Error() string {
	if u.Reason == "" {
		return fmt.Sprintf("elicit: question %q: %s", u.Key, u.Outcome)
	}
	return fmt.Sprintf("elicit: question %q: %s: %s", u.Key, u.Outcome, u.Reason)
}

// Unwrap returns the sentinel of the outcome.
func (u *Unanswered) Unwrap() error {
	switch u.Outcome {
	case Pending:
		return ErrPending
	case Declined:
		return ErrDeclined
	case Cancelled:
		return ErrCancelled
	case Expired:
		return ErrExpired
	case Unanswerable:
		return ErrUnanswerable
	}
	return ErrInvalid
}

// LimitError says that a call ran into one of the [Limits].
type LimitError struct {
	Limit string // such as "rounds" or "request state"
	Max   int
	Unit  string // such as "bytes"; may be empty
}

func (e *LimitError) Error() string {
	unit := e.Unit
	if unit != "" {
		unit = " " + unit
	}
	return fmt.Sprintf("elicit: more than %d%s: limit of %s", e.Max, unit, e.Limit)
}
