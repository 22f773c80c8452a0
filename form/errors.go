package form

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"
)

// The codes of an Error. They are stable; Text may change.
const (
	CodeRequired        = "required"          // no answer to a required field
	CodeType            = "type"              // another JSON type than asked; params: want
	CodeTooShort        = "too_short"         // params: min, length
	CodeTooLong         = "too_long"          // params: max, length
	CodeTooSmall        = "too_small"         // params: min, or above (exclusive); max or below when there is one
	CodeTooBig          = "too_big"           // params: max, or below (exclusive); min or above when there is one
	CodeNotMultiple     = "not_a_multiple"    // params: of
	CodeNotANumber      = "not_a_number"      // typed text is no number
	CodeNotAnInteger    = "not_an_integer"    //
	CodeAmbiguousNumber = "ambiguous_number"  // 1,234 is read differently by different people
	CodeNotFinite       = "not_finite"        // beyond the range of a binary64
	CodeEmail           = "format_email"      //
	CodeURI             = "format_uri"        //
	CodeDate            = "format_date"       //
	CodeDateTime        = "format_date_time"  //
	CodePattern         = "pattern"           // params: pattern
	CodeNotAnOption     = "not_an_option"     //
	CodeTooFew          = "too_few"           // params: min, count
	CodeTooMany         = "too_many"          // params: max, count
	CodeDuplicate       = "duplicate"         // the same item twice where items are unique
	CodeUnknownField    = "unknown_field"     // a key that was not asked for
	CodeDuplicateField  = "duplicate_field"   // the same key twice
	CodeUnsupported     = "unsupported_field" // an answer to a field that cannot be drawn
	CodeMalformed       = "malformed"         // not JSON, or not an object; params: offset
	CodeTooLarge        = "too_large"         // params: max (bytes)
)

// An Error is one thing wrong with an answer. It never holds the answer.
type Error struct {
	Field   string         `json:"field,omitempty"`
	Pointer string         `json:"pointer"` // into the content
	Code    string         `json:"code"`
	Params  map[string]any `json:"params,omitempty"`
	Text    string         `json:"text"` // for the person, in English
}

func (e Error) Error() string {
	if e.Pointer == "" {
		return e.Code
	}
	return strconv.Quote(e.Pointer) + ": " + e.Code
}

// Errors are all things wrong with an answer, in the order of the fields.
// nil means that the answer is legal; use Err where an error is wanted.
type Errors []Error

func (e Errors) Error() string {
	parts := make([]string, len(e))
	for i := range e {
		parts[i] = e[i].Error()
	}
	return "answer not legal: " + strings.Join(parts, "; ")
}

// Err is nil when there are no errors.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

func (s *Schema) sortErrors(errs Errors) Errors {
	if len(errs) == 0 {
		return nil
	}
	rank := func(e *Error) int {
		if e.Field == "" {
			return -1
		}
		if i, ok := s.index[e.Field]; ok {
			return i
		}
		return len(s.fields)
	}
	sort.SliceStable(errs, func(i, j int) bool { return rank(&errs[i]) < rank(&errs[j]) })
	return errs
}

func (f *Field) fail(code string, params map[string]any) Error {
	e := Error{Field: f.Name, Pointer: join(f.Name), Code: code, Params: params}
	e.Text = f.text(code, params)
	return e
}

// param gives what a code's own params hold under name.
func param[T any](p map[string]any, name string) T {
	v, _ := p[name].(T)
	return v
}

func whole(text, code string, params map[string]any) Error {
	return Error{Code: code, Params: params, Text: text}
}

// text words an error. GOV.UK Design System, "Error message": say what to do,
// name the field, no "please", "valid", "invalid" or "required".
func (f *Field) text(code string, p map[string]any) string {
	label := "“" + clip(f.Label(), 80) + "”"
	switch code {
	case CodeRequired:
		switch {
		case f.Kind == Boolean:
			return "Select yes or no for " + label
		case f.Kind == Choice || f.Kind == Choices:
			return "Select an option for " + label
		case f.Kind == Unsupported:
			return label + " cannot be answered here"
		}
		return "Enter " + label
	case CodeType:
		switch f.Kind {
		case Boolean:
			return "Select yes or no for " + label
		case Choice, Choices:
			return "Select an option for " + label
		case Integer:
			return label + " must be a whole number"
		case Number:
			return label + " must be a number"
		case JSON:
			return label + " must be JSON of type " + param[string](p, "want")
		}
		return label + " must be text"
	case CodeTooShort:
		return label + " must be " + plural(param[int](p, "min"), "character") + " or more"
	case CodeTooLong:
		return label + " must be " + plural(param[int](p, "max"), "character") + " or fewer"
	case CodeTooSmall, CodeTooBig:
		return label + " must be " + f.rangeText()
	case CodeNotMultiple:
		return label + " must be a multiple of " + param[string](p, "of")
	case CodeNotANumber:
		return label + " must be a number, like 12.5"
	case CodeNotAnInteger:
		return label + " must be a whole number, like 12"
	case CodeAmbiguousNumber:
		return "Enter " + label + " without separators between the thousands, and with a point before decimals"
	case CodeNotFinite:
		return label + " must be a number of fewer digits"
	case CodeEmail:
		return "Enter an email address for " + label + ", like name@example.com"
	case CodeURI:
		return "Enter a full address for " + label + ", like https://example.com/page"
	case CodeDate:
		return "Enter a real date for " + label + ", like 2026-03-27"
	case CodeDateTime:
		return "Enter a real date and time with time zone for " + label + ", like 2026-03-27T14:30:00Z"
	case CodePattern:
		return label + " must be in the format that is asked for"
	case CodeNotAnOption:
		return "Select an option from the list for " + label
	case CodeTooFew:
		return "Select at least " + plural(param[int](p, "min"), "option") + " for " + label
	case CodeTooMany:
		return "Select no more than " + plural(param[int](p, "max"), "option") + " for " + label
	case CodeDuplicate:
		return "Select each option only once for " + label
	case CodeDuplicateField:
		return label + " was answered twice"
	case CodeUnsupported:
		return label + " cannot be answered here"
	case CodeMalformed:
		return "Enter JSON for " + label
	case CodeTooLarge:
		return label + " must be " + strconv.Itoa(param[int](p, "max")) + " bytes or fewer"
	}
	return label + ": " + code
}

// rangeText words the bounds of a number: "between A and B" where both hold.
func (f *Field) rangeText() string {
	lo, hi := "", ""
	switch {
	case f.xmin.set && (!f.min.set || f.xmin.cmp(f.min.decimal) >= 0):
		lo = "more than " + string(f.ExclusiveMinimum)
	case f.min.set:
		lo = string(f.Minimum) + " or more"
	}
	switch {
	case f.xmax.set && (!f.max.set || f.xmax.cmp(f.max.decimal) <= 0):
		hi = "less than " + string(f.ExclusiveMaximum)
	case f.max.set:
		hi = string(f.Maximum) + " or less"
	}
	if f.min.set && f.max.set && strings.HasSuffix(lo, " or more") && strings.HasSuffix(hi, " or less") {
		return "between " + string(f.Minimum) + " and " + string(f.Maximum)
	}
	switch {
	case lo == "":
		return hi
	case hi == "":
		return lo
	}
	return lo + " and " + hi
}

func (f *Field) rangeParams() map[string]any {
	p := map[string]any{}
	add := func(key string, b bound, n json.Number) {
		if b.set {
			p[key] = string(n)
		}
	}
	add("min", f.min, f.Minimum)
	add("max", f.max, f.Maximum)
	add("above", f.xmin, f.ExclusiveMinimum)
	add("below", f.xmax, f.ExclusiveMaximum)
	return p
}
