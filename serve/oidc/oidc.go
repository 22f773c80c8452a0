package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"
)

// DefaultLifetime is how long a session lives. Then the person signs in again, which
// their provider may do without a question.
const DefaultLifetime = 12 * time.Hour

const (
	flowTime    = 10 * time.Minute // from leaving for the provider to coming back
	requestTime = 15 * time.Second // of one request to the provider
	maxBody     = 1 << 20          // bytes of an answer of the provider
)

// Options are the choices of a [SignIn].
type Options struct {
	// Issuer is the provider, exactly as it names itself. Discovery is read from it.
	Issuer string
	// ClientID and ClientSecret are what the provider calls this host. Without a
	// secret the client is public and PKCE alone protects the code.
	ClientID     string
	ClientSecret host.Secret
	// PublicURL is the address of this host as browsers see it. It is https, or http
	// on loopback for trying things out.
	PublicURL string
	// Scopes are asked for beside "openid". Default: "profile".
	Scopes []string
	// TenantClaim names the claim of the ID token that is the principal's tenant.
	// Empty: principals have none. A token without it is refused.
	TenantClaim string
	// GroupsClaim names the claim with the person's groups. Default: "groups".
	GroupsClaim string
	// OperatorGroup is the group whose members are operators. Empty: nobody is. Where
	// people have tenants, it is the group of OperatorTenant alone: whoever runs another
	// tenant may have made a group of the same name.
	OperatorGroup  string
	OperatorTenant string
	// Lifetime of a session, at most [inbox.ErasedTime]. Default: [DefaultLifetime].
	Lifetime time.Duration
	// Store keeps the sessions; Keys seal them.
	Store inbox.Store
	Keys  *inbox.Keys
	// Client sends requests to the provider. Default: one with a limit of time.
	Client *http.Client
	// Log gets why somebody was not signed in. Default: slog.Default().
	Log *slog.Logger
}

// A SignIn signs people in with one provider. It is safe for concurrent use.
type SignIn struct {
	options  Options
	base     *url.URL
	client   *http.Client
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	config   oauth2.Config
	sessions *scs.SessionManager
	inbox    *inbox.Inbox // knows who was erased
	issParam bool         // the provider promises iss in its answers
	log      *slog.Logger
}

// Open reads the provider's metadata (OpenID Connect Discovery 1.0, section 4).
func Open(ctx context.Context, options *Options) (*SignIn, error) {
	s := &SignIn{options: *options, log: options.Log}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.options.Lifetime <= 0 {
		s.options.Lifetime = DefaultLifetime
	}
	if s.options.Lifetime > inbox.ErasedTime {
		return nil, fmt.Errorf("oidc: a session may live for %s at most: so long it is remembered that somebody was erased", inbox.ErasedTime)
	}
	if s.options.GroupsClaim == "" {
		s.options.GroupsClaim = "groups"
	}
	if s.options.Scopes == nil {
		s.options.Scopes = []string{"profile"}
	}
	if s.options.ClientID == "" {
		return nil, errors.New("oidc: there is no client id")
	}
	if s.options.OperatorGroup != "" && (s.options.TenantClaim != "") != (s.options.OperatorTenant != "") {
		return nil, errors.New("oidc: an operator group of people with tenants needs the tenant that it is of, and only such a one has it")
	}
	if !confidential(s.options.Issuer) {
		return nil, fmt.Errorf("oidc: the issuer %q has to be https, or on loopback: whoever is in between could name anybody", s.options.Issuer)
	}
	var err error
	if s.base, err = publicURL(s.options.PublicURL); err != nil {
		return nil, err
	}
	s.client = boundedClient(options.Client)
	ctx = oidc.ClientContext(ctx, s.client)
	if s.provider, err = oidc.NewProvider(ctx, s.options.Issuer); err != nil {
		return nil, fmt.Errorf("oidc: the metadata of %s: %w", s.options.Issuer, shortened(err))
	}
	var more struct {
		Keys     string   `json:"jwks_uri"`
		IssParam bool     `json:"authorization_response_iss_parameter_supported"`
		Auth     []string `json:"token_endpoint_auth_methods_supported"`
		PKCE     []string `json:"code_challenge_methods_supported"`
	}
	if err := s.provider.Claims(&more); err != nil {
		return nil, fmt.Errorf("oidc: the metadata of %s: %w", s.options.Issuer, err)
	}
	if len(more.PKCE) > 0 && !slices.Contains(more.PKCE, "S256") {
		return nil, fmt.Errorf("oidc: %s offers no PKCE with S256", s.options.Issuer)
	}
	s.issParam = more.IssParam
	endpoint := s.provider.Endpoint()
	for name, address := range map[string]string{"authorization_endpoint": endpoint.AuthURL, "token_endpoint": endpoint.TokenURL, "jwks_uri": more.Keys} {
		if !confidential(address) {
			return nil, fmt.Errorf("oidc: the %s in the metadata of %s is neither https nor on loopback", name, s.options.Issuer)
		}
	}
	// One explicit style: the library's own guess sends a code twice.
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the default of OpenID Connect Core 1.0, section 9
	if s.options.ClientSecret.Reveal() == "" || len(more.Auth) > 0 && !slices.Contains(more.Auth, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	s.config = oauth2.Config{
		ClientID: s.options.ClientID, ClientSecret: s.options.ClientSecret.Reveal(), Endpoint: endpoint,
		RedirectURL: s.base.JoinPath("/sign-in/callback").String(),
		Scopes:      append([]string{oidc.ScopeOpenID}, s.options.Scopes...),
	}
	s.verifier = s.provider.Verifier(&oidc.Config{ClientID: s.options.ClientID})
	s.sessions = s.newSessions()
	s.inbox = inbox.New(s.options.Store, s.options.Keys, nil)
	return s, nil
}

// publicURL reads the address of this host. Over plain http the cookie would cross the
// network in the clear, and so would everything else.
func publicURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("oidc: the public address %q is not of the form https://parley.example.com", text)
	}
	if !confidential(text) {
		return nil, fmt.Errorf("oidc: the public address %q has to be https", text)
	}
	u.Path = ""
	return u, nil
}

// confidential reports whether nobody reads along at the address: it is https, or http
// on this machine.
func confidential(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return false
	}
	loopback := u.Hostname() == "localhost"
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		loopback = ip.IsLoopback()
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopback
}

// mostWords is how much of an error of the library is told: some of them hold the whole
// answer of the provider, or of what is not one.
const mostWords = 300

// A shortError tells the beginning of another error.
type shortError struct{ error }

func (e shortError) Error() string { return plain.Line(e.error.Error(), mostWords) }
func (e shortError) Unwrap() error { return e.error }

func shortened(err error) error { return shortError{err} }

// Format keeps the client's secret from printing.
func (s *SignIn) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "sign-in with %q", s.options.Issuer) }

// boundedClient follows no redirect (a token endpoint that redirects would get the code
// and the secret sent elsewhere) and reads no endless answer.
func boundedClient(from *http.Client) *http.Client {
	c := http.Client{}
	if from != nil {
		c = *from
	}
	if c.Timeout == 0 {
		c.Timeout = requestTime
	}
	inner := c.Transport
	if inner == nil {
		inner = http.DefaultTransport
	}
	c.Transport = boundedBodies{inner}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

type boundedBodies struct{ http.RoundTripper }

func (b boundedBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxBody), resp.Body}
	}
	return resp, err
}
