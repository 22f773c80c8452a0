package host_test

import (
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// What a server says about the completion of pages that nobody was sent to, or
// that are behind the person, changes nothing, and neither does one that never
// comes: the person's own word lets the call go on.
func TestCompletionOfNothing(t *testing.T) {
	t.Parallel()
	const complete = "notifications/elicitation/complete"
	s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"pay": func(x *hosttest.Exchange) {
			x.Notify(complete, `{"elicitationId":"never asked"}`)
			x.Notify(complete, `{"elicitationId":7}`)
			x.Notify(complete, `{}`)
			if x.N == 0 {
				x.Error(-32042, "pay first", `{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://pay.example/1","message":"Pay"}]}`)
				return
			}
			x.Notify(complete, `{"elicitationId":"e1"}`) // it was answered long ago
			x.Text("paid")
		},
	}})
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "pay", "")
	r.step(call.ID, host.Asked)
	q := r.one(call.ID)
	if q.State != inbox.Open || len(wire.Calls()) != 1 {
		t.Fatalf("the question is %s after %d sends", q.State, len(wire.Calls()))
	}
	if _, err := r.in.Open(t.Context(), ada, q.ID, digestOf(q.URL)); err != nil {
		t.Fatal(err)
	}
	r.answer(q, inbox.Accept, "") // no completion has come
	if got := text(t, r.end(call.ID)); got != "paid" || len(wire.Calls()) != 2 {
		t.Errorf("got %s after %d sends", got, len(wire.Calls()))
	}
	if list, err := r.in.Questions(t.Context(), ada, inbox.QuestionFilter{Call: call.ID}); err != nil || len(list) != 1 || list[0].State != inbox.Accepted {
		t.Errorf("questions %+v, %v", list, err)
	}
}
