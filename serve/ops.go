package serve

import (
	"net/http"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve/client"
	"github.com/parley-mcp/parley/webhook"
)

// scopeOperator is no scope that a session is given: it is for whoever runs the service.
const scopeOperator Scope = "operator"

// opsAudit lists what happened to anybody's rows, oldest first.
func (s *Server) opsAudit(w http.ResponseWriter, r *asker) error {
	after, err := optional(r.URL.Query().Get("after"))
	if err != nil {
		return &badRequest{why: "after must be the id of an entry"}
	}
	list, err := s.inbox.AuditAll(r.Context(), after, mostRows)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.AuditList{Entries: list})
}

// person reads whom an operator means. It need not be somebody who has been here.
func person(r *asker) (inbox.Principal, error) {
	var in client.Principal
	if err := readJSON(r.Request, &in); err != nil {
		return inbox.Principal{}, err
	}
	return inbox.Principal(in), nil
}

// disable takes a person's access away: what they have waiting ends denied.
func (s *Server) disable(w http.ResponseWriter, r *asker) error {
	return s.forPerson(w, r, func(r *asker, p inbox.Principal) error {
		if p == r.principal {
			return &badRequest{why: "this is you: another operator has to do it"}
		}
		return s.inbox.Disable(r.Context(), p)
	})
}

func (s *Server) enable(w http.ResponseWriter, r *asker) error {
	return s.forPerson(w, r, func(r *asker, p inbox.Principal) error { return s.inbox.Enable(r.Context(), p) })
}

// erase removes all that the store has of a person, what they signed in with first: it
// is revoked in the background.
func (s *Server) erase(w http.ResponseWriter, r *asker) error {
	return s.forPerson(w, r, func(r *asker, p inbox.Principal) error {
		if err := s.host.Forget(r.Context(), p); err != nil {
			return err
		}
		return s.inbox.Erase(r.Context(), p)
	})
}

// forPerson does something to a person on behalf of the operator, whose name goes into
// the audit log.
func (s *Server) forPerson(w http.ResponseWriter, r *asker, do func(*asker, inbox.Principal) error) error {
	p, err := person(r)
	if err != nil {
		return err
	}
	src := source(r.Request, r.Session, r.via)
	src.By = r.principal
	r.Request = r.WithContext(inbox.WithSource(r.Context(), src))
	if err := do(r, p); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// webhooks says how the endpoints do.
func (s *Server) webhookList(w http.ResponseWriter, r *asker) error {
	list := []webhook.Status{}
	if s.webhooks != nil {
		var err error
		if list, err = s.webhooks.Status(r.Context()); err != nil {
			return err
		}
	}
	return writeJSON(w, http.StatusOK, client.WebhookList{Webhooks: list})
}

// redeliver tries the dead letters of an endpoint again.
func (s *Server) redeliver(w http.ResponseWriter, r *asker) error {
	if s.webhooks == nil {
		return inbox.ErrNotFound
	}
	n, err := s.webhooks.Redeliver(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.Redelivered{Redelivered: n})
}
