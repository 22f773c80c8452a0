package seal

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// Digest tells equal texts from different ones without telling what they are,
// to whoever does not have the keys: "KEYID:HEX", of an HMAC-SHA-256 whose key
// is derived from the primary key and the purpose, over the context and the data.
// Texts of few possible values are safe too, as long as the keys are. It names
// its key, so [Ring.SameDigest] still knows it after others became primary.
func (r *Ring) Digest(purpose string, context []string, data []byte) string {
	keys := r.digestKeys()
	id := keys.primary
	return strconv.FormatUint(uint64(id), 10) + ":" + hex.EncodeToString(mac(keys.secrets[id], purpose, context, data))
}

// Digests are those of the data with each key of the ring, the primary one's first:
// what Digest may have returned before others became primary.
func (r *Ring) Digests(purpose string, context []string, data []byte) []string {
	keys := r.digestKeys()
	list := []string{r.Digest(purpose, context, data)}
	for _, id := range slices.Sorted(maps.Keys(keys.secrets)) {
		if id != keys.primary {
			list = append(list, strconv.FormatUint(uint64(id), 10)+":"+hex.EncodeToString(mac(keys.secrets[id], purpose, context, data)))
		}
	}
	return list
}

// SameDigest reports whether digest is one of the same data, for the same
// purpose and context, with any key of the ring.
func (r *Ring) SameDigest(digest, purpose string, context []string, data []byte) bool {
	name, sum, ok := strings.Cut(digest, ":")
	id, err := strconv.ParseUint(name, 10, 32)
	if !ok || err != nil {
		return false
	}
	want, err := hex.DecodeString(sum)
	secret := r.digestKeys().secrets[uint32(id)]
	return err == nil && secret != nil && hmac.Equal(want, mac(secret, purpose, context, data))
}

func mac(secret []byte, purpose string, context []string, data []byte) []byte {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write(associatedData(purpose, context)) // a hash does not fail
	_, _ = h.Write(data)
	return h.Sum(nil)
}

// digestKeys are the secrets of a keyset, by the ids of its keys.
type digestKeys struct {
	of      *keyset.Handle
	primary uint32
	secrets map[uint32][]byte
}

func (r *Ring) digestKeys() *digestKeys {
	handle := r.keys.Load().handle
	if known := r.digests.Load(); known != nil && known.of == handle {
		return known
	}
	material := insecurecleartextkeyset.KeysetMaterial(handle)
	keys := &digestKeys{of: handle, primary: material.GetPrimaryKeyId(), secrets: map[uint32][]byte{}}
	for _, key := range material.GetKey() {
		// What seals does not digest: the secret is derived for this alone.
		secret, err := hkdf.Key(sha256.New, key.GetKeyData().GetValue(), nil, "parley seal digest 1", sha256.Size)
		if err != nil {
			panic(fmt.Sprintf("seal: deriving a key: %v", err)) // only of more than 255 hashes
		}
		keys.secrets[key.GetKeyId()] = secret
	}
	r.digests.Store(keys)
	return keys
}
