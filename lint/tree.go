package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds on what is read.
const (
	// MaxInput is the largest input that Lint reads, in bytes.
	MaxInput = 8 << 20

	maxDepth    = 200     // of JSON
	maxNodes    = 300_000 // values in one document
	maxFindings = 1000    // of one report; an input past it is hopeless anyway
)

type nodeKind uint8

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	stringNode
	arrayNode
	objectNode
)

// A node is one JSON value with its place in the bytes. A nil node is an absent
// value; its methods give nothing.
type node struct {
	kind     nodeKind
	off, end int

	// namesJudged: twoWays has looked for members that are there twice.
	namesJudged bool

	str     string // a string's value, a number's literal, "true" or "false"
	members []member
	items   []*node
}

type member struct {
	key string
	off int // of the key
	val *node
}

// get gives the last value under key, as most readers do.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range slices.Backward(n.members) {
		if m.key == key {
			return m.val
		}
	}
	return nil
}

func (n *node) is(k nodeKind) bool { return n != nil && n.kind == k }

// text is the value of a string, and "" of anything else.
func (n *node) text() string {
	if n.is(stringNode) {
		return n.str
	}
	return ""
}

// A SyntaxError says where an input stops being JSON.
type SyntaxError struct {
	Line, Column int // from 1; the column counts code points
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: not JSON: %s", e.Line, e.Column, e.Reason)
}

var (
	errDeep = errors.New("nested too deeply")
	errMany = fmt.Errorf("more than %d values", maxNodes)
)

// readTree reads one JSON value. Offsets in it start at base.
func readTree(b []byte, base int) (*node, error) {
	if !json.Valid(b) {
		var sink json.RawMessage
		return nil, json.Unmarshal(b, &sink)
	}
	r := &treeReader{b: b, base: base}
	n := r.value(0)
	return n, r.err
}

// A treeReader walks over bytes that are known to be valid JSON.
type treeReader struct {
	b     []byte
	i     int
	base  int
	nodes int
	err   error
}

func (r *treeReader) space() {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\t', '\r', '\n', ',', ':':
			r.i++
		default:
			return
		}
	}
}

func (r *treeReader) value(depth int) *node {
	r.space()
	n := &node{off: r.base + r.i}
	if r.nodes++; r.nodes > maxNodes {
		r.err = errMany
	}
	if depth > maxDepth {
		r.err = errDeep
	}
	if r.err != nil {
		return n
	}
	switch c := r.b[r.i]; c {
	case '{':
		n.kind = objectNode
		r.i++
		for r.space(); r.b[r.i] != '}'; r.space() {
			off := r.base + r.i
			key := r.string()
			n.members = append(n.members, member{key, off, r.value(depth + 1)})
			if r.err != nil {
				return n
			}
		}
		r.i++
	case '[':
		n.kind = arrayNode
		r.i++
		for r.space(); r.b[r.i] != ']'; r.space() {
			n.items = append(n.items, r.value(depth+1))
			if r.err != nil {
				return n
			}
		}
		r.i++
	case '"':
		n.kind, n.str = stringNode, r.string()
	default:
		start := r.i
		for r.i < len(r.b) && !isEnd(r.b[r.i]) {
			r.i++
		}
		n.str = string(r.b[start:r.i])
		switch c {
		case 'n':
			n.kind = nullNode
		case 't', 'f':
			n.kind = boolNode
		default:
			n.kind = numberNode
		}
	}
	n.end = r.base + r.i
	return n
}

func isEnd(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', ']', '}':
		return true
	}
	return false
}

func (r *treeReader) string() string {
	start, plain := r.i, true
	for r.i++; r.b[r.i] != '"'; r.i++ {
		if r.b[r.i] == '\\' {
			plain = false
			r.i++
		}
	}
	r.i++
	raw := r.b[start:r.i]
	if plain && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		r.err = err // cannot be: the bytes are valid
	}
	return s
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// at extends a JSON Pointer (RFC 6901).
func at(pointer string, keys ...string) string {
	for _, k := range keys {
		if strings.ContainsAny(k, "~/") {
			k = pointerEscapes.Replace(k)
		}
		pointer += "/" + k
	}
	return pointer
}

func atIndex(pointer string, i int) string { return pointer + "/" + strconv.Itoa(i) }

// lines finds the line and column of an offset.
type lines struct {
	b      []byte
	starts []int
}

func newLines(b []byte) *lines {
	l := &lines{b: b, starts: []int{0}}
	for i, c := range b {
		if c == '\n' {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// place counts columns in code points, from 1.
func (l *lines) place(off int) (line, column int) {
	off = min(max(off, 0), len(l.b))
	lo, hi := 0, len(l.starts)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; l.starts[mid] <= off {
			lo = mid
		} else {
			hi = mid
		}
	}
	// One line can be the whole file: what is counted is bounded.
	from := l.starts[lo]
	return lo + 1, utf8.RuneCount(l.b[from:off]) + 1
}
