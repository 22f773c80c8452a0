package vault_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/vaulttest"
)

// kms is a key of a key management service that can be away.
type kms struct {
	key      vault.KMS
	away     atomic.Bool
	requests atomic.Int64
}

// kmsSaid is what the service says when it is away. A number could be in the name of a file.
const kmsSaid = "sentinel-of-the-service"

func newKMS(t *testing.T) *kms {
	t.Helper()
	handle, err := keyset.NewHandle(aead.AES128GCMKeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	key, err := aead.New(handle)
	if err != nil {
		t.Fatal(err)
	}
	return &kms{key: key}
}

func (k *kms) Encrypt(plaintext, data []byte) ([]byte, error) {
	if k.requests.Add(1); k.away.Load() {
		return nil, errors.New(kmsSaid)
	}
	return k.key.Encrypt(plaintext, data)
}

func (k *kms) Decrypt(ciphertext, data []byte) ([]byte, error) {
	if k.requests.Add(1); k.away.Load() {
		return nil, errors.New(kmsSaid)
	}
	return k.key.Decrypt(ciphertext, data)
}

// TestKMSAway: the vault goes on with the keys that it has, for as long as it
// may; then nothing opens, and nothing is stored in the clear, until the service
// is back.
func TestKMSAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	synctest.Test(t, func(t *testing.T) {
		service := newKMS(t)
		keys, err := vault.OpenKeysWithKMS(path, service, &vault.KMSOptions{MaxAge: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		store := &stored{Store: vault.NewMemory(nil)}
		v, err := vault.New(store, keys, &vault.Options{Endpoint: &minter{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- v.Run(ctx) }()

		p := vault.Principal{Issuer: "i", Subject: "s"}
		grant := vault.NewGrant{Provider: "p", Access: vault.NewSecret(sentinel), Refresh: vault.NewSecret(sentinel), Terms: vault.Terms{TokenEndpoint: "t"}}
		if _, err := v.Save(ctx, p, grant); err != nil {
			t.Fatal(err)
		}
		token := func() error {
			t.Helper()
			_, err := v.Token(ctx, p, "p", "", "test")
			return err
		}
		asked := service.requests.Load()
		for range 1000 {
			if err := token(); err != nil {
				t.Fatal(err)
			}
		}
		if n := service.requests.Load() - asked; n != 0 {
			t.Errorf("reading asked the service %d times", n)
		}
		time.Sleep(10 * time.Hour) //nolint:forbidigo // synctest
		if err := token(); err != nil {
			t.Errorf("while the service is well: %v", err)
		}
		if n := service.requests.Load() - asked; n < 30 || n > 50 {
			t.Errorf("in ten hours the service was asked %d times, want four in one", n)
		}

		service.away.Store(true)
		time.Sleep(40 * time.Minute) //nolint:forbidigo // synctest
		if err := token(); err != nil {
			t.Errorf("within an hour: %v", err)
		}
		time.Sleep(40 * time.Minute) //nolint:forbidigo // synctest
		written := store.writes.Load()
		grant.Label = "another"
		errs := map[string]error{"Token": token()}
		_, errs["Save"] = v.Save(ctx, p, grant)
		_, errs["Begin"] = v.Begin(ctx, p, vault.Flow{Name: "authorize"})
		_, errs["Secret"] = v.Secret(ctx, p, "p", "", "k", "test")
		_, errs["Client"] = v.Client(ctx, "", "i", "", "test")
		errs["SetClient"] = v.SetClient(ctx, "", vault.Client{Issuer: "i", ID: "id"})
		_, errs["Reseal"] = v.Reseal(ctx, nil)
		for call, err := range errs {
			if !errors.Is(err, vault.ErrKeysGone) {
				t.Errorf("%s without keys: %v", call, err)
			}
		}
		if n := store.writes.Load(); n != written {
			t.Errorf("%d rows were written without keys", n-written)
		}
		if _, err := vault.OpenKeysWithKMS(path, service, nil); err == nil || strings.Contains(err.Error(), kmsSaid) {
			t.Errorf("a start without the service: %v", err)
		}

		service.away.Store(false)
		time.Sleep(time.Minute) //nolint:forbidigo // synctest
		if err := token(); err != nil {
			t.Errorf("when the service is back: %v", err)
		}
		if where := vaulttest.Find(store.all(), sentinel); where != "" {
			t.Errorf("the secret is stored %s", where)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// stored counts and keeps what is written.
type stored struct {
	vault.Store
	writes atomic.Int64
	text   atomic.Pointer[[]byte]
}

func (s *stored) all() []byte { return *s.text.Load() }

func (s *stored) Update(ctx context.Context, principal string, f func(vault.Tx) error) error {
	return s.Store.Update(ctx, principal, func(tx vault.Tx) error { return f(storedTx{tx, s}) })
}

type storedTx struct {
	vault.Tx
	s *stored
}

func (t storedTx) Put(row *vault.Row) error {
	if row.Kind != vault.KindMachine {
		t.s.writes.Add(1)
		text := row.Content
		if before := t.s.text.Load(); before != nil {
			text = append(append([]byte(nil), *before...), text...)
		}
		t.s.text.Store(&text)
	}
	return t.Tx.Put(row)
}
