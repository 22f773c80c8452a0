package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/internal/seal"
)

// Two rotations of one keys file exclude each other by whatever names they have it, and
// leave the names what they are.
func TestVaultRotateByLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secrets, store := filepath.Join(dir, "secrets"), "sqlite:"+filepath.Join(dir, "parley.db")
	keys, link, through := filepath.Join(secrets, "keys.json"), filepath.Join(dir, "link.json"), filepath.Join(dir, "directory")
	err := errors.Join(os.Mkdir(secrets, 0o700), os.Symlink(filepath.Join("secrets", "keys.json"), link), os.Symlink(secrets, through))
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := call(t, "migrate", "--store", store, "--keys", keys); code != 0 {
		t.Fatal(stderr)
	}
	for _, first := range []string{keys, link} {
		release, err := lockKeys(first)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{keys, link, filepath.Join(through, "keys.json")} {
			for _, more := range [][]string{nil, {"--disable", "1", "--yes"}, {"--enable", "1"}} {
				code, _, stderr := call(t, append([]string{"vault", "rotate", "--store", store, "--keys", name}, more...)...)
				if code == 0 || !strings.Contains(stderr, "is in use by another parley") {
					t.Errorf("%s beside %s, %v: %d %s", name, first, more, code, stderr)
				}
			}
		}
		release()
	}
	if code, _, stderr := call(t, "vault", "rotate", "--store", store, "--keys", link); code != 0 {
		t.Fatal(stderr)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	ring, err := seal.Open(keys)
	if err != nil || len(ring.Keys()) != 2 {
		t.Errorf("the file that it leads to has not the new key: %v", err)
	}
}
