package vault

import (
	"context"
	"fmt"
)

// Action says what is about to happen to a secret.
type Action string

const (
	ActionRead    Action = "read"    // a secret is given to the caller
	ActionRenew   Action = "renew"   // the vault sends a refresh token to its authorization server
	ActionRevoke  Action = "revoke"  // the vault sends a token to be revoked
	ActionSave    Action = "save"    // credentials are stored
	ActionDecide  Action = "decide"  // the person decides about another account
	ActionDelete  Action = "delete"  // a grant or a registration is deleted
	ActionErase   Action = "erase"   // all that is stored of the principal is deleted
	ActionGaveUp  Action = "gave up" // a token could not be revoked in time
	ActionRotate  Action = "rotate"  // rows are sealed with another key
	ActionExpired Action = "expired" // nobody decided about another account: its tokens are revoked
)

// Event is what is told to the audit. It holds no secret.
type Event struct {
	Action    Action
	Principal Principal // zero for what belongs to the installation, or to a person who was erased
	Tenant    string    // of a client registration
	Kind      Kind
	ID        string // of the row
	Provider  string
	Label     string
	Fields    []string // what of the row is read, such as "access"
	Purpose   string   // what the caller says it is for
}

// audit tells the event. What gives a secret out does not go on after an error.
func (v *Vault) audit(ctx context.Context, e Event) error {
	if v.options.Audit == nil {
		return nil
	}
	if e.Principal.Issuer == ownIssuer {
		e.Tenant, e.Principal = e.Principal.Tenant, Principal{}
	}
	if err := v.options.Audit(ctx, e); err != nil {
		return fmt.Errorf("%w: %w", ErrNotAudited, err)
	}
	return nil
}
