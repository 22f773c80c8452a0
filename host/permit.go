package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
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
	return d, nil
}

// ask is a decision in the words of the inbox. tool is nil for what is no tool.
func ask(d policy.Decision, s *Server, tool *Tool) *inbox.Ask {
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
		a.Fingerprint, a.Description = toolFingerprint(s, tool), cut(tool.Description, maxDescription)
	}
	return a
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
	if t == nil || json.Unmarshal(t.Annotations, &a) != nil {
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
	permitted permission = iota
	notNow               // the call waits for an approval, or has ended: see the store
	noAnswer             // the work was cut short before the policy decided
)

// permitted asks the policy before something of the call leaves. While the policy or
// the store fails nothing leaves, and it is asked again.
func (c *carriage) permitted(ctx context.Context, conn *connection, phase policy.Phase) permission {
	for wait := storePause; ; wait = min(2*wait, policyPause) {
		may, err := c.permit(ctx, conn, phase)
		if err == nil {
			return may
		}
		if saysNo(err) {
			return notNow
		}
		c.host.log.Warn("host: no decision of the policy", "call", c.claim.Call, "server", c.server.ID, "err", err)
		if !pause(ctx, wait) {
			return noAnswer
		}
	}
}

func (c *carriage) permit(ctx context.Context, conn *connection, phase policy.Phase) (permission, error) {
	in, err := c.input(ctx, conn, phase)
	if err != nil {
		return noAnswer, err
	}
	d, err := c.host.decide(ctx, in)
	if err != nil {
		return noAnswer, err
	}
	switch d.Effect {
	case policy.Allow:
		return permitted, nil
	case policy.Deny:
		_, err := c.host.inbox.Deny(ctx, c.claim, inbox.Denial{Rule: d.Rule, Reason: d.Reason})
		return notNow, err
	}
	var tool *Tool
	if c.call.Method == policy.ToolsCall {
		tool = conn.tool(c.call.Name)
	}
	call, err := c.host.inbox.Ask(ctx, c.claim, *ask(d, c.server, tool))
	if errors.Is(err, inbox.ErrInvalid) {
		// Words that no approval can hold. Asking again would not mend it.
		c.host.log.Error("host: the policy's wish for an approval cannot be used", "call", c.claim.Call, "err", err)
		_, err := c.host.inbox.Deny(ctx, c.claim, inbox.Denial{Reason: "The rules of this host could not be followed."})
		return notNow, err
	}
	if err != nil || call.State != c.call.State {
		return notNow, err
	}
	return permitted, nil
}

// shows asks the policy whether a question may reach the person. The word says why
// not; an error, that it made no decision.
func (c *carriage) shows(ctx context.Context, params json.RawMessage) (show bool, word string, err error) {
	in, err := c.input(ctx, c.conn, policy.Asked)
	if err != nil {
		return false, "", err
	}
	var p struct {
		Mode string `json:"mode"`
		URL  string `json:"url"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return false, "it cannot be read", nil //nolint:nilerr // a question that says nothing is not shown
	}
	q := policy.Question{Mode: inbox.Form}
	if p.Mode == string(inbox.URL) {
		q.Mode = inbox.URL
		q.Domain = strings.TrimSuffix(link.Inspect(p.URL, nil).Host, ".")
	}
	s, err := c.host.policy.Question(ctx, in, q)
	if err != nil {
		return false, "", fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	return s.Show, s.Reason, nil
}

// showsAll asks about all questions of a round. While the policy fails it asks again;
// false with an empty word: the work was cut short.
func (c *carriage) showsAll(ctx context.Context, questions []inbox.NewQuestion) (show bool, word string) {
	for _, q := range questions {
		for wait := storePause; ; wait = min(2*wait, policyPause) {
			show, word, err := c.shows(ctx, q.Params)
			if err != nil {
				c.host.log.Warn("host: no decision of the policy", "call", c.claim.Call, "server", c.server.ID, "err", err)
				if !pause(ctx, wait) {
					return false, ""
				}
				continue
			}
			if !show {
				if word == "" {
					word = "the rules of this host do not allow it"
				}
				return false, word
			}
			break
		}
	}
	return true, ""
}
