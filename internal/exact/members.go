package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// ErrMany: an object has more members than are read.
var ErrMany = errors.New("an object has too many members")

var errObject = errors.New("not an object")

// A Member is one name and value of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members splits a JSON object into slices of raw, in the order of the bytes. It
// refuses more members than limit, repeated names, and what follows the object: two
// readers of an object with a repeated name see different objects. It copies
// nothing: a message may be large.
func Members(raw []byte, limit int) ([]Member, error) {
	if !json.Valid(raw) {
		return nil, errSyntax
	}
	// From here on raw is one JSON value, so no index runs past its end.
	i := space(raw, 0)
	if raw[i] != '{' {
		return nil, errObject
	}
	var out []Member
	seen := make(map[string]bool)
	for i = space(raw, i+1); raw[i] != '}'; {
		if len(out) == limit {
			return nil, ErrMany
		}
		end := skip(raw, i)
		name, err := text(raw[i:end])
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, ErrTwice
		}
		seen[name] = true
		i = space(raw, space(raw, end)+1) // past the colon
		end = skip(raw, i)
		out = append(out, Member{name, raw[i:end:end]})
		if i = space(raw, end); raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
	return out, nil
}

// space is the index of the first byte from i on that is no JSON white space.
func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n') {
		i++
	}
	return i
}

// skip is the index after the JSON value that starts at i in valid JSON.
func skip(raw []byte, i int) int {
	deep := 0
	for {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			deep++
			i++
			continue
		case '}', ']':
			deep--
			i++
		case ',', ':', ' ', '\t', '\r', '\n': // only inside
			i++
			continue
		default: // a number, true, false or null
			for i < len(raw) && !strings.ContainsRune(",:]} \t\r\n", rune(raw[i])) {
				i++
			}
		}
		if deep == 0 {
			return i
		}
	}
}

// text decodes a JSON string.
func text(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", errSyntax
	}
	return s, nil
}

// maxMembers bounds the members that Unmarshal reads.
const maxMembers = 10_000

// Unmarshal reads an object into the struct that into points to. It does so as
// [json.Unmarshal] does, which however takes "URL" for "url" and the last of several:
// here a member counts under exactly the name in a field's tag, and an object that
// names a member twice is an error. null changes nothing.
//
// That goes for this object alone. What is within is read by encoding/json, so the
// fields are scalars, lists of them, or raw messages, to be read in their turn.
func Unmarshal(raw []byte, into any) error {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	members, err := Members(raw, maxMembers)
	if err != nil {
		return err
	}
	values := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		values[m.Name] = m.Value
	}
	for field, v := range reflect.ValueOf(into).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value, ok := values[name]
		if !ok {
			continue
		}
		// As encoding/json does it, one member of the wrong kind keeps no other from
		// being read.
		if wrong := json.Unmarshal(value, v.Addr().Interface()); wrong != nil && err == nil {
			err = fmt.Errorf("%s is of another kind", name)
		}
	}
	return err
}

// Ambiguous reports whether a member differs in nothing but case from one of the names
// that a reader knows. encoding/json is not the only decoder that would take it for
// that one.
func Ambiguous(members []Member, known ...string) bool {
	for _, m := range members {
		for _, name := range known {
			if m.Name != name && strings.EqualFold(m.Name, name) {
				return true
			}
		}
	}
	return false
}

// Once says whether no object of a JSON text, however deep, names a member twice: of
// such a member one program reads the first, another the last.
func Once(raw []byte) error {
	if !json.Valid(raw) {
		return errSyntax
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var open []level
	for len(open) > 0 || dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return errSyntax
		}
		delim, _ := tok.(json.Delim)
		if delim == '}' || delim == ']' {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1].seen != nil {
			if in := &open[n-1]; in.name {
				name, _ := tok.(string)
				if in.seen[name] {
					return ErrTwice
				}
				in.seen[name], in.name = true, false
				continue
			}
			open[n-1].name = true // after this value
		}
		switch delim {
		case '{':
			open = append(open, level{seen: map[string]bool{}, name: true})
		case '[':
			open = append(open, level{})
		}
	}
	return nil
}

// A level is an array or object that Once is within.
type level struct {
	seen map[string]bool // of an object: the names so far
	name bool            // a name comes next
}
