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
func (s *Server) sendAssigned(ctx context.Context, out *stream, r *asker, sent assignments, last int64) error {
	session := r.Session
	if session.Approval != "" {
		return s.sendOne(ctx, out, r, sent, last)
	}
	if len(session.Groups) == 0 || session.Conversation != "" {
		return nil // an approval of others is in no conversation of this one
	}
	list, err := s.inbox.Assigned(ctx, session.approver(), inbox.AssignedFilter{Limit: mostRows})
	if err != nil {
		return err
	}
	var changed []*inbox.Approval
	open := make(map[inbox.ApprovalID]bool, len(list))
	for _, a := range list {
		open[a.ID] = true
		if a.Assignee.Group == "" || sent[a.ID] == a.Version {
			continue // what is assigned to a person is an event of theirs
		}
		sent[a.ID] = a.Version
		changed = append(changed, a)
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
		changed = append(changed, a)
	}
	s.sendApprovals(ctx, out, r, changed, last)
	return nil
}

// sendOne sends the one approval that the session sees, when the stream begins and when it
// has changed, whoever decides it.
func (s *Server) sendOne(ctx context.Context, out *stream, r *asker, sent assignments, last int64) error {
	a, err := s.approval(ctx, r.Session, r.Session.Approval)
	switch {
	case errors.Is(err, inbox.ErrNotFound):
		return nil // erased
	case err != nil:
		return err
	}
	if sent[a.ID] == a.Version {
		return nil
	}
	sent[a.ID] = a.Version
	s.sendApprovals(ctx, out, r, []*inbox.Approval{a}, last)
	return nil
}

func (s *Server) sendApprovals(ctx context.Context, out *stream, r *asker, list []*inbox.Approval, last int64) {
	if len(list) == 0 || !s.mayHear(ctx, out, r) {
		return
	}
	for _, a := range list {
		out.send(last, string(inbox.ApprovalEvent), trimApproval(s.approvalRow(r.Session, a)))
	}
}
