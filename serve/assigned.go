package serve

import (
	"context"
	"errors"

	"github.com/parley-mcp/parley/inbox"
)

// assignments are the open approvals of others that a stream has sent, with their
// versions.
//
// Who belongs to a group is known of a session and of nobody who is away, so what is
// assigned to one has no place in its members' sequences of events. A stream looks
// instead: when it begins, when there is a hint, and with each comment, once a second at
// most. It sends what is open and what was and is not any more, with the number of the
// person's last event, so a cursor stays what it was. What was decided while a reader was
// away it does not hear of: it reads the list of open approvals when it comes back.
type assignments map[inbox.ApprovalID]int64

// sendAssigned sends what has changed of what is assigned to groups of the session.
func (s *Server) sendAssigned(ctx context.Context, out *stream, session *Session, sent assignments, last int64) error {
	if session.Approval != "" {
		return s.sendOne(ctx, out, session, sent, last)
	}
	if len(session.Groups) == 0 || session.Conversation != "" {
		return nil // an approval of others is in no conversation of this one
	}
	list, err := s.inbox.Assigned(ctx, session.approver(), inbox.AssignedFilter{Limit: mostRows})
	if err != nil {
		return err
	}
	open := make(map[inbox.ApprovalID]bool, len(list))
	for _, a := range list {
		open[a.ID] = true
		if a.Assignee.Group == "" || sent[a.ID] == a.Version {
			continue // what is assigned to a person is an event of theirs
		}
		sent[a.ID] = a.Version
		out.send(last, string(inbox.ApprovalEvent), trimApproval(s.approvalRow(session, a)))
	}
	for id := range sent {
		if open[id] {
			continue
		}
		delete(sent, id)
		a, err := s.approval(ctx, session, id)
		if errors.Is(err, inbox.ErrNotFound) {
			continue // erased
		}
		if err != nil {
			return err
		}
		out.send(last, string(inbox.ApprovalEvent), trimApproval(s.approvalRow(session, a)))
	}
	return out.err
}

// sendOne sends the one approval that the session sees, when the stream begins and when it
// has changed, whoever decides it.
func (s *Server) sendOne(ctx context.Context, out *stream, session *Session, sent assignments, last int64) error {
	a, err := s.approval(ctx, session, session.Approval)
	switch {
	case errors.Is(err, inbox.ErrNotFound):
		return nil // erased
	case err != nil:
		return err
	}
	if sent[a.ID] != a.Version {
		sent[a.ID] = a.Version
		out.send(last, string(inbox.ApprovalEvent), trimApproval(s.approvalRow(session, a)))
	}
	return out.err
}
