package elicit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of canonical JSON. No number is expanded: an exponent stays one.
const (
	maxDepth    = 64
	maxDigits   = 400
	maxExponent = 400
)

// argumentsDigest returns the digest of a call's arguments. Two texts have the
// same digest if they are the same JSON value: the order of keys, white space,
// escapes and the way a number is written (1, 1.0, 10e-1) make no difference,
// and numbers are compared as exact decimals, never as floats.
//
// Arguments that are not given, null and {} are the same: clients differ in
// what they send for a tool without arguments.
func argumentsDigest(arguments json.RawMessage) (string, error) {
	text := bytes.TrimSpace(arguments)
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		text = []byte("{}")
	}
	canonical, err := canonicalText(text)
	if err != nil {
		return "", err
	}
	return digest(canonical), nil
}

func digest(parts ...[]byte) string {
	hash := sha256.New()
	for _, part := range parts {
		// The length before each part keeps ("ab", "c") and ("a", "bc") apart.
		fmt.Fprintf(hash, "%d:", len(part))
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// canonicalText gives the canonical form of the JSON text: sorted keys, no
// white space, one spelling per string and per number. Duplicate keys are an
// error, because parsers disagree about which of them counts.
func canonicalText(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	dst, err := canonicalValue(nil, decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return dst, nil
}

func canonicalValue(dst []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, errors.New("not valid JSON")
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return canonicalObject(dst, decoder, depth)
		}
		return canonicalArray(dst, decoder, depth)
	case json.Number:
		number, err := parseDecimal(token.String())
		if err != nil {
			return nil, err
		}
		return number.append(dst), nil
	case string:
		return appendString(dst, token), nil
	case bool:
		return strconv.AppendBool(dst, token), nil
	}
	return append(dst, "null"...), nil
}

func canonicalObject(dst []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	members := make(map[string][]byte)
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, errors.New("not valid JSON")
		}
		key, ok := token.(string)
		if !ok {
			return nil, errors.New("not valid JSON")
		}
		if _, twice := members[key]; twice {
			return nil, fmt.Errorf("key %q is there twice", shorten(key, 64))
		}
		if members[key], err = canonicalValue(nil, decoder, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errors.New("not valid JSON")
	}
	dst = append(dst, '{')
	for i, key := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, key), ':')
		dst = append(dst, members[key]...)
	}
	return append(dst, '}'), nil
}

func canonicalArray(dst []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	dst = append(dst, '[')
	for first := true; decoder.More(); first = false {
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = canonicalValue(dst, decoder, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errors.New("not valid JSON")
	}
	return append(dst, ']'), nil
}

func appendString(dst []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return append(dst, text...)
}

// decimal is ±digits × 10^exponent, with no zero at either end of digits; zero
// has no digits. It is never expanded.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// parseDecimal reads a number in JSON's grammar.
func parseDecimal(text string) (decimal, error) {
	var d decimal
	mantissa, power, hasPower := strings.Cut(strings.ToLower(text), "e")
	if hasPower {
		exponent, err := strconv.Atoi(power)
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return decimal{}, fmt.Errorf("a number with an exponent beyond %d", maxExponent)
		}
		d.exponent = exponent
	}
	mantissa, d.negative = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if len(whole)+len(fraction) > maxDigits {
		return decimal{}, fmt.Errorf("a number of more than %d digits", maxDigits)
	}
	d.exponent -= len(fraction)
	d.digits = strings.TrimLeft(whole+fraction, "0")
	if trimmed := strings.TrimRight(d.digits, "0"); trimmed != d.digits {
		d.exponent += len(d.digits) - len(trimmed)
		d.digits = trimmed
	}
	if d.digits == "" {
		return decimal{}, nil // 0, -0, 0.0 and 0e9 are one number
	}
	return d, nil
}

// append writes the number as digits and exponent. Only the digest reads it.
func (d decimal) append(dst []byte) []byte {
	if d.digits == "" {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, d.digits...)
	if d.exponent != 0 {
		dst = strconv.AppendInt(append(dst, 'e'), int64(d.exponent), 10)
	}
	return dst
}

// integer returns the number without point and exponent if it is a whole
// number of a length that fits in any Go integer.
func (d decimal) integer() (string, bool) {
	if d.digits == "" {
		return "0", true
	}
	if d.exponent < 0 || len(d.digits)+d.exponent > 20 {
		return "", false
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	return sign + d.digits + strings.Repeat("0", d.exponent), true
}

// shorten cuts s to at most n bytes at a character's edge.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
