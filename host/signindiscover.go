package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/parley-mcp/parley/internal/egress"
	"github.com/parley-mcp/parley/internal/plain"
)

// The SDK's own fetching of metadata follows redirects where it is not told
// otherwise, takes an issuer that differs by a slash anywhere, and prints what it
// was sent. Its types and its reading of challenges are used; the requests are ours.

// A discovery is what is known of a server's authorization before a sign-in.
type discovery struct {
	resource   string // RFC 8707
	challenged []string
	supported  []string
	server     *oauthex.AuthServerMeta
}

const (
	discoverTime  = 30 * time.Second // of all requests of one discovery
	maxMetadata   = 256 << 10        // bytes of a document
	maxChallenges = 8 << 10          // bytes of WWW-Authenticate
)

// discover finds the authorization server of s: MCP 2026-07-28
// basic/authorization/authorization-server-discovery; the rules of 2025-11-25 are the same.
func (h *Host) discover(ctx context.Context, s *Server) (*discovery, error) {
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	client, err := s.egress()
	if err != nil {
		return nil, err
	}
	f := &fetcher{server: s, client: client}
	challenge := h.probe(ctx, s)
	d := &discovery{challenged: challenge.scopes}
	issuer, err := f.resource(ctx, d, challenge.metadata)
	if err != nil {
		return nil, err
	}
	if s.OAuth.Issuer != "" {
		if issuer != "" && !sameIssuer(issuer, s.OAuth.Issuer) {
			return nil, f.fail("it names another authorization server than the servers file", nil)
		}
		issuer = s.OAuth.Issuer
	}
	if issuer == "" {
		// Servers of 2025-03-26 are their own authorization servers, at their root.
		u, _ := url.Parse(s.URL) // checked by Server.check
		issuer = origin(u)
	}
	if d.server, err = f.authorization(ctx, issuer); err != nil {
		return nil, err
	}
	return d, nil
}

// egress is the way to what belongs to the server's authorization: the internet
// alone, unless the operator has allowed more, or the server itself is on this
// computer. What a server names must not reach into the operator's network.
func (s *Server) egress() (*http.Client, error) {
	allow := slices.Clone(s.OAuth.Allow)
	if s.Kind() == HTTP && s.Local() {
		allow = append(allow, "127.0.0.0/8", "::1", "localhost")
	}
	c, err := egress.New(&egress.Options{Allow: allow, Body: maxMetadata})
	if err != nil {
		return nil, fmt.Errorf("%w: server %q: %w", ErrInvalid, s.ID, err)
	}
	return c, nil
}

// A challenge is what a WWW-Authenticate header asks for (RFC 6750 3, RFC 9728 5.1).
type challenge struct {
	scopes   []string
	metadata string
	code     string // error
}

func readChallenge(headers ...string) challenge {
	var c challenge
	if n := len(strings.Join(headers, "")); n == 0 || n > maxChallenges {
		return c
	}
	parsed, err := oauthex.ParseWWWAuthenticate(headers)
	if err != nil {
		return c
	}
	for _, one := range parsed {
		if one.Scheme != "bearer" {
			continue
		}
		for scope := range strings.FieldsSeq(one.Params["scope"]) {
			if validScope(scope) && len(c.scopes) < maxScopes {
				c.scopes = append(c.scopes, scope)
			}
		}
		if c.metadata == "" {
			c.metadata = one.Params["resource_metadata"]
		}
		if c.code == "" {
			c.code = one.Params["error"]
		}
	}
	return c
}

// probe asks the server for its challenge, with a request that does nothing and no
// token. Whatever else it answers, there is none.
func (h *Host) probe(ctx context.Context, s *Server) challenge {
	ctx, cancel := context.WithTimeout(ctx, discoverTime/3)
	defer cancel()
	body := strings.NewReader(`{"jsonrpc":"2.0","id":"sign-in","method":"ping"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, body)
	if err != nil {
		return challenge{}
	}
	for name, value := range s.Headers {
		req.Header.Set(name, value.Reveal())
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := h.http.RoundTrip(req) // no redirects
	if err != nil {
		return challenge{}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		return challenge{}
	}
	return readChallenge(resp.Header.Values("WWW-Authenticate")...)
}

// A fetcher reads the documents of one server's authorization.
type fetcher struct {
	server *Server
	client *http.Client
}

func (f *fetcher) fail(why string, err error) error {
	return &SignInError{Server: f.server.ID, Why: why, err: err}
}

// errAbsent: there is no such document (4xx).
var errAbsent = errors.New("no such document")

// get reads one JSON document. No redirect is followed (egress), and no error says
// what was read.
func (f *fetcher) get(ctx context.Context, what, from string, into any) error {
	u, err := f.checked(from)
	if err != nil {
		return f.fail(what+" stands at an address that is not used", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return f.fail(what+" stands at an address that is not used", nil)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Mcp-Protocol-Version", revisionModern)
	resp, err := f.client.Do(req)
	if err != nil {
		if guard := (*egress.AddressError)(nil); errors.As(err, &guard) {
			return f.fail(what+" stands at an address of a network that is not the internet", guard)
		}
		return f.fail(what+" cannot be read: "+reason(err), nil)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return errAbsent
	case resp.StatusCode != http.StatusOK:
		return f.fail(fmt.Sprintf("%s cannot be read: the answer was %d", what, resp.StatusCode), nil)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata+1))
	if err != nil || len(body) > maxMetadata {
		return f.fail(what+" cannot be read, or is too large", nil)
	}
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '{' || json.Unmarshal(body, into) != nil {
		return f.fail(what+" is not the JSON that it has to be", nil)
	}
	return nil
}

// checked reads an address that others name: https, or plain http where the guard of
// the egress lets it through, which is a question of the address behind it.
func (f *fetcher) checked(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(text) > 2048:
		return nil, errors.New("not an absolute address without user and fragment")
	case u.Scheme == "https", u.Scheme == "http" && f.server.Local() && loopbackName(u.Hostname()):
		return u, nil
	}
	return nil, errors.New("not https")
}

// resource reads the protected resource metadata (RFC 9728) and returns the issuer
// that it names; "" if there is none.
func (f *fetcher) resource(ctx context.Context, d *discovery, named string) (issuer string, err error) {
	d.resource = f.server.canonical()
	u, err := url.Parse(d.resource)
	if err != nil {
		return "", f.fail("its address cannot be used", nil)
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	places := []string{origin(u) + wellKnown + strings.TrimSuffix(u.EscapedPath(), "/"), origin(u) + wellKnown}
	if named != "" {
		places = slices.Insert(places, 0, named)
	}
	for _, place := range slices.Compact(places) {
		var m oauthex.ProtectedResourceMetadata
		err := f.get(ctx, "its description of itself", place, &m)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return "", err
		}
		switch {
		case !covers(m.Resource, u):
			// RFC 9728 3.3 and 7.3: it would have tokens made out for somebody else.
			return "", f.fail("it describes itself as another server", nil)
		case len(m.AuthorizationServers) == 0:
			return "", f.fail("it names no authorization server", nil)
		case m.DPOPBoundAccessTokensRequired, m.TLSClientCertificateBoundAccessTokens:
			return "", f.fail("it wants tokens that are bound to a key, which is not supported here", nil)
		}
		d.resource, d.supported = m.Resource, m.ScopesSupported
		issuer = m.AuthorizationServers[0]
		if wanted := f.server.OAuth.Issuer; wanted != "" {
			if i := slices.IndexFunc(m.AuthorizationServers, func(one string) bool { return sameIssuer(one, wanted) }); i >= 0 {
				issuer = m.AuthorizationServers[i]
			}
		}
		return issuer, nil
	}
	return "", nil
}

// covers reports whether the resource is the server's address, or a part of it that
// belongs to the same origin: RFC 9728 wants them identical, and many servers name
// their root.
func covers(resource string, server *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || u.User != nil || u.Fragment != "" || u.RawQuery != "" || len(resource) > 2048 ||
		!strings.EqualFold(origin(u), origin(server)) {
		return false
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	whole := server.EscapedPath()
	return path == "" || path == strings.TrimSuffix(whole, "/") || strings.HasPrefix(whole, path+"/")
}

// sameIssuer compares issuers. They have to be identical (RFC 8414 3.3), but for the
// slash at the end of one without a path, which some servers' libraries add: it names
// the same document.
func sameIssuer(a, b string) bool {
	if a == b {
		return true
	}
	bare := func(text string) bool {
		u, err := url.Parse(text)
		return err == nil && (u.Path == "" || u.Path == "/")
	}
	return bare(a) && bare(b) && strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// authorization reads the authorization server's metadata (RFC 8414, OpenID Connect
// Discovery) and refuses what does not belong to the issuer, or has no S256.
func (f *fetcher) authorization(ctx context.Context, issuer string) (*oauthex.AuthServerMeta, error) {
	u, err := f.checked(issuer)
	if err != nil || u.RawQuery != "" {
		return nil, f.fail("its authorization server has an address that is not used", err)
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	base := origin(u)
	places := []string{base + "/.well-known/oauth-authorization-server" + path, base + "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, base+path+"/.well-known/openid-configuration")
	}
	domain := plain.Line(u.Host, 100)
	for _, place := range places {
		m := &oauthex.AuthServerMeta{}
		err := f.get(ctx, "the description of its authorization server "+domain, place, m)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return m, f.usable(m, issuer, domain)
	}
	return nil, f.fail("its authorization server "+domain+" has no description of itself", nil)
}

func (f *fetcher) usable(m *oauthex.AuthServerMeta, issuer, domain string) error {
	switch {
	case !sameIssuer(m.Issuer, issuer):
		return f.fail("the authorization server "+domain+" describes itself as another one", nil)
	case !slices.Contains(m.CodeChallengeMethodsSupported, "S256"):
		// MCP 2026-07-28 basic/authorization, "Authorization Code Protection".
		return f.fail("the authorization server "+domain+" does not protect codes (PKCE with S256)", nil)
	}
	for _, e := range []struct {
		name, at string
		must     bool
	}{
		{"page to sign in at", m.AuthorizationEndpoint, true}, {"token endpoint", m.TokenEndpoint, true},
		{"registration endpoint", m.RegistrationEndpoint, false}, {"revocation endpoint", m.RevocationEndpoint, false},
	} {
		if e.at == "" && !e.must {
			continue
		}
		if _, err := f.checked(e.at); err != nil {
			return f.fail("the authorization server "+domain+" has no "+e.name+" that can be used", err)
		}
	}
	return nil
}
