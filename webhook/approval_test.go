package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

var bob = inbox.Principal{Issuer: "https://id.example", Tenant: "t", Subject: "bob"}

// approving lets a policy ask for an approval of a call of ann's, with sentinels in all
// that it says.
func (d *desk) approving(who inbox.Assignee, notAsker bool) *inbox.Approval {
	d.t.Helper()
	c, err := d.inbox.Compose(d.t.Context(), ann, inbox.NewCall{
		Conversation: "c", Actor: inbox.Model, Server: "bank", Method: "tools/call", Name: "pay", Arguments: json.RawMessage(`{"a":"sentinel-argument"}`),
		Ask: &inbox.Ask{Description: "sentinel-description", Rule: "payments", Reason: "sentinel-reason", Assignee: who, NotAsker: notAsker},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	a, err := d.inbox.Approval(d.t.Context(), inbox.Approver{Principal: ann}, c.Approval)
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

// told are the messages, without their times.
func (d *desk) told(r *receiver) []Message {
	d.t.Helper()
	list := r.messages(d.t)
	for i := range list {
		if strings.Contains(r.bodies[i], "sentinel") {
			d.t.Errorf("content left: %s", r.bodies[i])
		}
		list[i].Timestamp = time.Time{}
	}
	return list
}

// Whoever has to decide is told: the asker, another person, or a group; and again before
// the approval ends, unless it was decided.
func TestApprovalMessages(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "a", URL: r.URL, Secret: secret}
	s := d.sender("m1", e)
	d.round(s, e)
	own := d.approving(inbox.Assignee{}, false)
	person := d.approving(inbox.Assignee{Principal: bob}, false)
	group := d.approving(inbox.Assignee{Group: "directors"}, true)
	d.round(s, e)

	message := func(of Type, a *inbox.Approval, who *Assignee, other bool) Message {
		return Message{Type: of, Data: Data{
			Principal: Principal(ann), Call: a.Call, Conversation: "c", Approval: a.ID, Assignee: who, OtherPerson: other, Server: "bank",
			URL: "https://parley.example/?a=" + string(a.ID),
		}}
	}
	p := Principal(bob)
	want := []Message{
		message(ApprovalAsked, own, nil, false),
		message(ApprovalAsked, person, &Assignee{Principal: &p}, false),
		message(ApprovalAsked, group, &Assignee{Group: "directors"}, true),
	}
	byApproval := cmp.Transformer("ByApproval", func(list []Message) map[string]Message { // four are sent at once
		m := map[string]Message{}
		for _, one := range list {
			m[string(one.Type)+string(one.Data.Approval)] = one
		}
		return m
	})
	if diff := cmp.Diff(want, d.told(r), byApproval); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}

	if _, err := d.inbox.Decide(t.Context(), inbox.Approver{Principal: bob}, person.ID, inbox.Decision{}); err != nil {
		t.Fatal(err)
	}
	d.clock.advance(18 * time.Hour) // three quarters of its time
	for range 2 {
		if _, err := d.inbox.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.round(s, e)
	}
	want = append(want, message(ApprovalExpiring, own, nil, false), message(ApprovalExpiring, group, &Assignee{Group: "directors"}, true))
	got := d.told(r)
	if diff := cmp.Diff(want, got, byApproval); diff != "" || len(got) != len(want) {
		t.Errorf("%d messages, expiring (-want +got):\n%s", len(got), diff)
	}
}

// What was decided, or removed, before a message could leave is told to nobody.
func TestApprovalIsDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "a", URL: r.URL, Secret: secret, Events: []Type{ApprovalAsked}}
	s := d.sender("m1", e)
	d.round(s, e)
	decided, waits := d.approving(inbox.Assignee{}, false), d.approving(inbox.Assignee{}, false)
	if _, err := d.inbox.Decide(t.Context(), inbox.Approver{Principal: ann}, decided.ID, inbox.Decision{Allow: true}); err != nil {
		t.Fatal(err)
	}
	d.round(s, e)
	if list := d.told(r); len(list) != 1 || list[0].Data.Approval != waits.ID {
		t.Errorf("told %+v", list)
	}
	if st, err := s.Status(t.Context()); err != nil || st[0].Waits != 0 || len(st[0].Dead) != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// An approval that cannot be read can be denied, so whoever decides it is told: their
// name stands in columns that can be read.
func TestApprovalThatCannotBeRead(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "a", URL: r.URL, Secret: secret, Events: []Type{ApprovalAsked}}
	s := d.sender("m1", e)
	d.round(s, e)
	a := d.approving(inbox.Assignee{Group: "directors"}, true)
	closed := d.approving(inbox.Assignee{}, false)
	if _, err := d.inbox.Decide(t.Context(), inbox.Approver{Principal: ann}, closed.ID, inbox.Decision{}); err != nil {
		t.Fatal(err)
	}
	d.damage(func(tx inbox.Tx) error {
		for _, id := range []inbox.ApprovalID{a.ID, closed.ID} {
			row, err := tx.Approval(id)
			if err != nil {
				return err
			}
			row.Content = []byte("damaged")
			if err := tx.PutApproval(row); err != nil {
				return err
			}
		}
		return nil
	})
	if _, err := d.inbox.Approval(t.Context(), inbox.Approver{Principal: ann}, a.ID); !errors.Is(err, inbox.ErrUnreadable) {
		t.Fatal(err)
	}
	d.round(s, e)
	want := []Message{{Type: ApprovalAsked, Data: Data{
		Principal: Principal(ann), Call: a.Call, Conversation: "c", Approval: a.ID, Assignee: &Assignee{Group: "directors"}, OtherPerson: true, Server: "bank",
		URL: "https://parley.example/?a=" + string(a.ID),
	}}}
	if diff := cmp.Diff(want, d.told(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if st, err := s.Status(t.Context()); err != nil || st[0].Waits != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// damage changes rows of ann's behind the inbox.
func (d *desk) damage(f func(inbox.Tx) error) {
	d.t.Helper()
	if err := d.store.Update(d.t.Context(), ann.Key(), f); err != nil {
		d.t.Fatal(err)
	}
}

// noRows is a log whose rows are gone, as those of a call that ended long ago, or whose
// store fails.
type noRows struct {
	*inbox.Inbox
	err error
}

func (n *noRows) Question(context.Context, inbox.Principal, inbox.QuestionID) (*inbox.Question, error) {
	return nil, n.err
}

func (n *noRows) Call(context.Context, inbox.Principal, inbox.CallID) (*inbox.Call, error) {
	return nil, n.err
}

// A message names the conversation as tokens do. One about rows that are gone, or that
// cannot be read, is sent all the same; one whose store fails waits for it.
func TestConversations(t *testing.T) {
	t.Parallel()
	gone, away := &noRows{err: inbox.ErrNotFound}, &noRows{err: errors.New("the store is away")}
	for name, test := range map[string]struct {
		conversation string
		log          *noRows // nil: the inbox
		damaged      bool
		want         string
		waits        int
	}{
		"a name":              {conversation: "c-4", want: "c-4"},
		"none":                {},
		"longer than a name":  {conversation: strings.Repeat("sentinel-", 12)},
		"no name":             {conversation: "sentinel\nof a text"},
		"rows that are gone":  {conversation: "c-4", log: gone},
		"rows that are odd":   {conversation: "c-4", damaged: true, want: "c-4"},
		"a store that is out": {conversation: "c-4", log: away, waits: 2},
	} {
		d, r := newDesk(t), newReceiver(t)
		e := &Endpoint{ID: "c", URL: r.URL, Secret: secret}
		s := d.sender("m1", e)
		d.round(s, e)
		q := d.askIn(ann, test.conversation)
		if _, err := d.inbox.BlockWaiting(t.Context(), "travel", inbox.ReasonServerRemoved, ""); err != nil {
			t.Fatal(err)
		}
		if test.damaged {
			d.damage(func(tx inbox.Tx) error {
				question, err := tx.Question(q)
				if err != nil {
					return err
				}
				call, err := tx.Call(question.Call)
				if err != nil {
					return err
				}
				question.Content, call.Content = nil, []byte("damaged")
				return errors.Join(tx.PutQuestion(question), tx.PutCall(call))
			})
		}
		if test.log != nil {
			s.log = &noRows{d.inbox, test.log.err}
		}
		d.round(s, e)
		list := d.told(r)
		for _, m := range list {
			if m.Data.Conversation != test.want || m.Data.Call == "" {
				t.Errorf("%s: %+v", name, m)
			}
		}
		if st, err := s.Status(t.Context()); err != nil || st[0].Waits != test.waits || len(list)+test.waits != 2 {
			t.Errorf("%s: %d messages, %+v, %v", name, len(list), st, err)
		}
	}
}
