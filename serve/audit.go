package serve

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve/client"
)

// source is where the request comes from, for the audit log. Via is the surface of what
// changes something.
func source(r *http.Request, session *Session, via string) inbox.Source {
	remote, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		remote = r.RemoteAddr
	}
	return inbox.Source{Via: via, Assurance: session.assurance(), Remote: remote, UserAgent: r.UserAgent()}
}

// readVia is the surface that a request which changes something says it came through:
// its body is empty, or an object with "via" or with nothing of the kind. The handler
// reads the body again, if its route has more to say.
func readVia(r *http.Request) (string, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	var in client.Surface
	if len(bytes.TrimSpace(body)) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err := readJSON(r, &in); err != nil {
			return "", err
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch in.Via {
	case "":
		return "api", nil
	case "chat", "inbox", "terminal", "api":
		return in.Via, nil
	}
	return "", &badRequest{why: "via must be chat, inbox, terminal or api"}
}

// audit lists what happened to the person's rows, newest first.
func (s *Server) audit(w http.ResponseWriter, r *asker) error {
	query := r.URL.Query()
	before, err := optional(query.Get("before"))
	if err != nil {
		return &badRequest{why: "before must be the id of an entry"}
	}
	list, err := s.inbox.Audit(r.Context(), r.principal, inbox.AuditFilter{
		Call: inbox.CallID(query.Get("call")), Before: before, Limit: mostRows,
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.AuditList{Entries: list})
}

// optional reads a number that may be left out.
func optional(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && n < 0 {
		err = strconv.ErrRange
	}
	return n, err
}

// shown records that a surface has shown the question to the person, with the
// surface's own evidence. The page sends it when the card is in sight.
func (s *Server) shown(w http.ResponseWriter, r *asker) error {
	var in client.Evidence
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	if err := s.inbox.Shown(r.Context(), r.principal, questionID(r), in.Evidence); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// shownApproval is shown for an approval.
func (s *Server) shownApproval(w http.ResponseWriter, r *asker) error {
	var in client.Evidence
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	if err := s.inbox.ShownApproval(r.Context(), r.approver(), approvalID(r), in.Evidence); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// refusals lists the servers whose questions were not shown: too many, too large, or
// against the policy.
func (s *Server) refusals(w http.ResponseWriter, r *asker) error {
	list, err := s.inbox.Refusals(r.Context(), r.principal)
	if err != nil {
		return err
	}
	rows := []client.Refusal{}
	for _, one := range list {
		rows = append(rows, refusalRow(one))
	}
	return writeJSON(w, http.StatusOK, client.RefusalList{Refusals: rows})
}

func refusalRow(r inbox.Refusal) client.Refusal {
	return client.Refusal{Server: r.Server, Count: r.Count, Since: r.Since.UTC(), Last: r.Last.UTC()}
}

// refusalRow is what there is of one server; with no count the person has cleared it.
func (s *Server) refusalRow(ctx context.Context, p inbox.Principal, server string) (client.Refusal, error) {
	list, err := s.inbox.Refusals(ctx, p)
	for _, one := range list {
		if one.Server == server {
			return refusalRow(one), nil
		}
	}
	return client.Refusal{Server: server}, err
}

// clearRefusals forgets what the person has seen.
func (s *Server) clearRefusals(w http.ResponseWriter, r *asker) error {
	var in client.ServerName
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	if err := s.inbox.ClearRefusals(r.Context(), r.principal, in.Server); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// stopServer stops all of the person's calls of a server.
func (s *Server) stopServer(w http.ResponseWriter, r *asker) error {
	n, err := s.inbox.StopServer(r.Context(), r.principal, r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.Stopped{Stopped: n})
}
