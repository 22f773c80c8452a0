package seal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// ErrSealed is the one answer of [Ring.Open] to everything that does not open:
// damaged or truncated text, another purpose or context, a key that is not in
// the ring.
var ErrSealed = errors.New("seal: does not open")

// maxKeyset bounds what is read as a keyset. A key takes about 200 bytes.
const maxKeyset = 1 << 20

// Ring seals and opens with authenticated encryption (XChaCha20-Poly1305 for
// keys made here; any AEAD key type of Tink opens). Its nonces are random and
// long enough for any number of texts. A Ring is safe for concurrent use and
// does not print its keys.
type Ring struct {
	keys   atomic.Pointer[keys]
	source func() (*keyset.Handle, error) // reads the keys again; nil: they live in memory only
	maxAge time.Duration                  // how long they may be used without being read again; 0: for ever
	reload sync.Mutex

	digests atomic.Pointer[digestKeys] // made when they are first used
}

// keys are what a ring has at one time.
type keys struct {
	aead   tink.AEAD
	handle *keyset.Handle
	read   time.Time
}

// NewRing makes a ring with one fresh key that lives in memory only: what it
// seals can never be opened after the process ends.
func NewRing() *Ring {
	handle, err := keyset.NewHandle(aead.XChaCha20Poly1305KeyTemplate())
	if err != nil {
		// The template is Tink's own and the system's randomness does not fail.
		panic("seal: making a key: " + err.Error())
	}
	ring, err := newRing(handle)
	if err != nil {
		panic("seal: using a fresh key: " + err.Error())
	}
	return ring
}

// Read makes a ring from a Tink keyset in JSON. The error does not repeat any
// of the text.
func Read(keysetJSON []byte) (*Ring, error) {
	if len(keysetJSON) > maxKeyset {
		return nil, fmt.Errorf("seal: a keyset of %d bytes is larger than %d", len(keysetJSON), maxKeyset)
	}
	// Errors of the parser quote the text, which is a key: they are dropped.
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(keysetJSON)))
	if err != nil {
		return nil, errors.New("seal: not a tink keyset in JSON")
	}
	ring, err := newRing(handle)
	if err != nil {
		return nil, errors.New("seal: the keyset does not hold usable AEAD keys")
	}
	return ring, nil
}

func newRing(handle *keyset.Handle) (*Ring, error) {
	a, err := aead.New(handle)
	if err != nil {
		return nil, err
	}
	r := &Ring{}
	r.keys.Store(&keys{aead: a, handle: handle, read: time.Now()})
	return r, nil
}

// write writes the keys themselves.
func (r *Ring) write(w io.Writer) error {
	return insecurecleartextkeyset.Write(r.keys.Load().handle, keyset.NewJSONWriter(w))
}

// Seal encrypts plaintext with the primary key and binds it to the purpose
// (a constant of the caller, such as "request state") and to the context: the
// same purpose and the same context, in the same order, open it.
func (r *Ring) Seal(purpose string, context []string, plaintext []byte) []byte {
	sealed, err := r.keys.Load().aead.Encrypt(plaintext, associatedData(purpose, context))
	if err != nil {
		// Only a plaintext of more than 256 GiB gets here.
		panic("seal: " + err.Error())
	}
	return sealed
}

// Open returns the plaintext, or [ErrSealed], or what [Ring.Err] says.
func (r *Ring) Open(purpose string, context []string, sealed []byte) ([]byte, error) {
	k := r.keys.Load()
	if err := r.err(k); err != nil {
		return nil, err
	}
	plaintext, err := k.aead.Decrypt(sealed, associatedData(purpose, context))
	if err != nil {
		return nil, ErrSealed
	}
	return plaintext, nil
}

// associatedData writes every part with its length before it, so that no two
// different lists give the same bytes.
func associatedData(purpose string, context []string) []byte {
	size := (len(context) + 2) * binary.MaxVarintLen32
	size += len(purpose)
	for _, part := range context {
		size += len(part)
	}
	data := binary.AppendUvarint(make([]byte, 0, size), uint64(len(context)))
	data = binary.AppendUvarint(data, uint64(len(purpose)))
	data = append(data, purpose...)
	for _, part := range context {
		data = binary.AppendUvarint(data, uint64(len(part)))
		data = append(data, part...)
	}
	return data
}

const withheld = "seal.Ring(withheld)"

// String returns a fixed text: keys do not print.
func (r *Ring) String() string { return withheld }

// GoString returns a fixed text: keys do not print.
func (r *Ring) GoString() string { return withheld }

// Format writes a fixed text for every verb.
func (r *Ring) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, withheld) }

// LogValue returns a fixed text: keys are not logged.
func (r *Ring) LogValue() slog.Value { return slog.StringValue(withheld) }
