package main

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/internal/servicetest"
)

// runCommand runs the command line in this process, with these variables.
func runCommand(t *testing.T, variables map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &environment{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
		lookup: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
	})
	return code, out.String(), errs.String()
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	dsn, keys := servicetest.Postgres(t), filepath.Join(t.TempDir(), "keys.json")
	for _, says := range []string{"The tables were made (version ", "The tables are up to date (version "} {
		code, out, errs := runCommand(t, map[string]string{"PARLEY_STORE": dsn, "PARLEY_KEYS": keys}, "migrate")
		if code != 0 || !strings.Contains(out, says) || !strings.Contains(out, keys) {
			t.Errorf("code %d, %s%s; want %s", code, out, errs, says)
		}
	}
	info, err := os.Stat(keys)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the keys: %v, %v", info, err)
	}
	file := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	if code, out, errs := runCommand(t, nil, "migrate", "--store", file); code != 0 || !strings.Contains(out, "up to date") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
}

// TestStoreRefusals: what is wrong is said, with the code of the table, and
// without the password that a connection string may hold.
func TestStoreRefusals(t *testing.T) {
	t.Parallel()
	const password = "s3ntinel"
	dir := t.TempDir()
	servers := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(servers, []byte(`{"mcpServers": {"shop": {"url": "http://127.0.0.1:1/mcp"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(dir, "keys.json")
	if code, out, errs := runCommand(t, nil, "migrate", "--store", "sqlite:"+filepath.Join(dir, "a.db"), "--keys", keys); code != 0 {
		t.Fatalf("code %d, %s%s", code, out, errs)
	}
	away := "postgres://parley:" + password + "@127.0.0.1:1/x?sslmode=disable"
	dsn := servicetest.Postgres(t)
	none, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	none.Path = "/no_such_database_of_parley"
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"postgres without keys":        {[]string{"--store", away}, exitUsage, "PARLEY_KEYS"},
		"keys that are not there":      {[]string{"--store", away, "--keys", filepath.Join(dir, "none")}, exitUsage, "there is no keys file"},
		"nobody listens":               {[]string{"--store", away, "--keys", keys}, exitConnect, "hint: is PostgreSQL there"},
		"a database that is not there": {[]string{"--store", none.String(), "--keys", keys}, exitConnect, "hint: make the database first"},
		"a store of no kind":           {[]string{"--store", "mysql://" + password}, exitUsage, "sqlite:PATH"},
		"a URL that is none":           {[]string{"--store", "postgres://parley:" + password + "@host:port/x", "--keys", keys}, exitUsage, "cannot be read"},
		"sqlite without a path":        {[]string{"--store", "sqlite:"}, exitUsage, "sqlite:PATH"},
		"sqlite in no directory":       {[]string{"--store", "sqlite:" + filepath.Join(dir, "no", "such.db")}, exitUsage, "such.db"},
		"wake-ups of one machine":      {[]string{"--notify", "nats://127.0.0.1:4222"}, exitUsage, "several machines"},
		"wake-ups of no kind":          {[]string{"--store", dsn, "--keys", keys, "--notify", "smoke:" + password}, exitUsage, "nats://"},
		"nobody listens for wake-ups":  {[]string{"--store", dsn, "--keys", keys, "--notify", "nats://parley:" + password + "@127.0.0.1:1"}, exitConnect, "--notify"},
		"wake-ups of another database": {[]string{"--store", dsn, "--keys", keys, "--notify", away}, exitConnect, "--notify"},
		"a lease that is too short":    {[]string{"--lease", "1ms"}, exitUsage, "--lease"},
		"a retention of nothing":       {[]string{"--retention", "0"}, exitUsage, "--retention"},
		"a retention beyond all time":  {[]string{"--retention", "99999999"}, exitUsage, "--retention"},
		"a lease that is no time":      {[]string{"--lease", "soon"}, exitUsage, "lease"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"serve", "--servers", servers, "--addr", "127.0.0.1:0", "--data", t.TempDir()}, test.args...)
			code, out, errs := runCommand(t, nil, args...)
			if code != test.code || !strings.Contains(errs, test.says) {
				t.Errorf("code %d, want %d and %q:\n%s%s", code, test.code, test.says, out, errs)
			}
			if strings.Contains(out+errs, password) {
				t.Errorf("it repeats the password: %s%s", out, errs)
			}
		})
	}
	if code, _, errs := runCommand(t, nil, "migrate", "--store", away); code != exitConnect || strings.Contains(errs, password) {
		t.Errorf("migrate: code %d, %s", code, errs)
	}
	if code, _, _ := runCommand(t, nil, "migrate"); code != exitUsage {
		t.Errorf("migrate without a store: code %d", code)
	}
}

// TestStoreLock: an SQLite file has one machine, whatever its data directory is.
func TestStoreLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	flags := &storeFlags{store: "sqlite:" + path}
	first, err := openStorage(t.Context(), flags, t.TempDir(), newLog(&environment{stderr: &bytes.Buffer{}}))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := openStorage(context.Background(), flags, t.TempDir(), newLog(&environment{stderr: &bytes.Buffer{}}))
	if err == nil {
		second.Close()
		t.Fatal("two machines opened one file")
	}
	if exitCode(err) != exitUsage || !strings.Contains(err.Error(), path) {
		t.Errorf("the second: %v", err)
	}
}
