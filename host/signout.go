package host

import (
	"context"
	"errors"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/vault"
)

// revokeTime bounds how long a person who signs out waits for the authorization server.
const revokeTime = 10 * time.Second

// Revoked says what became at the authorization server of a sign-in that was ended.
type Revoked string

const (
	// RevokedDone: it has confirmed that the tokens are of no use any more (RFC 7009).
	RevokedDone = Revoked(vault.RevokedDone)
	// RevokedLater: it did not confirm it, and is asked again for some days.
	RevokedLater = Revoked(vault.RevokedLater)
	// RevokedNot: it offers no way to do so. What was given ends when it lets it end.
	RevokedNot = Revoked(vault.RevokedNot)
	// RevokedNothing: nobody was signed in.
	RevokedNothing Revoked = "nothing"
)

// SignOut ends p's sign-in to a server: what was kept is deleted first, for all
// machines, and then the authorization server is asked to revoke it, for ten seconds at
// most. Calls that go to the server, also those that are parked, are blocked from now on
// until p signs in. Errors are [ErrNoServer], [ErrNoSignIn] and those of the vault; one
// that matches [vault.ErrNotAudited] comes after all is gone.
func (h *Host) SignOut(ctx context.Context, p inbox.Principal, server string) (Revoked, error) {
	s, err := h.signable(server)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTime) // half a sign-out is none
	defer cancel()
	grants, err := h.vault.Grants(ctx, vault.Principal(p), s.provider())
	if err != nil {
		return "", err
	}
	kept := false
	for _, g := range grants {
		kept = kept || g.Label == vault.DefaultLabel
	}
	if !kept { // an audit entry of what did not happen would be in the way
		return RevokedNothing, nil
	}
	done, err := h.vault.Revoke(ctx, vault.Principal(p), s.provider(), "")
	if errors.Is(err, vault.ErrNotFound) { // by another machine, meanwhile
		done, err = vault.Revoked(RevokedNothing), nil
	}
	if done != "" {
		h.pool(s, p).renew()
	}
	if err == nil && done == vault.RevokedLater {
		err = h.inbox.CredentialChanged(ctx, p, inbox.CredentialChange{Kind: inbox.AuditNotRevoked, Server: s.ID, State: string(done)})
	}
	return Revoked(done), err
}

// Forget removes all that the vault has of p, for when the person is erased. Tokens are
// revoked in the background.
func (h *Host) Forget(ctx context.Context, p inbox.Principal) error {
	if h.vault == nil {
		return nil
	}
	if err := h.vault.Erase(ctx, vault.Principal(p)); err != nil {
		return err
	}
	for _, pl := range h.allPools() {
		if pl.principal == p {
			pl.renew()
		}
	}
	return nil
}
