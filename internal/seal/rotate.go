package seal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// ErrKeysGone is the answer of a ring whose keys have to be confirmed by a key
// management service that has not done so for too long: nothing opens.
var ErrKeysGone = errors.New("seal: the keys were not confirmed in time")

// KeyInfo describes a key of a ring.
type KeyInfo struct {
	ID      uint32
	Primary bool
	Enabled bool // opens what it sealed
}

// Keys lists the keys in the order of the keyset.
func (r *Ring) Keys() []KeyInfo {
	handle := r.keys.Load().handle
	infos := make([]KeyInfo, 0, handle.Len())
	for i := range handle.Len() {
		entry, err := handle.Entry(i)
		if err != nil {
			continue // i is within bounds
		}
		infos = append(infos, KeyInfo{ID: entry.KeyID(), Primary: entry.IsPrimary(), Enabled: entry.KeyStatus() == keyset.Enabled})
	}
	return infos
}

// Primary is the id of the key that seals.
func (r *Ring) Primary() uint32 {
	entry, err := r.keys.Load().handle.Primary()
	if err != nil {
		return 0 // aead.New accepts no keyset without one
	}
	return entry.KeyID()
}

// KeyID is the id of the key that sealed the text: Tink writes it after a first
// byte of 1. It is 0 for a text without one, which keys of another kind
// (output prefix RAW) make.
func KeyID(sealed []byte) uint32 {
	if len(sealed) < 5 || sealed[0] != 1 {
		return 0
	}
	return binary.BigEndian.Uint32(sealed[1:5])
}

// Err is nil, or [ErrKeysGone]. A caller that seals asks it first where it has
// to fail when a key management service does; [Ring.Open] asks it itself.
func (r *Ring) Err() error { return r.err(r.keys.Load()) }

// errUnchanged: there is nothing to read again yet.
var errUnchanged = errors.New("seal: unchanged")

func (r *Ring) err(k *keys) error {
	if r.maxAge > 0 && time.Since(k.read) >= r.maxAge {
		return ErrKeysGone
	}
	return nil
}

// Reload reads the keys again from where they came, so that a running process
// learns of new ones. If that fails the ring keeps what it has, within the
// bounds of [OpenKMS]. For a ring in memory it does nothing.
func (r *Ring) Reload() error {
	if r.source == nil {
		return nil
	}
	r.reload.Lock()
	defer r.reload.Unlock()
	handle, err := r.source()
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	a, err := aead.New(handle)
	if err != nil {
		return errors.New("seal: the keyset does not hold usable AEAD keys")
	}
	r.keys.Store(&keys{aead: a, handle: handle, read: time.Now()})
	return nil
}

// AddKey adds a fresh key to the keyset in the file, which opens and does not
// seal yet: every machine needs it before [PromoteKey]. kms is nil for a file
// that is not encrypted. The file is replaced in one step; two changes at the
// same time are up to the caller to prevent.
func AddKey(path string, kms KMS) (id uint32, err error) {
	err = change(path, kms, func(m *keyset.Manager) (err error) {
		id, err = m.Add(aead.XChaCha20Poly1305KeyTemplate())
		return err
	})
	return id, err
}

// PromoteKey makes the key the one that seals.
func PromoteKey(path string, kms KMS, id uint32) error {
	return change(path, kms, func(m *keyset.Manager) error { return m.SetPrimary(id) })
}

// DisableKey makes the key open nothing any more. It stays in the file, so that
// [EnableKey] can undo it. The primary cannot be disabled.
func DisableKey(path string, kms KMS, id uint32) error {
	return change(path, kms, func(m *keyset.Manager) error { return m.Disable(id) })
}

// EnableKey undoes [DisableKey].
func EnableKey(path string, kms KMS, id uint32) error {
	return change(path, kms, func(m *keyset.Manager) error { return m.Enable(id) })
}

func change(path string, kms KMS, f func(*keyset.Manager) error) error {
	handle, err := readHandle(path, kms)
	if err != nil {
		return err
	}
	manager := keyset.NewManagerFromHandle(handle)
	if err := f(manager); err != nil {
		return fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	if handle, err = manager.Handle(); err != nil {
		return fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	text, err := encode(handle, kms)
	if err != nil {
		return fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	return replace(path, text)
}

func readHandle(path string, kms KMS) (*keyset.Handle, error) {
	if kms != nil {
		_, handle, err := readEncrypted(path, kms, defaultKMSTimeout)
		return handle, err
	}
	ring, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return ring.keys.Load().handle, nil
}

func encode(handle *keyset.Handle, kms KMS) ([]byte, error) {
	if kms != nil {
		return encrypt(handle, kms, defaultKMSTimeout)
	}
	var text bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&text)); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// replace puts text at path in one step: a process that is killed in between
// leaves the old file, and no reader sees half of one. A link stays one: it is another
// name of the file, and whoever reads it by that has to see the new text.
func replace(path string, text []byte) error {
	if end, err := filepath.EvalSymlinks(path); err == nil {
		path = end
	}
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, ".keys-*")
	if err != nil {
		return fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	defer func() { _ = os.Remove(temp.Name()) }() // gone after the rename
	if err := writeSync(temp, text); err != nil {
		return fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	return syncDir(dir)
}
