package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// maxAnswer bounds what is read of one answer, in bytes: a whole call with its result
// has up to 32 MiB and the same again in JSON's own escapes.
const maxAnswer = 80 << 20

// A TokenSource returns the bearer. It is asked before every request, so it may hand
// out fresh ones; an empty one sends none.
type TokenSource func(context.Context) (string, error)

// Bearer is the source of one token that does not change.
func Bearer(token string) TokenSource {
	return func(context.Context) (string, error) { return token, nil }
}

// A Client asks one host. It is safe for concurrent use.
type Client struct {
	base  string
	token TokenSource
	http  *http.Client
}

// New returns a client of the host at base, such as "http://127.0.0.1:8420". A nil
// token source asks without a bearer.
func New(base string, token TokenSource) *Client {
	if token == nil {
		token = Bearer("")
	}
	return &Client{base: strings.TrimSuffix(base, "/"), token: token, http: &http.Client{
		// The API never redirects, and a bearer goes nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An Error is what the host refuses. Test for its code.
type Error struct {
	Problem

	retry time.Duration // when to come back, if the host said so
}

func (e *Error) Error() string {
	text := e.Title
	if e.Detail != "" {
		text += " " + e.Detail
	}
	return fmt.Sprintf("%s (%d %s)", text, e.Status, e.Code)
}

// Code is the code of the [Problem] that err is, or empty.
func Code(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// ErrActor: the host made a call or a token for a person where one for a model was
// wanted, or the other way round. A host of a version that knows no actors reads past
// them, and takes everybody for a person.
var ErrActor = errors.New("client: the host made it for another actor than it was asked for")

// madeFor compares the actor that was asked for with that of the answer. Where none is
// named it is a person.
func madeFor(asked, made inbox.Actor) error {
	if (asked == inbox.Model) != (made == inbox.Model) {
		return fmt.Errorf("%w: asked for %q, made for %q", ErrActor, asked, made)
	}
	return nil
}

// request sends one request and reads the answer into out, if that is not nil.
func (c *Client) request(ctx context.Context, method, path, key string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("client: %w", err)
		}
		body = bytes.NewReader(b)
	}
	resp, err := c.send(ctx, method, path, func(h http.Header) {
		if key != "" {
			h.Set("Idempotency-Key", key)
		}
	}, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	dec := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer))
	if err := dec.Decode(out); err != nil {
		return fmt.Errorf("client: the answer to %s %s cannot be read: %w", method, path, err)
	}
	return nil
}

// send sends a request and turns an answer that is a problem into an *Error.
func (c *Client) send(ctx context.Context, method, path string, header func(http.Header), body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	token, err := c.token(ctx)
	if err != nil {
		return nil, fmt.Errorf("client: the token: %w", err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	header(r.Header)
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	e := &Error{retry: retryAfter(resp.Header)}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&e.Problem); err != nil || e.Code == "" {
		return nil, fmt.Errorf("client: %s %s is answered %s: is this a Parley host?", method, path, resp.Status)
	}
	return nil, e
}

// mostRetry bounds what is believed of a host about coming back.
const mostRetry = time.Minute

// retryAfter reads how long the host wants to be left alone (RFC 9110 10.2.3). Hosts of
// Parley say seconds.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, int(mostRetry/time.Second))) * time.Second
}

// sleep waits, and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// place writes an id into a path.
func place(path, id string) string {
	return strings.Replace(path, "{id}", url.PathEscape(id), 1)
}

// Session says who is signed in.
func (c *Client) Session(ctx context.Context) (*Session, error) {
	return get[Session](ctx, c, "/v1/session")
}

// Servers lists the servers of the host.
func (c *Client) Servers(ctx context.Context) ([]Server, error) {
	list, err := get[ServerList](ctx, c, "/v1/servers")
	if err != nil {
		return nil, err
	}
	return list.Servers, nil
}

// Tools lists the tools of a server, which may have to be started first.
func (c *Client) Tools(ctx context.Context, server string) ([]Tool, error) {
	list, err := get[ToolList](ctx, c, place("/v1/servers/{id}/tools", server))
	if err != nil {
		return nil, err
	}
	return list.Tools, nil
}

// SeenTools records that the person has seen tools, each as it was shown: what
// has changed since then is shown as changed again.
func (c *Client) SeenTools(ctx context.Context, server string, seen SeenTools) error {
	return c.request(ctx, http.MethodPost, place("/v1/servers/{id}/tools/seen", server), "", seen, nil)
}

// Conversations lists conversations, the one that changed last first.
func (c *Client) Conversations(ctx context.Context) ([]*Conversation, error) {
	list, err := get[ConversationList](ctx, c, "/v1/conversations")
	if err != nil {
		return nil, err
	}
	return list.Conversations, nil
}

// Conversation reads the newest calls, questions and approvals of a conversation.
func (c *Client) Conversation(ctx context.Context, id string) (*Snapshot, error) {
	return get[Snapshot](ctx, c, place("/v1/conversations/{id}", id))
}

// Compose calls a tool. What a model wants called says so ([NewCall].Actor). The same key with the same call makes one call.
// With [ErrActor] the call is there, runs as somebody else's, and is returned beside the
// error: [Client.Stop] stops it.
func (c *Client) Compose(ctx context.Context, n NewCall, key string) (*Call, error) {
	made, err := post[Call](ctx, c, "/v1/calls", key, n)
	if err != nil || n.Actor == "" { // then it is the session that says it
		return made, err
	}
	return made, madeFor(n.Actor, made.Actor)
}

// Call reads a call, whole.
func (c *Client) Call(ctx context.Context, id inbox.CallID) (*Call, error) {
	return get[Call](ctx, c, place("/v1/calls/{id}", string(id)))
}

// Wait reads a call when it has a higher version than since, or the time is over,
// which is a minute at most. Where the host has no place for one who waits, it comes back
// until there is one, and after that time it reads the call as it is.
func (c *Client) Wait(ctx context.Context, id inbox.CallID, since int64, wait time.Duration) (*Call, error) {
	end := time.Now().Add(min(wait, mostPoll))
	for {
		left := max(time.Until(end), 0)
		query := url.Values{"since": {strconv.FormatInt(since, 10)}, "wait": {strconv.FormatFloat(left.Seconds(), 'f', 3, 64)}}
		call, err := get[Call](ctx, c, place("/v1/calls/{id}", string(id))+"?"+query.Encode())
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Status != http.StatusTooManyRequests || left == 0 {
			return call, err
		}
		if !sleep(ctx, min(left, max(e.retry, firstWait))) {
			return nil, fmt.Errorf("client: %w", ctx.Err())
		}
	}
}

// mostPoll is how long the host lets a request wait.
const mostPoll = time.Minute

// Stop stops a call.
func (c *Client) Stop(ctx context.Context, id inbox.CallID) (*Call, error) {
	return post[Call](ctx, c, place("/v1/calls/{id}/stop", string(id)), "", nil)
}

// Resolve decides on a call that nobody knows the end of. The same key decides once.
func (c *Client) Resolve(ctx context.Context, id inbox.CallID, r NewResolution, key string) (*Call, error) {
	return post[Call](ctx, c, place("/v1/calls/{id}/resolve", string(id)), key, r)
}

// RunAgain runs a call again that came to nothing, as a new one. The same key makes one.
func (c *Client) RunAgain(ctx context.Context, id inbox.CallID, key string) (*Call, error) {
	return post[Call](ctx, c, place("/v1/calls/{id}/run-again", string(id)), key, nil)
}

// DeclineRest declines all open questions of a call. The same key declines once: not
// what the server asks afterwards.
func (c *Client) DeclineRest(ctx context.Context, id inbox.CallID, key string) (*Call, error) {
	return post[Call](ctx, c, place("/v1/calls/{id}/decline-rest", string(id)), key, nil)
}

// OpenQuestions lists the questions that wait for an answer, the oldest first.
func (c *Client) OpenQuestions(ctx context.Context) ([]*Question, error) {
	list, err := get[QuestionList](ctx, c, "/v1/questions?state=open")
	if err != nil {
		return nil, err
	}
	return list.Questions, nil
}

// Question reads a question.
func (c *Client) Question(ctx context.Context, id inbox.QuestionID) (*Question, error) {
	return get[Question](ctx, c, place("/v1/questions/{id}", string(id)))
}

// Check says what an answer with these entries would send. What is wrong with them is
// an *[Error] with the code "check_failed", field by field.
func (c *Client) Check(ctx context.Context, id inbox.QuestionID, in Entries) (*Checked, error) {
	return post[Checked](ctx, c, place("/v1/questions/{id}/check", string(id)), "", in)
}

// Answer answers a question. Of two answers one wins; the other gets an *[Error] with
// the code "question_closed".
func (c *Client) Answer(ctx context.Context, id inbox.QuestionID, a NewAnswer, key string) (*Question, error) {
	return post[Question](ctx, c, place("/v1/questions/{id}/answer", string(id)), key, a)
}

// TakeBack opens an answered question again, as long as nothing was sent.
func (c *Client) TakeBack(ctx context.Context, id inbox.QuestionID) (*Question, error) {
	return post[Question](ctx, c, place("/v1/questions/{id}/take-back", string(id)), "", nil)
}

// Open records the person's consent to go to exactly the address that was shown.
func (c *Client) Open(ctx context.Context, id inbox.QuestionID, agreed Consent) (*Question, error) {
	return post[Question](ctx, c, place("/v1/questions/{id}/open", string(id)), "", agreed)
}

// OpenApprovals lists the approvals that wait for a decision, also those of other
// people's calls that this person decides.
func (c *Client) OpenApprovals(ctx context.Context) ([]*Approval, error) {
	list, err := get[ApprovalList](ctx, c, "/v1/approvals?state=open")
	if err != nil {
		return nil, err
	}
	return list.Approvals, nil
}

// Approval reads an approval.
func (c *Client) Approval(ctx context.Context, id inbox.ApprovalID) (*Approval, error) {
	return get[Approval](ctx, c, place("/v1/approvals/{id}", string(id)))
}

// Decide allows or denies an approval.
func (c *Client) Decide(ctx context.Context, id inbox.ApprovalID, d NewDecision, key string) (*Approval, error) {
	return post[Approval](ctx, c, place("/v1/approvals/{id}", string(id)), key, d)
}

// Revoke ends an approval that covers calls to come.
func (c *Client) Revoke(ctx context.Context, id inbox.ApprovalID) (*Approval, error) {
	return post[Approval](ctx, c, place("/v1/approvals/{id}/revoke", string(id)), "", nil)
}

// FreshAddress makes another one-time token, with local sign-in.
func (c *Client) FreshAddress(ctx context.Context) (*FreshToken, error) {
	return post[FreshToken](ctx, c, "/v1/sign-in/addresses", "", nil)
}

// MintToken gets a token for a page, or for an agent ([TokenRequest].Actor). The client's
// bearer is an API key. A token for somebody else than that is not returned: [ErrActor].
func (c *Client) MintToken(ctx context.Context, n TokenRequest) (*EmbedToken, error) {
	made, err := post[EmbedToken](ctx, c, "/v1/embed-tokens", "", n)
	if err != nil {
		return nil, err
	}
	if err := madeFor(n.Actor, made.Actor); err != nil {
		return nil, err
	}
	return made, nil
}

// RevokeTokens ends tokens of a person. The client's bearer is an API key.
func (c *Client) RevokeTokens(ctx context.Context, n Revocation) error {
	return c.request(ctx, http.MethodPost, "/v1/embed-tokens/revoke", "", n, nil)
}

func get[T any](ctx context.Context, c *Client, path string) (*T, error) {
	out := new(T)
	if err := c.request(ctx, http.MethodGet, path, "", nil, out); err != nil {
		return nil, err
	}
	return out, nil
}

func post[T any](ctx context.Context, c *Client, path, key string, in any) (*T, error) {
	out := new(T)
	if err := c.request(ctx, http.MethodPost, path, key, in, out); err != nil {
		return nil, err
	}
	return out, nil
}
