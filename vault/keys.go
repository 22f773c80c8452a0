package vault

import (
	"time"

	"github.com/parley-mcp/parley/internal/seal"
)

// Keys seal secrets before they reach the store. They do not print. Every
// machine on a store needs the same. They are safe for concurrent use, and the
// same as those of an inbox.
type Keys = seal.Ring

// NewKeys makes keys that live in memory only: what they sealed cannot be read
// after the process has ended. For tests, and for stores that end with it too.
func NewKeys() *Keys { return seal.NewRing() }

// OpenKeys reads the keys in the file at path. If there is no file it makes one
// with a fresh key, readable by its owner alone; it never overwrites one, and
// refuses one that others can read. Without the file the store is lost.
func OpenKeys(path string) (*Keys, error) { return seal.Open(path) }

// ReadKeys reads keys from a Tink keyset in JSON, at most 1 MiB, as a secret
// store hands it to several machines.
func ReadKeys(keysetJSON []byte) (*Keys, error) { return seal.Read(keysetJSON) }

// KMS is a key of a key management service. Every tink.AEAD of Tink's packages
// for such services is one.
type KMS = seal.KMS

// KMSOptions bound how far keys depend on their service; zero fields are the defaults.
type KMSOptions struct {
	Timeout time.Duration // of one request, default 10 s
	MaxAge  time.Duration // how long the keys open secrets without being confirmed, default 1 h
}

// OpenKeysWithKMS reads keys from the file at path, which is encrypted by the
// service, and makes the file if it is not there. The service is asked when
// the keys are read, never for a single secret. [Vault.Run] confirms them, four
// times in MaxAge. If the service is down the vault goes on with
// the keys in memory until they are older than MaxAge; then every read is
// [ErrKeysGone] until the service is back. There is no way without it.
func OpenKeysWithKMS(path string, kms KMS, options *KMSOptions) (*Keys, error) {
	if options == nil {
		return seal.OpenKMS(path, kms, nil)
	}
	return seal.OpenKMS(path, kms, &seal.KMSOptions{Timeout: options.Timeout, MaxAge: options.MaxAge})
}

// AddKey adds a fresh key to the keys file and returns its id. It opens and does
// not seal yet: every machine needs it before [PromoteKey]. kms is nil for a
// file that is not encrypted. Two changes of a file at the same time are up to
// the caller to prevent.
func AddKey(path string, kms KMS) (uint32, error) { return seal.AddKey(path, kms) }

// PromoteKey makes the key of the file the one that seals.
func PromoteKey(path string, kms KMS, id uint32) error { return seal.PromoteKey(path, kms, id) }

// DisableKey makes the key of the file open nothing any more; it stays in the
// file. [Vault.Report] says whether the vault still needs it; an inbox with the
// same keys may, too.
func DisableKey(path string, kms KMS, id uint32) error { return seal.DisableKey(path, kms, id) }
