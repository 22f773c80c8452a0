package vault

import (
	"errors"
	"fmt"
	"time"

	"github.com/parley-mcp/parley/internal/seal"
)

var (
	// ErrNotFound: there is no such row for this principal. Another person's
	// row and none at all look the same.
	ErrNotFound = errors.New("vault: not found")

	// ErrInvalid: an argument that cannot be stored. The error that wraps it
	// says which and why, and does not repeat a secret.
	ErrInvalid = errors.New("vault: invalid")

	// ErrLimit: the principal has as many rows of the kind as are allowed.
	ErrLimit = errors.New("vault: too many")

	// ErrReconnect: the grant cannot be renewed and the person has to consent
	// again. It is a [*ReconnectError].
	ErrReconnect = errors.New("vault: reconnect needed")

	// ErrUnavailable: the token cannot be renewed at the moment. It is a [*WaitError].
	ErrUnavailable = errors.New("vault: cannot be renewed now")

	// ErrRejected: the provider refuses a token that was renewed a moment ago
	// because it had refused the one before. Renewing again would not help.
	ErrRejected = errors.New("vault: the provider refuses a fresh token")

	// ErrOtherAccount: the person has consented as somebody else than before.
	// It is an [*OtherAccountError].
	ErrOtherAccount = errors.New("vault: another account")

	// ErrNotAudited: the audit did not take the event, so nothing was given out.
	ErrNotAudited = errors.New("vault: not audited")

	// ErrClosed: the vault was closed.
	ErrClosed = errors.New("vault: closed")

	// ErrSealed: a row does not open with these keys, or is damaged, or was
	// moved. The error that wraps it names the row.
	ErrSealed = seal.ErrSealed

	// ErrKeysGone: the keys have to be confirmed by a key management service,
	// which has not done so for too long.
	ErrKeysGone = seal.ErrKeysGone
)

// ReconnectError says which grant has to be consented to again, and why.
type ReconnectError struct {
	Grant    GrantID
	Provider string
	Label    string
	Reason   Reason
}

func (e *ReconnectError) Error() string {
	return fmt.Sprintf("%v: %s", ErrReconnect, e.Reason)
}

// Is makes it match [ErrReconnect].
func (e *ReconnectError) Is(target error) bool { return target == ErrReconnect }

// WaitError says when it is worth to try again.
type WaitError struct {
	Grant      GrantID
	RetryAfter time.Duration
	Refused    bool   // the authorization server refuses the client or the request: an operator has to look
	Code       string // of RFC 6749 5.2, if there is one
}

func (e *WaitError) Error() string {
	text := fmt.Sprintf("%v, try again in %v", ErrUnavailable, e.RetryAfter.Round(time.Second))
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	return text
}

// Is makes it match [ErrUnavailable].
func (e *WaitError) Is(target error) bool { return target == ErrUnavailable }
