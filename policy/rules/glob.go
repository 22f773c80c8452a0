package rules

import (
	"errors"
	"slices"
	"unicode/utf8"
)

// maxGlob bounds a pattern, in bytes.
const maxGlob = 256

// A glob is a compiled pattern:
//
//   - any characters but "/" and ".", also none
//     **   any characters, also none
//     ?    one character but "/" and "."
//     \c   the character c itself, which is one of * ? \
//
// Everything else stands for itself; case counts; the whole name has to match.
type glob []globPart

type globPart struct {
	kind globKind
	char rune // of a literal
}

type globKind uint8

const (
	literal globKind = iota
	anyChar
	anyRun
	anyPath
)

var errLoneStar = errors.New("a lone * does not match names with . or /: write ** for every name")

func compileGlob(pattern string) (glob, error) {
	switch {
	case pattern == "":
		return nil, errors.New("an empty pattern matches nothing")
	case len(pattern) > maxGlob:
		return nil, errors.New("a pattern has at most 256 bytes")
	case pattern == "*":
		return nil, errLoneStar
	case !utf8.ValidString(pattern):
		return nil, errors.New("a pattern is UTF-8")
	}
	var g glob
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; c {
		case '\\':
			i++
			if i == len(runes) || !slices.Contains([]rune{'*', '?', '\\'}, runes[i]) {
				return nil, errors.New(`\ stands before *, ? or \ only`)
			}
			g = append(g, globPart{literal, runes[i]})
		case '?':
			g = append(g, globPart{kind: anyChar})
		case '*':
			stars := 1
			for i+1 < len(runes) && runes[i+1] == '*' {
				i++
				stars++
			}
			if stars > 2 {
				return nil, errors.New("write * or **, not three stars")
			}
			g = append(g, globPart{kind: []globKind{anyRun, anyPath}[stars-1]})
		default:
			g = append(g, globPart{literal, c})
		}
	}
	return g, nil
}

// match takes time proportional to the lengths of pattern and name, whatever
// they are: it keeps the set of places in the pattern that the name read so far
// can have led to.
func (g glob) match(name string) bool {
	at := make([]bool, len(g)+1)
	next := make([]bool, len(g)+1)
	at[0] = true
	g.skip(at)
	for _, c := range name {
		clear(next)
		alive := false
		for i, part := range g {
			if !at[i] {
				continue
			}
			inner := c != '/' && c != '.'
			switch {
			case part.kind == literal && part.char == c, part.kind == anyChar && inner:
				next[i+1], alive = true, true
			case part.kind == anyPath, part.kind == anyRun && inner:
				next[i], alive = true, true
			}
		}
		if !alive {
			return false
		}
		at, next = next, at
		g.skip(at)
	}
	return at[len(g)]
}

// skip adds the places that are reached by a star that stands for nothing.
func (g glob) skip(at []bool) {
	for i, part := range g {
		if at[i] && (part.kind == anyRun || part.kind == anyPath) {
			at[i+1] = true
		}
	}
}
