package host

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// withheld is what a [Secret] prints as, everywhere.
const withheld = "(withheld)"

// A Secret is a value of a header or an environment variable of a server. It
// does not print: fmt, slog and encoding/json all show "(withheld)". Only
// [Secret.Reveal] gives the value, to the one place that sends it.
type Secret struct{ value string }

// NewSecret wraps value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the value.
func (s Secret) Reveal() string { return s.value }

// String implements [fmt.Stringer] and returns "(withheld)".
func (s Secret) String() string { return withheld }

// Format implements [fmt.Formatter], so that no verb reaches the value: %#v
// and %x would, past String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(withheld)) }

// LogValue implements [slog.LogValuer].
func (s Secret) LogValue() slog.Value { return slog.StringValue(withheld) }

// MarshalJSON implements [json.Marshaler].
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(withheld) }
