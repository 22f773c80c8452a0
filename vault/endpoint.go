package vault

import (
	"context"
	"fmt"
	"time"
)

// Endpoint speaks to authorization servers for the vault. It is called without
// a caller's context: the context that it gets has the vault's own bounds, and
// an implementation keeps bounds of its own on size and time.
//
// An error is a [*EndpointError] whose Class says what is known of the request;
// any other error counts as [Lost]. Errors hold no secret.
type Endpoint interface {
	// Refresh sends one refresh request (RFC 6749 6), never two.
	Refresh(context.Context, RefreshRequest) (Tokens, error)

	// Revoke sends one revocation request (RFC 7009 2.1). nil: the token is of
	// no use any more, which includes that the server did not know it.
	Revoke(context.Context, RevokeRequest) error
}

// RefreshRequest is what a refresh needs.
type RefreshRequest struct {
	Provider string
	Terms    Terms
	Client   Client // zero if the terms name none
	Refresh  Secret // empty where Terms.Renewal.By is not RefreshToken
	Access   Secret // for RenewByAccessToken
	Scopes   []string
}

// RevokeRequest is what a revocation needs.
type RevokeRequest struct {
	Provider string
	Terms    Terms
	Client   Client
	Token    Secret
	Hint     string // RFC 7009 2.1: "refresh_token" or "access_token"
}

// Tokens are what an authorization server answered.
type Tokens struct {
	Access  Secret
	Refresh Secret // empty: the old one goes on (RFC 6749 6)
	Type    string
	// Lifetime counts from when the response arrived; 0: it does not say.
	Lifetime time.Duration
	Scopes   []string // nil: as asked for (RFC 6749 5.1)
}

// Class says what is known of a request that failed.
type Class string

const (
	// InvalidGrant: the server answered, and says that the refresh token is
	// invalid, expired, revoked or another client's (RFC 6749 5.2).
	InvalidGrant Class = "invalid_grant"
	// Refused: another answer of 4xx, such as invalid_client. A new consent
	// does not repair it.
	Refused Class = "refused"
	// Unavailable: an answer of 5xx or 429. The refresh token is taken to be
	// unused; if it was used the next answer will say so.
	Unavailable Class = "unavailable"
	// NotSent: certainly no byte of the request left, such as a refused
	// connection, or an address that must not be dialled.
	NotSent Class = "not_sent"
	// Lost: the request may have arrived and there is no answer that can be
	// read: a time-out, a broken connection, a success without a token.
	Lost Class = "lost"
)

// EndpointError says how a request failed.
type EndpointError struct {
	Class      Class
	Status     int           // of HTTP; 0 if there was no answer
	Code       string        // the "error" of the answer (RFC 6749 5.2), if it is one of letters and "_"; else empty
	RetryAfter time.Duration // of the answer; 0: none
	Err        error         // the cause, if there is more to say; without a secret
}

func (e *EndpointError) Error() string {
	text := "vault: token endpoint: " + string(e.Class)
	if e.Status != 0 {
		text += fmt.Sprintf(", status %d", e.Status)
	}
	if e.Code != "" && e.Code != string(e.Class) {
		text += ", " + e.Code
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *EndpointError) Unwrap() error { return e.Err }
