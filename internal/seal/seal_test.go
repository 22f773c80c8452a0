package seal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/mac"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/internal/seal"
)

func Example() {
	ring := seal.NewRing()
	sealed := ring.Seal("credential", []string{"ada", "calendar"}, []byte("token"))

	opened, err := ring.Open("credential", []string{"ada", "calendar"}, sealed)
	fmt.Println(string(opened), err)

	_, err = ring.Open("credential", []string{"bob", "calendar"}, sealed)
	fmt.Println(errors.Is(err, seal.ErrSealed))
	// Output:
	// token <nil>
	// true
}

func TestOpenWants(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing()
	sealed := ring.Seal("purpose", []string{"a", "b"}, []byte("text"))
	tests := []struct {
		name    string
		ring    *seal.Ring
		purpose string
		context []string
		sealed  []byte
	}{
		{"other purpose", ring, "purposf", []string{"a", "b"}, sealed},
		{"moved boundary", ring, "purpose", []string{"ab", ""}, sealed},
		{"part moved into the purpose", ring, "purposea", []string{"b"}, sealed},
		{"order", ring, "purpose", []string{"b", "a"}, sealed},
		{"part missing", ring, "purpose", []string{"a"}, sealed},
		{"part more", ring, "purpose", []string{"a", "b", ""}, sealed},
		{"no context", ring, "purpose", nil, sealed},
		{"other ring", seal.NewRing(), "purpose", []string{"a", "b"}, sealed},
		{"empty", ring, "purpose", []string{"a", "b"}, nil},
		{"longer", ring, "purpose", []string{"a", "b"}, append(bytes.Clone(sealed), 0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := test.ring.Open(test.purpose, test.context, test.sealed); !errors.Is(err, seal.ErrSealed) || err.Error() != seal.ErrSealed.Error() {
				t.Errorf("error %v, want exactly ErrSealed", err)
			}
		})
	}
	for i := range sealed {
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		if _, err := ring.Open("purpose", []string{"a", "b"}, damaged); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("opened with byte %d changed", i)
		}
		if _, err := ring.Open("purpose", []string{"a", "b"}, sealed[:i]); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("opened with %d of %d bytes", i, len(sealed))
		}
	}
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing()
	rapid.Check(t, func(t *rapid.T) {
		purpose := rapid.String().Draw(t, "purpose")
		context := rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "context")
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		opened, err := ring.Open(purpose, context, ring.Seal(purpose, context, text))
		if err != nil || !bytes.Equal(opened, text) {
			t.Fatalf("got %q, %v", opened, err)
		}
		other := rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "other context")
		if fmt.Sprintf("%q", other) == fmt.Sprintf("%q", context) {
			return
		}
		if _, err := ring.Open(purpose, other, ring.Seal(purpose, context, text)); err == nil {
			t.Fatalf("sealed for %q, opened for %q", context, other)
		}
	})
}

// twoKeys returns a keyset with an old and a new key, and the old one alone.
func twoKeys(t *testing.T) (old, both []byte) {
	t.Helper()
	manager := keyset.NewManager()
	first, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.SetPrimary(first); err != nil {
		t.Fatal(err)
	}
	old = keysetJSON(t, manager)
	second, err := manager.Add(aead.XChaCha20Poly1305KeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.SetPrimary(second); err != nil {
		t.Fatal(err)
	}
	return old, keysetJSON(t, manager)
}

func keysetJSON(t *testing.T, manager *keyset.Manager) []byte {
	t.Helper()
	handle, err := manager.Handle()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&text)); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func TestRotation(t *testing.T) {
	t.Parallel()
	oldText, bothText := twoKeys(t)
	old, err := seal.Read(oldText)
	if err != nil {
		t.Fatal(err)
	}
	both, err := seal.Read(bothText)
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := both.Open("p", nil, old.Seal("p", nil, []byte("x"))); err != nil || string(opened) != "x" {
		t.Errorf("after rotation: %q, %v", opened, err)
	}
	if _, err := old.Open("p", nil, both.Seal("p", nil, []byte("x"))); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("the old key opened what the new one sealed: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	macs := keyset.NewManager()
	id, err := macs.Add(mac.HMACSHA256Tag256KeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	if err := macs.SetPrimary(id); err != nil {
		t.Fatal(err)
	}
	good, _ := twoKeys(t)
	tests := map[string][]byte{
		"empty":        nil,
		"no JSON":      []byte("secret-text"),
		"no keys":      []byte("{}"),
		"half":         good[:len(good)/2],
		"another kind": keysetJSON(t, macs),
		"too large":    append(bytes.Repeat([]byte(" "), 1<<20), good...),
		"unknown key":  []byte(strings.Replace(string(good), `"primaryKeyId"`, `"secret-text":1,"primaryKeyId"`, 1)),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := seal.Read(text)
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error repeats the text: %v", err)
			}
		})
	}
}

func TestDoesNotPrint(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	ring, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var set struct {
		Key []struct {
			KeyData struct {
				Value string `json:"value"`
			} `json:"keyData"`
		} `json:"key"`
	}
	if err := json.Unmarshal(text, &set); err != nil || len(set.Key) != 1 {
		t.Fatalf("%d keys, %v", len(set.Key), err)
	}
	var printed bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&printed, verb+verb, ring, struct{ R *seal.Ring }{ring})
	}
	slog.New(slog.NewJSONHandler(&printed, nil)).Info("x", "ring", ring)
	slog.New(slog.NewTextHandler(&printed, nil)).Info("x", "ring", ring)
	//lint:ignore SA9005 it must give nothing
	marshalled, err := json.Marshal(ring)
	if err != nil {
		t.Fatal(err)
	}
	printed.Write(marshalled)
	if bytes.Contains(printed.Bytes(), []byte(set.Key[0].KeyData.Value)) || bytes.Contains(printed.Bytes(), []byte(tinkpb.KeyStatusType_ENABLED.String())) {
		t.Errorf("the ring prints its keys: %s", printed.Bytes())
	}
	if !bytes.Contains(printed.Bytes(), []byte("withheld")) {
		t.Errorf("nothing says that something is withheld: %s", printed.Bytes())
	}
}

func TestOpenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b", "keys.json")
	first, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Open("p", nil, first.Seal("p", nil, nil)); err != nil {
		t.Error("the second start has another key")
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the file was written again")
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o, want 0600", info.Mode().Perm())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("temporary files are left: %v", entries)
	}
}

func TestOpenFileRefuses(t *testing.T) {
	t.Parallel()
	good, _ := twoKeys(t)
	write := func(t *testing.T, text []byte, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string]func(t *testing.T) string{
		"readable by the group": func(t *testing.T) string { return write(t, good, 0o640) },
		"readable by all":       func(t *testing.T) string { return write(t, good, 0o604) },
		"writable by the group": func(t *testing.T) string { return write(t, good, 0o620) },
		"damaged":               func(t *testing.T) string { return write(t, good[:20], 0o600) },
		"empty":                 func(t *testing.T) string { return write(t, nil, 0o600) },
		"directory":             func(t *testing.T) string { return t.TempDir() },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := prepare(t)
			before, _ := os.ReadFile(path)
			_, err := seal.Open(path)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the file: %v", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestOpenFileTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	rings := make([]*seal.Ring, 16)
	var wait sync.WaitGroup
	for i := range rings {
		wait.Go(func() {
			ring, err := seal.Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			rings[i] = ring
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	for _, ring := range rings {
		if _, err := ring.Open("p", nil, rings[0].Seal("p", nil, nil)); err != nil {
			t.Fatal("two starts ended with different keys")
		}
	}
}

// TestOpenFileProcesses starts processes at once: they must end with one key.
func TestOpenFileProcesses(t *testing.T) {
	if path := os.Getenv("SEAL_TEST_PATH"); path != "" {
		ring, err := seal.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("sealed:%x\n", ring.Seal("p", nil, []byte("x")))
		return
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	outputs := make([]string, 4)
	var wait sync.WaitGroup
	for i := range outputs {
		wait.Go(func() {
			command := exec.Command(os.Args[0], "-test.run=^TestOpenFileProcesses$")
			command.Env = append(os.Environ(), "SEAL_TEST_PATH="+path)
			output, err := command.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, output)
			}
			outputs[i] = string(output)
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	ring, err := seal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, output := range outputs {
		_, hex, _ := strings.Cut(output, "sealed:")
		var sealed []byte
		if _, err := fmt.Sscanf(hex, "%x", &sealed); err != nil {
			t.Fatalf("output %q: %v", output, err)
		}
		if opened, err := ring.Open("p", nil, sealed); err != nil || string(opened) != "x" {
			t.Errorf("a process sealed with another key: %v", err)
		}
	}
}
