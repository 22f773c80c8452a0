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

// approval reads an approval that the session may see.
func (s *Server) approval(ctx context.Context, session *Session, id inbox.ApprovalID) (*inbox.Approval, error) {
	a, err := s.inbox.Approval(ctx, session.approver(), id)
	if err != nil {
		return nil, err
	}
	if c := session.Conversation; c != "" && (a.Principal != session.Principal || a.Conversation != c) {
		return nil, inbox.ErrNotFound
	}
	return a, nil
}

// client.Approval draws an approval for the session.
func (s *Server) approvalRow(session *Session, a *inbox.Approval) *client.Approval {
	at := s.place(a.Principal, a.Server)
	description, _ := plain.Text(a.Description, maxMessage)
	row := &client.Approval{
		ID: a.ID, Version: a.Version, Call: a.Call, Mine: a.Principal == session.Principal, Asker: client.Principal(a.Principal), Actor: a.Actor,
		Server: a.Server, ServerLocal: at.Local, Method: a.Method, Tool: plain.Line(a.Tool, maxName), Description: description,
		Arguments: a.Arguments, Rule: a.Rule, Reason: plain.Line(a.Reason, 500), OtherPerson: a.NotAsker,
		Offer: append([]inbox.Scope{inbox.Once}, a.Offer...), Answered: []client.AnsweredQuestion{},
		State: a.State, Scope: a.Scope, Standing: a.Standing, Via: a.Via,
		CanDecide: !a.State.Closed() && a.MayDecide(session.approver()),
		CreatedAt: when(a.Created), ExpiresAt: when(a.ExpiresAt), ClosedAt: when(a.Closed),
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
	if n := len(row.Arguments); n > maxInline {
		row.Arguments, row.ArgumentsSize = nil, n
	}
	return row
}

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
	if others && r.Conversation == "" {
		assigned, err := s.inbox.Assigned(r.Context(), r.approver(), inbox.AssignedFilter{Limit: mostRows})
		if err != nil {
			return err
		}
		for _, a := range assigned {
			rows = append(rows, s.approvalRow(r.Session, a))
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
		rows = append(rows, s.approvalRow(session, a))
	}
	return rows, nil
}

// decide allows or denies. Only a person does.
func (s *Server) decide(w http.ResponseWriter, r *asker) error {
	var in struct {
		Allow *bool `json:"allow"` // client.NewDecision, but what is left out is no denial
		client.NewDecision
	}
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	if in.Allow == nil {
		return &badRequest{why: "allow must be true or false"}
	}
	via, err := readVia(in.Via)
	if err != nil {
		return err
	}
	_, err = s.inbox.Decide(r.Context(), r.approver(), approvalID(r), inbox.Decision{
		Allow: *in.Allow, Scope: in.Scope, Via: via, Assurance: r.assurance(), Key: r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	return s.answerApproval(w, r, approvalID(r))
}

// readVia is the surface that the request says it came through.
func readVia(via string) (string, error) {
	switch via {
	case "":
		return "api", nil
	case "chat", "inbox", "terminal", "api":
		return via, nil
	}
	return "", &badRequest{why: "via must be chat, inbox, terminal or api"}
}

// revoke ends a standing approval.
func (s *Server) revoke(w http.ResponseWriter, r *asker) error {
	if _, err := s.inbox.Revoke(r.Context(), r.principal, approvalID(r)); err != nil {
		return err
	}
	return s.answerApproval(w, r, approvalID(r))
}
