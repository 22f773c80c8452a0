package tokenendpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/parley-mcp/parley/internal/egress"
	"github.com/parley-mcp/parley/vault"
)

// failure is the error of an answer that is none of success.
func (r *response) failure(code string, sent *request) error {
	e := &vault.EndpointError{Class: classOf(r.status, code), Status: r.status, RetryAfter: r.retryAfter}
	if !sent.holds(code) {
		e.Code = code
	}
	return e
}

// classOf reads the code before the status: providers send codes of the RFC
// with statuses of their own, 200 included.
func classOf(status int, code string) vault.Class {
	if status >= 500 || status == http.StatusTooManyRequests {
		return vault.Unavailable
	}
	switch code {
	// Beside the RFC's: GitHub's and Slack's words for the same.
	case "invalid_grant", "bad_refresh_token", "invalid_refresh_token", "bad_verification_code", "invalid_code", "code_already_used":
		return vault.InvalidGrant
	case "temporarily_unavailable", "server_error", "slow_down", "ratelimited", "internal_error":
		return vault.Unavailable
	}
	return vault.Refused
}

// cleanCode keeps what looks like a code, such as those of RFC 6749, section
// 5.2, and drops the rest: codes are shown, logged and counted.
func cleanCode(code string) string {
	const longest = 64
	for _, r := range code {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' {
			return ""
		}
	}
	if len(code) > longest {
		return ""
	}
	return code
}

// holds reports whether the code is or has a part of a secret of the request:
// servers echo strange things.
func (r *request) holds(code string) bool {
	const part = 8
	for _, secret := range r.secrets {
		s := secret.Reveal()
		if s != "" && len(s) <= part && strings.Contains(code, s) {
			return true
		}
		for i := 0; i+part <= len(s); i++ {
			if strings.Contains(code, s[i:i+part]) {
				return true
			}
		}
	}
	return false
}

// retryAfter reads the header of RFC 9110, section 10.2.3: seconds or a date. At
// most a day is believed.
func retryAfter(header string, now time.Time) time.Duration {
	const longest = 24 * time.Hour
	header = strings.TrimSpace(header)
	if seconds, ok := decimalSeconds(header); ok {
		return min(seconds, longest)
	}
	if date, err := http.ParseTime(header); err == nil {
		return min(max(date.Sub(now), 0), longest)
	}
	return 0
}

var (
	errBroken   = errors.New("the connection broke, or what came is not HTTP")
	errTimeout  = fmt.Errorf("the time is up: %w", context.DeadlineExceeded)
	errTooLarge = errors.New("the response is too large")
	errEncoding = errors.New("the response's encoding cannot be read")
	errTLS      = errors.New("the server's certificate or its TLS is not accepted")
)

// safeCause is what of err can be shown. Errors of net/http quote what the
// server sent, and *url.Error quotes the address.
func safeCause(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*egress.AddressError](err); ok {
		return e
	}
	if errors.Is(err, egress.ErrTooLarge) || errors.Is(err, errTooLarge) {
		return errTooLarge
	}
	if errors.Is(err, errEncoding) {
		return errEncoding
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("looking up the name: %w", &net.DNSError{Err: e.Err, Name: e.Name, IsNotFound: e.IsNotFound, IsTimeout: e.IsTimeout, IsTemporary: e.IsTemporary})
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

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.AlertError](err)
	return ok
}
