package inbox

import "github.com/parley-mcp/parley/internal/seal"

// Keys seal what people, servers and models wrote before it reaches the store.
// They do not print. Every machine on a store needs the same. They are safe for
// concurrent use.
type Keys = seal.Ring

// ErrSealed: a row does not open with these keys, or is damaged. The error
// that wraps it names the row.
var ErrSealed = seal.ErrSealed

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
