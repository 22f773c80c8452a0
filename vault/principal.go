package vault

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Principal is a verified person: who vouches for them, in which tenant, and
// the stable name they have there. Every row belongs to one. The fields are
// those of the principal that a host or a server has verified, and convert
// from it.
type Principal struct {
	Issuer  string
	Tenant  string // may be empty
	Subject string
}

// ownIssuer is the issuer of what belongs to the installation and to no person:
// client registrations and machines. No person can have it.
const ownIssuer = "urn:parley:vault"

const maxPrincipal = 1024 // bytes of a key

// Key writes the principal as one text that no other principal has and that
// [ParsePrincipal] reads back.
func (p Principal) Key() string {
	return url.QueryEscape(p.Issuer) + "|" + url.QueryEscape(p.Tenant) + "|" + url.QueryEscape(p.Subject)
}

// ParsePrincipal reads what [Principal.Key] wrote.
func ParsePrincipal(key string) (Principal, error) {
	parts := strings.Split(key, "|")
	if len(parts) != 3 {
		return Principal{}, errors.New("vault: not a principal's key")
	}
	for i, part := range parts {
		text, err := url.QueryUnescape(part)
		if err != nil {
			return Principal{}, errors.New("vault: not a principal's key")
		}
		parts[i] = text
	}
	return Principal{Issuer: parts[0], Tenant: parts[1], Subject: parts[2]}, nil
}

// check refuses the zero principal, which would otherwise be a person shared
// by everybody whose identity a caller forgot to set, and the vault's own.
func (p Principal) check() error {
	switch {
	case p.Issuer == "" || p.Subject == "":
		return fmt.Errorf("%w: a principal has an issuer and a subject", ErrInvalid)
	case p.Issuer == ownIssuer:
		return fmt.Errorf("%w: the issuer %s is nobody's", ErrInvalid, ownIssuer)
	case !utf8.ValidString(p.Issuer) || !utf8.ValidString(p.Tenant) || !utf8.ValidString(p.Subject):
		return fmt.Errorf("%w: the principal is not valid UTF-8", ErrInvalid)
	case 3*(len(p.Issuer)+len(p.Tenant)+len(p.Subject))+2 > maxPrincipal && len(p.Key()) > maxPrincipal: // a byte is written as three at most
		return fmt.Errorf("%w: the principal is longer than %d bytes", ErrInvalid, maxPrincipal)
	}
	return nil
}
