package form

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label is what to call the field: its title, else its name made readable.
// It is one line, with characters that are not visible written out.
func (f *Field) Label() string {
	if t := clean(f.Title); t != "" {
		return t
	}
	return readable(f.Name)
}

// clean makes one line of a server's text: line breaks become spaces, and
// characters that are invisible or turn the direction of the text are written out.
func clean(s string) string {
	return strings.Join(strings.Fields(scrub(head(s), false)), " ")
}

// head bounds what is cleaned of a label or hint; more is never shown.
func head(s string) string {
	const most = 4 * maxHint
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cleanBlock is clean for text of several lines.
func cleanBlock(s string) string { return strings.TrimSpace(scrub(s, true)) }

// scrub keeps printable text as it is. What a reader could not see, or what would
// turn the direction of the text around it, is written out: what is shown must not
// say less than what is sent.
func scrub(s string, lines bool) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = ' ' <= s[i] && s[i] < 0x7F || lines && s[i] == '\n'
	}
	if plain {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '\n' && lines:
			b.WriteRune(r)
		case r == '\r':
		case r == '\n', r == '\t', r == 0x2028, r == 0x2029:
			b.WriteByte(' ')
		case hidden(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden is true for controls and for characters without a shape of their own.
// Joiners are part of how some scripts are written.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != 0x200D && r != 0x200C ||
		0xFFF9 <= r && r <= 0xFFFB || r == 0x3164 || r == 0x115F || r == 0x1160 || r == 0xFFA0
}

// clip shortens to n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// readable turns maxRetries and user_name into "Max retries" and "User name".
func readable(name string) string {
	ws := words(name)
	if len(ws) == 0 {
		if s := clean(name); s != "" {
			return s
		}
		return "Answer"
	}
	for i, w := range ws {
		// A run of capitals is an abbreviation and stays one.
		if u := strings.ToUpper(w); abbreviations[u] {
			ws[i] = u
		} else if i > 0 && w != strings.ToUpper(w) {
			ws[i] = strings.ToLower(w)
		}
	}
	s := strings.Join(ws, " ")
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

var abbreviations = map[string]bool{
	"API": true, "ID": true, "IP": true, "PR": true, "SSH": true, "SSL": true, "TLS": true, "URI": true, "URL": true, "VM": true, "CPU": true,
	"AWS": true, "ARN": true, "MFA": true, "PIN": true, "CSV": true, "JSON": true, "PDF": true, "SQL": true, "HTTP": true, "DNS": true,
}

// words splits a name at spaces, signs and changes of case.
func words(s string) []string {
	rs := []rune(clean(s))
	var out []string
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			out = append(out, string(rs[start:end]))
		}
		start = -1
	}
	for i, r := range rs {
		if unicode.IsSpace(r) || strings.ContainsRune("_-./:", r) {
			flush(i)
			continue
		}
		if start >= 0 && unicode.IsUpper(r) {
			prevLower := unicode.IsLower(rs[i-1]) || unicode.IsDigit(rs[i-1])
			nextLower := i+1 < len(rs) && unicode.IsLower(rs[i+1]) && unicode.IsUpper(rs[i-1])
			if prevLower || nextLower {
				flush(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(rs))
	return out
}

// skeleton maps a text to what it looks like, so that titles that a person
// could not tell apart fall together. A small cousin of Unicode TS 39 4.
func skeleton(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if hidden(r) {
			continue
		}
		if 0xFF01 <= r && r <= 0xFF5E { // full width
			r = unicode.ToLower(r - 0xFEE0)
		}
		if unicode.IsSpace(r) || r == 0x200C || r == 0x200D || unicode.Is(unicode.Mn, r) {
			continue
		}
		if l, ok := lookalikes[r]; ok {
			r = l
		}
		b.WriteRune(r)
	}
	return b.String()
}

var lookalikes = map[rune]rune{
	'1': 'l', 'i': 'l', '|': 'l', 'ı': 'l', '0': 'o', 'ο': 'o', 'о': 'o', 'а': 'a', 'α': 'a',
	'е': 'e', 'ё': 'e', 'ε': 'e', 'р': 'p', 'ρ': 'p', 'с': 'c', 'ϲ': 'c', 'х': 'x', 'χ': 'x', 'у': 'y', 'γ': 'y',
	'і': 'l', 'ι': 'l', 'ӏ': 'l', 'ј': 'j', 'ѕ': 's', 'һ': 'h', 'ԁ': 'd', 'к': 'k', 'κ': 'k', 'т': 't', 'τ': 't',
	'м': 'm', 'н': 'h', 'в': 'b', 'β': 'b', 'ν': 'v', 'ѵ': 'v', 'ԝ': 'w', 'ω': 'w', 'υ': 'u', '’': '\'', '‘': '\'',
	'–': '-', '—': '-', '‐': '-', '‑': '-', '−': '-',
}
