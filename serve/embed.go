package serve

import (
	"encoding/base64"
	"encoding/json"
	"errors"
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
	// agentPurpose seals tokens of models. A machine of an older version, which would take
	// them for a person's, does not open them.
	agentPurpose = "embed token of a model"
	// approvalPurpose is of tokens of one approval, which such a machine would take for
	// tokens of all conversations.
	approvalPurpose = "embed token of an approval"
	maxEmbed        = 4 << 10 // bytes of a token
	embedPage       = "embed token"
)

// An embedder mints and takes the tokens with which pages of other products show and answer
// questions. A product's back end, which knows its user, asks with its API key:
//
//	POST /v1/embed-tokens {"subject": "u-17", "conversation": "c-4", "scopes": ["read", "answer"]}
//
// and hands the token to the page. A token is bound to a principal, to one
// conversation or one approval, and to scopes. It is sealed with the host's keys, so any machine takes
// it and none stores it; revoked ones are remembered until they would have ended.
type embedder struct {
	keys  []*APIKey
	inbox *inbox.Inbox
	ring  *inbox.Keys
}

// newEmbedder panics on a key that [ReadAPIKeys] would refuse: it was made by hand.
func newEmbedder(in *inbox.Inbox, ring *inbox.Keys, keys []*APIKey) *embedder {
	for _, k := range keys {
		if err := k.check(); err != nil {
			panic(fmt.Sprintf("serve: API key %q: %v", k.ID, err))
		}
	}
	return &embedder{keys: keys, inbox: in, ring: ring}
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
	ID           string   `json:"id"`
	Key          string   `json:"key"` // of the API key that minted it: one that is gone takes its tokens with it
	Issuer       string   `json:"iss"`
	Tenant       string   `json:"ten,omitempty"`
	Subject      string   `json:"sub"`
	Name         string   `json:"name,omitempty"`
	Groups       []string `json:"groups,omitempty"`
	Conversation string   `json:"conv"`
	Scopes       []Scope  `json:"scopes"`

	Approval inbox.ApprovalID `json:"approval,omitempty"` // in place of a conversation

	Actor  inbox.Actor `json:"actor,omitempty"`
	Issued time.Time   `json:"iat"`
	Ends   time.Time   `json:"exp"`
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
	return embedPrefix + base64.RawURLEncoding.EncodeToString(e.ring.Seal(t.purpose(), nil, b)), nil
}

// purpose is what the token is sealed for: each kind of token that a machine of an older
// version would take for more than it is has its own.
func (t *embedToken) purpose() string {
	switch {
	case t.Approval != "":
		return approvalPurpose
	case t.Actor == inbox.Model:
		return agentPurpose
	}
	return embedPurpose
}

// open reads a token that this host sealed. It may have ended.
func (e *embedder) open(token string) (*embedToken, error) {
	text, ok := strings.CutPrefix(token, embedPrefix)
	if !ok || len(token) > maxEmbed {
		return nil, ErrSignedOut
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, ErrSignedOut
	}
	var b []byte
	for _, purpose := range []string{embedPurpose, agentPurpose, approvalPurpose} {
		if b, err = e.ring.Open(purpose, nil, sealed); !errors.Is(err, inbox.ErrSealed) {
			break
		}
	}
	if errors.Is(err, inbox.ErrSealed) {
		return nil, ErrSignedOut
	}
	if err != nil { // the keys cannot be used at the moment
		return nil, fmt.Errorf("opening a token: %w", err)
	}
	var t embedToken
	if err := json.Unmarshal(b, &t); err != nil || (t.Conversation == "") == (t.Approval == "") {
		return nil, ErrSignedOut // also one that is bound to nothing: it would see everything
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
	ended, err := e.inbox.TokenEnded(r.Context(), t.principal(), inbox.Token{ID: t.ID, Issued: t.Issued, Ends: t.Ends})
	if err != nil {
		return nil, fmt.Errorf("looking for the end of a token: %w", err)
	}
	if ended {
		return nil, ErrSignedOut
	}
	if err := enabled(r.Context(), e.inbox, t.principal()); err != nil {
		return nil, err
	}
	return &Session{
		// A token without groups says that the person is in none: what an older one said does not count.
		Principal: t.principal(), Name: t.Name, Groups: append([]string{}, t.Groups...),
		Conversation: t.Conversation, Approval: t.Approval, Scopes: t.Scopes, Actor: t.Actor, Assurance: embedPage,
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
	t := &embedToken{
		ID: newToken()[:22], Key: key.ID, Issuer: in.Issuer, Tenant: in.Tenant, Subject: in.Subject, Name: in.Name, Groups: in.Groups,
		Conversation: in.Conversation, Approval: in.Approval, Scopes: in.Scopes, Actor: in.Actor,
	}
	if err := t.check(); err != nil {
		return err
	}
	if !key.owns(t.principal()) {
		return errNamespace
	}
	// The time of the store: "all that were issued until now" has to mean those of every machine.
	if t.Issued, err = e.inbox.Time(r.Context(), t.principal()); err != nil {
		return err
	}
	t.Ends = t.Issued.Add(life)
	token, err := e.seal(t)
	if err != nil {
		return err
	}
	if len(token) > maxEmbed {
		return &badRequest{why: fmt.Sprintf("the token would be longer than %d bytes: name fewer groups", maxEmbed)}
	}
	return writeJSON(w, http.StatusCreated, client.EmbedToken{
		ID: t.ID, Token: token, ExpiresAt: t.Ends, Principal: client.Principal(t.principal()), Conversation: t.Conversation, Approval: t.Approval, Scopes: t.Scopes, Actor: t.Actor,
	})
}

func (t *embedToken) check() error {
	if t.Subject == "" {
		return &badRequest{why: "subject must name the person, as your product knows them for ever"}
	}
	if err := t.checkBinding(); err != nil {
		return err
	}
	if len(t.Scopes) == 0 {
		return &badRequest{why: "scopes must list read, answer or call"}
	}
	for _, scope := range t.Scopes {
		if !slices.Contains(allScopes, scope) {
			return &badRequest{why: fmt.Sprintf("%q is no scope: there are read, answer and call", scope)}
		}
	}
	switch t.Actor {
	case "", inbox.Person:
	case inbox.Model:
		if slices.Contains(t.Scopes, ScopeAnswer) {
			return &badRequest{why: "a model answers nothing: its scopes are read and call"}
		}
	default:
		return &badRequest{why: "actor must be person or model"}
	}
	if _, err := inbox.ParsePrincipal(t.principal().Key()); err != nil || len(t.principal().Key()) > maxPrincipal {
		return &badRequest{why: fmt.Sprintf("issuer, tenant and subject are longer than %d bytes together", maxPrincipal)}
	}
	return nil
}

// checkBinding wants one thing that the token sees.
func (t *embedToken) checkBinding() error {
	named := func(name string) bool { return len(name) <= 100 && !strings.ContainsFunc(name, unicode.IsControl) }
	switch {
	case t.Approval == "" && (t.Conversation == "" || !named(t.Conversation)):
		return &badRequest{why: "conversation must be a name of 1 to 100 bytes without control characters; or approval, in its place, the id of an approval"}
	case t.Approval == "":
		return nil
	case t.Conversation != "":
		return &badRequest{why: "a token sees one conversation, or one approval in its place, not both"}
	case !named(string(t.Approval)):
		return &badRequest{why: "approval must be the id of an approval"}
	case t.Actor == inbox.Model:
		return &badRequest{why: "a model decides nothing: a token of an approval is for a person"}
	case slices.Contains(t.Scopes, ScopeCall):
		return &badRequest{why: "a token of an approval calls nothing: its scopes are read and answer"}
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
	if err := e.inbox.RevokeToken(r.Context(), p, in.ID, EmbedLife); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
