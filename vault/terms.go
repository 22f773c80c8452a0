package vault

import (
	"fmt"
	"maps"
	"time"
	"unicode/utf8"
)

// Terms are what was fixed when the person consented: where the grant's tokens
// may be sent, and how they are renewed. They are sealed with the tokens, so
// that who can write to the database cannot send a refresh token elsewhere.
type Terms struct {
	Issuer             string            `json:"issuer,omitempty"`
	TokenEndpoint      string            `json:"token_endpoint,omitempty"`
	RevocationEndpoint string            `json:"revocation_endpoint,omitempty"` // empty: tokens cannot be revoked
	Resource           string            `json:"resource,omitempty"`            // RFC 8707
	Client             ClientRef         `json:"client,omitzero"`               // the registration; zero: none
	Params             map[string]string `json:"params,omitempty"`              // fixed parameters of the refresh request; no secrets
	Renewal            Renewal           `json:"renewal,omitzero"`
}

// ClientRef names a client registration.
type ClientRef struct {
	Tenant string `json:"tenant,omitempty"` // whose registration: a tenant's own, or that of all (empty)
	Issuer string `json:"issuer,omitempty"`
	Name   string `json:"name,omitempty"` // empty: the default one
}

// Renewal says how a provider behaves when an access token is renewed. The zero
// value is what is true of an unknown server that follows the standards.
type Renewal struct {
	By       RenewBy  `json:"by,omitempty"`
	Rotation Rotation `json:"rotation,omitempty"`
	// Grace is how long the provider takes a refresh token again after it has
	// answered with a new one; 0: it does not. GraceUntilUse: until the new one
	// is used.
	Grace time.Duration `json:"grace,omitempty"`
	// Lifetime is that of an access token whose answer does not say; 0: for ever,
	// so that only a refusal renews it.
	Lifetime time.Duration `json:"lifetime,omitempty"`
	// Margin is how long before its end a token is renewed; 0: the vault's
	// default; negative: not before its end, for providers that refuse it.
	Margin time.Duration `json:"margin,omitempty"`
}

// GraceUntilUse is a [Renewal.Grace] without end.
const GraceUntilUse = time.Duration(-1)

// RenewBy says what a token is renewed with.
type RenewBy string

const (
	RenewByRefreshToken RenewBy = ""             // RFC 6749 6
	RenewByAccessToken  RenewBy = "access_token" // an exchange of the access token, while it is alive
	RenewByClient       RenewBy = "client"       // with the client's own credentials, any number of times
	RenewNever          RenewBy = "never"
)

// Rotation says whether a refresh token ends when it is used.
type Rotation string

const (
	// RotationUnknown: the first answer tells. Until then, and whenever the
	// last answer had a new refresh token, it is taken to rotate.
	RotationUnknown Rotation = ""
	RotationNever   Rotation = "never"
	RotationAlways  Rotation = "always"
)

func (t Terms) check() error {
	for name, text := range map[string]string{
		"issuer": t.Issuer, "token endpoint": t.TokenEndpoint, "revocation endpoint": t.RevocationEndpoint,
		"resource": t.Resource, "client's issuer": t.Client.Issuer,
	} {
		if err := checkText(name, text, MaxText); err != nil {
			return err
		}
	}
	if err := checkText("client's tenant", t.Client.Tenant, maxShort); err != nil {
		return err
	}
	if err := checkText("client's name", t.Client.Name, maxShort); err != nil {
		return err
	}
	if len(t.Params) > maxFields {
		return fmt.Errorf("%w: more than %d parameters", ErrInvalid, maxFields)
	}
	for name, text := range t.Params {
		if err := checkText("parameter's name", name, maxShort); err != nil {
			return err
		}
		if err := checkText("parameter", text, MaxText); err != nil {
			return err
		}
	}
	switch t.Renewal.By {
	case RenewByRefreshToken, RenewByAccessToken, RenewByClient, RenewNever:
	default:
		return fmt.Errorf("%w: the terms name no way to renew that there is", ErrInvalid)
	}
	switch t.Renewal.Rotation {
	case RotationUnknown, RotationNever, RotationAlways:
	default:
		return fmt.Errorf("%w: the terms name no rotation that there is", ErrInvalid)
	}
	if t.Renewal.Lifetime < 0 || t.Renewal.Lifetime > maxLifetime {
		return fmt.Errorf("%w: a lifetime of %v", ErrInvalid, t.Renewal.Lifetime)
	}
	if t.Renewal.Grace < GraceUntilUse {
		return fmt.Errorf("%w: a grace below zero", ErrInvalid)
	}
	return nil
}

func (t Terms) clone() Terms {
	t.Params = maps.Clone(t.Params)
	return t
}

const (
	maxShort  = 256 // bytes of ids, names, statuses
	maxFields = 64
)

// checkText refuses what a store may not be able to hold.
func checkText(name, text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%w: the %s is longer than %d bytes", ErrInvalid, name, limit)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: the %s is not valid UTF-8", ErrInvalid, name)
	}
	for _, r := range text {
		if r < 0x20 || r == 0x7f {
			return fmt.Errorf("%w: the %s has a control character", ErrInvalid, name)
		}
	}
	return nil
}
