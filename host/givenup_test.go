package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/policy"
)

// A showingFrom policy allows all. What it says of a question a test decides.
type showingFrom struct {
	changing
	question func() error // nil: it is shown
}

func (s *showingFrom) Question(context.Context, *policy.Input, policy.Question) (policy.Showing, error) {
	return policy.Showing{Show: true}, s.question()
}

// asker is a server that asks, and a machine with that policy.
func asker(t *testing.T, in inbox.Options, sendTimeout time.Duration, question func() error) *rig {
	t.Helper()
	s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
		x.Asks("{"+request("name", askName)+"}", "s")
	}}})
	s.SendTimeout = sendTimeout
	return newRig(t, nil, &rigOptions{inbox: in, host: host.Options{Policy: &showingFrom{question: question}}}, s)
}

// Questions that have come are judged also if the send is given up just then.
func TestQuestionsOfASendThatWasGivenUp(t *testing.T) {
	t.Parallel()
	var given <-chan struct{}
	known := make(chan struct{})
	asked := 0 // by one goroutine
	r := asker(t, inbox.Options{}, 4*time.Second, func() error {
		if asked++; asked > 1 {
			return nil
		}
		<-known
		<-given
		return errors.New("not just now")
	})
	call := r.start("shop", "tool", "")
	if err := r.Resume(t.Context(), ada, call.ID); err != nil {
		t.Fatal(err)
	}
	given = r.GivenUp(call.ID)
	close(known)
	if got := r.until(call.ID, inbox.Waiting); asked != 2 {
		t.Errorf("the policy was asked %d times about %+v", asked, got)
	}
}

// If nobody can judge them, the call does not keep its place in flight for that.
func TestQuestionsThatNobodyJudges(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	r := asker(t, inbox.Options{Lease: 200 * time.Millisecond}, 0, func() error {
		select {
		case asked <- struct{}{}:
		default:
		}
		return errors.New("out of order")
	})
	call := r.start("shop", "tool", "")
	if err := r.Resume(t.Context(), ada, call.ID); err != nil {
		t.Fatal(err)
	}
	<-asked
	over := r.WorkOn(call.ID)
	if _, err := r.in.Stop(t.Context(), ada, call.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-over:
	case <-time.After(30 * time.Second):
		t.Fatal("the call keeps its place")
	}
	if got := r.until(call.ID, inbox.Failed); got.Reason != host.ReasonRefused || !strings.Contains(got.Detail, "could not be asked") {
		t.Errorf("ended %s: %q", got.Reason, got.Detail)
	}
}
