package elicit

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/parley-mcp/parley/link"
)

// visitWait is how long a modern round waits for a page to be finished before
// it asks again. It is well below the time-outs of clients and proxies.
const visitWait = 20 * time.Second

// visitPoll is how often done is asked meanwhile.
const visitPoll = 500 * time.Millisecond

// Visit sends the person to a page of the server's own (URL mode), for what
// must not pass the client (MCP 2026-07-28 elicitation, "User Interaction Model"
// S2): signing in, a password, a payment. It returns nil
// when done says that they have finished there, and asks nobody if done says so
// at once.
//
// That the person accepts means that they went to the page, no more. If done is
// still false after 20 s, a modern client is asked under the same key again,
// which shows the same question; a legacy call waits on, up to the question's
// time. done may be called often, and outside of a request; it must not wait
// for the person itself.
//
// The address is https, or http on loopback. It may be a new one each time, for
// the same page. It must not let anybody in by itself, nor hold anything about
// the person: the page makes sure that whoever opens it is the call's
// principal (MCP 2026-07-28 elicitation, "Safe URL Handling" S1, and MCP
// 2026-07-28 elicitation, "Phishing" S1, S2, S3). The errors are those of [Ask]; revision 2025-06-18 has no URL
// mode, so there it is [ErrUnanswerable]. Before 2026-07-28 the client is told
// when the page is finished; see also [CallAgain].
func Visit(ctx context.Context, call *Call, key, message, address string, done func(context.Context, Principal) (bool, error), options ...AskOption) error {
	q, err := newVisit(key, message, address, options)
	if err != nil {
		return err
	}
	r := call.run
	if err := r.pendingError(); err != nil {
		return err
	}
	if finished, err := done(ctx, r.bound.principal); err != nil || finished {
		return err
	}
	if v, required := r.requirePage(q, done); required {
		return v.err
	}
	opened := r.server.now()
	if v := r.ask(ctx, []*question{q})[0]; v.err != nil {
		return v.err
	}
	wait := r.server.visitWait
	if r.back != nil {
		wait = r.server.lifetime
		if q.lifetime > 0 {
			wait = min(wait, q.lifetime)
		}
		wait -= r.server.now().Sub(opened)
	}
	finished, err := r.poll(ctx, wait, done)
	if err != nil {
		return err
	}
	switch {
	case finished && r.back != nil:
		// MCP 2025-11-25 elicitation, "Completion Notifications for URL Mode Elicitation" S1, S2.
		r.finished(ctx, q.id)
		return nil
	case finished:
		return nil
	case r.back != nil:
		return r.unanswered(q, Expired, "the page was not finished in time").err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errOver
	}
	r.cont.forget(q.key, q.digest)
	v, _ := r.pose(q, "", true)
	return v.err
}

func newVisit(key, message, address string, options []AskOption) (*question, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := checkMessage(key, message); err != nil {
		return nil, err
	}
	// MCP elicitation, "Safe URL Handling". A server may live in any network;
	// clients have rules of their own about what they open.
	report := link.Inspect(address, &link.Options{RequireTLS: true, ServerLocal: true, AllowPrivate: []string{"0.0.0.0/0", "::/0"}})
	if report.Verdict == link.Refuse {
		return nil, fmt.Errorf("elicit: question %q: the address of the page is refused: %s", key, report.Findings[0].Code)
	}
	q := &question{
		key:     key,
		message: message,
		mode:    URLMode,
		url:     address,
		id:      rand.Text(),
		// Without the address: a fresh link leads to the same page.
		digest: digest([]byte(URLMode), []byte(message)),
	}
	for _, option := range options {
		if err := option(q); err != nil {
			return nil, fmt.Errorf("elicit: question %q: %w", key, err)
		}
	}
	return q, nil
}

// poll asks done until it is true or the time is up.
func (r *run) poll(ctx context.Context, wait time.Duration, done func(context.Context, Principal) (bool, error)) (bool, error) {
	end := time.NewTimer(wait)
	defer end.Stop()
	defer r.progress.beat(ctx)()
	tick := time.NewTicker(visitPoll)
	defer tick.Stop()
	for {
		if finished, err := done(ctx, r.bound.principal); err != nil || finished {
			return finished, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-end.C:
			return false, nil
		case <-tick.C:
		}
	}
}
