package vaultproof_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/internal/egress"
	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/internal/tokenendpoint"
	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/pgvault"
	"github.com/parley-mcp/parley/vault/sqlitevault"
)

// childVariable holds a [machine] in JSON, in the environment of a test binary
// that is to be one.
const childVariable = "PARLEY_VAULT_MACHINE"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		if err := child(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	servicetest.VerifyTestMain(m)
}

const server = "https://mcp.example/"

var ada = vault.Principal{Issuer: "https://id.example", Tenant: "acme", Subject: "ada"}

// machine is what a process needs to know to be one of several on a store.
type machine struct {
	Driver, Address, Keys string
}

func (m machine) open(ctx context.Context) (vault.Store, error) {
	if m.Driver == "sqlite" {
		return sqlitevault.Open(m.Address, nil)
	}
	return pgvault.Open(ctx, m.Address, &pgvault.Options{Connections: 4})
}

// vault makes the machine's vault on the store: [machine.open]'s, or one around it.
func (m machine) vault(store vault.Store) (*vault.Vault, error) {
	keys, err := vault.OpenKeys(m.Keys)
	if err != nil {
		return nil, err
	}
	client, err := egress.New(&egress.Options{Allow: []string{"127.0.0.1"}})
	if err != nil {
		return nil, err
	}
	return vault.New(store, keys, &vault.Options{Endpoint: tokenendpoint.New(client, nil)})
}

// A job is one line to a child: so many callers ask for the token at once.
type job struct {
	Label   string
	Callers int
}

// A result is its answer.
type result struct {
	Tokens map[string]int // how many got each
	Errors map[string]int
}

func child(text string) error {
	var m machine
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return err
	}
	store, err := m.open(context.Background())
	if err != nil {
		return err
	}
	defer store.Close()
	v, err := m.vault(store)
	if err != nil {
		return err
	}
	defer v.Close()
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	if err := out.Encode("ready"); err != nil {
		return err
	}
	for {
		var j job
		if err := in.Decode(&j); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode(j.run(v)); err != nil {
			return err
		}
	}
}

func (j job) run(v *vault.Vault) result {
	r := result{Tokens: map[string]int{}, Errors: map[string]int{}}
	var mu sync.Mutex
	var callers sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for range j.Callers {
		callers.Go(func() {
			token, err := v.Token(ctx, ada, server, j.Label, "proof")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				r.Errors[err.Error()]++
				return
			}
			r.Tokens[token.Reveal()]++
		})
	}
	callers.Wait()
	return r
}

// process is a child of the test.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func start(t testing.TB, m machine) *process {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = json.NewDecoder(bufio.NewReader(out))
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.end)
	var ready string
	if err := p.out.Decode(&ready); err != nil {
		t.Fatalf("a machine did not start: %v", err)
	}
	return p
}

// end lets the process end by itself, and waits. Afterwards it does nothing.
func (p *process) end() {
	if p.cmd.ProcessState == nil {
		_ = p.in.Close()
		_ = p.cmd.Wait() // a killed one has no other end
	}
}

func (p *process) send(j job) error { return json.NewEncoder(p.in).Encode(j) }

// desk is an authorization server, a store, and a machine of the test's own.
type desk struct {
	machine
	provider *fakeprovider.Server
	issuer   string
	renewal  vault.Renewal
	store    vault.Store
	vault    *vault.Vault
}

var drivers = []string{"sqlite", "postgres"}

func newDesk(t testing.TB, driver string, options fakeprovider.Options) *desk {
	t.Helper()
	dir := t.TempDir()
	d := &desk{machine: machine{Driver: driver, Address: filepath.Join(dir, "vault.db"), Keys: filepath.Join(dir, "keys.json")}}
	if driver != "sqlite" {
		d.Address = servicetest.Postgres(t)
	}
	d.provider, d.issuer = fakeprovider.Start(t, &options)
	d.provider.AddClient(fakeprovider.Client{ID: "desk", Method: "none"})
	var err error
	if d.store, err = d.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.store.Close(); err != nil {
			t.Error(err)
		}
	})
	d.vault = d.on(t, d.store)
	err = d.vault.SetClient(t.Context(), "", vault.Client{Issuer: d.issuer, ID: "desk", Method: tokenendpoint.MethodNone})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// on makes a vault on the store, which ends before the store.
func (d *desk) on(t testing.TB, store vault.Store) *vault.Vault {
	t.Helper()
	v, err := d.machine.vault(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// consent stores a grant whose access token has ended already.
func (d *desk) consent(t testing.TB, v *vault.Vault, label string) {
	t.Helper()
	refresh, _ := d.provider.Grant("desk", ada.Subject, "read")
	_, err := v.Save(t.Context(), ada, vault.NewGrant{
		Provider: server, Label: label, Access: vault.NewSecret("ended"), Refresh: vault.NewSecret(refresh), Type: "Bearer", Lifetime: time.Microsecond,
		Asked: []string{"read"},
		Terms: vault.Terms{
			Issuer: d.issuer, TokenEndpoint: d.issuer + "/token", RevocationEndpoint: d.issuer + "/revoke",
			Client: vault.ClientRef{Issuer: d.issuer}, Renewal: d.renewal,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}
