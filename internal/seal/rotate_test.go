package seal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/parley-mcp/parley/internal/seal"
)

// TestRotateFile goes through a rotation while another process keeps its ring.
func TestRotateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	running, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	old := running.Primary()
	before := running.Seal("p", nil, []byte("before"))
	if got := seal.KeyID(before); got != old {
		t.Errorf("KeyID = %d, want that of the primary, %d", got, old)
	}
	fresh, err := seal.AddKey(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	reload := func() {
		t.Helper()
		if err := running.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	reload()
	if running.Primary() != old {
		t.Error("an added key seals already")
	}
	if err := seal.PromoteKey(path, nil, fresh); err != nil {
		t.Fatal(err)
	}
	promoted, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	after := promoted.Seal("p", nil, []byte("after"))
	if got := seal.KeyID(after); got != fresh {
		t.Errorf("sealed with %d, want the promoted key %d", got, fresh)
	}
	// The running process has the key, though it does not seal with it yet.
	if text, err := running.Open("p", nil, after); err != nil || string(text) != "after" {
		t.Errorf("the key was given out before it was promoted, and Open gave %q, %v", text, err)
	}
	if err := seal.DisableKey(path, nil, fresh); err == nil {
		t.Error("the primary was disabled")
	}
	if err := seal.DisableKey(path, nil, old); err != nil {
		t.Fatal(err)
	}
	reload()
	if _, err := running.Open("p", nil, before); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("a disabled key opened: %v", err)
	}
	want := []seal.KeyInfo{{ID: old}, {ID: fresh, Primary: true, Enabled: true}}
	if got := running.Keys(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("Keys = %v, want %v", got, want)
	}
	if err := seal.EnableKey(path, nil, old); err != nil {
		t.Fatal(err)
	}
	reload()
	if _, err := running.Open("p", nil, before); err != nil {
		t.Errorf("after EnableKey: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if perm := info.Mode().Perm(); perm != 0o600 {
		t.Errorf("mode %04o, want 0600", perm)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("temporary files are left: %v", entries)
	}
}

// TestReloadKeeps: a file that cannot be read does not take the keys away.
func TestReloadKeeps(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	ring, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	sealed := ring.Seal("p", nil, []byte("x"))
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ring.Reload(); err == nil {
		t.Error("a damaged file was loaded")
	}
	if _, err := ring.Open("p", nil, sealed); err != nil {
		t.Errorf("after a failed Reload: %v", err)
	}
	if id, err := seal.AddKey(path, nil); err == nil {
		t.Errorf("key %d was added to a damaged file", id)
	}
}

// service is a key of a key management service that fails on demand.
type service struct {
	aead     seal.KMS
	fail     atomic.Bool
	panicked atomic.Bool
	hang     atomic.Pointer[chan struct{}]
	decrypts atomic.Int64
}

const said = "the service quotes hunter2"

func newService(t *testing.T) *service {
	t.Helper()
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	primitive, err := aead.New(handle)
	if err != nil {
		t.Fatal(err)
	}
	return &service{aead: primitive}
}

func (s *service) trouble() error {
	if c := s.hang.Load(); c != nil {
		<-*c
	}
	if s.panicked.Load() {
		panic(said)
	}
	if s.fail.Load() {
		return errors.New(said)
	}
	return nil
}

func (s *service) Encrypt(plaintext, data []byte) ([]byte, error) {
	if err := s.trouble(); err != nil {
		return nil, err
	}
	return s.aead.Encrypt(plaintext, data)
}

func (s *service) Decrypt(ciphertext, data []byte) ([]byte, error) {
	s.decrypts.Add(1)
	if err := s.trouble(); err != nil {
		return nil, err
	}
	return s.aead.Decrypt(ciphertext, data)
}

func TestKMS(t *testing.T) {
	t.Parallel()
	kms := newService(t)
	path := filepath.Join(t.TempDir(), "keys.json")
	ring, err := seal.OpenKMS(path, kms, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("encryptedKeyset")) || bytes.Contains(text, []byte(`"keyData"`)) {
		t.Errorf("the keys are not encrypted in the file: %s", text)
	}
	if _, err := seal.Open(path); err == nil {
		t.Error("an encrypted file was opened without the service")
	}
	if _, err := seal.OpenKMS(path, newService(t), nil); err == nil {
		t.Error("another key of the service opened the file")
	}
	sealed := ring.Seal("p", nil, []byte("x"))
	fresh, err := seal.AddKey(path, kms)
	if err != nil {
		t.Fatal(err)
	}
	if err := seal.PromoteKey(path, kms, fresh); err != nil {
		t.Fatal(err)
	}
	again, err := seal.OpenKMS(path, kms, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Open("p", nil, sealed); err != nil || again.Primary() != fresh {
		t.Errorf("after a rotation: %v, primary %d", err, again.Primary())
	}
}

// TestKMSTrouble: a service that fails makes no key, no plaintext and no wait;
// the keys that were read go on for MaxAge and not longer.
func TestKMSTrouble(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		kms := newService(t)
		kms.fail.Store(true)
		path := filepath.Join(dir, "keys.json")
		options := &seal.KMSOptions{Timeout: time.Second, MaxAge: time.Minute}
		if _, err := seal.OpenKMS(path, kms, options); err == nil {
			t.Fatal("a ring was made without the service")
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Fatalf("a failing service left %v", entries)
		}
		kms.fail.Store(false)
		ring, err := seal.OpenKMS(path, kms, options)
		if err != nil {
			t.Fatal(err)
		}
		sealed := ring.Seal("p", nil, []byte("x"))
		asked := kms.decrypts.Load()
		for range 100 {
			if _, err := ring.Open("p", nil, sealed); err != nil {
				t.Fatal(err)
			}
		}
		if kms.decrypts.Load() != asked {
			t.Error("opening asks the service")
		}

		failing := map[string]func() (undo func()){
			"error": func() func() { kms.fail.Store(true); return func() { kms.fail.Store(false) } },
			"panic": func() func() { kms.panicked.Store(true); return func() { kms.panicked.Store(false) } },
			"hang": func() func() {
				c := make(chan struct{})
				kms.hang.Store(&c)
				return func() { kms.hang.Store(nil); close(c); synctest.Wait() }
			},
		}
		for name, fail := range failing {
			undo := fail()
			if err := ring.Reload(); err != nil {
				t.Errorf("%s: the service was asked again at once: %v", name, err)
			}
			time.Sleep(15 * time.Second) //nolint:forbidigo // synctest
			began := time.Now()
			for range 3 {
				err := ring.Reload()
				if err == nil || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s: Reload gave %v", name, err)
				}
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: three reloads took %v", name, took)
			}
			if _, err := ring.Open("p", nil, sealed); err != nil {
				t.Errorf("%s: within MaxAge: %v", name, err)
			}
			time.Sleep(time.Minute) //nolint:forbidigo // synctest
			if _, err := ring.Open("p", nil, sealed); !errors.Is(err, seal.ErrKeysGone) {
				t.Errorf("%s: after MaxAge Open gave %v, want ErrKeysGone", name, err)
			}
			if err := ring.Err(); !errors.Is(err, seal.ErrKeysGone) {
				t.Errorf("%s: after MaxAge Err gave %v", name, err)
			}
			undo()
			if err := ring.Reload(); err != nil {
				t.Errorf("%s: after the service came back: %v", name, err)
			}
			if _, err := ring.Open("p", nil, sealed); err != nil {
				t.Errorf("%s: after the service came back: %v", name, err)
			}
		}
	})
}

// TestReloadTogether: readers of a ring see the keys of before or of after.
func TestReloadTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	ring, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := ring.Open("p", nil, ring.Seal("p", nil, []byte("x"))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 20 {
		id, err := seal.AddKey(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := seal.PromoteKey(path, nil, id); err != nil {
			t.Fatal(err)
		}
		if err := ring.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wait.Wait()
}
