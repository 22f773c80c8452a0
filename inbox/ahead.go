package inbox

import (
	"context"
	"time"
)

// Ahead names rows that a transaction is about to read. An [Inbox] puts it into
// the context that it gives to [Store.Update] and [Store.View], where
// [AheadOf] finds it. It is a hint: a store whose reads are round trips fetches
// the rows as it begins, others ignore it, and nothing but the speed depends on
// it. The transaction may read other rows, or none.
type Ahead struct {
	Question  QuestionID    // a question
	Of        CallID        // which call the rest is about; empty: that of the question
	Call      bool          // the call itself
	Questions bool          // all of its questions
	Recent    time.Duration // CountQuestions of its server, since so long before Now; 0: not
}

type aheadKey struct{}

func withAhead(ctx context.Context, a Ahead) context.Context {
	return context.WithValue(ctx, aheadKey{}, a)
}

// AheadOf returns what the transaction with this context will read; the zero
// Ahead if that is not known.
func AheadOf(ctx context.Context) Ahead {
	a, _ := ctx.Value(aheadKey{}).(Ahead)
	return a
}
