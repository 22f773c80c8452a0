package tokenendpoint

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/parley-mcp/parley/internal/egress"
)

// Auth is how a client says who it is, by its name in RFC 8414
// (token_endpoint_auth_methods_supported).
type Auth string

// There is no default: a wrong guess sends a single-use code twice, which burns
// it. private_key_jwt and mutual TLS are not supported.
const (
	None  Auth = "none"                // a public client: client_id in the body
	Basic Auth = "client_secret_basic" // RFC 6749, section 2.3.1; nothing in the body
	Post  Auth = "client_secret_post"  // client_id and client_secret in the body; an empty secret is left out
)

// Limits of one request.
const (
	DefaultTimeout = 30 * time.Second // from the dial to the last byte of the response
	MaxResponse    = 1 << 20          // bytes, after decompression
)

// A Client is one registration at one authorization server. It is safe for
// concurrent use; its fields must not change meanwhile.
type Client struct {
	TokenURL      string
	RevocationURL string // RFC 7009; empty if the server has none
	ID            string
	Secret        string // empty for [None]
	Auth          Auth

	// HTTP sends the requests: see [egress.New]. Redirects are never followed,
	// whatever its CheckRedirect says, and its cookies are not sent. Required.
	HTTP *http.Client

	Timeout time.Duration // of one request; default [DefaultTimeout]
}

// ErrConfig is wrapped by errors that are mistakes of the caller: nothing was
// sent.
var ErrConfig = errors.New("tokenendpoint: the client is not set up")

// A Refresh is a request with the grant type refresh_token (RFC 6749, section 6).
type Refresh struct {
	Token    string
	Scope    []string // fewer than were granted; nil for all of them
	Resource []string // RFC 8707
}

// An Exchange is a request with the grant type authorization_code (RFC 6749,
// section 4.1.3).
type Exchange struct {
	Code        string
	RedirectURI string   // exactly as in the authorization request; empty leaves it out
	Verifier    string   // RFC 7636; empty leaves it out
	Resource    []string // RFC 8707
}

// Refresh asks for new tokens once; it never repeats a request. Errors are
// *[Error], or wrap [ErrConfig].
func (c *Client) Refresh(ctx context.Context, r Refresh) (*Tokens, error) {
	if r.Token == "" {
		return nil, fmt.Errorf("%w: a refresh without a token", ErrConfig)
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.Token}}
	if len(r.Scope) > 0 {
		form.Set("scope", strings.Join(r.Scope, " "))
	}
	if len(r.Resource) > 0 {
		form["resource"] = r.Resource
	}
	return c.token(ctx, form, r.Token)
}

// Exchange exchanges a code once; it never repeats a request. Errors are
// *[Error], or wrap [ErrConfig].
func (c *Client) Exchange(ctx context.Context, e Exchange) (*Tokens, error) {
	if e.Code == "" {
		return nil, fmt.Errorf("%w: an exchange without a code", ErrConfig)
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {e.Code}}
	if e.RedirectURI != "" {
		form.Set("redirect_uri", e.RedirectURI)
	}
	if e.Verifier != "" {
		form.Set("code_verifier", e.Verifier)
	}
	if len(e.Resource) > 0 {
		form["resource"] = e.Resource
	}
	return c.token(ctx, form, e.Code, e.Verifier)
}

// Hint is the kind of a token that is revoked (RFC 7009, section 2.1).
type Hint string

// The two kinds.
const (
	RefreshToken Hint = "refresh_token"
	AccessToken  Hint = "access_token"
)

// Revoke revokes a token once (RFC 7009). A server that does not know the token
// reports success; one that does not support revoking this kind reports
// unsupported_token_type, which is of class [Refused]. Errors are *[Error], or
// wrap [ErrConfig].
func (c *Client) Revoke(ctx context.Context, token string, hint Hint) error {
	if c.RevocationURL == "" || token == "" {
		return fmt.Errorf("%w: a revocation without an address or a token", ErrConfig)
	}
	form := url.Values{"token": {token}}
	if hint != "" {
		form.Set("token_type_hint", string(hint))
	}
	secrets := []string{token, c.Secret}
	reply, failure, err := c.post(ctx, c.RevocationURL, form)
	switch {
	case err != nil:
		return err
	case failure != nil && (reply == nil || !reply.ok()):
		return failure
	case reply.ok(): // RFC 7009, section 2.2: the body of a success means nothing
		return nil
	}
	return reply.failure(readReply(reply.body, reply.contentType).code, secrets)
}

// token posts the form and reads the reply as tokens. The secrets are those
// that the form holds.
func (c *Client) token(ctx context.Context, form url.Values, secrets ...string) (*Tokens, error) {
	secrets = append(secrets, c.Secret)
	reply, failure, err := c.post(ctx, c.TokenURL, form)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		return nil, failure
	}
	read := readReply(reply.body, reply.contentType)
	if !reply.ok() || read.failed {
		return nil, reply.failure(read.code, secrets)
	}
	if read.tokens == nil {
		return nil, &Error{Class: Unreadable, Domain: reply.domain, Status: reply.status, cause: read.why}
	}
	return read.tokens, nil
}

// A reply is a whole HTTP response.
type reply struct {
	domain      string
	status      int
	retryAfter  time.Duration
	contentType string
	body        []byte
}

func (r *reply) ok() bool { return r.status >= 200 && r.status <= 299 }

func (r *reply) failure(code string, secrets []string) *Error {
	e := &Error{Class: classOf(r.status, code), Domain: r.domain, Status: r.status, RetryAfter: r.retryAfter}
	if !repeats(code, secrets) {
		e.Code = code
	}
	return e
}

// repeats reports whether the code holds a part of a secret: servers echo
// strange things.
func repeats(code string, secrets []string) bool {
	const part = 8
	for _, s := range secrets {
		if s != "" && len(s) <= part && strings.Contains(code, s) {
			return true
		}
		for i := 0; i+part <= len(s); i++ {
			if strings.Contains(code, s[i:i+part]) {
				return true
			}
		}
	}
	return false
}

// post sends the form with the client's authentication. It returns a failure
// where no whole response came; if its head came, with the reply so far. err is
// a mistake in the setting up.
func (c *Client) post(ctx context.Context, address string, form url.Values) (_ *reply, failure *Error, err error) {
	target, err := url.Parse(address)
	if err != nil || target.Host == "" || target.User != nil || target.Fragment != "" {
		return nil, nil, fmt.Errorf("%w: the endpoint is not an absolute address without user and fragment", ErrConfig)
	}
	if c.HTTP == nil || c.ID == "" {
		return nil, nil, fmt.Errorf("%w: no HTTP client or no client id", ErrConfig)
	}
	switch c.Auth {
	case None:
		form.Set("client_id", c.ID)
	case Post:
		form.Set("client_id", c.ID)
		if c.Secret != "" {
			form.Set("client_secret", c.Secret)
		}
	case Basic:
	default:
		return nil, nil, fmt.Errorf("%w: authentication %q is not supported", ErrConfig, cleanCode(string(c.Auth)))
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	request, err := http.NewRequestWithContext(traced, http.MethodPost, target.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: no request can be made for the endpoint", ErrConfig)
	}
	request.GetBody = nil // so that nobody sends it again
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Encoding", "identity")
	if c.Auth == Basic {
		// RFC 6749, section 2.3.1: both are form-encoded first.
		request.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	}
	sender := &http.Client{
		Transport:     c.HTTP.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := sender.Do(request) // its errors quote addresses and responses
	if err != nil {
		class := Lost
		if !connected.Load() {
			class = NotSent
		}
		return nil, &Error{Class: class, Domain: target.Hostname(), cause: safeCause(ctx, err)}, nil
	}
	defer response.Body.Close()
	r := &reply{
		domain: target.Hostname(), status: response.StatusCode, contentType: response.Header.Get("Content-Type"),
		retryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now()),
	}
	r.body, err = readBody(response)
	if err == nil {
		return r, nil, nil
	}
	// The head is enough to judge anything but a success.
	if !r.ok() {
		return r, r.failure("", nil), nil
	}
	e := &Error{Class: Lost, Domain: r.domain, Status: r.status, cause: safeCause(ctx, err)}
	if errors.Is(err, errTooLarge) || errors.Is(err, errEncoding) {
		e.Class, e.cause = Unreadable, err
	}
	return r, e, nil
}

var errEncoding = errors.New("the response's encoding cannot be read")

// readBody reads at most MaxResponse bytes. Some servers compress unasked.
func readBody(response *http.Response) ([]byte, error) {
	body := &io.LimitedReader{R: response.Body, N: MaxResponse + 1}
	var from io.Reader = body
	switch strings.ToLower(response.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, errEncoding
		}
		from = io.LimitReader(z, MaxResponse+1)
	default:
		return nil, errEncoding
	}
	var text bytes.Buffer
	_, err := text.ReadFrom(from)
	switch {
	case text.Len() > MaxResponse || body.N <= 0 || errors.Is(err, egress.ErrTooLarge):
		return nil, errTooLarge
	case errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader):
		return nil, errEncoding
	case err != nil:
		return nil, err
	}
	return text.Bytes(), nil
}

// retryAfter reads the header of RFC 9110, section 10.2.3: seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	const longest = 24 * time.Hour
	header = strings.TrimSpace(header)
	if seconds, ok := decimalSeconds(header); ok {
		return min(seconds, longest)
	}
	if date, err := http.ParseTime(header); err == nil {
		return min(max(date.Sub(now), 0), longest)
	}
	return 0
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.HostnameError](err)
	return ok
}

const withheld = "tokenendpoint.Client(withheld)"

// Format implements [fmt.Formatter]: a client has a secret.
func (c Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, withheld) }

// LogValue implements [slog.LogValuer].
func (c Client) LogValue() slog.Value { return slog.StringValue(withheld) }

// MarshalJSON refuses: a client has a secret.
func (c Client) MarshalJSON() ([]byte, error) { return nil, errPrinted }

// errPrinted is the answer to whoever marshals what holds secrets.
var errPrinted = errors.New("tokenendpoint: what holds secrets is not marshalled")
