package inboxtest

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var tokenTests = map[string]func(*kit){
	"one is revoked":           tokenRevoked,
	"all are revoked":          tokensRevoked,
	"time":                     tokenTime,
	"end with an erasure":      tokensErased,
	"of erased, other keys":    tokensErasedKeys,
	"an erased person's name":  erasureNamesNobody,
	"erased while disabled":    erasedDisabled,
	"no access in the erasure": erasedBeforeTheRows,
}

// issue is a token of this moment.
func (k *kit) issue(id string) inbox.Token {
	k.t.Helper()
	now, err := k.in.Time(k.ctx, k.ann)
	k.must("Time", err)
	return inbox.Token{ID: id, Issued: now, Ends: now.Add(10 * time.Minute)}
}

// ended looks at tokens of a person, by any machine.
func (k *kit) ended(p inbox.Principal, want bool, tokens ...inbox.Token) {
	k.t.Helper()
	for _, token := range tokens {
		if got, err := k.machine("another").TokenEnded(k.ctx, p, token); got != want || err != nil {
			k.t.Errorf("token %q of %s: ended %v, %v", token.ID, p.Subject, got, err)
		}
	}
}

func tokenRevoked(k *kit) {
	one, two := k.issue("one"), k.issue("two")
	k.ended(k.ann, false, one, two)
	k.must("RevokeToken", k.in.RevokeToken(k.ctx, k.ann, "one", time.Hour))
	k.ended(k.ann, true, one)
	k.ended(k.ann, false, two)
	k.ended(k.bob, false, one)
}

func tokensRevoked(k *kit) {
	before := k.issue("before") // at the very moment of the revocation
	k.must("RevokeToken", k.in.RevokeToken(k.ctx, k.ann, "", time.Hour))
	k.ended(k.ann, true, before)
	k.ended(k.bob, false, before)
	k.clock.advance(time.Microsecond)
	k.ended(k.ann, false, k.issue("after"))
}

func tokenTime(k *kit) {
	token := k.issue("one")
	k.clock.advance(10*time.Minute - time.Microsecond)
	k.ended(k.ann, false, token)
	k.clock.advance(time.Microsecond)
	k.ended(k.ann, true, token)
	token.Ends = time.Time{}
	k.ended(k.ann, false, token)
	_, err := k.in.TokenEnded(k.ctx, inbox.Principal{}, token)
	k.is("TokenEnded of nobody", err, inbox.ErrInvalid)
	_, err = k.in.Time(k.ctx, inbox.Principal{})
	k.is("Time of nobody", err, inbox.ErrInvalid)
}

func tokensErased(k *kit) {
	k.compose()
	one, session, old := k.issue("one"), k.issue(""), inbox.Token{}
	session.Ends = time.Time{}
	k.must("RevokeToken", k.in.RevokeToken(k.ctx, k.ann, "one", time.Hour))
	k.ended(k.ann, false, session, old)
	k.must("Erase", k.in.Erase(k.ctx, k.ann))
	k.ended(k.ann, true, one, session, old)
	k.ended(k.bob, false, one, session, old)
	k.clock.advance(time.Microsecond)
	k.ended(k.ann, false, k.issue("when she is back"))
	// Erased again, she has no token either.
	two := k.issue("two")
	k.must("Erase", k.in.Erase(k.ctx, k.ann))
	k.ended(k.ann, true, one, two, session)
	// It is remembered for as long as anything of hers can be used, and no longer.
	k.clock.advance(inbox.ErasedTime - time.Microsecond)
	k.ended(k.ann, true, session)
	k.clock.advance(time.Microsecond)
	k.ended(k.ann, false, session)
}

// The digest is found after another key became primary.
func tokensErasedKeys(k *kit) {
	r := k.rotated()
	session := k.issue("")
	k.must("Erase", k.in.Erase(k.ctx, k.ann))
	r.promote()
	k.ended(k.ann, true, session)
	k.clock.advance(time.Microsecond)
	k.ended(k.ann, false, k.issue("when she is back"))
}

// What is kept names nobody, to who reads the store.
func erasureNamesNobody(k *kit) {
	k.must("Erase", k.in.Erase(k.ctx, k.ann))
	for _, digest := range append(inbox.NewKeys().Digests("inbox erased", nil, []byte(k.ann.Key())), k.ann.Key(), k.ann.Subject) {
		k.view("parley||erased", func(tx inbox.Tx) error {
			_, err := tx.Remembered(digest)
			k.is("a digest without the keys", err, inbox.ErrNotFound)
			return nil
		})
	}
	k.view("parley||erased", func(tx inbox.Tx) error {
		value, err := tx.Remembered(k.keys.Digest("inbox erased", nil, []byte(k.ann.Key())))
		if want := fmt.Sprint(tx.Now().UnixNano()); string(value) != want {
			k.t.Errorf("what is kept: %q, %v, want the moment and nothing else, %s", value, err, want)
		}
		return nil
	})
}

func erasedDisabled(k *kit) {
	k.compose()
	k.disable()
	k.must("Erase", k.in.Erase(k.ctx, k.ann))
	if disabled, err := k.in.Disabled(k.ctx, k.ann); !disabled || err != nil {
		k.t.Errorf("disabled %v, %v: an erasure has given the access back", disabled, err)
	}
	if calls, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{}); len(calls) > 0 || err != nil {
		k.t.Errorf("%d calls, %v", len(calls), err)
	}
	if last, err := k.in.LastEvent(k.ctx, k.ann); last != 0 || err != nil {
		k.t.Errorf("LastEvent = %d, %v", last, err)
	}
	_, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "flights", Method: "tools/call"})
	k.is("Compose", err, inbox.ErrDisabled)
	k.must("Enable", k.in.Enable(k.ctx, k.ann))
	k.must("Erase", k.in.Erase(k.ctx, k.ann))
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "flights", Method: "tools/call"})
	k.must("Compose", err)
	if c.Seq != 1 {
		k.t.Errorf("the first event has the number %d", c.Seq)
	}
}

// An erasure that fails half-way has ended the tokens: never the other way round.
func erasedBeforeTheRows(k *kit) {
	c := k.compose()
	token := k.issue("one")
	in := inbox.New(oneRefused{k.store, k.ann.Key()}, k.keys, nil)
	k.is("Erase", in.Erase(k.ctx, k.ann), errTest)
	k.state(c.ID, inbox.Ready)
	k.ended(k.ann, true, token)
}

// A oneRefused does not let anybody write the rows of one principal.
type oneRefused struct {
	inbox.Store
	principal string
}

func (s oneRefused) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	if principal == s.principal {
		return errTest
	}
	return s.Store.Update(ctx, principal, f)
}
