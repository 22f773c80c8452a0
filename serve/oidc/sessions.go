package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
)

// Keys of a session's values.
const (
	issuerKey, tenantKey, subjectKey = "issuer", "tenant", "subject"
	nameKey, groupsKey               = "name", "groups"
	stateKey, nonceKey, verifierKey  = "state", "nonce", "verifier"
	returnKey, leftKey               = "return", "left"
)

func (s *SignIn) newSessions() *scs.SessionManager {
	m := scs.New()
	m.Lifetime = s.options.Lifetime
	m.Store = sessionStore{s.options.Store, s.options.Keys}
	m.HashTokenInStore = true
	m.Cookie = scs.SessionCookie{Name: "__Host-parley", Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode, Persist: true}
	m.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) {
		s.log.ErrorContext(r.Context(), "a session could not be read or stored", "err", err)
		answer(w, http.StatusServiceUnavailable, pageTrouble)
	}
	return m
}

// Identify reads who is signed in from the cookie of the request. It is
// serve.Options.Identify.
func (s *SignIn) Identify(r *http.Request) (*serve.Session, error) {
	cookie, err := r.Cookie(s.sessions.Cookie.Name)
	if err != nil {
		return nil, serve.ErrSignedOut
	}
	ctx, err := s.sessions.Load(r.Context(), cookie.Value)
	if err != nil {
		return nil, fmt.Errorf("oidc: reading a session: %w", err)
	}
	p := inbox.Principal{
		Issuer: s.sessions.GetString(ctx, issuerKey), Tenant: s.sessions.GetString(ctx, tenantKey), Subject: s.sessions.GetString(ctx, subjectKey),
	}
	// A session of another provider, or of other claims, is one of an older configuration.
	if p.Subject == "" || p.Issuer != s.options.Issuer || (p.Tenant != "") != (s.options.TenantClaim != "") {
		return nil, serve.ErrSignedOut
	}
	groups, err := readGroups(s.sessions.GetString(ctx, groupsKey))
	if err != nil {
		return nil, err
	}
	session := &serve.Session{Principal: p, Name: s.sessions.GetString(ctx, nameKey), Groups: groups}
	if s.options.OperatorGroup != "" && p.Tenant == s.options.OperatorTenant {
		session.Operator = slices.Contains(groups, s.options.OperatorGroup)
	}
	return session, nil
}

// readGroups reads what writeGroups wrote: a session's values are texts.
func readGroups(text string) (groups []string, err error) {
	if err := json.Unmarshal([]byte(text), &groups); err != nil {
		return nil, fmt.Errorf("oidc: the groups of a session: %w", err)
	}
	return groups, nil
}

func writeGroups(groups []string) (string, error) {
	b, err := json.Marshal(groups)
	return string(b), err
}

// A sessionStore keeps sessions among what the inbox's store remembers. scs hands it
// digests of tokens (HashTokenInStore).
type sessionStore struct {
	store inbox.Store
	keys  *inbox.Keys
}

const sessionPurpose = "session"

// storeTime bounds what has no context of its own.
const storeTime = 10 * time.Second

// place is the row that a session is kept under: 256 of them, so that people who sign
// in at the same time do not wait for each other.
func place(token string) string {
	sum := sha256.Sum256([]byte(token))
	return fmt.Sprintf("parley||sessions %02x", sum[0])
}

func (s sessionStore) FindCtx(ctx context.Context, token string) (b []byte, found bool, err error) {
	err = s.store.View(ctx, place(token), func(tx inbox.Tx) error {
		sealed, err := tx.Remembered(token)
		if errors.Is(err, inbox.ErrNotFound) || err == nil && len(sealed) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		b, err = s.keys.Open(sessionPurpose, []string{token}, sealed)
		if errors.Is(err, inbox.ErrSealed) {
			return nil // keys that are gone take their sessions with them
		}
		found = err == nil
		return err
	})
	return b, found, err
}

func (s sessionStore) CommitCtx(ctx context.Context, token string, b []byte, expiry time.Time) error {
	return s.store.Update(ctx, place(token), func(tx inbox.Tx) error {
		return tx.Remember(token, s.keys.Seal(sessionPurpose, []string{token}, b), expiry)
	})
}

func (s sessionStore) DeleteCtx(ctx context.Context, token string) error {
	return s.store.Update(ctx, place(token), func(tx inbox.Tx) error {
		return tx.Remember(token, nil, tx.Now()) // it has expired
	})
}

func (s sessionStore) Find(token string) ([]byte, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	return s.FindCtx(ctx, token)
}

func (s sessionStore) Commit(token string, b []byte, expiry time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	return s.CommitCtx(ctx, token, b, expiry)
}

func (s sessionStore) Delete(token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	return s.DeleteCtx(ctx, token)
}
