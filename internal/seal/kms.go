package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// KMS is a key of a key management service. Every tink.AEAD is one, such as
// those of Tink's packages for cloud services, which stay out of this module.
type KMS interface {
	Encrypt(plaintext, associatedData []byte) ([]byte, error)
	Decrypt(ciphertext, associatedData []byte) ([]byte, error)
}

// KMSOptions bound how far a ring depends on its service; zero fields are the defaults.
type KMSOptions struct {
	Timeout time.Duration // of one request, default 10 s
	MaxAge  time.Duration // how long the keys open without being confirmed, default 1 h
}

const (
	defaultKMSTimeout = 10 * time.Second
	defaultKMSMaxAge  = time.Hour
)

// kmsData binds an encrypted keyset to what it is for.
var kmsData = []byte("parley keys")

// OpenKMS reads the ring in the file at path, whose keyset is encrypted by the
// service, and makes the file if it is not there. The keys then work from
// memory: no text that is sealed or opened waits for the service. [Ring.Reload]
// confirms them, if the file has changed or a quarter of MaxAge has passed; if
// it has not succeeded for MaxAge the ring fails closed with [ErrKeysGone] until
// it does.
//
// Errors do not repeat what the service said, which may quote what it was sent.
func OpenKMS(path string, kms KMS, options *KMSOptions) (*Ring, error) {
	o := KMSOptions{Timeout: defaultKMSTimeout, MaxAge: defaultKMSMaxAge}
	if options != nil && options.Timeout > 0 {
		o.Timeout = options.Timeout
	}
	if options != nil && options.MaxAge > 0 {
		o.MaxAge = options.MaxAge
	}
	text, handle, err := readEncrypted(path, kms, o.Timeout)
	if errors.Is(err, fs.ErrNotExist) {
		fresh := NewRing().keys.Load().handle
		made, err := encrypt(fresh, kms, o.Timeout)
		if err != nil {
			return nil, fmt.Errorf("seal: keys file %s: %w", path, err)
		}
		if err := create(path, made); err != nil {
			return nil, err
		}
		text, handle, err = readEncrypted(path, kms, o.Timeout) // a faster process may have made it
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	ring, err := newRing(handle)
	if err != nil {
		return nil, errors.New("seal: the keyset does not hold usable AEAD keys")
	}
	ring.maxAge = o.MaxAge
	one := &oneAtATime{KMS: kms}
	ring.source = func() (*keyset.Handle, error) { // one at a time, see Reload
		now, err := readText(path)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(now, text) && time.Since(ring.keys.Load().read) < o.MaxAge/4 {
			return nil, errUnchanged
		}
		now, handle, err := readEncrypted(path, one, o.Timeout)
		if err == nil {
			text = now
		}
		return handle, err
	}
	return ring, nil
}

// oneAtATime refuses a request while an earlier one hangs, so that a service
// that never answers does not collect goroutines.
type oneAtATime struct {
	KMS
	busy atomic.Bool
}

func (o *oneAtATime) Decrypt(ciphertext, associatedData []byte) ([]byte, error) {
	if !o.busy.CompareAndSwap(false, true) {
		return nil, errors.New("an earlier request has not ended")
	}
	defer o.busy.Store(false)
	return o.KMS.Decrypt(ciphertext, associatedData)
}

func readEncrypted(path string, kms KMS, timeout time.Duration) ([]byte, *keyset.Handle, error) {
	text, err := readText(path)
	if err != nil {
		return nil, nil, err
	}
	handle, err := within(timeout, func() (*keyset.Handle, error) {
		handle, err := keyset.ReadWithAssociatedData(keyset.NewJSONReader(bytes.NewReader(text)), kms, kmsData)
		if err != nil {
			return nil, errors.New("the key management service did not decrypt it")
		}
		if _, err := aead.New(handle); err != nil {
			return nil, errors.New("it does not hold usable AEAD keys")
		}
		return handle, nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	return text, handle, nil
}

func encrypt(handle *keyset.Handle, kms KMS, timeout time.Duration) ([]byte, error) {
	return within(timeout, func() ([]byte, error) {
		var text bytes.Buffer
		if err := handle.WriteWithAssociatedData(keyset.NewJSONWriter(&text), kms, kmsData); err != nil {
			return nil, errors.New("the key management service did not encrypt the keys")
		}
		return text.Bytes(), nil
	})
}

// within runs f, which cannot be cancelled, for at most this long. If f takes
// longer it goes on by itself and its result is dropped.
func within[T any](timeout time.Duration, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: errors.New("the key management service's client panicked")}
		defer func() {
			_ = recover() // its text may quote a key
			done <- r
		}()
		r.value, r.err = f()
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		var zero T
		return zero, fmt.Errorf("the key management service did not answer in %v", timeout)
	}
}
