package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/webhook"
)

// Bodies of requests and answers.
type (
	// An AuditList holds entries of the audit log.
	AuditList struct {
		Entries []*inbox.AuditEntry `json:"entries"`
	}
	// Evidence is what a surface knows of having shown something, in its own words.
	Evidence struct {
		Evidence string `json:"evidence" doc:"at most 512 bytes, and nothing of what was entered"`
		Via      string `json:"via,omitempty" enum:"chat,inbox,terminal,api"`
	}
	// A Refusal tells of questions that were not shown: too many, too large, or against the policy.
	// With a count of 0 in an event it says that the person has cleared it.
	Refusal struct {
		Server string    `json:"server"`
		Count  int       `json:"count"`
		Since  time.Time `json:"since"`
		Last   time.Time `json:"last"`
	}
	// A RefusalList holds refusals, the latest first.
	RefusalList struct {
		Refusals []Refusal `json:"refusals"`
	}
	// A ServerName names a server; empty: all.
	ServerName struct {
		Server string `json:"server"`
	}
	// Stopped says how many calls were stopped.
	Stopped struct {
		Stopped int `json:"stopped"`
	}
	// A WebhookList says how the endpoints of webhooks do.
	WebhookList struct {
		Webhooks []webhook.Status `json:"webhooks"`
	}
	// Redelivered says how many dead letters are tried again.
	Redelivered struct {
		Redelivered int `json:"redelivered"`
	}
)

// Shown records that the question was shown to the person.
func (c *Client) Shown(ctx context.Context, id inbox.QuestionID, e Evidence) error {
	return c.request(ctx, "POST", place("/v1/questions/{id}/shown", string(id)), "", e, nil)
}

// ShownApproval records that the approval was shown to the person.
func (c *Client) ShownApproval(ctx context.Context, id inbox.ApprovalID, e Evidence) error {
	return c.request(ctx, "POST", place("/v1/approvals/{id}/shown", string(id)), "", e, nil)
}

// Refusals lists the servers whose questions were not shown: too many, too large, or against the policy.
func (c *Client) Refusals(ctx context.Context) ([]Refusal, error) {
	list, err := get[RefusalList](ctx, c, "/v1/refusals")
	if err != nil {
		return nil, err
	}
	return list.Refusals, nil
}

// ClearRefusals forgets the refusals of a server; empty: of all.
func (c *Client) ClearRefusals(ctx context.Context, server string) error {
	return c.request(ctx, "POST", "/v1/refusals/clear", "", ServerName{server}, nil)
}

// StopServer stops all of the person's calls of a server, and says how many.
func (c *Client) StopServer(ctx context.Context, server string) (int, error) {
	out, err := post[Stopped](ctx, c, place("/v1/servers/{id}/stop", server), "", nil)
	if err != nil {
		return 0, err
	}
	return out.Stopped, nil
}

// Audit lists what happened to the person's rows, newest first, before the entry with
// the given id; 0: the newest. With a call, what happened to it.
func (c *Client) Audit(ctx context.Context, call inbox.CallID, before int64) ([]*inbox.AuditEntry, error) {
	query := url.Values{"call": {string(call)}, "before": {strconv.FormatInt(before, 10)}}
	list, err := get[AuditList](ctx, c, "/v1/audit?"+query.Encode())
	if err != nil {
		return nil, err
	}
	return list.Entries, nil
}

// AuditAll lists what happened to anybody's rows, oldest first, after the entry with
// the given id. It is for operators.
func (c *Client) AuditAll(ctx context.Context, after int64) ([]*inbox.AuditEntry, error) {
	list, err := get[AuditList](ctx, c, "/v1/ops/audit?after="+strconv.FormatInt(after, 10))
	if err != nil {
		return nil, err
	}
	return list.Entries, nil
}

// Disable takes a person's access away. It is for operators.
func (c *Client) Disable(ctx context.Context, p Principal) error {
	return c.request(ctx, "POST", "/v1/ops/people/disable", "", p, nil)
}

// Enable gives the access back. It is for operators.
func (c *Client) Enable(ctx context.Context, p Principal) error {
	return c.request(ctx, "POST", "/v1/ops/people/enable", "", p, nil)
}

// Erase removes all that the store has of a person. It is for operators.
func (c *Client) Erase(ctx context.Context, p Principal) error {
	return c.request(ctx, "POST", "/v1/ops/people/erase", "", p, nil)
}

// Webhooks says how the endpoints of webhooks do. It is for operators.
func (c *Client) Webhooks(ctx context.Context) ([]webhook.Status, error) {
	list, err := get[WebhookList](ctx, c, "/v1/ops/webhooks")
	if err != nil {
		return nil, err
	}
	return list.Webhooks, nil
}

// Redeliver tries the dead letters of an endpoint again. It is for operators.
func (c *Client) Redeliver(ctx context.Context, endpoint string) (int, error) {
	out, err := post[Redelivered](ctx, c, place("/v1/ops/webhooks/{id}/redeliver", endpoint), "", nil)
	if err != nil {
		return 0, err
	}
	return out.Redelivered, nil
}
