package elicit

import (
	"context"
	"reflect"
	"slices"
)

// Ask puts a form to the person and returns their answer. T is a struct, whose
// tags the package documentation explains, or, for a form of one field, what a
// field can be: Ask[string], Ask[int], Ask[*float64]. Then the key is the name of
// the field too, as for [Choices]. The key names the question within
// the tool and must not depend on anything but the question: the kit finds the
// recorded answer under it when the handler runs again.
//
// The error is an [*Unanswered] unless the tool itself is wrong (an unsuitable
// T), a limit is reached or the connection broke. On any error the value is
// zero.
func Ask[T any](ctx context.Context, call *Call, key, message string, options ...AskOption) (T, error) {
	q := NewQuestion[T](key, message, options...)
	err := AskAll(ctx, call, q)
	return q.Value, err
}

// Question is a question that [AskAll] asks together with others.
type Question[T any] struct {
	Value   T       // set by AskAll if Outcome is Accepted; zero otherwise
	Outcome Outcome // set by AskAll

	question *question
	err      error
}

// NewQuestion makes a question for [AskAll]. What is wrong with it, AskAll
// says.
func NewQuestion[T any](key, message string, options ...AskOption) *Question[T] {
	q, err := newQuestion(key, message, reflect.TypeFor[T](), options)
	return &Question[T]{question: q, err: err}
}

func (q *Question[T]) get() (*question, error) { return q.question, q.err }

func (q *Question[T]) set(v verdict) {
	var zero T
	q.Value, q.Outcome = zero, v.outcome
	if v.err == nil {
		q.Value = v.value.Elem().Interface().(T) //nolint:forcetypeassert // NewQuestion made it a T
	}
}

// Asker is a [*Question] of any type.
type Asker interface {
	get() (*question, error)
	set(verdict)
}

// AskAll asks several questions in one round (before 2026-07-28 one after the
// other, unless [Options.Together] says that the client can have several) and sets the Value and Outcome of
// each. The error is nil only if all were accepted; else it is that of the
// first pending question, or of the first that was not accepted.
func AskAll(ctx context.Context, call *Call, questions ...Asker) error {
	list := make([]*question, len(questions))
	for i, asker := range questions {
		q, err := asker.get()
		if err != nil {
			return err
		}
		list[i] = q
	}
	var first error
	pending := false
	for i, v := range call.run.ask(ctx, list) {
		questions[i].set(v) //nolint:gosec // there is one verdict for each question
		if v.err != nil && (first == nil || v.outcome == Pending && !pending) {
			first = v.err
		}
		pending = pending || v.outcome == Pending
	}
	return first
}

// Consent is the answer to [Confirm]. Its zero value is no consent.
type Consent int

// The answers to [Confirm].
const (
	Dismissed Consent = iota // put away undecided: it may be asked again later
	No                       // a clear no
	Yes                      // the only consent
)

func (c Consent) String() string {
	switch c {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "dismissed"
}

// confirmation has no default: a form that is sent untouched confirms nothing.
type confirmation struct {
	Confirmed bool `json:"confirmed" title:"Go ahead?"`
}

// Confirm asks for a yes or no. A form that is accepted with "no" is a No, and
// so is a decline; a cancel is Dismissed. The error is never [ErrDeclined] or
// [ErrCancelled], and with any error the consent is Dismissed:
//
//	consent, err := elicit.Confirm(ctx, call, "delete", "Delete all 14 files?")
//	if err != nil {
//		return Out{}, err
//	}
//	if consent != elicit.Yes {
//		return Out{Kept: true}, nil
//	}
func Confirm(ctx context.Context, call *Call, key, message string, options ...AskOption) (Consent, error) {
	q := NewQuestion[confirmation](key, message, options...)
	err := AskAll(ctx, call, q)
	switch q.Outcome {
	case Accepted:
		if q.Value.Confirmed {
			return Yes, nil
		}
		return No, nil
	case Declined:
		return No, nil
	case Cancelled:
		return Dismissed, nil
	}
	return Dismissed, err
}

// choice is the form of [Choose].
type choice struct {
	Choice string `json:"choice" title:"Choice"`
}

// Choose asks for one of items, in their order, and returns it. See [Choices]
// for what it refuses.
func Choose[S ~[]E, E any](ctx context.Context, call *Call, key, message string, items S, option func(E) Option, options ...AskOption) (E, error) {
	var zero E
	options = append([]AskOption{Choices("choice", items, option)}, options...)
	chosen, err := Ask[choice](ctx, call, key, message, options...)
	if err != nil {
		return zero, err
	}
	for _, item := range items {
		if option(item).Value == chosen.Choice {
			return item, nil
		}
	}
	// An answer is one of the options; this one changed its value meanwhile.
	return zero, &Unanswered{Key: key, Outcome: Invalid, Reason: "the options changed while it was asked"}
}

// several is the form of [ChooseSeveral].
type several struct {
	Choices []string `json:"choices" title:"Choices"`
}

// ChooseSeveral asks for any number of items, none included, and returns them in
// their order. See [Choices] for what it refuses.
func ChooseSeveral[S ~[]E, E any](ctx context.Context, call *Call, key, message string, items S, option func(E) Option, options ...AskOption) (S, error) {
	options = append([]AskOption{Choices("choices", items, option)}, options...)
	chosen, err := Ask[several](ctx, call, key, message, options...)
	if err != nil {
		return nil, err
	}
	taken := make(S, 0, len(chosen.Choices))
	for _, item := range items {
		if slices.Contains(chosen.Choices, option(item).Value) {
			taken = append(taken, item)
		}
	}
	if len(taken) != len(chosen.Choices) {
		return nil, &Unanswered{Key: key, Outcome: Invalid, Reason: "the options changed while it was asked"}
	}
	return taken, nil
}
