package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/settings"
)

var (
	errAPIKey    = errors.New("no API key of this host")
	errNamespace = errors.New("the API key does not own that issuer or tenant")
)

// An APIKey lets the back end of a product mint tokens for its users. The issuer is
// its own namespace: two keys with different issuers never name the same person, and
// no key can name a person who signs in to this host in another way.
type APIKey struct {
	// ID names the key in logs. It is no secret.
	ID string `json:"id"`
	// SHA256 is the digest of the key, in hex: the file holds nothing to steal.
	SHA256 string `json:"sha256"`
	// Issuer is the issuer of every principal that the key mints.
	Issuer string `json:"issuer"`
	// Tenants are the tenants that the key may name. Empty: only principals without one.
	Tenants []string `json:"tenants,omitempty"`
	// Origins are the origins of the pages that use the tokens, such as
	// "https://app.example.com". Browsers elsewhere cannot read the answers.
	Origins []string `json:"origins,omitempty"`

	digest []byte
}

// apiKeyPrefix tells people, and scanners of code, what they found.
const apiKeyPrefix = "parley_api_" //nolint:gosec // the beginning of all of them

// NewAPIKey makes a key for issuer, and returns it with its row for the file.
// The key itself is not stored anywhere.
func NewAPIKey(id, issuer string, tenants, origins []string) (key string, row *APIKey, err error) {
	key = apiKeyPrefix + newToken()
	sum := sha256.Sum256([]byte(key))
	row = &APIKey{ID: id, SHA256: hex.EncodeToString(sum[:]), Issuer: issuer, Tenants: tenants, Origins: origins}
	return key, row, row.check()
}

func (k *APIKey) check() error {
	digest, err := hex.DecodeString(k.SHA256)
	switch {
	case k.ID == "":
		return errors.New("it has no id")
	case err != nil || len(digest) != sha256.Size:
		return errors.New("sha256 is not a SHA-256 digest in hex")
	case [sha256.Size]byte(digest) == sha256.Sum256(nil):
		return errors.New("sha256 is the digest of nothing: the key was empty when it was made")
	case k.Issuer == "":
		return errors.New("it has no issuer: the namespace of the people that it names")
	case k.Issuer == LocalPrincipal.Issuer:
		return fmt.Errorf("the issuer %q belongs to this host", k.Issuer)
	}
	for _, origin := range k.Origins {
		if _, ok := readOrigin(origin); !ok {
			return fmt.Errorf("%q is no origin: write scheme and host in small letters, without a path or the usual port, such as https://app.example.com", origin)
		}
	}
	k.digest = digest
	return nil
}

// owns reports whether the key may mint tokens for p.
func (k *APIKey) owns(p inbox.Principal) bool {
	return p.Issuer == k.Issuer && (p.Tenant == "" && len(k.Tenants) == 0 || slices.Contains(k.Tenants, p.Tenant))
}

// ReadAPIKeys reads a file {"keys": [...]}, at most 1 MiB. Several keys may have one
// issuer: they belong to one product, and the old one goes when the new one is in use.
func ReadAPIKeys(path string) ([]*APIKey, error) {
	var file struct {
		Keys []*APIKey `json:"keys"`
	}
	if err := settings.ReadJSON(path, &file); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, k := range file.Keys {
		if k == nil {
			return nil, fmt.Errorf("%s: key %d is null", path, i+1)
		}
		if err := k.check(); err != nil {
			return nil, fmt.Errorf("%s: key %d (%q): %w", path, i+1, k.ID, err)
		}
		if seen[k.ID] {
			return nil, fmt.Errorf("%s: two keys have the id %q", path, k.ID)
		}
		seen[k.ID] = true
	}
	return file.Keys, nil
}

// apiKey finds the key that the request carries. All are compared, so that the time
// tells nothing.
func (e *embedder) apiKey(r *http.Request) (*APIKey, error) {
	key := bearer(r)
	if !strings.HasPrefix(key, apiKeyPrefix) {
		// Also nothing at all: a digest of an empty variable is a digest.
		return nil, errAPIKey
	}
	sum := sha256.Sum256([]byte(key))
	var found *APIKey
	for _, k := range e.keys {
		if subtle.ConstantTimeCompare(sum[:], k.digest) == 1 {
			found = k
		}
	}
	if found == nil {
		return nil, errAPIKey
	}
	return found, nil
}

// WriteAPIKeys writes what [ReadAPIKeys] reads, in one step and with mode 0600.
func WriteAPIKeys(path string, keys []*APIKey) error {
	b, err := json.MarshalIndent(map[string]any{"keys": keys}, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".api-keys-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
