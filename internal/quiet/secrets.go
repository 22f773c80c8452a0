package quiet

import (
	"regexp"
	"strings"
)

var (
	// Parley's own secrets say what they are: keys and tokens of products, and keys of
	// webhooks (Standard Webhooks, "Signature scheme").
	own = regexp.MustCompile(`(parley_(?:api|embed)_|whsec_)[A-Za-z0-9+/=_-]+`)

	// A header in free text. Fewer characters are a word of a sentence.
	header = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization:)[ \t]*(?:[a-z]+[ \t]+)?[^\s"',]{8,}`)

	// A member of a JSON object, such as an answer of a token endpoint (RFC 6749 5.1),
	// also one that was cut; and the same in a string of another, as %q writes it.
	member  = regexp.MustCompile(`(?i)(["']` + secretNames + `["']\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)`)
	escaped = regexp.MustCompile(`(?i)(\\"` + secretNames + `\\"\s*:\s*)\\"(?:[^"\\]|\\\\(?:\\["\\]|[^"\\]))*(?:\\")?`)
)

const secretNames = `(?:[a-z0-9_-]*(?:token|secret|password|passwd|passphrase|api[_-]?key|assertion|verifier|state)|(?:[a-z]+[_-])?code)` //nolint:gosec // names, and no secrets

// secrets withholds what is one by its shape, or by the name that stands before it.
func secrets(s string) string {
	if strings.Contains(s, "parley_") || strings.Contains(s, "whsec_") {
		s = own.ReplaceAllString(s, "$1"+withheld)
	}
	if !strings.Contains(s, ":") {
		return s
	}
	s = header.ReplaceAllString(s, "$1 "+withheld)
	if strings.Contains(s, `\"`) {
		s = escaped.ReplaceAllString(s, `$1\"`+withheld+`\"`)
	}
	if strings.ContainsAny(s, `"'`) {
		s = member.ReplaceAllString(s, `$1"`+withheld+`"`)
	}
	return s
}
