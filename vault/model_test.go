package vault_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/vault"
)

// authority is an authorization server of the model: it knows the truth about
// one grant.
type authority struct {
	rotates  bool
	grace    bool // the token before the current one works until the current one was used
	mu       sync.Mutex
	n        int // tokens made
	current  string
	before   string
	ended    bool
	access   map[string]bool
	seen     []string // refresh tokens, in order
	next     []string // what becomes of the coming requests
	revoked  map[string]bool
	consents int
}

func (a *authority) consent() (access, refresh string) {
	a.consents++
	a.n++
	a.ended = false
	a.current, a.before = fmt.Sprintf("r%d", a.n), ""
	access = fmt.Sprintf("a%d", a.n)
	a.access = map[string]bool{access: true}
	return access, a.current
}

func (a *authority) Refresh(_ context.Context, r vault.RefreshRequest) (vault.Tokens, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fate := "answer"
	if len(a.next) > 0 {
		fate, a.next = a.next[0], a.next[1:]
	}
	a.seen = append(a.seen, r.Refresh.Reveal())
	switch fate {
	case "unreachable":
		return vault.Tokens{}, &vault.EndpointError{Class: vault.NotSent}
	case "503":
		return vault.Tokens{}, &vault.EndpointError{Class: vault.Unavailable, Status: 503}
	case "refused":
		return vault.Tokens{}, &vault.EndpointError{Class: vault.Refused, Status: 401, Code: "invalid_client"}
	case "lost before":
		return vault.Tokens{}, &vault.EndpointError{Class: vault.Lost}
	}
	sent := r.Refresh.Reveal()
	if a.ended || a.revoked[sent] || sent != a.current && (!a.grace || sent != a.before) {
		return vault.Tokens{}, &vault.EndpointError{Class: vault.InvalidGrant, Status: 400}
	}
	a.n++
	access := fmt.Sprintf("a%d", a.n)
	a.access[access] = true
	tokens := vault.Tokens{Access: vault.NewSecret(access), Lifetime: time.Hour}
	if a.rotates {
		if sent == a.current {
			a.before = a.current
		}
		a.current = fmt.Sprintf("r%d", a.n)
		tokens.Refresh = vault.NewSecret(a.current)
	}
	if fate == "lost after" {
		return vault.Tokens{}, &vault.EndpointError{Class: vault.Lost}
	}
	return tokens, nil
}

func (a *authority) Revoke(_ context.Context, r vault.RevokeRequest) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revoked[r.Token.Reveal()] = true
	if r.Token.Reveal() == a.current || r.Token.Reveal() == a.before {
		a.ended = true
	}
	delete(a.access, r.Token.Reveal())
	return nil
}

// TestModel does random things to one grant, with two machines, a server that
// fails in all ways, deletions, consents and time, and holds what comes out
// against what the server knows.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		a := &authority{rotates: rapid.Bool().Draw(t, "rotates"), revoked: map[string]bool{}}
		a.grace = a.rotates && rapid.Bool().Draw(t, "grace")
		store := vault.NewMemory(func() time.Time { return now })
		keys := vault.NewKeys()
		var machines []*vault.Vault
		for range 2 {
			v, err := vault.New(store, keys, &vault.Options{Endpoint: a})
			if err != nil {
				t.Fatal(err)
			}
			machines = append(machines, v)
		}
		machine := func(t *rapid.T) *vault.Vault { return rapid.SampledFrom(machines).Draw(t, "machine") }
		p := vault.Principal{Issuer: "i", Subject: "s"}
		there := false // what the model expects to be stored
		lostSince := 0 // answers that were, or will be, lost since the last consent
		var last vault.Token
		gaveUp := false

		after := func(err error) {
			if errors.Is(err, vault.ErrReconnect) {
				gaveUp = true
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"consent": func(t *rapid.T) {
				access, refresh := a.consent()
				_, err := machine(t).Save(ctx, p, vault.NewGrant{
					Provider: "p", Access: vault.NewSecret(access), Refresh: vault.NewSecret(refresh), Lifetime: time.Hour,
					Terms: vault.Terms{TokenEndpoint: "t", RevocationEndpoint: "r", Renewal: renewalOf(a)},
				})
				if err != nil {
					t.Fatal(err)
				}
				there, gaveUp = true, false
				lostSince = len(slices.DeleteFunc(slices.Clone(a.next), func(fate string) bool { return !strings.HasPrefix(fate, "lost") }))
			},
			"token": func(t *rapid.T) {
				before := len(a.seen)
				token, err := machine(t).Token(ctx, p, "p", "", "test")
				asked := len(a.seen) - before
				if asked > 1 {
					t.Fatalf("one use sent %d requests", asked)
				}
				if gaveUp && asked > 0 {
					t.Fatal("a grant that was given up was renewed")
				}
				after(err)
				if !there {
					if !errors.Is(err, vault.ErrNotFound) {
						t.Fatalf("nothing is there, and Token gives %v", err)
					}
					return
				}
				if err == nil {
					last = token
					if !a.access[token.Reveal()] {
						t.Fatalf("%q was never made for this grant", token.Reveal())
					}
				}
			},
			"renew": func(t *rapid.T) {
				if last.Grant() == "" {
					return
				}
				before := len(a.seen)
				token, err := machine(t).Renew(ctx, p, last, "test")
				if n := len(a.seen) - before; n > 1 {
					t.Fatalf("one refusal sent %d requests", n)
				}
				after(err)
				if err == nil && token.Equal(last) {
					t.Fatal("Renew gave the refused token again")
				}
			},
			"server": func(t *rapid.T) {
				fate := rapid.SampledFrom([]string{"unreachable", "503", "refused", "lost before", "lost after"}).Draw(t, "fate")
				if fate == "lost after" || fate == "lost before" {
					lostSince++
				}
				a.next = append(a.next, fate)
			},
			"end at the server": func(t *rapid.T) { a.ended = true },
			"delete": func(t *rapid.T) {
				err := machine(t).Delete(ctx, p, "p", "")
				if there != (err == nil) || err != nil && !errors.Is(err, vault.ErrNotFound) {
					t.Fatalf("Delete: %v; it was there: %v", err, there)
				}
				there = false
			},
			"sweep": func(t *rapid.T) {
				if err := machine(t).Sweep(ctx); err != nil {
					t.Fatal(err)
				}
			},
			"time": func(t *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 10 * time.Minute, time.Hour}).Draw(t, "time"))
			},
			"": func(t *rapid.T) {
				grants, err := machines[0].Grants(ctx, p, "")
				if err != nil || len(grants) != map[bool]int{true: 1}[there] {
					t.Fatalf("%d grants, %v; want one: %v", len(grants), err, there)
				}
			},
		})
		// However it went: with a server that answers again, and if the server
		// has not ended the grant, it can be used, unless an answer of a server
		// without grace was lost.
		if there && !gaveUp && !a.ended && (!a.rotates || a.grace && lostSince < 9 || lostSince == 0) {
			a.next = nil
			now = now.Add(24 * time.Hour)
			if _, err := machines[0].Token(ctx, p, "p", "", "test"); err != nil {
				t.Fatalf("at the end: %v", err)
			}
			now = now.Add(2 * time.Hour)
			if _, err := machines[1].Token(ctx, p, "p", "", "test"); err != nil {
				t.Fatalf("and after that: %v", err)
			}
		}
	})
}

func renewalOf(a *authority) vault.Renewal {
	switch {
	case !a.rotates:
		return vault.Renewal{Rotation: vault.RotationNever}
	case a.grace:
		return vault.Renewal{Grace: vault.GraceUntilUse}
	}
	return vault.Renewal{}
}
