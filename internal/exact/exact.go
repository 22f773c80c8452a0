// Package exact reads JSON of strangers without deciding for them what it
// means: numbers keep their spelling, and a text that two programs would read
// in two ways is an error.
package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds how deep arrays and objects may be within each other.
const MaxDepth = 64

// ErrTwice: an object has a member twice.
var ErrTwice = errors.New("an object names a member twice")

// Errors of this package name no member and quote nothing: they end up in sentences
// that others read than those who may see the text.
var (
	errSyntax = errors.New("no JSON")
	errDepth  = fmt.Errorf("nested deeper than %d levels", MaxDepth)
	errText   = errors.New("a text has half a character")
)

// Decode reads one JSON value: nil, bool, string, json.Number, []any or
// map[string]any. Beside what is no JSON it refuses:
//   - members of one object that differ in nothing but case: of those, some
//     programs read the first, some the last, and some each;
//   - unpaired surrogates and bytes that are no UTF-8, which programs replace in
//     different ways;
//   - values nested deeper than MaxDepth.
func Decode(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errText
	}
	if !json.Valid(raw) {
		return nil, errSyntax
	}
	if unpaired(raw) {
		return nil, errText
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := value(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errSyntax
	}
	return v, nil
}

func value(dec *json.Decoder, depth int) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, errSyntax
	}
	delim, nested := tok.(json.Delim)
	if !nested {
		return tok, nil
	}
	if depth == MaxDepth {
		return nil, errDepth
	}
	var result any
	if delim == '[' {
		result, err = array(dec, depth+1)
	} else {
		result, err = object(dec, depth+1)
	}
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != nil { // the closing one
		return nil, errSyntax
	}
	return result, nil
}

func array(dec *json.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := value(dec, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func object(dec *json.Decoder, depth int) (any, error) {
	members, folded := map[string]any{}, map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		name, ok := tok.(string)
		if err != nil || !ok {
			return nil, errSyntax
		}
		fold := fold(name)
		if folded[fold] {
			return nil, ErrTwice
		}
		folded[fold] = true
		if members[name], err = value(dec, depth); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// fold maps names that strings.EqualFold takes for the same to one text: upper
// case first, since a few letters (the Kelvin sign, the long s) have a lower
// case only on that way.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// unpaired reports whether valid JSON has an escaped surrogate without its other
// half.
func unpaired(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // the escaped letter; a valid text has one
		if raw[i] != 'u' {
			continue
		}
		unit := hex4(raw[i+1:])
		i += 4
		switch {
		case unit >= 0xDC00 && unit < 0xE000:
			return true
		case unit >= 0xD800 && unit < 0xDC00:
			rest := raw[i+1:]
			if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
				return true
			}
			if low := hex4(rest[2:]); low < 0xDC00 || low >= 0xE000 {
				return true
			}
			i += 6
		}
	}
	return false
}

// hex4 reads four hexadecimal digits of a valid text.
func hex4(b []byte) (unit rune) {
	for _, c := range b[:4] {
		unit <<= 4
		switch {
		case c <= '9':
			unit |= rune(c - '0')
		default:
			unit |= rune(c|0x20-'a') + 10
		}
	}
	return unit
}
