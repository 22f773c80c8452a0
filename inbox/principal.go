package inbox

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Principal is a verified person: who vouches for them, in which tenant, and
// the stable name they have there. It never comes from anything that was typed
// into a form, and every row belongs to one.
type Principal struct {
	Issuer  string `json:"issuer"`
	Tenant  string `json:"tenant"` // may be empty
	Subject string `json:"subject"`
}

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
		return Principal{}, errors.New("inbox: not a principal's key")
	}
	for i, part := range parts {
		text, err := url.QueryUnescape(part)
		if err != nil {
			return Principal{}, errors.New("inbox: not a principal's key")
		}
		parts[i] = text
	}
	return Principal{Issuer: parts[0], Tenant: parts[1], Subject: parts[2]}, nil
}

// check refuses the zero principal, which would otherwise be a person shared
// by everybody whose identity a caller forgot to set.
func (p Principal) check() error {
	if p.Issuer == "" || p.Subject == "" {
		return fmt.Errorf("%w: a principal has an issuer and a subject", ErrInvalid)
	}
	if len(p.Key()) > maxPrincipal {
		return fmt.Errorf("%w: the principal is longer than %d bytes", ErrInvalid, maxPrincipal)
	}
	return nil
}
