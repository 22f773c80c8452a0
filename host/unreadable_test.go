package host_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// damage makes what is sealed in the rows unreadable.
func (r *rig) damage(call inbox.CallID, question inbox.QuestionID) {
	r.t.Helper()
	err := r.store.Update(r.t.Context(), ada.Key(), func(tx inbox.Tx) error {
		if call != "" {
			row, err := tx.Call(call)
			if err != nil {
				return err
			}
			row.Content = []byte("damaged")
			return tx.PutCall(row)
		}
		row, err := tx.Question(question)
		if err != nil {
			return err
		}
		row.Content = []byte("damaged")
		return tx.PutQuestion(row)
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// A call whose row is damaged while its server works can be stopped: the request ends.
func TestUnreadableCallIsStopped(t *testing.T) {
	t.Parallel()
	working, ended := make(chan struct{}), make(chan struct{})
	s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"work": func(x *hosttest.Exchange) {
		close(working)
		<-x.Context.Done()
		close(ended)
	}}})
	r := newRig(t, nil, nil, s)
	r.run()
	call := r.start("shop", "work", "")
	<-working
	r.damage(call.ID, "")
	if _, err := r.in.Stop(t.Context(), ada, call.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-patient(t).Done():
		t.Error("the server still works")
	}
}

// A reply that cannot be recorded, since the row of its call is damaged, is not tried for
// as long as a store that is out of reach.
func TestUnreadableCallIsLeft(t *testing.T) {
	t.Parallel()
	working, reply := make(chan struct{}), make(chan struct{})
	s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"work": func(x *hosttest.Exchange) {
		close(working)
		<-reply
		x.Text("ok")
	}}})
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "work", "")
	if err := r.Resume(t.Context(), ada, call.ID); err != nil {
		t.Fatal(err)
	}
	<-working
	over := r.WorkOn(call.ID)
	r.damage(call.ID, "")
	close(reply)
	select {
	case <-over:
	case <-patient(t).Done():
		t.Error("this machine still works on it")
	}
}

// A server whose held question cannot be read any more is told so, and its call goes on.
func TestUnreadableQuestionIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", legacy("2025-11-25"))
	r := newRig(t, nil, nil, s)
	r.run()
	call := r.start("shop", "ask", "")
	r.damage("", r.next(call.ID).ID)
	if got := text(t, r.until(call.ID, inbox.Done)); !strings.HasPrefix(got, "error ") {
		t.Errorf("the server got %s", got)
	}
	list, err := r.in.Questions(t.Context(), ada, inbox.QuestionFilter{Call: call.ID})
	if err != nil || len(list) != 1 || list[0].State != inbox.Withdrawn {
		t.Errorf("%+v (%v)", list, err)
	}
}
