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
type Secret struct {
	value *string // a pointer, since fmt asks no method of a private field and prints what is in it
}

// NewSecret wraps value.
func NewSecret(value string) Secret { return Secret{&value} }

// Reveal returns the value; that of the zero Secret is empty.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String implements [fmt.Stringer] and returns "(withheld)".
func (s Secret) String() string { return withheld }

// Format implements [fmt.Formatter], so that no verb reaches the value: %#v
// and %x would, past String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(withheld)) }

// LogValue implements [slog.LogValuer].
func (s Secret) LogValue() slog.Value { return slog.StringValue(withheld) }

// MarshalJSON implements [json.Marshaler].
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(withheld) }

// Format implements [fmt.Formatter]: a server prints as its ID and [Server.Address],
// since its arguments and endpoint may hold secrets.
func (s Server) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%s (%s)", s.ID, s.Address()) }

// LogValue implements [slog.LogValuer]: see [Server.Format].
func (s Server) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(s)) }

// Format implements [fmt.Formatter], so that a host does not spread its servers out.
func (h *Host) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "host of %d servers", len(h.order)) }
