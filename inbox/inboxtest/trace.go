package inboxtest

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/parley-mcp/parley/inbox"
)

// trace is stored with its call, for whichever machine goes on with it, told to
// who observes, and no part of the audit log.
func trace(k *kit) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
	want := inbox.Trace{Parent: parent, State: "vendor=1"}
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "flights", Method: "tools/call", Name: "book", Trace: want})
	k.must("Compose", err)

	var mu sync.Mutex
	seen := map[inbox.AuditKind]inbox.Trace{}
	other := inbox.New(k.handle(), k.keys, &inbox.Options{Owner: "two", Observe: func(e *inbox.AuditEntry) {
		mu.Lock()
		defer mu.Unlock()
		seen[e.Kind] = e.Trace
	}})
	claim, claimed, err := other.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	if claimed.Trace != want {
		k.t.Errorf("another machine reads %+v", claimed.Trace)
	}
	_, err = other.Mark(k.ctx, claim, inbox.Binding{Era: inbox.Modern})
	k.must("Mark", err)
	_, err = other.Park(k.ctx, claim, inbox.Asked{Questions: []inbox.NewQuestion{seat("a", "A?")}})
	k.must("Park", err)
	questions, err := other.Questions(k.ctx, k.ann, inbox.QuestionFilter{Call: c.ID})
	k.must("Questions", err)
	_, err = other.Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Decline})
	k.must("Answer", err)
	mu.Lock()
	for _, kind := range []inbox.AuditKind{inbox.AuditAsked, inbox.AuditAnswered} {
		if seen[kind] != want {
			k.t.Errorf("who observes %s sees %+v", kind, seen[kind])
		}
	}
	mu.Unlock()

	list, err := k.in.AuditAll(k.ctx, 0, 0)
	k.must("AuditAll", err)
	if text, err := json.Marshal(list); err != nil || strings.Contains(string(text), "0af76519") {
		k.t.Errorf("the audit log has the trace: %s, %v", text, err)
	}
	_, err = other.Stop(k.ctx, k.ann, c.ID)
	k.must("Stop", err)
	again, err := other.RunAgain(k.ctx, k.ann, c.ID, "")
	k.must("RunAgain", err)
	if again.Trace != want {
		k.t.Errorf("the call that runs it again is of the trace %+v", again.Trace)
	}

	for _, hostile := range []inbox.Trace{
		{State: "vendor=1"}, {Parent: strings.Repeat("0", 65)}, {Parent: "00-\x00"}, {Parent: "00-\xff"}, {Parent: "a\nb"},
	} {
		c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "flights", Method: "tools/call", Trace: hostile})
		k.must("Compose", err)
		if c.Trace != (inbox.Trace{}) {
			k.t.Errorf("%+v is kept as %+v", hostile, c.Trace)
		}
	}
	c, err = k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "flights", Method: "tools/call", Trace: inbox.Trace{Parent: parent, State: strings.Repeat("a", 513)}})
	k.must("Compose", err)
	if c.Trace != (inbox.Trace{Parent: parent}) {
		k.t.Errorf("a long state is kept as %+v", c.Trace)
	}
}
