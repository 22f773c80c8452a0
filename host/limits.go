package host

import (
	"context"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// over looks at the server's own limits before n more questions. The inbox
// has the limits for all servers; those of the servers file can only be
// lower. The look is not one with what follows it, so machines that ask at the
// same moment may pass by a question each.
func (c *carriage) over(ctx context.Context, n int) (*inbox.LimitError, error) {
	l := c.server.Limits
	if l.Rounds > 0 && c.rounds(ctx) >= l.Rounds {
		return &inbox.LimitError{Reason: inbox.ReasonTooManyRounds, Limit: l.Rounds}, nil
	}
	if l.OpenQuestions == 0 && l.QuestionsPerMinute == 0 {
		return nil, nil
	}
	// Newest first, so one page holds all that matters for limits of its size.
	list, err := c.host.inbox.Questions(ctx, c.claim.Principal, inbox.QuestionFilter{Server: c.server.ID, Limit: 500})
	if err != nil {
		return nil, err
	}
	open, recent := n, n
	since := time.Now().Add(-time.Minute)
	for _, q := range list {
		if !q.State.Closed() {
			open++
		}
		if q.Created.After(since) {
			recent++
		}
	}
	switch {
	case l.OpenQuestions > 0 && open > l.OpenQuestions:
		return &inbox.LimitError{Reason: inbox.ReasonTooManyQuestions, Limit: l.OpenQuestions}, nil
	case l.QuestionsPerMinute > 0 && recent > l.QuestionsPerMinute:
		return &inbox.LimitError{Reason: inbox.ReasonTooManyQuestions, Limit: l.QuestionsPerMinute}, nil
	}
	return nil, nil
}

// rounds is how many rounds the call has had.
func (c *carriage) rounds(ctx context.Context) int {
	call, err := c.host.inbox.Call(ctx, c.claim.Principal, c.claim.Call)
	if err != nil {
		return 0 // the inbox's own limit still stands behind
	}
	return call.Round
}
