package tokenendpoint

import (
	"context"
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

	"github.com/parley-mcp/parley/vault"
)

// Limits of one request.
const (
	DefaultTimeout = 30 * time.Second // from the dial to the last byte of the response
	MaxResponse    = 1 << 20          // bytes, also after decompression
)

// An Endpoint sends requests to the endpoints that the requests name. It is safe
// for concurrent use.
type Endpoint struct {
	transport http.RoundTripper
	timeout   time.Duration
}

var _ vault.Endpoint = (*Endpoint)(nil)

// Options of [New]; zero fields are the defaults.
type Options struct {
	Timeout time.Duration // of one request; default [DefaultTimeout]
}

// New makes an Endpoint that sends with the client's transport: see
// [egress.New]. Nothing else of the client is used: redirects are never
// followed, and no cookies are sent. Options may be nil.
func New(client *http.Client, options *Options) *Endpoint {
	e := &Endpoint{transport: client.Transport, timeout: DefaultTimeout}
	if options != nil && options.Timeout > 0 {
		e.timeout = options.Timeout
	}
	return e
}

// An Exchange is a request with the grant type authorization_code (RFC 6749,
// section 4.1.3). Of the terms it needs the token endpoint; the issuer, the
// resource and the parameters are used if they are there.
type Exchange struct {
	Terms       vault.Terms
	Client      vault.Client
	Code        vault.Secret
	RedirectURI string       // exactly as in the authorization request; empty leaves it out
	Verifier    vault.Secret // RFC 7636; empty leaves it out
}

// A Reply is what an exchange gives.
type Reply struct {
	vault.Tokens
	ID vault.Secret // id_token, not verified; empty if there is none
}

// Format implements [fmt.Formatter]: only the secrets in it would hide themselves.
func (r Reply) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "tokenendpoint.Reply(withheld)") }

// LogValue implements [slog.LogValuer].
func (r Reply) LogValue() slog.Value { return slog.StringValue("tokenendpoint.Reply(withheld)") }

// Exchange exchanges a code once. Errors are *[vault.EndpointError].
func (e *Endpoint) Exchange(ctx context.Context, x Exchange) (Reply, error) {
	form := fixed(x.Terms)
	form.Set("grant_type", "authorization_code")
	setSecret(form, "code", x.Code)
	setSecret(form, "code_verifier", x.Verifier)
	set(form, "redirect_uri", x.RedirectURI)
	if x.Code.IsZero() {
		return Reply{}, unusable("an exchange without a code")
	}
	return e.token(ctx, &request{to: x.Terms.TokenEndpoint, issuer: x.Terms.Issuer, client: x.Client, form: form, secrets: []vault.Secret{x.Code, x.Verifier}})
}

// Refresh implements [vault.Endpoint]. What renews by an access token is an
// exchange after RFC 8693; the vendors' own ways are not known here.
func (e *Endpoint) Refresh(ctx context.Context, r vault.RefreshRequest) (vault.Tokens, error) {
	form := fixed(r.Terms)
	set(form, "scope", strings.Join(r.Scopes, " "))
	used := r.Refresh
	switch r.Terms.Renewal.By {
	case vault.RenewByRefreshToken: // RFC 6749, section 6
		form.Set("grant_type", "refresh_token")
		setSecret(form, "refresh_token", used)
	case vault.RenewByAccessToken:
		used = r.Access
		form.Set("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
		form.Set("subject_token_type", "urn:ietf:params:oauth:token-type:access_token")
		setSecret(form, "subject_token", used)
	case vault.RenewByClient: // RFC 6749, section 4.4
		form.Set("grant_type", "client_credentials")
	default:
		return vault.Tokens{}, unusable("a grant that is not renewed")
	}
	if used.IsZero() && r.Terms.Renewal.By != vault.RenewByClient {
		return vault.Tokens{}, unusable("a refresh without a token")
	}
	reply, err := e.token(ctx, &request{to: r.Terms.TokenEndpoint, issuer: r.Terms.Issuer, client: r.Client, form: form, secrets: []vault.Secret{used}})
	return reply.Tokens, err
}

// Revoke implements [vault.Endpoint]. A server that cannot revoke this kind of
// token answers unsupported_token_type, which is of the class [vault.Refused]
// (RFC 7009, section 2.2.1).
func (e *Endpoint) Revoke(ctx context.Context, r vault.RevokeRequest) error {
	if r.Token.IsZero() {
		return unusable("a revocation without a token")
	}
	form := url.Values{}
	setSecret(form, "token", r.Token)
	set(form, "token_type_hint", r.Hint)
	sent := &request{to: r.Terms.RevocationEndpoint, issuer: r.Terms.Issuer, client: r.Client, form: form, secrets: []vault.Secret{r.Token}}
	got, err := e.post(ctx, sent)
	switch {
	case got == nil:
		return err
	case got.ok(): // RFC 7009, section 2.2: what its body says means nothing
		return nil
	}
	return got.failure(read(got.body, got.contentType).code, sent)
}

// token posts the request and reads tokens.
func (e *Endpoint) token(ctx context.Context, sent *request) (Reply, error) {
	got, err := e.post(ctx, sent)
	if got == nil {
		return Reply{}, err
	}
	if got.ok() && err != nil {
		return Reply{}, err
	}
	r := read(got.body, got.contentType)
	switch {
	case !got.ok() || r.failed:
		return Reply{}, got.failure(r.code, sent)
	case r.why != nil:
		return Reply{}, &vault.EndpointError{Class: vault.Lost, Status: got.status, Err: r.why}
	}
	return r.reply, nil
}

// fixed begins a form with the parameters and the resource of the terms.
// Whatever else is set wins.
func fixed(t vault.Terms) url.Values {
	form := url.Values{}
	for name, value := range t.Params {
		set(form, name, value)
	}
	set(form, "resource", t.Resource) // RFC 8707, section 2
	return form
}

// set leaves out what is empty: some servers refuse an empty parameter.
func set(form url.Values, name, value string) {
	if value != "" {
		form.Set(name, value)
	}
}

func setSecret(form url.Values, name string, value vault.Secret) { set(form, name, value.Reveal()) }

// unusable is the error of a request that cannot be made.
func unusable(why string) error {
	return &vault.EndpointError{Class: vault.NotSent, Err: errors.New("tokenendpoint: " + why)}
}

// A request is a form, to whom it goes, and the secrets in it.
type request struct {
	to, issuer string
	client     vault.Client
	form       url.Values
	secrets    []vault.Secret
}

// A response is the head of a response, with its body if that could be read.
type response struct {
	status      int
	retryAfter  time.Duration
	contentType string
	body        []byte
}

func (r *response) ok() bool { return r.status >= 200 && r.status <= 299 }

// post sends the request, once. It returns a response if its head arrived, with
// an error if its body did not.
func (e *Endpoint) post(ctx context.Context, sent *request) (*response, error) {
	target, err := url.Parse(sent.to)
	if err != nil || target.Host == "" || target.User != nil || target.Fragment != "" {
		return nil, unusable("the endpoint is not an absolute address without user and fragment")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.timeout, errTimeout)
	defer cancel()
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	header := http.Header{
		"Content-Type":    {"application/x-www-form-urlencoded"},
		"Accept":          {"application/json"},
		"Accept-Encoding": {"identity"},
	}
	if err := sent.authenticate(header); err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(traced, http.MethodPost, target.String(), strings.NewReader(sent.form.Encode()))
	if err != nil {
		return nil, unusable("the endpoint's address cannot be used")
	}
	post.Header = header
	post.GetBody = nil // so that nobody sends it again
	client := &http.Client{
		Transport:     e.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	got, err := client.Do(post)
	if err != nil {
		class := vault.Lost
		if !connected.Load() {
			class = vault.NotSent
		}
		return nil, &vault.EndpointError{Class: class, Err: safeCause(ctx, err)}
	}
	defer got.Body.Close()
	r := &response{
		status: got.StatusCode, contentType: got.Header.Get("Content-Type"),
		retryAfter: retryAfter(got.Header.Get("Retry-After"), time.Now()),
	}
	if r.body, err = readBody(got); err != nil {
		return r, &vault.EndpointError{Class: vault.Lost, Status: r.status, Err: safeCause(ctx, err)}
	}
	return r, nil
}
