package host

import (
	"errors"

	"github.com/parley-mcp/parley/inbox"
)

// Status is what is known of a server, for people.
type Status struct {
	ID       string
	Name     string
	Kind     Kind
	Local    bool   // a program, or an endpoint on loopback
	Address  string // without secrets
	Domain   string // of the URL; empty for a program
	Trusted  bool
	State    State
	Era      inbox.Era // empty if not known yet
	Revision string
	Error    string // failed, sign_in: one sentence, with the last lines that a program wrote
	Junk     int64  // lines or messages that were no JSON-RPC, skipped

	AnswersVisibleToModel bool // as the [Server] has it
}

// State is a state of a server's connection.
type State string

const (
	Connected State = "connected"
	Idle      State = "idle" // nothing was to be done yet
	Broken    State = "failed"
	// SignInFirst: it answers, and wants the person, or the operator's headers, to be authorized.
	SignInFirst State = "sign_in"
)

// Servers lists the servers as p sees them, in the order of the servers file.
func (h *Host) Servers(p inbox.Principal) []Status {
	list := make([]Status, 0, len(h.order))
	for _, id := range h.order {
		s := h.servers[id]
		st := Status{
			ID: id, Name: s.name(), Kind: s.Kind(), Local: s.Local(), Address: s.Address(), Domain: s.Domain(),
			Trusted: s.Trusted, State: Idle, AnswersVisibleToModel: s.AnswersVisibleToModel,
		}
		h.mu.Lock()
		st.Era = h.eras[id]
		pl := h.pools[poolKey{p.Key(), id}]
		h.mu.Unlock()
		if pl != nil {
			open, last := pl.snapshot()
			if open != nil {
				st.State, st.Era, st.Revision, st.Junk = Connected, open.era, open.revision, open.tap.Stats().Junk
			}
			switch refusal := pl.refusal(); {
			case refusal != nil:
				st.State, st.Error = SignInFirst, h.signInSentence(s)
				if scopes := refusal.lacking(); len(scopes) > 0 {
					st.Error = missingSentence(s.name(), scopes)
				}
			case open == nil && last != nil:
				st.State, st.Error = Broken, sentence(s, last)
			}
		}
		list = append(list, st)
	}
	return list
}

// sentence tells people why a server cannot be used.
func sentence(s *Server, err error) string {
	var u *UnreachableError
	if !errors.As(err, &u) {
		return explain(inbox.ReasonUnreachable, s.name(), "the connection failed")
	}
	word := u.Why
	if u.Stderr != "" {
		word += "; it last wrote: " + u.Stderr
	}
	return explain(inbox.ReasonUnreachable, s.name(), word)
}
