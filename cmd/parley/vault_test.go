package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
	"github.com/parley-mcp/parley/store/sqlitestore"
	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/pgvault"
	"github.com/parley-mcp/parley/vault/sqlitevault"
)

// call runs the command line in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &environment{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs, lookup: func(string) (string, bool) { return "", false },
	})
	return code, out.String(), errs.String()
}

// words are those of a table, with one space between them.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

const vaultSecret = "SENTINEL-0123456789"

// fillVault stores grants of n people.
func fillVault(t *testing.T, store vault.Store, ring *seal.Ring, n int) {
	t.Helper()
	v, err := vault.New(store, ring, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		p := vault.Principal{Issuer: "https://id.example", Subject: fmt.Sprint("person-", i)}
		_, err := v.Save(t.Context(), p, vault.NewGrant{
			Provider: "https://mcp.example/", Access: vault.NewSecret(vaultSecret + fmt.Sprint(i)), Refresh: vault.NewSecret(vaultSecret),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

// checkVault reads all that fillVault stored.
func checkVault(t *testing.T, store vault.Store, ring *seal.Ring, n int) {
	t.Helper()
	v, err := vault.New(store, ring, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		p := vault.Principal{Issuer: "https://id.example", Subject: fmt.Sprint("person-", i)}
		token, err := v.Token(t.Context(), p, "https://mcp.example/", "", "test")
		if err != nil || token.Reveal() != vaultSecret+fmt.Sprint(i) {
			t.Fatalf("person %d: %v", i, err)
		}
	}
}

// fillInbox gives each of n people two calls and a question.
func fillInbox(t *testing.T, store inbox.Store, ring *seal.Ring, n int) {
	t.Helper()
	in := inbox.New(store, ring, nil)
	for i := range n {
		parked(t, in, inbox.Principal{Issuer: "https://id.example", Subject: fmt.Sprint("person-", i)})
	}
}

// checkInbox reads all that fillInbox stored.
func checkInbox(t *testing.T, store inbox.Store, ring *seal.Ring, n int) {
	t.Helper()
	in := inbox.New(store, ring, nil)
	for i := range n {
		p := inbox.Principal{Issuer: "https://id.example", Subject: fmt.Sprint("person-", i)}
		list, err := in.Calls(t.Context(), p, inbox.CallFilter{})
		if err != nil || len(list) != 2 {
			t.Fatalf("person %d: %d calls, %v", i, len(list), err)
		}
		for _, c := range list { // with its content
			if _, err := in.Call(t.Context(), p, c.ID); err != nil {
				t.Fatalf("person %d: %v", i, err)
			}
		}
		questions, err := in.Questions(t.Context(), p, inbox.QuestionFilter{})
		if err != nil || len(questions) != 1 || questions[0].Message != "Sure?" {
			t.Fatalf("person %d: %d questions, %v", i, len(questions), err)
		}
	}
}

// TestVaultRotateKilled kills the command with SIGKILL, again and again, until it
// has come to its end: no row is lost, and nothing has to be repaired.
func TestVaultRotateKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, keys := filepath.Join(dir, "parley.db"), filepath.Join(dir, "keys.json")
	if code, _, stderr := call(t, "migrate", "--store", "sqlite:"+path, "--keys", keys); code != 0 {
		t.Fatal(stderr)
	}
	old, err := seal.Open(keys)
	if err != nil {
		t.Fatal(err)
	}
	const people = 400
	store, err := sqlitevault.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	fillVault(t, store, old, people)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	const calls = 100 // pairs: parked gives a person two calls and a question
	beside, err := sqlitestore.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	fillInbox(t, beside, old, calls)
	if err := beside.Close(); err != nil {
		t.Fatal(err)
	}

	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	killed, finished := 0, false
	for i := 0; i < 200 && !finished; i++ {
		// TestMain makes this program parley if it is called so.
		cmd := exec.Command(executable, "vault", "rotate", "--data", dir)
		cmd.Args[0] = "parley"
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The point is random in what the command says, and some time after it.
		said := make([]byte, 1+rand.IntN(60))
		_, _ = out.Read(said)
		timer := time.AfterFunc(time.Duration(rand.IntN(30))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_, _ = bytes.NewBuffer(nil).ReadFrom(out)
		err = cmd.Wait()
		timer.Stop()
		switch exit, ok := errors.AsType[*exec.ExitError](err); {
		case err == nil:
			finished = true
		case ok && exit.ExitCode() == -1:
			killed++
		default:
			t.Fatalf("rotate: %v\n%s", err, stderr.String())
		}
	}
	if !finished {
		if code, _, stderr := call(t, "vault", "rotate", "--data", dir); code != 0 {
			t.Fatal(stderr)
		}
	}
	t.Logf("killed %d times", killed)
	ring, err := seal.Open(keys)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(ring.Keys()); n != 2 {
		t.Errorf("there are %d keys: a killed rotation was begun again instead of taken up", n)
	}
	code, stdout, stderr := call(t, "vault", "status", "--data", dir)
	want := fmt.Sprintf("%d opens 0 rows of the vault and 0 of the inbox %d seals %d rows of the vault and %d of the inbox", old.Primary(), ring.Primary(), people, 3*calls)
	if code != 0 || !strings.Contains(words(stdout), want) {
		t.Errorf("status: %d, %s%s, want %q", code, stdout, stderr, want)
	}
	if code, _, stderr := call(t, "vault", "rotate", "--data", dir, "--disable", fmt.Sprint(old.Primary()), "--yes"); code != 0 {
		t.Fatalf("--disable: %s", stderr)
	}
	if ring, err = seal.Open(keys); err != nil {
		t.Fatal(err)
	}
	if store, err = sqlitevault.Open(path, nil); err != nil {
		t.Fatal(err)
	}
	checkVault(t, store, ring, people)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	// The host would start: what shows it the keys is sealed anew as well.
	if beside, err = sqlitestore.Open(path, nil); err != nil {
		t.Fatal(err)
	}
	checkInbox(t, beside, ring, calls)
	if err := errors.Join(checkKeys(t.Context(), beside, ring), beside.Close()); err != nil {
		t.Errorf("after the old key was disabled: %v", err)
	}
}

// TestVaultRotateMachines: on a database that machines share each has its own
// copy of the file, and the command waits for them where it has to.
func TestVaultRotateMachines(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	dir := t.TempDir()
	operator, theirs := filepath.Join(dir, "keys.json"), filepath.Join(dir, "machine.json")
	if code, _, stderr := call(t, "migrate", "--store", dsn, "--keys", operator); code != 0 {
		t.Fatal(stderr)
	}
	give := func() {
		t.Helper()
		text, err := os.ReadFile(operator)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(theirs, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	give()
	ring, err := seal.Open(theirs)
	if err != nil {
		t.Fatal(err)
	}
	old := ring.Primary()
	store, err := pgvault.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	machine, err := vault.New(store, ring, &vault.Options{Machine: "machine-1"})
	if err != nil {
		t.Fatal(err)
	}
	sweep := func() {
		t.Helper()
		if err := machine.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sweep()
	fillVault(t, store, ring, 20)
	beside, err := pgstore.Open(context.WithoutCancel(t.Context()), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	fillInbox(t, beside, ring, 1)
	rotate := func(want int, says string, more ...string) {
		t.Helper()
		code, stdout, stderr := call(t, append([]string{"vault", "rotate", "--store", dsn, "--keys", operator}, more...)...)
		if code != want || !strings.Contains(stdout+stderr, says) {
			t.Fatalf("rotate %q: %d, want %d with %q:\n%s%s", more, code, want, says, stdout, stderr)
		}
		if strings.Contains(stdout+stderr, "SENTINEL") || strings.Contains(stdout+stderr, "person-") {
			t.Errorf("a secret or a person came out:\n%s%s", stdout, stderr)
		}
	}
	rotate(1, "cannot seal yet, since machines run without it: machine-1")
	rotate(1, "cannot seal yet") // and no third key
	sweep()
	rotate(1, "cannot seal yet") // the machine has read its file, which nobody has given to it
	give()
	sweep()
	rotate(1, "machines still seal with another key: machine-1")
	late := vault.Principal{Issuer: "i", Subject: "late"}
	if _, err := machine.Save(t.Context(), late, vault.NewGrant{Provider: "p", Access: vault.NewSecret("x")}); err != nil {
		t.Fatal(err)
	}
	rotate(1, "1 row of the vault and 0 of the inbox need key", "--disable", strconv.Itoa(int(old)), "--yes")
	parked(t, inbox.New(beside, ring, nil), inbox.Principal{Issuer: "i", Subject: "late"})
	rotate(1, "1 row of the vault and 3 of the inbox need key", "--disable", strconv.Itoa(int(old)), "--yes")
	give()
	sweep()
	rotate(0, "Done")
	rotate(0, "Done") // and again: it does not begin another one
	rotate(2, "nothing was changed", "--disable", strconv.Itoa(int(old)))
	rotate(0, "opens nothing any more", "--disable", strconv.Itoa(int(old)), "--yes")
	give()
	sweep()
	checkVault(t, store, ring, 20)
	code, stdout, stderr := call(t, "vault", "status", "--store", dsn, "--keys", operator)
	for _, want := range []string{
		fmt.Sprintf("%d disabled 0 rows of the vault and 0 of the inbox", old), fmt.Sprintf("%d seals 21 rows of the vault and 6 of the inbox", ring.Primary()), "grant", "https://mcp.example/", "alive", "machine-1", fmt.Sprintf("seals with %d", ring.Primary()),
	} {
		if !strings.Contains(words(stdout), want) {
			t.Errorf("status lacks %q: %d\n%s%s", want, code, stdout, stderr)
		}
	}
	if code != 0 || strings.Contains(stdout, "person-") {
		t.Errorf("status: %d\n%s%s", code, stdout, stderr)
	}
	checkInbox(t, beside, ring, 1)
	rotate(0, "opens again", "--enable", strconv.Itoa(int(old)))
	if err := checkKeys(t.Context(), beside, ring); err != nil {
		t.Errorf("after the old key was disabled: %v", err)
	}
}
