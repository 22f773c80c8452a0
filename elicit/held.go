package elicit

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errSessionEnded ends the questions of a session that is over.
var errSessionEnded = errors.New("elicit: the session has ended")

// held keeps the open questions of legacy sessions. The SDK waits for running
// handlers before it closes a session; one that waits for a person would keep
// it, and the client that closes it, until the question expires.
type held struct {
	mu        sync.Mutex
	questions map[string]map[*asked]context.CancelCauseFunc // by session id
	sessions  map[string]*use
}

// use counts the HTTP requests that a session has open.
type use struct {
	open  int
	timer *time.Timer // runs while nothing is open
}

// add notes that a question is open; remove must be called when it is not.
func (h *held) add(session string, q *asked, cancel context.CancelCauseFunc) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.questions == nil {
		h.questions = make(map[string]map[*asked]context.CancelCauseFunc)
	}
	if h.questions[session] == nil {
		h.questions[session] = make(map[*asked]context.CancelCauseFunc)
	}
	h.questions[session][q] = cancel
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.questions[session], q)
		if len(h.questions[session]) == 0 {
			delete(h.questions, session)
		}
	}
}

// end ends the open questions of a session.
func (h *held) end(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endLocked(session)
}

func (h *held) endLocked(session string) {
	for _, cancel := range h.questions[session] {
		cancel(errSessionEnded)
	}
	if u := h.sessions[session]; u != nil && u.timer != nil {
		u.timer.Stop()
	}
	delete(h.sessions, session)
}

// enter notes that a request of the session is open; leave must be called when
// it is not. A session without any for so long ends; zero means never.
func (h *held) enter(session string, timeout time.Duration) (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.sessions[session]
	if u == nil {
		if h.sessions == nil {
			h.sessions = make(map[string]*use)
		}
		u = &use{}
		h.sessions[session] = u
	}
	u.open++
	if u.timer != nil {
		u.timer.Stop()
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		u.open--
		switch {
		case u.open > 0 || h.sessions[session] != u:
		case timeout <= 0:
			delete(h.sessions, session)
		default:
			u.timer = time.AfterFunc(timeout, func() { h.endIdle(session, u) })
		}
	}
}

func (h *held) endIdle(session string, u *use) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if u.open == 0 && h.sessions[session] == u { // no request came meanwhile
		h.endLocked(session)
	}
}
