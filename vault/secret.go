package vault

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// withheld is what secrets print as, everywhere.
const withheld = "(withheld)"

var errWithheld = errors.New("vault: a secret is not encoded")

// A Secret is a text that does not print: fmt with every verb, slog,
// encoding/json, xml and text show "(withheld)", and gob refuses. The text is
// in a closure, so that what walks values by reflection finds nothing either.
// Two Secrets cannot be compared with ==; [Secret.Equal] compares them in
// constant time. The zero Secret is the empty text.
type Secret struct{ reveal func() string }

// NewSecret wraps text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{func() string { return text }}
}

// Reveal returns the text, to the one place that sends it.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsZero reports whether the text is empty.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Equal compares the texts in a time that depends neither on where they differ
// nor on whether their lengths do.
func (s Secret) Equal(other Secret) bool {
	a, b := sha256.Sum256([]byte(s.Reveal())), sha256.Sum256([]byte(other.Reveal()))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// String implements [fmt.Stringer] and returns "(withheld)".
func (s Secret) String() string { return withheld }

// Format implements [fmt.Formatter], so that no verb reaches the text.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(withheld)) }

// LogValue implements [slog.LogValuer].
func (s Secret) LogValue() slog.Value { return slog.StringValue(withheld) }

// MarshalText implements [encoding.TextMarshaler], which JSON, XML and YAML ask too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(withheld), nil }

// GobEncode implements [gob.GobEncoder] and refuses: what came out could not be
// told from a secret.
func (s Secret) GobEncode() ([]byte, error) { return nil, errWithheld }

// A Token is an access token, ready to be sent, and what its user has to know
// of it. It prints as little as a [Secret], and cannot be compared with ==.
type Token struct {
	access     Secret
	kind       string
	expires    time.Time
	scopes     []string
	grant      GrantID
	generation int64
}

// Reveal returns the text of the token.
func (t Token) Reveal() string { return t.access.Reveal() }

// Header returns the value of an Authorization header (RFC 6750 2.1).
func (t Token) Header() Secret { return NewSecret("Bearer " + t.access.Reveal()) }

// Type is the token's type as the authorization server wrote it (RFC 6749 7.1),
// such as "Bearer"; empty if it did not.
func (t Token) Type() string { return t.kind }

// Expires is when the token ends, by the store's clock; zero if nobody said.
func (t Token) Expires() time.Time { return t.expires }

// Scopes are the scopes that were granted; nil if nobody said.
func (t Token) Scopes() []string { return append([]string(nil), t.scopes...) }

// Grant is the grant that the token is from.
func (t Token) Grant() GrantID { return t.grant }

// Generation is that of the grant's secrets, as in [Grant].
func (t Token) Generation() int64 { return t.generation }

// Equal compares the texts of two tokens in constant time.
func (t Token) Equal(other Token) bool { return t.access.Equal(other.access) }

// String implements [fmt.Stringer] and returns "(withheld)".
func (t Token) String() string { return withheld }

// Format implements [fmt.Formatter], so that no verb reaches the text.
func (t Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(withheld)) }

// LogValue implements [slog.LogValuer].
func (t Token) LogValue() slog.Value { return slog.StringValue(withheld) }

// MarshalText implements [encoding.TextMarshaler], which JSON, XML and YAML ask too.
func (t Token) MarshalText() ([]byte, error) { return []byte(withheld), nil }

// GobEncode implements [gob.GobEncoder] and refuses.
func (t Token) GobEncode() ([]byte, error) { return nil, errWithheld }
