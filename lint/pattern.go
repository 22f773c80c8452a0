package lint

import (
	"regexp/syntax"
	"strings"
)

// pattern judges the pattern of a text (ECMA-262, as JSON Schema 2020-12
// recommends).
func (f *formLinter) pattern(ptr, name string, n *node) {
	p := n.get("pattern")
	if !p.is(stringNode) {
		return
	}
	at := at(ptr, "pattern")
	if !compiles(p.str) {
		f.add("pattern-invalid", at, p.off, "the pattern of "+name+" does not compile")
		return
	}
	if runsAway(p.str) {
		f.add("pattern-runaway", at, p.off, "the pattern of "+name+" repeats a repetition")
	}
	if !strings.HasPrefix(p.str, "^") || !strings.HasSuffix(p.str, "$") {
		f.add("pattern-unanchored", at, p.off, "the pattern of "+name+" is not anchored at both ends")
	}
}

// compiles is false for what is a pattern in no dialect: brackets that do not
// match, nothing to repeat, a backslash at the end. What only RE2 refuses, such
// as a look-around, compiles.
func compiles(p string) bool {
	depth, atom := 0, false // atom: something stands before that can be repeated
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			if i++; i >= len(p) {
				return false
			}
			atom = p[i] != 'b' && p[i] != 'B'
		case '[':
			n := classLength(p[i:])
			if n == 0 {
				return false
			}
			i += n - 1
			atom = true
		case '(':
			depth++
			atom = false
			if strings.HasPrefix(p[i+1:], "?") { // (?: (?= (?! (?<= (?<! (?<name>
				rest := p[i+2:]
				if rest == "" || !strings.ContainsRune(":=!<", rune(rest[0])) {
					return false
				}
				i += 2
			}
		case ')':
			if depth--; depth < 0 {
				return false
			}
			atom = true
		case '|', '^', '$':
			atom = false
		case '*', '+', '?', '{':
			n := quantifierLength(p[i:])
			if n == 0 || !atom {
				return false
			}
			i += n - 1
			atom = false
		case '}':
			return false
		default:
			atom = true
		}
	}
	return depth == 0
}

// classLength measures the class that s begins with; 0 if it has no end.
func classLength(s string) int {
	i := 1
	if strings.HasPrefix(s[i:], "^") {
		i++
	}
	for ; i < len(s); i++ { // [] is a class that matches nothing
		switch s[i] {
		case ']':
			return i + 1
		case '\\':
			i++
		}
	}
	return 0
}

// quantifierLength measures the quantifier that s begins with; 0 if it is none.
func quantifierLength(s string) int {
	n := 1
	if s[0] == '{' {
		low, high, ok := counts(s)
		if !ok || high >= 0 && low > high {
			return 0 // the u flag allows no bare brace
		}
		n = strings.IndexByte(s, '}') + 1
	}
	if strings.HasPrefix(s[n:], "?") {
		n++
	}
	return n
}

// counts reads {2}, {2,} and {2,5}. high is -1 where there is none.
func counts(s string) (low, high int, ok bool) {
	body, _, found := strings.Cut(s[1:], "}")
	if !found {
		return 0, 0, false
	}
	a, b, comma := strings.Cut(body, ",")
	low, ok = atoi(a)
	if !ok {
		return 0, 0, false
	}
	if !comma {
		return low, low, true
	}
	if b == "" {
		return low, -1, true
	}
	high, ok = atoi(b)
	return low, high, ok
}

func atoi(s string) (int, bool) {
	if s == "" {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int(c-'0'), 1<<30)
	}
	return n, true
}

// runsAway finds a repetition inside a repetition, or alternatives that begin
// alike inside one: a backtracking engine tries exponentially many ways.
func runsAway(p string) bool {
	if len(p) > 4096 {
		return true // nobody can say
	}
	// Look-around and back references are no part of RE2; what they hold is
	// judged as a group.
	p = strings.NewReplacer("(?=", "(?:", "(?!", "(?:", "(?<=", "(?:", "(?<!", "(?:").Replace(p)
	re, err := syntax.Parse(p, syntax.Perl)
	return err == nil && nested(re, false)
}

// unbounded repetitions are those that let the engine choose among many ways.
func unbounded(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpPlus:
		return true
	case syntax.OpRepeat:
		return re.Max < 0 || re.Max > 20 && re.Max > re.Min
	}
	return false
}

func nested(re *syntax.Regexp, inside bool) bool {
	again := unbounded(re)
	if again {
		body := re.Sub[0]
		for body.Op == syntax.OpCapture {
			body = body.Sub[0]
		}
		if ambiguous(body) {
			return true
		}
		inside = true
	}
	for _, sub := range re.Sub {
		if nested(sub, inside) {
			return true
		}
	}
	return false
}

// ambiguous is true for a repeated body that can match one text in two ways
// when it is repeated: it is nothing but repetitions, as in (a+)*, or it ends
// and begins with one that can take the same character, as in (a+b?)*, or two
// of its alternatives begin alike.
func ambiguous(body *syntax.Regexp) bool {
	for body.Op == syntax.OpCapture {
		body = body.Sub[0]
	}
	switch body.Op {
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat, syntax.OpQuest:
		return unbounded(body) || body.Op == syntax.OpQuest && ambiguous(body.Sub[0])
	case syntax.OpAlternate:
		for i, sub := range body.Sub {
			if ambiguous(sub) {
				return true
			}
			for _, other := range body.Sub[:i] {
				if sub.Equal(other) || overlap(first(sub), first(other)) && single(sub) && single(other) {
					return true
				}
			}
		}
		return false
	case syntax.OpConcat:
		return meets(body.Sub)
	}
	return false
}

// meets is true for the parts of a repeated concatenation if two repetitions
// can take one character and nothing obligatory between them, that they cannot
// take, keeps them apart.
func meets(parts []*syntax.Regexp) bool {
	for i, part := range parts {
		if !contains(part) {
			continue
		}
		mine := last(part)
		separated := false
		for k := 1; k <= len(parts) && !separated; k++ {
			next := parts[(i+k)%len(parts)]
			if contains(next) && overlap(mine, first(next)) {
				return true
			}
			if !optional(next) {
				separated = !overlap(mine, first(next))
				if !separated && k < len(parts) {
					continue
				}
				break
			}
		}
	}
	return false
}

func contains(re *syntax.Regexp) bool {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	return unbounded(re)
}

func optional(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpQuest, syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpBeginLine, syntax.OpEndLine:
		return true
	case syntax.OpRepeat:
		return re.Min == 0
	case syntax.OpCapture:
		return optional(re.Sub[0])
	}
	return false
}

// single is true for an alternative of one character, such as \w in (\w|a)*.
func single(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		return len(re.Rune) == 1
	case syntax.OpCapture:
		return single(re.Sub[0])
	}
	return false
}

// first and last give the characters that a part can begin or end with, as
// pairs of bounds; nil means any.
func first(re *syntax.Regexp) []rune { return edge(re, false) }
func last(re *syntax.Regexp) []rune  { return edge(re, true) }

func edge(re *syntax.Regexp, end bool) []rune {
	switch re.Op {
	case syntax.OpLiteral:
		r := re.Rune[0]
		if end {
			r = re.Rune[len(re.Rune)-1]
		}
		return []rune{r, r}
	case syntax.OpCharClass:
		return re.Rune
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return edge(re.Sub[0], end)
	case syntax.OpConcat:
		i := 0
		if end {
			i = len(re.Sub) - 1
		}
		if optional(re.Sub[i]) {
			return nil
		}
		return edge(re.Sub[i], end)
	}
	return nil
}

func overlap(a, b []rune) bool {
	if a == nil || b == nil {
		return true
	}
	for i := 0; i+1 < len(a); i += 2 {
		for j := 0; j+1 < len(b); j += 2 {
			if a[i] <= b[j+1] && b[j] <= a[i+1] {
				return true
			}
		}
	}
	return false
}
