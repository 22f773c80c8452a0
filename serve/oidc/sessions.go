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
	signedInKey                      = "signed in" // since when, as RFC 3339 in the store's time
	stateKey, nonceKey, verifierKey  = "state", "nonce", "verifier"
	returnKey, leftKey               = "return", "left" // for the provider: when, in seconds of the store's time
)

func (s *SignIn) newSessions() *scs.SessionManager {
	m := scs.New()
	m.Lifetime = s.options.Lifetime
	m.Store = s.store()
	m.HashTokenInStore = true
	m.Cookie = scs.SessionCookie{Name: "__Host-parley", Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode, Persist: true}
	m.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) {
		s.log.ErrorContext(r.Context(), "a session could not be read or stored", "err", err)
		answer(w, http.StatusServiceUnavailable, pageTrouble)
	}
	return m
}

func (s *SignIn) store() sessionStore { return sessionStore{s.options.Store, s.options.Keys} }

// Identify reads who is signed in from the cookie of the request. It is
// serve.Options.Identify: an error that does not match [serve.ErrSignedOut] says that
// the store could not be asked.
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
	since, err := time.Parse(time.RFC3339Nano, s.sessions.GetString(ctx, signedInKey))
	if err != nil {
		since = time.Time{} // of an older version: it ends with any erasure
	}
	ended, err := s.inbox.TokenEnded(r.Context(), p, inbox.Token{Issued: since})
	if err != nil {
		return nil, fmt.Errorf("oidc: looking for the end of a session: %w", err)
	}
	if ended {
		return nil, serve.ErrSignedOut
	}
	groups, err := readGroups(s.sessions.GetString(ctx, groupsKey))
	if err != nil { // of another version: signing in again mends it
		return nil, fmt.Errorf("%w: %w", serve.ErrSignedOut, err)
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

// CommitCtx has the expiry in this machine's time, and the store drops what has expired
// in its own: what counts is how long that is.
func (s sessionStore) CommitCtx(ctx context.Context, token string, b []byte, expiry time.Time) error {
	left := time.Until(expiry)
	return s.store.Update(ctx, place(token), func(tx inbox.Tx) error {
		return tx.Remember(token, s.keys.Seal(sessionPurpose, []string{token}, b), tx.Now().Add(left))
	})
}

// time is the time of the store, which is the same for all machines.
func (s sessionStore) time(ctx context.Context) (now time.Time, err error) {
	err = s.store.View(ctx, place(""), func(tx inbox.Tx) error {
		now = tx.Now()
		return nil
	})
	return now, err
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
