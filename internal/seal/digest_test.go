package seal_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/internal/seal"
)

func TestDigest(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing()
	digest := ring.Digest("p", []string{"a", "b"}, []byte("yes"))
	if again := ring.Digest("p", []string{"a", "b"}, []byte("yes")); again != digest {
		t.Errorf("the same twice: %s and %s", digest, again)
	}
	if !ring.SameDigest(digest, "p", []string{"a", "b"}, []byte("yes")) {
		t.Error("SameDigest does not know its digest")
	}
	if strings.Contains(digest, "yes") || len(digest) < 64 {
		t.Errorf("the digest is %s", digest)
	}
	for name, other := range map[string]string{
		"data":     ring.Digest("p", []string{"a", "b"}, []byte("no")),
		"purpose":  ring.Digest("q", []string{"a", "b"}, []byte("yes")),
		"context":  ring.Digest("p", []string{"ab"}, []byte("yes")),
		"boundary": ring.Digest("p", []string{"a"}, []byte("byes")),
		"keys":     seal.NewRing().Digest("p", []string{"a", "b"}, []byte("yes")),
	} {
		if other == digest {
			t.Errorf("another %s has the same digest", name)
		}
		if ring.SameDigest(other, "p", []string{"a", "b"}, []byte("yes")) {
			t.Errorf("SameDigest takes another %s", name)
		}
	}
	for _, bad := range []string{"", ":", "1", "x:00", "99999999999:00", digest + "0", strings.SplitAfter(digest, ":")[0]} {
		if ring.SameDigest(bad, "p", []string{"a", "b"}, []byte("yes")) {
			t.Errorf("SameDigest takes %q", bad)
		}
	}
}

// TestDigestRotation: a digest names its key, and outlives its rotation.
func TestDigestRotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	ring, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	before, old := ring.Digest("p", nil, []byte("x")), ring.Primary()
	fresh, err := seal.AddKey(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := seal.PromoteKey(path, nil, fresh); err != nil {
		t.Fatal(err)
	}
	if err := seal.DisableKey(path, nil, old); err != nil {
		t.Fatal(err)
	}
	if err := ring.Reload(); err != nil {
		t.Fatal(err)
	}
	after := ring.Digest("p", nil, []byte("x"))
	if after == before {
		t.Error("the promoted key digests as the old one did")
	}
	reopened, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*seal.Ring{ring, reopened} {
		for _, digest := range []string{before, after} {
			if !r.SameDigest(digest, "p", nil, []byte("x")) {
				t.Errorf("%s is not known after the rotation", digest)
			}
		}
	}
	if again := reopened.Digest("p", nil, []byte("x")); again != after {
		t.Errorf("another process digests %s, this one %s", again, after)
	}
}
