package form

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Layers are schemas that hold together: a property, what its $ref names, the
// one member of its allOf, the one branch of its anyOf that is not null. The
// first layer is the property itself and wins where only one value counts.
type layers []*node

func (l layers) get(key string) *node {
	for _, n := range l {
		if v := n.get(key); v != nil {
			return v
		}
	}
	return nil
}

func (l layers) text(key string) string {
	for _, n := range l {
		if v := n.get(key); v != nil && v.kind == jString {
			return v.str
		}
	}
	return ""
}

// conflict is true when two layers give a keyword that only one can win, and
// give it differently.
func (s *Schema) conflict(l layers) bool {
	for _, key := range [...]string{"type", "format", "pattern", "enum", "const", "items", "multipleOf"} {
		var first *node
		for _, n := range l {
			switch v := n.get(key); {
			case v == nil:
			case first == nil:
				first = v
			case string(s.raw[first.off:first.end]) != string(s.raw[v.off:v.end]):
				return true
			}
		}
	}
	return false
}

// resolve follows a local reference (RFC 6901 in a URI fragment). It never
// leaves the document.
func (s *Schema) resolve(ref string) *node {
	if ref == "#" {
		return s.root
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	n := s.root
	for part := range strings.SplitSeq(rest, "/") {
		part = percentDecode(part)
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch n.kind {
		case jObject:
			n = n.get(part)
		case jArray:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(n.items) {
				return nil
			}
			n = n.items[i]
		default:
			return nil
		}
		if n == nil {
			return nil
		}
	}
	return n
}

func percentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// expand follows $ref and an allOf of one. It gives a reason when it cannot.
func (s *Schema) expand(n *node) (layers, string) {
	var l layers
	for range maxRefs {
		if s.left.steps--; s.left.steps < 0 {
			return l, "the form is too large to read"
		}
		if n.kind != jObject {
			return l, "its description is not an object"
		}
		if slices.Contains(l, n) {
			return l, "it refers to itself"
		}
		l = append(l, n)
		ref, all := n.get("$ref"), n.get("allOf")
		switch {
		case ref != nil && all != nil:
			return l, "it combines several descriptions"
		case ref != nil:
			if ref.kind != jString {
				return l, "its reference cannot be followed"
			}
			if n = s.resolve(ref.str); n == nil {
				return l, "its reference leads nowhere in this form"
			}
		case all != nil:
			if all.kind != jArray || len(all.items) != 1 {
				return l, "it combines several descriptions"
			}
			n = all.items[0]
		default:
			return l, ""
		}
	}
	return l, "its references go too deep"
}

// most and least give the tightest of the layers' bounds.
func (l layers) most(key string) *int {
	var out *int
	for _, n := range l {
		if v := count(n.get(key)); v != nil && (out == nil || *v > *out) {
			out = v
		}
	}
	return out
}

func (l layers) least(key string) *int {
	var out *int
	for _, n := range l {
		if v := count(n.get(key)); v != nil && (out == nil || *v < *out) {
			out = v
		}
	}
	return out
}

// bound gives the highest number of the layers, or with sign -1 the lowest.
func (l layers) bound(key string, sign int) (lit json.Number, b bound) {
	for _, n := range l {
		v := n.get(key)
		if v == nil || v.kind != jNumber {
			continue
		}
		if d := parseDecimal(v.str); !b.set || d.cmp(b.decimal) == sign {
			lit, b = json.Number(v.str), bound{d, true}
		}
	}
	return lit, b
}
