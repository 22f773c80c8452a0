package form

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A syntaxError is a place where bytes stop being JSON that Parley reads.
// It never quotes the input.
type syntaxError struct {
	off    int
	reason string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.reason, e.off) }

// The kinds of JSON value, as the scanner names them.
const (
	jObject = '{'
	jArray  = '['
	jString = '"'
	jNumber = '0'
	jBool   = 't'
	jNull   = 'n'
)

// A scanner reads strict JSON (RFC 8259) in place: no value is copied unless
// it holds an escape. Beyond the RFC it refuses what two readers could read
// differently: bytes that are not UTF-8 and surrogates without a partner
// (RFC 7493 2.1). Duplicate names are for the callers to refuse, since only
// they know the names.
type scanner struct {
	b []byte
	i int
}

// A token is one JSON value: its kind and where it starts and ends.
// escaped is true for a string that holds a backslash.
type token struct {
	kind       byte
	start, end int
	escaped    bool
}

func (s *scanner) fail(off int, reason string) error { return &syntaxError{off, reason} }

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// peek skips space and gives the kind of the next value.
func (s *scanner) peek() (byte, error) {
	s.space()
	if s.i >= len(s.b) {
		return 0, s.fail(s.i, "unexpected end")
	}
	switch c := s.b[s.i]; {
	case c == '{' || c == '[' || c == '"':
		return c, nil
	case c == '-' || '0' <= c && c <= '9':
		return jNumber, nil
	case c == 't' || c == 'f':
		return jBool, nil
	case c == 'n':
		return jNull, nil
	}
	return 0, s.fail(s.i, "unexpected character")
}

// scalar reads a string, number, boolean or null.
func (s *scanner) scalar(kind byte) (token, error) {
	switch kind {
	case jString:
		return s.str()
	case jNumber:
		return s.number()
	}
	word := "null"
	if kind == jBool {
		word = "true"
		if s.b[s.i] == 'f' {
			word = "false"
		}
	}
	start := s.i
	if len(s.b)-start < len(word) || string(s.b[start:start+len(word)]) != word {
		return token{}, s.fail(start, "unexpected character")
	}
	s.i += len(word)
	return token{kind: kind, start: start, end: s.i}, nil
}

func (s *scanner) number() (token, error) {
	start := s.i
	i := s.i
	digits := func() bool {
		from := i
		for i < len(s.b) && '0' <= s.b[i] && s.b[i] <= '9' {
			i++
		}
		return i > from
	}
	if s.b[i] == '-' {
		i++
	}
	if i < len(s.b) && s.b[i] == '0' {
		i++
		if i < len(s.b) && '0' <= s.b[i] && s.b[i] <= '9' {
			return token{}, s.fail(i, "number starts with a zero")
		}
	} else if !digits() {
		return token{}, s.fail(i, "number without digits")
	}
	if i < len(s.b) && s.b[i] == '.' {
		i++
		if !digits() {
			return token{}, s.fail(i, "number without digits")
		}
	}
	if i < len(s.b) && (s.b[i] == 'e' || s.b[i] == 'E') {
		i++
		if i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		if !digits() {
			return token{}, s.fail(i, "number without digits")
		}
	}
	s.i = i
	return token{kind: jNumber, start: start, end: i}, nil
}

func (s *scanner) str() (token, error) {
	t := token{kind: jString, start: s.i}
	i := s.i + 1
	for i < len(s.b) {
		switch c := s.b[i]; {
		case c == '"':
			s.i = i + 1
			t.end = s.i
			return t, nil
		case c < ' ':
			return t, s.fail(i, "control character in a string")
		case c == '\\':
			t.escaped = true
			if i+1 >= len(s.b) {
				return t, s.fail(i, "unexpected end")
			}
			switch s.b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				r, ok := hex4(s.b[i:])
				if !ok {
					return t, s.fail(i, "bad escape in a string")
				}
				n := 6
				if utf16.IsSurrogate(r) {
					low, ok := hex4(s.b[i+6:])
					if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
						return t, s.fail(i, "surrogate without a partner in a string")
					}
					n = 12
				}
				i += n
			default:
				return t, s.fail(i, "bad escape in a string")
			}
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(s.b[i:])
			if r == utf8.RuneError && n == 1 {
				return t, s.fail(i, "text is not UTF-8")
			}
			i += n
		}
	}
	return t, s.fail(i, "unexpected end")
}

// hex4 reads \uXXXX at the start of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// text gives the bytes a string token stands for: a part of the input where
// it can, a copy where there are escapes.
func (s *scanner) text(t token) []byte {
	raw := s.b[t.start+1 : t.end-1]
	if !t.escaped {
		return raw
	}
	return unescape(raw)
}

// unescape expects what str has accepted.
func unescape(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		c := raw[i+1]
		i += 2
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, _ := hex4(raw[i-2:])
			i += 4
			if utf16.IsSurrogate(r) {
				low, _ := hex4(raw[i:])
				r = utf16.DecodeRune(r, low)
				i += 6
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		out = append(out, c)
	}
	return out
}

// next steps through an object or array after its opening byte has been
// consumed: it is true when another member follows.
func (s *scanner) next(closing byte, first bool) (bool, error) {
	s.space()
	if s.i >= len(s.b) {
		return false, s.fail(s.i, "unexpected end")
	}
	c := s.b[s.i]
	switch {
	case c == closing:
		s.i++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.i++
		return true, nil
	}
	return false, s.fail(s.i, "unexpected character")
}

// key reads a member name and the colon after it.
func (s *scanner) key() (token, error) {
	kind, err := s.peek()
	if err != nil {
		return token{}, err
	}
	if kind != jString {
		return token{}, s.fail(s.i, "expected a name")
	}
	t, err := s.str()
	if err != nil {
		return t, err
	}
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != ':' {
		return t, s.fail(s.i, "expected a colon")
	}
	s.i++
	return t, nil
}

// finish demands that nothing follows.
func (s *scanner) finish() error {
	s.space()
	if s.i < len(s.b) {
		return s.fail(s.i, "something follows the value")
	}
	return nil
}

// A node is a JSON value that keeps its place and the order of its members.
type node struct {
	kind     byte
	off, end int
	str      string // the text of a string, the literal of a number or boolean
	members  []member
	items    []*node
	index    map[string]int // of members, where there are many
}

type member struct {
	key string
	off int // of the name
	val *node
}

func (n *node) get(key string) *node {
	if n == nil || n.kind != jObject {
		return nil
	}
	if n.index != nil {
		if i, ok := n.index[key]; ok {
			return n.members[i].val
		}
		return nil
	}
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].val
		}
	}
	return nil
}

// tree reads one whole value. Names that come twice in one object are
// refused: readers differ in which one counts. left bounds the number of
// values.
func (s *scanner) tree(depth int, left *int, path *pointer) (*node, error) {
	kind, err := s.peek()
	if err != nil {
		return nil, err
	}
	if *left--; *left < 0 {
		return nil, s.fail(s.i, "too many values")
	}
	if kind != jObject && kind != jArray {
		t, err := s.scalar(kind)
		if err != nil {
			return nil, err
		}
		n := &node{kind: kind, off: t.start, end: t.end}
		if kind == jString {
			n.str = string(s.text(t))
		} else {
			n.str = string(s.b[t.start:t.end])
		}
		return n, nil
	}
	if depth <= 0 {
		return nil, s.fail(s.i, "too deep")
	}
	n := &node{kind: kind, off: s.i}
	s.i++
	if kind == jArray {
		for first := true; ; first = false {
			more, err := s.next(']', first)
			if err != nil {
				return nil, err
			}
			if !more {
				break
			}
			path.push(strconv.Itoa(len(n.items)))
			v, err := s.tree(depth-1, left, path)
			if err != nil {
				return nil, err
			}
			path.pop()
			n.items = append(n.items, v)
		}
		n.end = s.i
		return n, nil
	}
	if err := s.members(n, depth-1, left, path); err != nil {
		return nil, err
	}
	n.end = s.i
	return n, nil
}

// members reads the inside of object n, and its end.
func (s *scanner) members(n *node, depth int, left *int, path *pointer) error {
	for first := true; ; first = false {
		more, err := s.next('}', first)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		k, err := s.key()
		if err != nil {
			return err
		}
		key := string(s.text(k))
		path.push(key)
		if len(n.members) == 8 {
			n.index = make(map[string]int)
			for i, m := range n.members {
				n.index[m.key] = i
			}
		}
		if n.get(key) != nil {
			return s.fail(k.start, "name given twice")
		}
		if n.index != nil {
			n.index[key] = len(n.members)
		}
		v, err := s.tree(depth, left, path)
		if err != nil {
			return err
		}
		path.pop()
		n.members = append(n.members, member{key, k.start, v})
	}
}

// A pointer is a JSON Pointer (RFC 6901) under construction.
type pointer struct{ parts []string }

func (p *pointer) push(s string) { p.parts = append(p.parts, s) }
func (p *pointer) pop()          { p.parts = p.parts[:len(p.parts)-1] }
func (p *pointer) String() string {
	return join(p.parts...)
}

// join builds a JSON Pointer from unescaped parts.
func join(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = append(b, '/')
		for i := range len(p) {
			switch p[i] {
			case '~':
				b = append(b, "~0"...)
			case '/':
				b = append(b, "~1"...)
			default:
				b = append(b, p[i])
			}
		}
	}
	return string(b)
}
