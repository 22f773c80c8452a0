package form

import (
	"encoding/json"
	"regexp"
)

// A Kind says what sort of answer a field takes.
type Kind int

const (
	Unsupported Kind = iota // cannot be drawn; Field.Problem says why
	Text
	Integer
	Number
	Boolean
	Choice  // one of Options
	Choices // several of Options
	JSON    // anything, typed as JSON; only in the arguments of a tool
)

var kindNames = [...]string{"unsupported", "text", "integer", "number", "boolean", "choice", "choices", "json"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// An Option is one value that may be chosen.
type Option struct {
	// Value is how Input names the option: the string itself, or the literal
	// of a number or boolean.
	Value string
	// Title is what to show. It is never empty unless Value is.
	Title       string
	Description string
	// Raw is the JSON that is sent.
	Raw json.RawMessage
}

// A Field is one property of a schema, read as something to ask.
// Texts are the server's own bytes: clean them before they are shown, or use
// View, which has.
type Field struct {
	Name        string
	Title       string // "" when the server gives none
	Description string
	Kind        Kind
	Required    bool
	// Nullable is true when the schema also allows null. A required nullable
	// field may be left blank: null is sent.
	Nullable bool
	// Format is email, uri, date or date-time; any other format is read as
	// plain text and kept here.
	Format               string
	MinLength, MaxLength *int // in code points
	MinItems, MaxItems   *int
	UniqueItems          bool
	// The bounds of numbers are literals, compared exactly. "" means none.
	Minimum, Maximum                   json.Number
	ExclusiveMinimum, ExclusiveMaximum json.Number
	MultipleOf                         json.Number
	Pattern                            string
	// PatternEnforced is false when Pattern cannot be run here: it is shown
	// to nobody and checked by the server alone.
	PatternEnforced bool
	Options         []Option
	// Default is the schema's default, as sent, also when it is not legal.
	Default json.RawMessage
	// DefaultUsable is true when Default would pass Check.
	DefaultUsable bool
	// Problem says why the field is Unsupported.
	Problem string
	// Pointer and Offset are where the property stands in the schema.
	Pointer string
	Offset  int

	re       *regexp.Regexp
	reCost   int
	min      bound
	max      bound
	xmin     bound
	xmax     bound
	step     bound
	byValue  map[string]int // options by Value
	byNumber map[string]int // options by canonical decimal
	types    []string       // JSON kind: the types that the schema names
	// explicitEmpty is true for a schema that says minLength 0.
	explicitEmpty bool
}

type bound struct {
	decimal
	set bool
}
