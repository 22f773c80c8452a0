package vault_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/vaulttest"
)

// sinks collect all that comes out of a vault: errors, the log, audit events,
// what it shows, panics.
type sinks struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *sinks) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

func (s *sinks) text() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.all.Bytes())
}

// take writes a value out in all the ways that programs do.
func (s *sinks) take(values ...any) {
	for _, value := range values {
		fmt.Fprintf(s, "%v %+v %#v %q\n", value, value, value, fmt.Sprint(value))
		if text, err := json.Marshal(value); err == nil {
			_, _ = s.Write(text)
		}
		for err, ok := value.(error); ok && err != nil; err = errors.Unwrap(err) {
			fmt.Fprintf(s, "%T %+v\n", err, err)
		}
	}
}

// treacherous is an endpoint whose errors and panics quote what it was sent,
// as HTTP clients like to do.
type treacherous struct {
	answer func(quoted string) (vault.Tokens, error)
}

func (e *treacherous) Refresh(_ context.Context, r vault.RefreshRequest) (vault.Tokens, error) {
	return e.answer(r.Refresh.Reveal() + " " + r.Client.Secret.Reveal() + " " + r.Access.Reveal())
}

func (e *treacherous) Revoke(_ context.Context, r vault.RevokeRequest) error {
	_, err := e.answer(r.Token.Reveal())
	return err
}

// TestNothingLeaks sends sentinels through every failure path. An endpoint's
// own *EndpointError is its own duty; everything else is the vault's.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{}
	secret := func(name string) vault.Secret {
		secrets[name] = "SENTINEL-" + name + "-/+?&=\"-0123456789abcdef"
		return vault.NewSecret(secrets[name])
	}
	var out sinks
	var refuse error
	var now time.Time
	clock := func() time.Time { return now }
	now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	failures := map[string]func(quoted string) (vault.Tokens, error){
		"an error that quotes": func(q string) (vault.Tokens, error) {
			return vault.Tokens{}, fmt.Errorf("Post https://as/token?refresh_token=%s: refused", q)
		},
		"a panic that quotes":   func(q string) (vault.Tokens, error) { panic("bad " + q) },
		"a panic with an error": func(q string) (vault.Tokens, error) { panic(errors.New(q)) },
		"an unknown class": func(q string) (vault.Tokens, error) {
			return vault.Tokens{}, &vault.EndpointError{Class: vault.Class(q), Code: q}
		},
		"invalid_grant": func(string) (vault.Tokens, error) {
			return vault.Tokens{}, &vault.EndpointError{Class: vault.InvalidGrant}
		},
		"a code that quotes": func(q string) (vault.Tokens, error) {
			return vault.Tokens{}, &vault.EndpointError{Class: vault.Refused, Code: q, Err: errors.New(q)}
		},
		"refused": func(string) (vault.Tokens, error) {
			return vault.Tokens{}, &vault.EndpointError{Class: vault.Refused, Status: 401}
		},
		"unavailable": func(string) (vault.Tokens, error) {
			return vault.Tokens{}, &vault.EndpointError{Class: vault.Unavailable}
		},
		"an answer without token": func(string) (vault.Tokens, error) { return vault.Tokens{Refresh: secret("half")}, nil },
		"a token that is too long": func(string) (vault.Tokens, error) {
			return vault.Tokens{Access: vault.NewSecret(string(bytes.Repeat([]byte("SENTINEL-long-0123456789"), 20_000)))}, nil
		},
		"success": func(string) (vault.Tokens, error) {
			return vault.Tokens{Access: secret("renewed"), Refresh: secret("rotated")}, nil
		},
	}
	for name, answer := range failures {
		memory := &failing{Store: vault.NewMemory(clock)}
		keys := vault.NewKeys()
		v, err := vault.New(memory, keys, &vault.Options{
			Endpoint: &treacherous{answer}, CommitFor: time.Millisecond, RequestTimeout: time.Second,
			Log: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Audit: func(_ context.Context, e vault.Event) error {
				out.take(e)
				return refuse
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		out.take(v, keys)
		p := vault.Principal{Issuer: "https://id.example", Subject: "ada"}
		c := vault.Client{Issuer: "https://as.example", ID: "id", Secret: secret("client"), PrivateKey: secret("private"), RegistrationToken: secret("registration")}
		n := vault.NewGrant{
			Provider: "p", Access: secret("access"), Refresh: secret("refresh"), Lifetime: time.Minute, Secrets: map[string]vault.Secret{"k": secret("static")},
			Terms: vault.Terms{TokenEndpoint: "https://as.example/token", RevocationEndpoint: "https://as.example/revoke", Client: vault.ClientRef{Issuer: "https://as.example"}},
		}
		all := func() {
			t.Helper()
			ctx := t.Context()
			var errs []any
			note := func(value any, err error) { errs = append(errs, value, err) }
			note(nil, v.SetClient(ctx, "", c))
			g, err := v.Save(ctx, p, n)
			note(g, err)
			other := n
			other.Account.ID = "2"
			_, err = v.Save(ctx, p, other)
			note(nil, err)
			if asked, ok := errors.AsType[*vault.OtherAccountError](err); ok {
				g, err := v.Decide(ctx, p, asked.Decision, vault.KeepBoth, "")
				note(g, err)
			}
			state, err := v.Begin(ctx, p, vault.Flow{Name: "authorize", Verifier: secret("verifier"), Nonce: secret("nonce")})
			note(state, err)
			tok, err := v.Token(ctx, p, "p", "", "test")
			note(tok, err)
			tok, err = v.Renew(ctx, p, tok, "test")
			note(tok, err)
			now = now.Add(2 * time.Minute)
			tok, err = v.Token(ctx, p, "p", "", "test")
			note(tok, err)
			s, err := v.Secret(ctx, p, "p", "", "k", "test")
			note(s, err)
			s, err = v.Secret(ctx, p, "p", "", secrets["static"], "test")
			note(s, err)
			cl, err := v.Client(ctx, "", "https://as.example", "", "test")
			note(cl, err)
			gs, err := v.Grants(ctx, p, "")
			note(gs, err)
			r, err := v.Report(ctx)
			note(r, err)
			note(nil, v.Check(ctx))
			done, err := v.Reseal(ctx, func(d vault.Resealed) { out.take(d) })
			note(done, err)
			note(nil, v.Sweep(ctx))
			flow, err := v.Take(ctx, p, "authorize", state, "test")
			note(flow, err)
			note(nil, v.Delete(ctx, p, "p", ""))
			note(nil, v.Sweep(ctx))
			note(nil, v.Erase(ctx, p))
			now = now.Add(8 * 24 * time.Hour)
			note(nil, v.Sweep(ctx))
			out.take(errs...)
		}
		all()
		refuse = errors.New("no audit")
		all()
		refuse = nil
		for k := range 12 { // the store fails at each of its transactions
			memory.after = k
			all()
			memory.after = -1
		}
		memory.damage = true
		all()
		memory.damage = false
		bad := n
		bad.Access = vault.NewSecret(string(bytes.Repeat([]byte("SENTINEL-huge-0123456789"), 20_000)))
		_, err = v.Save(t.Context(), p, bad)
		out.take(err)
		bad = n
		bad.Provider = secrets["access"] + "\x00" // what was put into the wrong place
		_, err = v.Save(t.Context(), p, bad)
		out.take(err)
		bad = n
		bad.Terms.Renewal.By = vault.RenewBy(secrets["refresh"])
		_, err = v.Save(t.Context(), p, bad)
		out.take(err)
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		out.take(v, name, string(debug.Stack()))
	}
	secrets["long"], secrets["huge"] = "SENTINEL-long-0123456789", "SENTINEL-huge-0123456789"
	if n := len(out.text()); n < 100_000 {
		t.Fatalf("only %d bytes came out: the test does not look everywhere", n)
	}
	for name, text := range secrets {
		if where := vaulttest.Find(out.text(), text); where != "" {
			i := max(bytes.Index(out.text(), []byte("SENTINEL-"+name)), 0)
			t.Errorf("%s came out %s: …%s…", name, where, out.text()[max(i-300, 0):min(i+100, len(out.text()))])
		}
	}
	if i := bytes.Index(out.text(), []byte("SENTINEL")); i >= 0 {
		t.Errorf("part of a secret came out: …%s…", out.text()[max(i-300, 0):min(i+100, len(out.text()))])
	}
}

// failing is a store that fails after some transactions, or damages what it gives.
type failing struct {
	vault.Store
	after  int // -1: never; 0: from now on
	damage bool
}

func (f *failing) fails() bool {
	if f.after < 0 {
		return false
	}
	f.after--
	return f.after < 0
}

func (f *failing) Update(ctx context.Context, principal string, do func(vault.Tx) error) error {
	if f.fails() {
		f.after = 0
		return errors.New("the store is away")
	}
	return f.Store.Update(ctx, principal, func(tx vault.Tx) error { return do(failingTx{tx, f.damage}) })
}

func (f *failing) Rows(ctx context.Context, principal string, q vault.Query) ([]*vault.Row, time.Time, error) {
	rows, now, err := f.Store.Rows(ctx, principal, q)
	return damaged(rows, f.damage), now, err
}

type failingTx struct {
	vault.Tx
	damage bool
}

func (t failingTx) Rows(q vault.Query) ([]*vault.Row, error) {
	rows, err := t.Tx.Rows(q)
	return damaged(rows, t.damage), err
}

func damaged(rows []*vault.Row, damage bool) []*vault.Row {
	for _, row := range rows {
		if n := len(row.Content); damage && n > 0 {
			row.Content[n-1] ^= 1
		}
	}
	return rows
}
