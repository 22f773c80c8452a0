package serve

import (
	"context"
	"net/http"
	"slices"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"

	"github.com/parley-mcp/parley/serve/client"
)

func approvalID(r *asker) inbox.ApprovalID { return inbox.ApprovalID(r.PathValue("id")) }

// approver is the person of the session with the groups that were verified.
func (s *Session) approver() inbox.Approver {
	return inbox.Approver{Principal: s.Principal, Groups: s.Groups}
}

// seesOthers reports whether approvals of other people's calls are in sight: those that
// the person decides, which no model does for them. Of a session of one approval that one is.
func (s *Session) seesOthers() bool { return s.Conversation == "" && !s.model() }

// approval reads an approval that the session may see.
func (s *Server) approval(ctx context.Context, session *Session, id inbox.ApprovalID) (*inbox.Approval, error) {
	if session.Approval != "" && id != session.Approval {
		return nil, inbox.ErrNotFound
	}
	a, err := whatIsThere(s.inbox.Approval(ctx, session.approver(), id))
	if err != nil {
		return nil, err
	}
	if a.Principal != session.Principal && !session.seesOthers() {
		return nil, inbox.ErrNotFound
	}
	if c := session.Conversation; c != "" && a.Conversation != c {
		return nil, inbox.ErrNotFound
	}
	return a, nil
}

// offers lists for how much the session may allow. One that is bound sees what stands in
// its own place only: what would stand everywhere nobody could list, or take back, there.
func (s *Session) offers(a *inbox.Approval) []inbox.Scope {
	list := []inbox.Scope{inbox.Once}
	for _, scope := range a.Offer {
		if scope != inbox.Always || !s.bound() {
			list = append(list, scope)
		}
	}
	return list
}

// approvalRow draws an approval for the session.
func (s *Server) approvalRow(session *Session, a *inbox.Approval) *client.Approval {
	at := s.place(a.Principal, a.Server)
	description, _ := plain.Text(a.Description, maxMessage)
	row := &client.Approval{
		ID: a.ID, Version: a.Version, Call: a.Call, Mine: a.Principal == session.Principal, Asker: client.Principal(a.Principal), Actor: a.Actor,
		Server: a.Server, ServerLocal: at.Local, Method: a.Method, Tool: plain.Line(a.Tool, maxName), Description: description,
		Arguments: a.Arguments, Rule: a.Rule, Reason: plain.Line(a.Reason, 500), OtherPerson: a.NotAsker,
		Offer: session.offers(a), Answered: []client.AnsweredQuestion{},
		Change: drawChange(a.Changed), State: a.State, Scope: a.Scope, Standing: a.Standing, Via: a.Via,
		CanDecide: !a.State.Closed() && !session.model() && a.MayDecide(session.approver()),
		CreatedAt: when(a.Created), ExpiresAt: when(a.ExpiresAt), ClosedAt: when(a.Closed),
	}
	if row.Unreadable = a.Unreadable; a.Unreadable {
		row.Offer = []inbox.Scope{} // nobody allows what nobody sees
	}
	row.ToolTitle = s.title(&inbox.Call{Principal: a.Principal, Server: a.Server, Method: a.Method, Name: a.Tool})
	if row.Mine {
		row.Conversation = a.Conversation
	}
	if !a.Assignee.IsZero() {
		row.Assignee = &client.Assignee{Group: a.Assignee.Group}
		if p := a.Assignee.Principal; p != (inbox.Principal{}) {
			by := client.Principal(p)
			row.Assignee.Principal = &by
		}
	}
	if a.DecidedBy != (inbox.Principal{}) {
		by := client.Principal(a.DecidedBy)
		row.DecidedBy = &by
	}
	for _, q := range a.Answered {
		message, _ := plain.Text(q.Message, 500)
		row.Answered = append(row.Answered, client.AnsweredQuestion{Question: q.Question, Message: message})
	}
	return row
}

// trimApproval leaves out arguments that are large: lists and streams have many rows.
func trimApproval(row *client.Approval) *client.Approval {
	if n := len(row.Arguments); n > maxInline {
		row.Arguments, row.ArgumentsSize = nil, n
	}
	return row
}

// answerApproval answers with the whole approval: whoever decides sees what they decide
// on, however large.
func (s *Server) answerApproval(w http.ResponseWriter, r *asker, id inbox.ApprovalID) error {
	a, err := s.approval(r.Context(), r.Session, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.approvalRow(r.Session, a))
}

func (s *Server) oneApproval(w http.ResponseWriter, r *asker) error {
	return s.answerApproval(w, r, approvalID(r))
}

// approvals lists those that the person decides and those of their own calls.
func (s *Server) approvals(w http.ResponseWriter, r *asker) error {
	filter := inbox.ApprovalFilter{Conversation: r.Conversation, Limit: mostRows}
	others := true
	switch state := r.URL.Query().Get("state"); state {
	case "":
		others = false // what was decided for others is in the audit
	case "open":
		filter.States = []inbox.ApprovalState{inbox.ApprovalOpen}
	case "standing":
		filter.Standing, others = true, false
	default:
		return &badRequest{why: "state must be open or standing, or be left out"}
	}
	rows, err := s.listApprovals(r.Context(), r.Session, filter)
	if err != nil {
		return err
	}
	if others && r.seesOthers() {
		assigned, err := s.inbox.Assigned(r.Context(), r.approver(), inbox.AssignedFilter{Limit: mostRows})
		if err != nil {
			return err
		}
		for _, a := range assigned {
			rows = append(rows, trimApproval(s.approvalRow(r.Session, a)))
		}
		slices.SortStableFunc(rows, func(a, b *client.Approval) int { return a.CreatedAt.Compare(*b.CreatedAt) })
	}
	return writeJSON(w, http.StatusOK, client.ApprovalList{Approvals: rows})
}

// listApprovals draws approvals of the person's own calls, the oldest first.
func (s *Server) listApprovals(ctx context.Context, session *Session, filter inbox.ApprovalFilter) ([]*client.Approval, error) {
	list, err := s.inbox.Approvals(ctx, session.Principal, filter)
	if err != nil {
		return nil, err
	}
	rows := make([]*client.Approval, 0, len(list))
	for _, a := range slices.Backward(list) {
		rows = append(rows, trimApproval(s.approvalRow(session, a)))
	}
	return rows, nil
}

// decide allows or denies. Only a person does.
func (s *Server) decide(w http.ResponseWriter, r *asker) error {
	var in struct {
		client.NewDecision

		Allow *bool `json:"allow"` // in place of NewDecision's: what is left out is no denial
	}
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	if in.Allow == nil {
		return &badRequest{why: "allow must be true or false"}
	}
	if *in.Allow && in.Scope == inbox.Always && r.bound() {
		return &badRequest{why: "a session of one conversation, or of one approval, does not allow a tool always, in all conversations: allow it once, or for this conversation"}
	}
	_, err := s.inbox.Decide(r.Context(), r.approver(), approvalID(r), inbox.Decision{
		Allow: *in.Allow, Scope: in.Scope, Via: r.via, Assurance: r.assurance(), Key: r.key(),
	})
	if err != nil {
		return err
	}
	return s.answerApproval(w, r, approvalID(r))
}

// revoke ends a standing approval.
func (s *Server) revoke(w http.ResponseWriter, r *asker) error {
	if _, err := s.inbox.Revoke(r.Context(), r.principal, approvalID(r)); err != nil {
		return err
	}
	return s.answerApproval(w, r, approvalID(r))
}
