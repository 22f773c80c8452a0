package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/parley-mcp/parley/inbox"

	"github.com/parley-mcp/parley/serve/client"
)

// conversations lists those of the person's newest calls, the latest first.
func (s *Server) conversations(w http.ResponseWriter, r *asker) error {
	calls, err := s.inbox.Calls(r.Context(), r.principal, inbox.CallFilter{Conversation: r.Conversation, Limit: mostRows, Brief: true})
	if err != nil {
		return err
	}
	waiting := map[string]int{}
	err = s.eachQuestion(r.Context(), r.principal, inbox.QuestionFilter{
		Conversation: r.Conversation,
		States:       []inbox.QuestionState{inbox.Open, inbox.Opened},
	}, func(q *inbox.Question) error {
		waiting[q.Conversation]++
		return nil
	})
	if err != nil {
		return err
	}
	rows, at, first := []*client.Conversation{}, map[string]*client.Conversation{}, map[string]*inbox.Call{}
	for _, c := range calls {
		row := at[c.Conversation]
		if row == nil {
			row = &client.Conversation{ID: c.Conversation, OpenQuestions: waiting[c.Conversation]}
			at[c.Conversation] = row
			rows = append(rows, row)
		}
		if row.UpdatedAt == nil || c.Updated.After(*row.UpdatedAt) {
			row.UpdatedAt = when(c.Updated)
		}
		first[c.Conversation] = c // the oldest call names it
	}
	for _, row := range rows {
		c := first[row.ID]
		if c.Name, err = s.name(r.Context(), c); err != nil && !errors.Is(err, inbox.ErrNotFound) { // erased since
			return err
		}
		row.Title = s.title(c)
	}
	return writeJSON(w, http.StatusOK, client.ConversationList{Conversations: rows})
}

// callNames remembers what calls name. A name never changes, and to read it from
// the store is to read the whole call.
type callNames struct {
	mu sync.Mutex
	of map[inbox.CallID]string
}

const (
	mostNames  = 4096
	knownBytes = 300 // a longer name is read each time
)

// name is the name that a brief call lacks.
func (s *Server) name(ctx context.Context, brief *inbox.Call) (string, error) {
	s.names.mu.Lock()
	name, ok := s.names.of[brief.ID]
	s.names.mu.Unlock()
	if ok {
		return name, nil
	}
	c, _, err := s.whole(ctx, brief.Principal, brief.ID)
	if err != nil {
		return "", err
	}
	if len(c.Name) > knownBytes || c.Unreadable { // its key may come back
		return c.Name, nil
	}
	s.names.mu.Lock()
	defer s.names.mu.Unlock()
	if s.names.of == nil || len(s.names.of) >= mostNames {
		s.names.of = map[inbox.CallID]string{}
	}
	s.names.of[c.ID] = c.Name
	return c.Name, nil
}

// conversation is a snapshot; event is the number of the last event that is surely
// in it, from which the event stream goes on. The calls are listed first and then
// read one by one, the newest first, so that no more than one large result is in
// memory. A row may be newer than the event: the stream then brings it again.
func (s *Server) conversation(w http.ResponseWriter, r *asker) error {
	ctx, id := r.Context(), r.PathValue("id")
	if id == "" { // a filter that is empty would select everything
		return inbox.ErrNotFound
	}
	event, err := s.inbox.LastEvent(ctx, r.principal)
	if err != nil {
		return err
	}
	calls, err := s.inbox.Calls(ctx, r.principal, inbox.CallFilter{Conversation: id, Limit: mostRows, Brief: true})
	if err != nil {
		return err
	}
	callRows, questionRows, left := []*client.Call{}, []*client.Question{}, maxCarried
	for _, brief := range calls {
		c, questions, err := s.whole(ctx, r.principal, brief.ID)
		if errors.Is(err, inbox.ErrNotFound) { // erased since
			continue
		}
		if err != nil {
			return err
		}
		row := s.callRow(r.Session, c, questions)
		trim(row, &left)
		callRows = append(callRows, row)
		for _, q := range slices.Backward(questions) {
			if len(questionRows) < mostRows {
				questionRows = append(questionRows, s.questionRow(r.Session, q, c, inRound(questions, q.Round)))
			}
		}
	}
	slices.Reverse(callRows)
	slices.Reverse(questionRows)
	approvals, err := s.listApprovals(ctx, r.Session, inbox.ApprovalFilter{Conversation: id, Limit: mostRows})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.Snapshot{ID: id, Calls: callRows, Questions: questionRows, Approvals: approvals, Event: event})
}
