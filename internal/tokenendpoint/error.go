package tokenendpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/parley-mcp/parley/internal/egress"
)

// A Class says what a failed request means to whoever holds the grant.
type Class int

const (
	// NotSent: no connection was made, so the request certainly did not arrive.
	NotSent Class = iota + 1
	// Lost: the request may have arrived, and no whole response came back.
	Lost
	// Unreadable: the server reported success in a form that holds no token. If
	// tokens rotate, the old one is probably used up.
	Unreadable
	// Failed: HTTP 5xx, or the codes server_error and 5xx's likes. The server may
	// have acted before it failed.
	Failed
	// Busy: HTTP 429, or temporarily_unavailable. See [Error.RetryAfter].
	Busy
	// InvalidGrant: the code or the refresh token is used up, expired, revoked or
	// another client's (RFC 6749, section 5.2).
	InvalidGrant
	// InvalidClient: the client's own identification or its right to the grant
	// type is refused. No person can mend that by signing in again.
	InvalidClient
	// Refused: every other answer that is none of success, redirects included.
	Refused
)

var classes = [...]string{
	NotSent: "not sent", Lost: "no response", Unreadable: "unreadable response", Failed: "failed",
	Busy: "busy", InvalidGrant: "invalid grant", InvalidClient: "invalid client", Refused: "refused",
}

// String returns a word or two.
func (c Class) String() string {
	if c < NotSent || int(c) >= len(classes) {
		return "Class(" + strconv.Itoa(int(c)) + ")"
	}
	return classes[c]
}

// An Error is the only error of a request. It holds nothing that the server
// wrote but a code: bodies, descriptions and even broken status lines may repeat
// the secret that was sent.
type Error struct {
	Class      Class
	Domain     string        // of the endpoint
	Code       string        // the server's error code, of the characters of RFC 6749, appendix A.7, at most 64; or empty
	Status     int           // of HTTP; 0 without a response
	RetryAfter time.Duration // as the server asked, at most a day; 0 if it did not
	cause      error         // ours or the system's, or nil
}

// Error returns one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "authorization server %s: %s", e.Domain, e.Class)
	if e.Code != "" {
		fmt.Fprintf(&b, ": %s", e.Code)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.cause != nil {
		fmt.Fprintf(&b, ": %v", e.cause)
	}
	return b.String()
}

// Unwrap returns an error of the context, of the network or of the address
// guard, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Uncertain reports whether the server may have acted: a single-use token that
// was sent may be used up, and its successor unknown.
func (e *Error) Uncertain() bool {
	return e.Class == Lost || e.Class == Unreadable || e.Class == Failed
}

// LogValue implements [slog.LogValuer].
func (e *Error) LogValue() slog.Value {
	return slog.GroupValue(slog.String("class", e.Class.String()), slog.String("domain", e.Domain),
		slog.String("code", e.Code), slog.Int("status", e.Status))
}

// classOf reads the code before the status: providers send codes of the RFC
// with statuses of their own, 200 included.
func classOf(status int, code string) Class {
	switch code {
	// Beside the RFC's: GitHub's and Slack's words for the same.
	case "invalid_grant", "bad_refresh_token", "invalid_refresh_token", "bad_verification_code", "invalid_code", "code_already_used":
		if status < 500 {
			return InvalidGrant
		}
	case "invalid_client", "unauthorized_client", "incorrect_client_credentials", "bad_client_secret", "invalid_client_id":
		if status < 500 {
			return InvalidClient
		}
	case "temporarily_unavailable", "slow_down", "ratelimited":
		if status != 500 {
			return Busy
		}
	case "server_error", "internal_error":
		return Failed
	}
	switch {
	case status == 429:
		return Busy
	case status >= 500:
		return Failed
	case status == 401: // RFC 6749, section 5.2: only for failed authentication of the client
		return InvalidClient
	}
	return Refused
}

// cleanCode keeps a code that RFC 6749, appendix A.7 allows, and cuts it: it is
// shown, logged and counted.
func cleanCode(code string) string {
	const longest = 64
	for i := range len(code) {
		if c := code[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return ""
		}
	}
	if len(code) > longest {
		return code[:longest]
	}
	return code
}

var (
	errBroken   = errors.New("the connection broke or what came is not HTTP")
	errTimeout  = fmt.Errorf("the time is up: %w", context.DeadlineExceeded)
	errTooLarge = errors.New("the response is too large")
	errTLS      = errors.New("the server's certificate or its TLS is not accepted")
)

// safeCause is what of err can be shown. Errors of net/http quote what the
// server sent, and *url.Error quotes the address.
func safeCause(ctx context.Context, err error) error {
	if r, ok := errors.AsType[*egress.AddressError](err); ok {
		return r
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("looking up the name: %w", &net.DNSError{Err: e.Err, Name: e.Name, IsNotFound: e.IsNotFound, IsTimeout: e.IsTimeout})
	}
	if isTLS(err) {
		return errTLS
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return errTimeout
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e
	}
	return errBroken
}
