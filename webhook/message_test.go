package webhook

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "all", URL: r.URL, Secret: secret}
	early := d.ask(ann) // before the endpoint's first start
	d.clock.advance(time.Second)
	s := d.sender("m1", e)
	d.round(s, e)
	if n := len(r.messages(t)); n != 0 {
		t.Fatalf("%d messages of what happened before", n)
	}
	d.clock.advance(time.Second)
	q, open := d.ask(ann), d.ask(ann)
	if _, err := d.inbox.Answer(t.Context(), ann, q, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"x":"sentinel-answer"}`)}); err != nil {
		t.Fatal(err)
	}
	d.clock.advance(6*24*time.Hour + time.Hour)
	if _, err := d.inbox.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.round(s, e)
	d.round(s, e) // nothing comes twice
	seen := map[string]int{}
	for i, m := range r.messages(t) {
		seen[string(m.Type)+" "+string(m.Data.Question)]++
		if m.Data.Principal != Principal(ann) || m.Data.Server != "travel" || m.Data.Call == "" || m.Data.Conversation != "c" || m.Timestamp.IsZero() ||
			m.Data.URL != "https://parley.example/?q="+string(m.Data.Question) {
			t.Errorf("%+v", m)
		}
		if strings.Contains(r.bodies[i], "sentinel") {
			t.Errorf("content left: %s", r.bodies[i])
		}
		if err := verify(secret, r.got[i].Header, []byte(r.bodies[i]), d.clock.now()); err != nil {
			t.Error(err)
		}
	}
	want := map[string]int{"asked " + string(q): 1, "asked " + string(open): 1, "answered " + string(q): 1, "expiring " + string(open): 1, "expiring " + string(early): 1}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("messages %v, want %v", seen, want)
	}
}

func TestBlockedMessage(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "b", URL: r.URL, Secret: secret, Events: []Type{Blocked}}
	s := d.sender("m1", e)
	d.round(s, e)
	d.ask(ann)
	if n, err := d.inbox.BlockWaiting(t.Context(), "travel", inbox.ReasonServerRemoved, ""); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	d.round(s, e)
	list := r.messages(t)
	if len(list) != 1 || list[0].Type != Blocked || list[0].Data.Reason != inbox.ReasonServerRemoved || list[0].Data.Conversation != "c" {
		t.Errorf("%+v", list)
	}
}

// Of a call that nobody knows of the person is told, unless it is known of meanwhile.
func TestUncertainMessage(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "u", URL: r.URL, Secret: secret, Events: []Type{Uncertain}}
	s := d.sender("m1", e)
	d.round(s, e)
	sent := func() inbox.CallID {
		c, err := d.inbox.Compose(t.Context(), ann, inbox.NewCall{Conversation: "c", Server: "travel", Method: "tools/call", Name: "book"})
		if err != nil {
			t.Fatal(err)
		}
		claim, _, err := d.inbox.Claim(t.Context(), ann, c.ID)
		if err == nil {
			_, err = d.inbox.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern})
		}
		if err == nil {
			_, err = d.inbox.Uncertain(t.Context(), claim, "sentinel-detail")
		}
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	judged, open := sent(), sent()
	if _, err := d.inbox.Resolve(t.Context(), ann, judged, inbox.ItHappened, ""); err != nil {
		t.Fatal(err)
	}
	d.round(s, e)
	list := r.messages(t)
	if len(list) != 1 || list[0].Type != Uncertain || list[0].Data.Call != open || list[0].Data.Reason != inbox.ReasonNoReply || list[0].Data.Conversation != "c" {
		t.Fatalf("%+v", list)
	}
	if strings.Contains(r.bodies[0], "sentinel") {
		t.Errorf("content left: %s", r.bodies[0])
	}
}

// An endpoint gets what it wants, of people it is for.
func TestFilter(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "f", URL: r.URL, Secret: secret, Events: []Type{Asked}, Issuers: []string{ann.Issuer}, Tenants: []string{"t"}}
	s := d.sender("m1", e)
	d.round(s, e)
	q := d.ask(ann)
	d.ask(inbox.Principal{Issuer: ann.Issuer, Tenant: "other", Subject: "ann"})
	d.ask(inbox.Principal{Issuer: "https://other.example", Tenant: "t", Subject: "ann"})
	if _, err := d.inbox.Answer(t.Context(), ann, q, inbox.Answer{Action: inbox.Decline}); err != nil {
		t.Fatal(err)
	}
	d.round(s, e)
	if list := r.messages(t); len(list) != 1 || list[0].Data.Question != q {
		t.Errorf("%+v", list)
	}
}
