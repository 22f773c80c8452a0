package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/quiet"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
)

// TestSecretsDoNotPrint puts the values that hold secrets through everything that
// prints. Those that are nothing but a secret are tried as a private field of
// another type too, where fmt asks no method.
func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring, err := seal.Open(filepath.Join(dir, "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	local, err := serve.OpenLocal(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	const header = "s3ntinel-of-a-header"
	file, err := host.ParseServers([]byte(`{"mcpServers": {
		"web": {"url": "https://user:s3ntinel-of-a-header@travel.example/mcp?key=s3ntinel-of-a-header", "headers": {"Authorization": "s3ntinel-of-a-header"}},
		"program": {"command": "true", "args": ["--key=s3ntinel-of-a-header"], "env": {"KEY": "s3ntinel-of-a-header"}}
	}}`), "servers", func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	in := inbox.New(memstore.New(nil), ring, nil)
	h, err := host.New(in, file.Servers, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })

	secrets := []string{header, readSecret(t, filepath.Join(dir, "token"), ""), readSecret(t, filepath.Join(dir, "keys.json"), "value")}
	oneTime := local.OneTime()
	secrets = append(secrets, oneTime)

	values := map[string]any{
		"seal.Ring": ring, "serve.Local": local, "host.Secret": host.NewSecret(header),
		"inbox.Inbox": in, "host.Host": h, "serve.Server": serve.New(h, in, &serve.Options{Local: local}),
	}
	for _, s := range file.Servers {
		values["host.Server "+s.ID], values["host.Server by value "+s.ID] = s, *s
	}
	for name, v := range values {
		printed := everyPrint(t, v) + everyPrint(t, []any{v})
		if !strings.HasPrefix(name, "host.Server") && name != "host.Host" {
			printed += everyPrint(t, struct{ private any }{v})
		}
		for _, secret := range secrets {
			for _, spelling := range []string{secret, hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))), base64.StdEncoding.EncodeToString([]byte(secret))} {
				if strings.Contains(printed, spelling) {
					t.Errorf("%s prints a secret: %s", name, printed)
				}
			}
		}
	}
	// The test sees secrets where they are printed.
	if printed := everyPrint(t, header); !strings.Contains(printed, header) {
		t.Error("everyPrint does not print")
	}
}

// everyPrint is v through fmt, encoding/json and log/slog, with and without quiet.
func everyPrint(t *testing.T, v any) string {
	t.Helper()
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&out, verb+"\n", v)
	}
	if b, err := json.Marshal(v); err == nil { // what does not marshal shows nothing
		out.Write(b)
	}
	for _, handler := range []slog.Handler{
		slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil), quiet.New(slog.NewTextHandler(&out, nil)),
	} {
		slog.New(handler).Info("m", "v", v)
	}
	return out.String()
}

// readSecret reads a file that holds a secret, or the first value of a key of it.
func readSecret(t *testing.T, path, key string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(string(b))
	if key != "" {
		_, text, _ = strings.Cut(text, `"`+key+`":`)
		_, text, _ = strings.Cut(text, `"`)
		text, _, _ = strings.Cut(text, `"`)
	}
	if len(text) < 16 {
		t.Fatalf("%s holds no secret where the test looks", path)
	}
	return text
}
