package form

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// compilePattern reads an ECMA-262 pattern as RE2, which runs in linear time.
// Patterns are not anchored (JSON Schema 2020-12 6.3.3). nil means: not run
// here, the server checks alone.
func compilePattern(p string) (*regexp.Regexp, int) {
	if len(p) > maxPattern {
		return nil, 0
	}
	p, ok := translate(p)
	if !ok {
		return nil, 0
	}
	tree, err := syntax.Parse(p, syntax.Perl)
	if err != nil {
		return nil, 0
	}
	if size(tree) > maxPatternOp { // before repeats are written out
		return nil, 0
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxPatternOp {
		return nil, 0
	}
	re, err := regexp.Compile(p)
	if err != nil {
		return nil, 0
	}
	return re, len(prog.Inst)
}

type compiled struct {
	re   *regexp.Regexp
	cost int
}

// size is about how many instructions a pattern will have.
func size(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max)
	}
	return min(n, maxPatternOp+1)
}

// ecmaSpace is what \s means in ECMA-262 (WhiteSpace and LineTerminator). A
// class stands at both ends, so that a hyphen beside it makes no range.
const ecmaSpace = `\p{Z}\t\n\x{b}\f\r\x{feff}\p{Z}`

// translate rewrites what the two dialects write or mean differently, and
// refuses what RE2 would take for something else.
func translate(p string) (string, bool) {
	var b strings.Builder
	class := false
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case c == '[':
			if class { // a literal in ECMA-262, perhaps [:alpha:] in RE2
				b.WriteString(`\[`)
				continue
			}
			class = true
			b.WriteByte(c)
			if i+1 < len(p) && p[i+1] == '^' {
				i++
				b.WriteByte('^')
			}
			if i+1 < len(p) && p[i+1] == ']' {
				return "", false // [] and [^] mean nothing and anything
			}
		case c == ']' && class:
			class = false
			b.WriteByte(c)
		case c == '(' && !class && strings.HasPrefix(p[i:], "(?") &&
			!strings.HasPrefix(p[i:], "(?:") && !strings.HasPrefix(p[i:], "(?<"):
			return "", false // flags are RE2's own; lookahead it refuses anyway
		case c == '.' && !class:
			b.WriteString(`[^\n\r\x{2028}\x{2029}]`)
		case c == '\\' && i+1 < len(p):
			escape, n, ok := translateEscape(p[i+1:], class)
			if !ok {
				return "", false
			}
			b.WriteString(escape)
			i += n
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// translateEscape rewrites the escape whose backslash stands before p. n is
// what it takes of p, which is not empty.
func translateEscape(p string, class bool) (escape string, n int, ok bool) {
	switch p[0] {
	case 'x':
		return `\x`, 1, !strings.HasPrefix(p, "x{")
	case 'u':
		if code, _, ok := strings.Cut(p[1:], "}"); ok && len(code) > 1 && code[0] == '{' {
			return `\x` + code + `}`, len(code) + 2, true
		}
		r, ok := hex4([]byte(`\` + p))
		if !ok || 0xD800 <= r && r <= 0xDFFF {
			return "", 0, false
		}
		return `\x{` + p[1:5] + `}`, 5, true
	case 's':
		if class {
			return ecmaSpace, 1, true
		}
		return `[` + ecmaSpace + `]`, 1, true
	case 'S':
		return `[^` + ecmaSpace + `]`, 1, !class
	case 'v':
		return `\x{b}`, 1, true
	case 'A', 'z', 'Q', 'E', 'C', 'a', 'c', 'k', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return "", 0, false
	case '0':
		return `\x{0}`, 1, true
	case 'b':
		if class { // backspace
			return `\x{8}`, 1, true
		}
		return `\b`, 1, true
	}
	return `\` + p[:1], 1, true
}
