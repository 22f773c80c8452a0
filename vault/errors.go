package vault

import "errors"

var (
	// ErrNotFound: there is no such row for this principal. Another person's
	// row and none at all look the same.
	ErrNotFound = errors.New("vault: not found")

	// ErrInvalid: an argument that cannot be stored. The error that wraps it
	// says which and why, and does not repeat a secret.
	ErrInvalid = errors.New("vault: invalid")
)
