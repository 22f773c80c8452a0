package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/parley-mcp/parley/internal/egress"
	"github.com/parley-mcp/parley/vault"
)

// OAuth is how this host is known to a server's authorization server. The zero value
// leaves it to the host: a client ID metadata document, else a registration.
type OAuth struct {
	ClientID     string   // registered by hand
	ClientSecret Secret   // empty: a public client
	Issuer       string   // the authorization server that they belong to; needed with a secret
	Scopes       []string // to ask for; empty: what the server says
	// Allow are addresses, ranges and names in the operator's own network that the
	// authorization server may have; without them it is on the internet, or, for a
	// server on this computer, on loopback.
	Allow []string
}

func (o *OAuth) check() error {
	switch {
	case o.ClientID == "" && o.ClientSecret.Reveal() != "":
		return errors.New("oauth: clientSecret needs a clientId")
	case o.ClientSecret.Reveal() != "" && o.Issuer == "":
		// Else whoever runs the server could name an authorization server of theirs, and be sent the secret.
		return errors.New("oauth: clientSecret needs the issuer that it may be sent to")
	case len(o.ClientID) > 2048:
		return errors.New("oauth: clientId is longer than 2048 bytes")
	}
	if o.Issuer != "" {
		u, err := url.Parse(o.Issuer)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
			return errors.New("oauth: issuer is no address of an authorization server")
		}
	}
	if _, err := egress.New(&egress.Options{Allow: o.Allow}); err != nil {
		return errors.New("oauth: allow holds something that is no address, range or name")
	}
	for _, scope := range o.Scopes {
		if !validScope(scope) {
			return errors.New("oauth: scopes holds something that is no scope (RFC 6749 3.3)")
		}
	}
	if len(o.Scopes) > maxScopes {
		return fmt.Errorf("oauth: more than %d scopes", maxScopes)
	}
	return nil
}

// clientFor is this host's registration at the authorization server, in the order of
// MCP 2026-07-28 basic/authorization/client-registration: one made by hand, a client ID
// metadata document, a dynamic registration (RFC 7591). It is a row of the vault, which
// all machines share. dynamic: it can be made anew.
func (h *Host) clientFor(ctx context.Context, s *Server, m *oauthex.AuthServerMeta, redirect string) (c vault.Client, dynamic bool, err error) {
	switch {
	case s.OAuth.ClientID != "":
		c = s.registered(m)
		return c, false, h.vault.SetClient(ctx, "", c) // the file is the truth: it may have changed
	case h.options.ClientMetadataURL != "" && m.ClientIDMetadataDocumentSupported:
		c = vault.Client{
			Issuer: m.Issuer, Name: "document " + short(h.options.ClientMetadataURL), ID: h.options.ClientMetadataURL,
			Method: "none", RedirectURIs: []string{redirect},
		}
		c, _, err = h.vault.AddClient(ctx, "", c)
		return c, false, err
	case m.RegistrationEndpoint != "":
		c, err = h.dynamic(ctx, s, m, redirect)
		return c, true, err
	}
	return c, false, &SignInError{Server: s.ID, Why: "its authorization server registers nobody by itself: whoever runs this host has to put a client id into the servers file"}
}

// registered is the registration of the servers file.
func (s *Server) registered(m *oauthex.AuthServerMeta) vault.Client {
	c := vault.Client{
		Issuer: m.Issuer, Name: "file " + s.ID, ID: s.OAuth.ClientID, Secret: vault.NewSecret(s.OAuth.ClientSecret.Reveal()),
		Method: "none",
	}
	if !c.Secret.IsZero() {
		c.Method = authentication(m, true)
	}
	return c
}

// renewClients brings registrations of the servers file that changed into the vault:
// grants that were made under them are renewed with the new secret.
func (h *Host) renewClients(ctx context.Context) {
	if h.vault == nil {
		return
	}
	for _, id := range h.order {
		s := h.servers[id]
		if s.OAuth.ClientID == "" || s.OAuth.Issuer == "" {
			continue
		}
		for _, issuer := range []string{s.OAuth.Issuer, strings.TrimSuffix(s.OAuth.Issuer, "/"), s.OAuth.Issuer + "/"} {
			old, err := h.vault.Client(ctx, "", issuer, "file "+id, "the host starts")
			if err != nil {
				continue // nobody signed in with it yet
			}
			secret := vault.NewSecret(s.OAuth.ClientSecret.Reveal())
			if old.ID == s.OAuth.ClientID && old.Secret.Equal(secret) {
				break
			}
			if old.ID, old.Secret = s.OAuth.ClientID, secret; secret.IsZero() {
				old.Method = "none"
			} else if old.Method == "none" {
				old.Method = "client_secret_basic"
			}
			if err := h.vault.SetClient(ctx, "", old); err != nil {
				h.log.Warn("host: a client registration", "server", id, "err", err)
			}
			break
		}
	}
}

// authentication chooses a method that both sides know; RFC 8414 2 has
// client_secret_basic as the default.
func authentication(m *oauthex.AuthServerMeta, secret bool) string {
	supported := m.TokenEndpointAuthMethodsSupported
	switch {
	case !secret && slices.Contains(supported, "none"):
		return "none"
	case len(supported) > 0 && !slices.Contains(supported, "client_secret_basic") && slices.Contains(supported, "client_secret_post"):
		return "client_secret_post"
	}
	return "client_secret_basic"
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x", sum[:6])
}

// dynamic finds or makes a registration for this way back. Of two machines that
// register at the same time the first one's counts for both.
func (h *Host) dynamic(ctx context.Context, s *Server, m *oauthex.AuthServerMeta, redirect string) (vault.Client, error) {
	name := "dynamic " + short(redirect)
	h.registering.Lock() // within this machine: one registration
	defer h.registering.Unlock()
	old, err := h.vault.Client(ctx, "", m.Issuer, name, "a sign-in begins")
	switch {
	case err == nil && (old.SecretExpires.IsZero() || time.Until(old.SecretExpires) > 24*time.Hour):
		return old, nil
	case err != nil && !errors.Is(err, vault.ErrNotFound):
		return vault.Client{}, err
	}
	expired := err == nil
	to, err := s.egress()
	if err != nil {
		return vault.Client{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	kind := "web"
	if u, err := url.Parse(redirect); err == nil && loopbackName(u.Hostname()) {
		kind = "native" // OpenID Connect Dynamic Client Registration 2
	}
	reply, err := oauthex.RegisterClient(ctx, m.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: authentication(m, false),
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		ClientName: h.clientName(), ApplicationType: kind,
	}, to)
	if err != nil { // its text may hold what the server sent
		why := "its authorization server did not register this host"
		if refused, ok := errors.AsType[*oauthex.ClientRegistrationError](err); ok {
			why += ": it said " + saidNo(refused.ErrorCode)
		}
		return vault.Client{}, &SignInError{Server: s.ID, Why: why}
	}
	c := vault.Client{
		Issuer: m.Issuer, Name: name, ID: reply.ClientID, Secret: vault.NewSecret(reply.ClientSecret), Method: reply.TokenEndpointAuthMethod,
		SecretExpires: reply.ClientSecretExpiresAt, RedirectURIs: []string{redirect},
	}
	switch {
	case c.Secret.IsZero():
		c.Method = "none"
	case c.Method == "" || c.Method == "none":
		c.Method = "client_secret_basic" // RFC 7591 2: the default
	}
	if expired {
		return c, h.vault.SetClient(ctx, "", c)
	}
	stored, _, err := h.vault.AddClient(ctx, "", c)
	return stored, err
}

// clientName is what the consent page calls this host.
func (h *Host) clientName() string {
	if title := h.options.Implementation.Title; title != "" {
		return title
	}
	return h.options.Implementation.Name
}

// documentURL: MCP 2026-07-28 basic/authorization/client-registration, "Client ID
// Metadata Documents".
func documentURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.Fragment == "" && len(u.Path) > 1
}
