package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/link"

	"github.com/parley-mcp/parley/serve/client"
)

func questionID(r *asker) inbox.QuestionID { return inbox.QuestionID(r.PathValue("id")) }

// readQuestion reads a question with the call around it and draws it.
func (s *Server) readQuestion(ctx context.Context, session *Session, id inbox.QuestionID) (*client.Question, error) {
	q, err := whatIsThere(s.inbox.Question(ctx, session.Principal, id))
	if err != nil {
		return nil, err
	}
	c, questions, err := s.whole(ctx, session.Principal, q.Call)
	if err != nil {
		return nil, err
	}
	return s.questionRow(session, q, c, inRound(questions, q.Round)), nil
}

func inRound(questions []*inbox.Question, round int) (n int) {
	for _, q := range questions {
		if q.Round == round {
			n++
		}
	}
	return n
}

func (s *Server) answerQuestion(w http.ResponseWriter, r *asker, id inbox.QuestionID) error {
	row, err := s.readQuestion(r.Context(), r.Session, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, row)
}

func (s *Server) question(w http.ResponseWriter, r *asker) error {
	return s.answerQuestion(w, r, questionID(r))
}

// schema reads the form of a question that is to be filled in.
func (s *Server) schema(r *asker) (*inbox.Question, *form.Schema, error) {
	q, err := s.inbox.Question(r.Context(), r.principal, questionID(r))
	if err != nil {
		return nil, nil, err
	}
	if q.Mode != inbox.Form {
		return nil, nil, &badRequest{why: "the question has no form"}
	}
	schema, err := q.Schema()
	if err != nil {
		return nil, nil, &badRequest{why: "the form of the question cannot be read: it can be declined or cancelled"}
	}
	return q, schema, nil
}

// check is the review step: the exact values that Send would send, or what is wrong.
func (s *Server) check(w http.ResponseWriter, r *asker) error {
	var in client.Entries
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	q, schema, err := s.schema(r)
	if err != nil {
		return err
	}
	content, errs := schema.Coerce(in.Input)
	if errs != nil {
		return &checkError{errs: errs}
	}
	rows, omitted := review(schema, content, q.Suggested)
	return writeJSON(w, http.StatusOK, client.Checked{Content: content, Review: rows, Omitted: omitted})
}

// answer gives the person's answer. Of two answers one wins; the other is told what
// closed the question.
func (s *Server) answer(w http.ResponseWriter, r *asker) error {
	var in client.NewAnswer
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	switch in.Action {
	case inbox.Accept, inbox.Decline, inbox.Cancel:
	default:
		return &badRequest{why: "action must be accept, decline or cancel"}
	}
	a := inbox.Answer{Action: in.Action, Via: r.via, Assurance: r.assurance(), Key: r.key()}
	if in.Action == inbox.Accept {
		if in.Input != nil && in.Content != nil {
			return &badRequest{why: "give input (what was typed) or content (JSON), not both"}
		}
		a.Content = in.Content
		if in.Input != nil {
			_, schema, err := s.schema(r)
			if err != nil {
				return err
			}
			content, errs := schema.Coerce(in.Input)
			if errs != nil {
				return &checkError{errs: errs}
			}
			a.Content = content
		}
	}
	if _, err := s.inbox.Answer(r.Context(), r.principal, questionID(r), a); err != nil {
		return err
	}
	return s.answerQuestion(w, r, questionID(r))
}

// takeBack opens an answered question again, as long as nothing was sent.
func (s *Server) takeBack(w http.ResponseWriter, r *asker) error {
	if _, err := s.inbox.TakeBack(r.Context(), r.principal, questionID(r)); err != nil {
		return err
	}
	return s.answerQuestion(w, r, questionID(r))
}

// open records the person's consent to go to exactly the address that was shown.
func (s *Server) open(w http.ResponseWriter, r *asker) error {
	var in client.Consent
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	q, err := s.inbox.Question(r.Context(), r.principal, questionID(r))
	if err != nil {
		return err
	}
	if q.Mode != inbox.URL {
		return &badRequest{why: "the question has no address to open"}
	}
	// What was shown is the canonical form; what is agreed to is the address that it
	// was made from. A fresh link that comes in between fails the second test.
	report := s.inspect(q)
	if report.Verdict == link.Refuse {
		return &badRequest{why: "this address is never opened: it can be declined or cancelled"}
	}
	if digest(report.Href) != in.URLSHA256 {
		return inbox.ErrURLChanged
	}
	if _, err := s.inbox.Open(r.Context(), r.principal, q.ID, digest(q.URL)); err != nil {
		return err
	}
	return s.answerQuestion(w, r, questionID(r))
}

// questions lists the newest questions, or those that are open.
func (s *Server) questions(w http.ResponseWriter, r *asker) error {
	query := inbox.QuestionFilter{Conversation: r.Conversation}
	switch state := r.URL.Query().Get("state"); state {
	case "":
	case "open":
		query.States = []inbox.QuestionState{inbox.Open, inbox.Opened}
	default:
		return &badRequest{why: "state must be open, or be left out"}
	}
	rows, err := s.listQuestions(r.Context(), r.Session, query)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.QuestionList{Questions: rows})
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// listQuestions draws the newest questions, the oldest of them first: it waits
// longest. Each call is read once, and of it only what the rows need is kept.
func (s *Server) listQuestions(ctx context.Context, session *Session, filter inbox.QuestionFilter) ([]*client.Question, error) {
	type around struct {
		call *inbox.Call
		of   map[int]int // questions by round
	}
	calls := map[inbox.CallID]around{}
	rows := []*client.Question{}
	err := s.eachQuestion(ctx, session.Principal, filter, func(q *inbox.Question) error {
		a, ok := calls[q.Call]
		if !ok {
			c, questions, err := s.whole(ctx, session.Principal, q.Call)
			if errors.Is(err, inbox.ErrNotFound) { // erased since
				return nil
			}
			if err != nil {
				return err
			}
			c.Arguments, c.Result, c.RequestState = nil, nil, "" // they may be large
			a = around{call: c, of: map[int]int{}}
			for _, one := range questions {
				a.of[one.Round]++
			}
			calls[q.Call] = a
		}
		rows = append(rows, s.questionRow(session, q, a.call, a.of[q.Round]))
		return nil
	})
	slices.Reverse(rows)
	return rows, err
}

// questionPage is how many questions are in memory at once: one has up to 1 MiB.
const questionPage = 25

// eachQuestion calls f with the newest questions, the newest first.
func (s *Server) eachQuestion(ctx context.Context, p inbox.Principal, filter inbox.QuestionFilter, f func(*inbox.Question) error) error {
	filter.Limit = questionPage
	for range mostRows / questionPage {
		list, err := s.inbox.Questions(ctx, p, filter)
		if err != nil {
			return err
		}
		for _, q := range list {
			if err := f(q); err != nil {
				return err
			}
			filter.Before = q.Seq
		}
		if len(list) < questionPage {
			return nil
		}
	}
	return nil
}
