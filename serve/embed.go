package serve

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/parley-mcp/parley/inbox"

	"github.com/parley-mcp/parley/serve/client"
)

// EmbedLife is how long a token for a page lives, at most. A page asks its back end
// for the next one.
const EmbedLife = 10 * time.Minute

const (
	embedPrefix  = "parley_embed_"
	embedPurpose = "embed token"
	maxEmbed     = 4 << 10 // bytes of a token
	embedPage    = "embed token"
	clockSkew    = time.Minute // between two machines
)

// An embedder mints and takes the tokens with which pages of other products show and answer
// questions. A product's back end, which knows its user, asks with its API key:
//
//	POST /v1/embed-tokens {"subject": "u-17", "conversation": "c-4", "scopes": ["read", "answer"]}
//
// and hands the token to the page. A token is bound to a principal, to one
// conversation and to scopes. It is sealed with the host's keys, so any machine takes
// it and none stores it; revoked ones are remembered until they would have ended.
type embedder struct {
	keys  []*APIKey
	inbox *inbox.Inbox
	ring  *inbox.Keys
	now   func() time.Time
}

// newEmbedder panics on a key that [ReadAPIKeys] would refuse: it was made by hand.
func newEmbedder(in *inbox.Inbox, ring *inbox.Keys, keys []*APIKey) *embedder {
	for _, k := range keys {
		if err := k.check(); err != nil {
			panic(fmt.Sprintf("serve: API key %q: %v", k.ID, err))
		}
	}
	return &embedder{keys: keys, inbox: in, ring: ring, now: time.Now}
}

func (e *embedder) origins() []string {
	var list []string
	for _, k := range e.keys {
		for _, origin := range k.Origins {
			if !slices.Contains(list, origin) {
				list = append(list, origin)
			}
		}
	}
	return list
}

// names reports whether an API key has the issuer.
func (e *embedder) names(issuer string) bool {
	return slices.ContainsFunc(e.keys, func(k *APIKey) bool { return k.Issuer == issuer })
}

// embedToken is what is sealed in a token.
type embedToken struct {
	ID           string    `json:"id"`
	Key          string    `json:"key"` // of the API key that minted it: one that is gone takes its tokens with it
	Issuer       string    `json:"iss"`
	Tenant       string    `json:"ten,omitempty"`
	Subject      string    `json:"sub"`
	Name         string    `json:"name,omitempty"`
	Groups       []string  `json:"groups,omitempty"`
	Conversation string    `json:"conv"`
	Scopes       []Scope   `json:"scopes"`
	Issued       time.Time `json:"iat"`
	Ends         time.Time `json:"exp"`
}

func (t *embedToken) principal() inbox.Principal {
	return inbox.Principal{Issuer: t.Issuer, Tenant: t.Tenant, Subject: t.Subject}
}

func isEmbedToken(token string) bool { return strings.HasPrefix(token, embedPrefix) }

// seal writes the token.
func (e *embedder) seal(t *embedToken) (string, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return embedPrefix + base64.RawURLEncoding.EncodeToString(e.ring.Seal(embedPurpose, nil, b)), nil
}

// open reads a token that this host sealed and that has not ended.
func (e *embedder) open(token string) (*embedToken, error) {
	text, ok := strings.CutPrefix(token, embedPrefix)
	if !ok || len(token) > maxEmbed {
		return nil, ErrSignedOut
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, ErrSignedOut
	}
	b, err := e.ring.Open(embedPurpose, nil, sealed)
	if err != nil {
		return nil, ErrSignedOut
	}
	var t embedToken
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, ErrSignedOut
	}
	// One of a machine whose clock is far ahead would outlive the memory of its revocation.
	if now := e.now(); !now.Before(t.Ends) || t.Issued.After(now.Add(clockSkew)) {
		return nil, ErrSignedOut
	}
	return &t, nil
}

// identify returns the session of a request that carries a token.
func (e *embedder) identify(r *http.Request) (*Session, error) {
	t, err := e.open(bearer(r))
	if err != nil {
		return nil, err
	}
	// A key that was taken out of the file, or owns less than it did, has no tokens.
	i := slices.IndexFunc(e.keys, func(k *APIKey) bool { return k.ID == t.Key })
	if i < 0 || !e.keys[i].owns(t.principal()) {
		return nil, ErrSignedOut
	}
	if origin := r.Header.Get("Origin"); origin != "" && len(e.keys[i].Origins) > 0 &&
		!slices.Contains(e.keys[i].Origins, origin) && !sameOrigin(r, origin) {
		return nil, ErrSignedOut
	}
	gone, err := e.inbox.TokenRevoked(r.Context(), t.principal(), t.ID, t.Issued)
	if err != nil {
		return nil, fmt.Errorf("looking for a revoked token: %w", err)
	}
	if gone {
		return nil, ErrSignedOut
	}
	if err := enabled(r.Context(), e.inbox, t.principal()); err != nil {
		return nil, err
	}
	return &Session{
		// A token without groups says that the person is in none: what an older one said does not count.
		Principal: t.principal(), Name: t.Name, Groups: append([]string{}, t.Groups...),
		Conversation: t.Conversation, Scopes: t.Scopes, Assurance: embedPage,
	}, nil
}

// mintToken answers a back end's wish for a token.
func (s *Server) mintToken(w http.ResponseWriter, r *http.Request) {
	if err := s.embed.mint(w, r); err != nil {
		s.fail(w, r, err)
	}
}

func (e *embedder) mint(w http.ResponseWriter, r *http.Request) error {
	key, err := e.apiKey(r)
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	var in client.TokenRequest
	if err := readJSON(r, &in); err != nil {
		return err
	}
	if in.Issuer == "" {
		in.Issuer = key.Issuer
	}
	life := EmbedLife
	if in.ExpiresIn > 0 {
		life = min(life, time.Duration(min(in.ExpiresIn, int(EmbedLife/time.Second)))*time.Second)
	}
	now := e.now().UTC()
	t := &embedToken{
		ID: newToken()[:22], Key: key.ID, Issuer: in.Issuer, Tenant: in.Tenant, Subject: in.Subject, Name: in.Name, Groups: in.Groups,
		Conversation: in.Conversation, Scopes: in.Scopes, Issued: now, Ends: now.Add(life),
	}
	if err := t.check(); err != nil {
		return err
	}
	if !key.owns(t.principal()) {
		return errNamespace
	}
	token, err := e.seal(t)
	if err != nil {
		return err
	}
	if len(token) > maxEmbed {
		return &badRequest{why: fmt.Sprintf("the token would be longer than %d bytes: name fewer groups", maxEmbed)}
	}
	return writeJSON(w, http.StatusCreated, client.EmbedToken{
		ID: t.ID, Token: token, ExpiresAt: t.Ends, Principal: client.Principal(t.principal()), Conversation: t.Conversation, Scopes: t.Scopes,
	})
}

func (t *embedToken) check() error {
	if t.Subject == "" {
		return &badRequest{why: "subject must name the person, as your product knows them for ever"}
	}
	if t.Conversation == "" || len(t.Conversation) > 100 || strings.ContainsFunc(t.Conversation, unicode.IsControl) {
		return &badRequest{why: "conversation must be a name of 1 to 100 bytes without control characters"}
	}
	if len(t.Scopes) == 0 {
		return &badRequest{why: "scopes must list read, answer or call"}
	}
	for _, scope := range t.Scopes {
		if !slices.Contains(allScopes, scope) {
			return &badRequest{why: fmt.Sprintf("%q is no scope: there are read, answer and call", scope)}
		}
	}
	if _, err := inbox.ParsePrincipal(t.principal().Key()); err != nil || len(t.principal().Key()) > maxPrincipal {
		return &badRequest{why: fmt.Sprintf("issuer, tenant and subject are longer than %d bytes together", maxPrincipal)}
	}
	return nil
}

// maxPrincipal is what the inbox takes.
const maxPrincipal = 1024

// revokeTokens ends one token of a person, or all that they have.
func (s *Server) revokeTokens(w http.ResponseWriter, r *http.Request) {
	if err := s.embed.revoke(w, r); err != nil {
		s.fail(w, r, err)
	}
}

func (e *embedder) revoke(w http.ResponseWriter, r *http.Request) error {
	key, err := e.apiKey(r)
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	var in client.Revocation
	if err := readJSON(r, &in); err != nil {
		return err
	}
	if in.Issuer == "" {
		in.Issuer = key.Issuer
	}
	p := inbox.Principal{Issuer: in.Issuer, Tenant: in.Tenant, Subject: in.Subject}
	if p.Subject == "" {
		return &badRequest{why: "subject must name the person whose tokens end"}
	}
	if !key.owns(p) {
		return errNamespace
	}
	if err := e.inbox.RevokeToken(r.Context(), p, in.ID, EmbedLife+clockSkew); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
