package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/aside"
	"github.com/parley-mcp/parley/internal/elicitation"
	"github.com/parley-mcp/parley/internal/exact"
	"github.com/parley-mcp/parley/link"
	"github.com/parley-mcp/parley/policy"
)

// ErrPolicy: the policy made no decision, so nothing was done. Try again later.
var ErrPolicy = errors.New("host: the policy could not be asked")

// policyPause is the longest time between two askings of a policy that fails.
const policyPause = 10 * time.Second

// decide asks the policy about a call, and holds its decision against the rules for
// decisions: what makes no sense is no decision.
func (h *Host) decide(ctx context.Context, in *policy.Input) (policy.Decision, error) {
	d, err := h.policy.Call(ctx, in)
	if err == nil {
		err = d.Check()
	}
	if err != nil {
		return policy.Decision{}, fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	d.Rule = ruleName(d.Rule)
	return d, nil
}

// ask is a decision in the words of the inbox. tool is nil for what is no tool.
func ask(d policy.Decision, tool *Tool) *inbox.Ask {
	a := &inbox.Ask{
		Rule: d.Rule, Reason: d.Reason, NotAsker: d.Other,
		Assignee: inbox.Assignee{Principal: d.Assign.Principal, Group: d.Assign.Group},
	}
	for from, to := range map[policy.Scope]inbox.Scope{policy.Conversation: inbox.ForConversation, policy.Always: inbox.Always} {
		if d.Offers(from) {
			a.Offer = append(a.Offer, to)
		}
	}
	if tool != nil {
		text := tool.text()
		a.Fingerprint, a.Description, a.Tool = tool.Definition, cut(tool.Description, maxDescription), &text
	}
	return a
}

// maxRule is how much of the name of a rule is kept, in bytes.
const maxRule = 1 << 10

// ruleName is the name of a rule as the inbox keeps it. A program's own policy may give it
// any: that is no reason to keep back what it allows.
func ruleName(name string) string {
	return cut(strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), ""), maxRule)
}

// maxDescription is how much of a tool's description goes onto an approval, in bytes.
const maxDescription = 4 << 10

// cut shortens text to at most n bytes, between characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

// toolFingerprint identifies a tool for approvals that outlive a call.
func toolFingerprint(s *Server, t *Tool) string {
	return policy.Tool{
		Server: s.ID, Endpoint: s.Endpoint(),
		Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, Annotations: t.Annotations,
	}.Fingerprint()
}

// annotations reads what a tool says about itself. What cannot be read says nothing.
func annotations(t *Tool) (a policy.Annotations) {
	if t == nil || len(t.Annotations) == 0 || exact.Unmarshal(t.Annotations, &a) != nil {
		return policy.Annotations{}
	}
	return a
}

// input is what the policy is told of the carriage's call.
func (c *carriage) input(ctx context.Context, conn *connection, phase policy.Phase) (*policy.Input, error) {
	groups, err := c.host.inbox.Groups(ctx, c.call.Principal)
	if err != nil {
		return nil, err
	}
	in := &policy.Input{
		Phase: phase, Actor: c.call.Actor, Principal: c.call.Principal, Groups: groups, Conversation: c.call.Conversation,
		Server: c.server.ID, Trusted: c.server.Trusted, Method: c.call.Method, Name: c.call.Name, Arguments: c.call.Arguments,
	}
	if c.call.Method == policy.ToolsCall && conn != nil {
		in.Annotations = annotations(conn.tool(c.call.Name))
	}
	return in, nil
}

// permission says whether something of the call may leave now.
type permission int

const (
	permitted   permission = iota
	notNow                 // the call waits for an approval, or has ended: see the store
	noAnswer               // the work was cut short before the policy decided
	notForAll              // of an answer: it may be for another call, to which the policy allows none
	signedOut              // of an answer: the person has to sign in before
	signInEnded            // of an answer: the person has signed in anew since the call was sent, or out
)

// permitted asks the policy before something of the call leaves. While the policy or
// the store fails nothing leaves, and it is asked again. What it said is told the mark:
// the trail has it, and what an approval allowed is looked at again.
func (c *carriage) permitted(ctx context.Context, conn *connection, phase policy.Phase) (permission, *inbox.Allowed) {
	for wait := storePause; ; wait = min(2*wait, policyPause) {
		may, by, err := c.permit(ctx, conn, phase)
		if err == nil {
			return may, by
		}
		if saysNo(err) {
			return notNow, nil
		}
		c.host.log.Warn("host: no decision of the policy", "call", c.claim.Call, "server", c.server.ID, "err", err)
		if !pause(ctx, wait) {
			return noAnswer, nil
		}
	}
}

func (c *carriage) permit(ctx context.Context, conn *connection, phase policy.Phase) (may permission, by *inbox.Allowed, err error) {
	in, err := c.input(ctx, conn, phase)
	if err != nil {
		return noAnswer, nil, err
	}
	d, err := c.host.decide(ctx, in)
	if err != nil {
		return noAnswer, nil, err
	}
	if d.Effect == policy.Allow {
		return permitted, &inbox.Allowed{Rule: d.Rule}, nil
	}
	if phase == policy.Deliver { // the server is still to be told
		c.deciding.Lock()
		defer func() {
			if may == notNow && (err == nil || saysNo(err)) {
				c.ending.Store(true)
			}
			c.deciding.Unlock()
		}()
	}
	if d.Effect == policy.Deny {
		_, err := c.host.inbox.Deny(ctx, c.claim, inbox.Denial{Rule: d.Rule, Reason: d.Reason})
		return notNow, nil, err
	}
	var tool *Tool
	if c.call.Method == policy.ToolsCall {
		tool = conn.tool(c.call.Name)
	}
	asks := ask(d, tool)
	call, err := c.host.inbox.Ask(ctx, c.claim, *asks)
	if errors.Is(err, inbox.ErrInvalid) {
		// Words that no approval can hold. Asking again would not mend it.
		c.host.log.Error("host: the policy's wish for an approval cannot be used", "call", c.claim.Call, "err", err)
		_, err := c.host.inbox.Deny(ctx, c.claim, inbox.Denial{Reason: "The rules of this host could not be followed."})
		return notNow, nil, err
	}
	if err != nil || call.State != c.call.State {
		return notNow, nil, err
	}
	return permitted, &inbox.Allowed{Ask: asks}, nil
}

// mayDeliver says whether the answer to a held question may leave: the rules allow it, for
// each of the calls that it may be for, and the person is signed in (before the mark, since
// what could not leave after it would be lost). While that cannot be said nothing leaves,
// and what was so before a wait is asked again.
func (c *carriage) mayDeliver(ctx context.Context, open []*carriage) (permission, *inbox.Allowed) {
	for wait := storePause; ; wait = min(2*wait, policyPause) {
		for _, other := range open[1:] {
			if may := other.permittedToo(ctx); may != permitted {
				return may, nil
			}
		}
		may, by := c.permitted(ctx, c.conn, policy.Deliver)
		if may != permitted {
			return may, nil
		}
		err := c.authorized(ctx, c.conn)
		switch {
		case err == nil:
			return permitted, by
		case errors.Is(err, errOtherGrant):
			return signInEnded, nil
		case errors.As(err, new(*signInError)):
			return signedOut, nil
		}
		c.host.log.Warn("host: an answer waits for a token", "call", c.claim.Call, "server", c.server.ID, "err", err)
		if !pause(ctx, wait) {
			return noAnswer, nil
		}
	}
}

// permittedToo asks the policy of a call about an answer that is about to leave for another
// one on the same pipe, since it may be this one's. While the policy fails nothing leaves;
// a call that is over has no say.
func (c *carriage) permittedToo(ctx context.Context) permission {
	for wait := storePause; c.flying(); wait = min(2*wait, policyPause) {
		may, err := c.permitToo(ctx)
		if err == nil || saysNo(err) {
			return may
		}
		c.host.log.Warn("host: no decision of the policy", "call", c.claim.Call, "server", c.server.ID, "err", err)
		if !pause(ctx, wait) {
			return noAnswer
		}
	}
	return permitted
}

func (c *carriage) permitToo(ctx context.Context) (permission, error) {
	in, err := c.input(ctx, c.conn, policy.Deliver)
	if err != nil {
		return notForAll, err
	}
	d, err := c.host.decide(ctx, in)
	switch {
	case err != nil:
		return notForAll, err
	case d.Effect == policy.Allow:
		return permitted, nil
	case d.Effect == policy.Deny:
		return notForAll, nil
	}
	var tool *Tool
	if c.call.Method == policy.ToolsCall {
		tool = c.conn.tool(c.call.Name)
	}
	// It is as it was if what allowed the call still does. If not, a call that has asked
	// itself ends as it would with an answer of its own, and any other one is an error.
	call, err := c.host.inbox.Ask(ctx, c.claim, *ask(d, tool))
	if lost(err) { // it is over; also by an earlier try of this, of which no word came back
		if yes, err := c.wasDenied(ctx); yes || err != nil {
			return notForAll, err
		}
		return permitted, nil
	}
	if err != nil || call.State != c.call.State {
		return notForAll, err
	}
	return permitted, nil
}

// denied reports whether the rules have ended the call, or left it uncertain. While the store
// does not say, it asks again; a question that is gone meanwhile nobody answers.
func (c *carriage) denied(ctx context.Context) (yes bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.host.open, cancel)()
	aside.Do(func() {
		var err error
		for yes, err = c.wasDenied(ctx); err != nil && pause(ctx, storePause); {
			yes, err = c.wasDenied(ctx)
		}
	})
	return yes
}

func (c *carriage) wasDenied(ctx context.Context) (bool, error) {
	call, err := c.host.inbox.Call(ctx, c.claim.Principal, c.claim.Call)
	switch {
	case errors.Is(err, inbox.ErrNotFound): // erased
		return false, nil
	case err != nil && !errors.Is(err, inbox.ErrUnreadable): // what can be read of it will do
		return false, err
	}
	return call.State == inbox.Denied ||
		call.State == inbox.Uncertain && (call.Reason == inbox.ReasonDenied || call.Reason == inbox.ReasonNeedsApproval), nil
}

// unshown is a question that may not reach the person.
type unshown struct {
	word string // why not; empty: the work was cut short before the policy decided
	mode inbox.Mode
	rule string
}

// refused is it in the words of the inbox, with all questions that go with it.
func (w *unshown) refused(n int) *inbox.RefusedQuestion {
	return &inbox.RefusedQuestion{Mode: w.mode, Rule: w.rule, Count: n}
}

// shows asks the policy whether a question may reach the person: nil, if it may. An
// error says that it made no decision.
func (c *carriage) shows(ctx context.Context, params json.RawMessage) (*unshown, error) {
	in, err := c.input(ctx, c.conn, policy.Asked)
	if err != nil {
		return nil, err
	}
	p, err := elicitation.Read(params)
	if err != nil {
		return &unshown{word: err.Error()}, nil //nolint:nilerr // the word says it
	}
	q := policy.Question{Mode: inbox.Form}
	if p.Mode == elicitation.URL {
		q.Mode = inbox.URL
		q.Domain = strings.TrimSuffix(link.Inspect(p.URL, nil).Host, ".")
	}
	s, err := c.host.policy.Question(ctx, in, q)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	if s.Show {
		return nil, nil
	}
	return &unshown{word: cmp.Or(s.Reason, "the rules of this host do not allow it"), mode: q.Mode, rule: ruleName(s.Rule)}, nil
}

// showsAll asks about all questions of a round: nil, if all may be shown. While the
// policy fails it asks again.
func (c *carriage) showsAll(ctx context.Context, questions []inbox.NewQuestion) *unshown {
	for _, q := range questions {
		for wait := storePause; ; wait = min(2*wait, policyPause) {
			not, err := c.shows(ctx, q.Params)
			if err == nil && not == nil {
				break
			}
			if err == nil {
				return not
			}
			c.host.log.Warn("host: no decision of the policy", "call", c.claim.Call, "server", c.server.ID, "err", err)
			if !pause(ctx, wait) {
				return &unshown{}
			}
		}
	}
	return nil
}
