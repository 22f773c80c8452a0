package serve

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"

	"github.com/parley-mcp/parley/serve/client"
)

const (
	maxWait  = 60 * time.Second // a long poll is shorter than what proxies cut
	mostRows = 500              // in one answer: the newest
)

// readCall reads a call with its questions and draws it, without what is large.
func (s *Server) readCall(ctx context.Context, session *Session, id inbox.CallID) (*client.Call, error) {
	c, questions, err := s.whole(ctx, session.Principal, id)
	if err != nil {
		return nil, err
	}
	row, left := s.callRow(session, c, questions), maxCarried
	trim(row, &left)
	return row, nil
}

// readers is how many calls are read at once for everybody: to read one takes
// several times its size, and a result has up to 32 MiB.
const readers = 2

// whole reads a call and its questions, oldest first.
func (s *Server) whole(ctx context.Context, p inbox.Principal, id inbox.CallID) (*inbox.Call, []*inbox.Question, error) {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	c, err := whatIsThere(s.inbox.Call(ctx, p, id))
	if err != nil {
		return nil, nil, err
	}
	questions, err := s.inbox.Questions(ctx, p, inbox.QuestionFilter{Call: id, Limit: mostRows})
	slices.Reverse(questions)
	return c, questions, err
}

func callID(r *asker) inbox.CallID { return inbox.CallID(r.PathValue("id")) }

// answerCall answers with the call as it is now.
func (s *Server) answerCall(w http.ResponseWriter, r *asker, status int, id inbox.CallID) error {
	row, err := s.readCall(r.Context(), r.Session, id)
	if err != nil {
		return err
	}
	return writeJSON(w, status, row)
}

// compose starts a call: a tool and its arguments. What a person composes is its own
// approval; what a model does is for the policy to judge.
func (s *Server) compose(w http.ResponseWriter, r *asker) error {
	var in client.NewCall
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	if r.Conversation != "" {
		if in.Conversation != "" && in.Conversation != r.Conversation {
			return inbox.ErrNotFound
		}
		in.Conversation = r.Conversation
	}
	actor, err := r.composer(in.Actor)
	if err != nil {
		return err
	}
	if in.Conversation == "" || len(in.Conversation) > 100 {
		return &badRequest{why: "conversation must be a name of 1 to 100 bytes"}
	}
	if strings.ContainsFunc(in.Conversation, unicode.IsControl) {
		return &badRequest{why: "conversation must be a name without control characters"}
	}
	if (in.Input == nil) == (in.Arguments == nil) {
		return &badRequest{why: "give input (what was typed) or arguments (JSON), one of the two"}
	}
	if arguments := bytes.TrimSpace(in.Arguments); in.Arguments != nil && (len(arguments) == 0 || arguments[0] != '{') {
		return &badRequest{why: "arguments must be a JSON object"}
	}
	if in.Input != nil {
		schema, err := s.arguments(r, in.Server, in.Tool)
		if err != nil {
			return err
		}
		var errs form.Errors
		if in.Arguments, errs = schema.Coerce(in.Input); errs != nil {
			return &checkError{errs: errs}
		}
	}
	// The server judges arguments that came as JSON: the kit's reading of a schema
	// of any kind is no reason to refuse what the server may take.
	c, err := s.host.Start(r.Context(), r.principal, host.NewCall{
		Conversation: in.Conversation, Actor: actor, Origin: inbox.Origin{Client: "parley", Surface: r.via},
		Server: in.Server, Name: in.Tool, Arguments: in.Arguments, Key: r.key(), Groups: r.Groups,
	})
	if err != nil {
		return err
	}
	return s.answerCall(w, r, http.StatusCreated, c.ID)
}

// composer is who puts a call together, by what the request says and by who may say so.
func (s *Session) composer(said inbox.Actor) (inbox.Actor, error) {
	switch said {
	case "":
		return s.actor(), nil
	case inbox.Model:
		return said, nil
	case inbox.Person:
		if s.model() {
			return "", errScope
		}
		return said, nil
	}
	return "", &badRequest{why: "actor must be person or model"}
}

// arguments reads the form of a tool's arguments.
func (s *Server) arguments(r *asker, server, name string) (*form.Schema, error) {
	tools, err := s.host.Tools(r.Context(), r.principal, server)
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		if t.Name == name {
			return form.ParseArguments(t.InputSchema)
		}
	}
	return nil, host.ErrNoTool
}

// call answers with the whole call, after since at once, else when it changes or the time
// to wait is over.
func (s *Server) call(w http.ResponseWriter, r *asker) error {
	query := r.URL.Query()
	if query.Has("since") {
		since, err := strconv.ParseInt(query.Get("since"), 10, 64)
		if err != nil || since < 0 {
			return &badRequest{why: "since must be the version of a call"}
		}
		seconds, err := strconv.ParseFloat(query.Get("wait"), 64)
		if query.Has("wait") && (err != nil || !(seconds >= 0)) {
			return &badRequest{why: "wait must be a number of seconds"}
		}
		wait := min(time.Duration(min(seconds, maxWait.Seconds())*float64(time.Second)), maxWait)
		if err := s.wait(r, wait, since); err != nil {
			return err
		}
		if err := s.still(r); err != nil {
			return err
		}
	}
	c, questions, err := s.whole(r.Context(), r.principal, callID(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.callRow(r.Session, c, questions))
}

// wait waits until the call is newer than since. Who waits costs what an event stream
// does, so it takes the place of one; some of those are for streams alone.
func (s *Server) wait(r *asker, most time.Duration, since int64) error {
	if most <= 0 {
		return nil
	}
	giveBack, err := s.streams.take(r.principal, true)
	if err != nil {
		return err
	}
	defer giveBack()
	ctx, cancel := context.WithTimeout(r.Context(), most)
	defer cancel()
	if _, err := whatIsThere(s.inbox.Wait(ctx, r.principal, callID(r), since)); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func (s *Server) stop(w http.ResponseWriter, r *asker) error {
	if _, err := s.inbox.Stop(r.Context(), r.principal, callID(r)); err != nil {
		return err
	}
	return s.answerCall(w, r, http.StatusOK, callID(r))
}

// resolve is the person's decision on a call that nobody knows the end of.
func (s *Server) resolve(w http.ResponseWriter, r *asker) error {
	var in client.NewResolution
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	switch in.How {
	case inbox.SendAgain, inbox.ItHappened, inbox.GiveUp:
	default:
		return &badRequest{why: "how must be send_again, it_happened or give_up"}
	}
	if in.How == inbox.SendAgain && !r.may(ScopeCall) {
		return errScope // it calls the tool, also as a new call
	}
	c, err := s.inbox.Resolve(r.Context(), r.principal, callID(r), in.How, r.key())
	if err != nil {
		return err
	}
	return s.answerCall(w, r, http.StatusOK, c.ID)
}

// runAgain starts a call anew, as the person's or the model's that it was.
func (s *Server) runAgain(w http.ResponseWriter, r *asker) error {
	if r.model() {
		old, err := s.inbox.Call(r.Context(), r.principal, callID(r))
		if err != nil {
			return err
		}
		if old.Actor != inbox.Model {
			return errScope // the new call would pass for the person's
		}
	}
	c, err := s.inbox.RunAgain(r.Context(), r.principal, callID(r), r.key())
	if err != nil {
		return err
	}
	return s.answerCall(w, r, http.StatusCreated, c.ID)
}

func (s *Server) declineRest(w http.ResponseWriter, r *asker) error {
	rest := inbox.Answer{Via: r.via, Assurance: r.assurance(), Key: r.key()}
	if _, err := s.inbox.DeclineRest(r.Context(), r.principal, callID(r), rest); err != nil {
		return err
	}
	return s.answerCall(w, r, http.StatusOK, callID(r))
}
