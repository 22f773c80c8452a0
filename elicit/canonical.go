package elicit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	var length [24]byte
	for _, part := range parts {
		// The length before each part keeps ("ab", "c") and ("a", "bc") apart.
		hash.Write(append(strconv.AppendInt(length[:0], int64(len(part)), 10), ':'))
		hash.Write(part)
	}
	var sum [sha256.Size]byte
	return hex.EncodeToString(hash.Sum(sum[:0]))
}

// canonicalText gives the canonical form of the JSON text: sorted keys, no
// white space, one spelling per string and per number. Duplicate keys are an
// error, because parsers disagree about which of them counts.
func canonicalText(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not valid UTF-8")
	}
	if !json.Valid(text) {
		return nil, errors.New("not valid JSON")
	}
	w := canonicalWriter{text: text, dst: make([]byte, 0, len(text))}
	if err := w.value(0); err != nil {
		return nil, err
	}
	return w.dst, nil
}

// canonicalWriter walks over JSON that is known to be valid.
type canonicalWriter struct {
	text []byte // what is still to be read
	dst  []byte
}

// next skips white space and returns the byte after it.
func (w *canonicalWriter) next() byte {
	w.text = bytes.TrimLeft(w.text, " \t\r\n")
	return w.text[0]
}

func (w *canonicalWriter) value(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch w.next() {
	case '{':
		return w.object(depth)
	case '[':
		return w.array(depth)
	case '"':
		w.dst = appendSpelled(w.dst, w.string())
	case 't', 'f', 'n':
		end := bytes.IndexAny(w.text, ",]} \t\r\n")
		if end < 0 {
			end = len(w.text)
		}
		w.dst = append(w.dst, w.text[:end]...)
		w.text = w.text[end:]
	default:
		end := 0
		for end < len(w.text) && strings.IndexByte("+-.0123456789eE", w.text[end]) >= 0 {
			end++
		}
		number, err := parseDecimal(string(w.text[:end]))
		if err != nil {
			return err
		}
		w.dst = number.append(w.dst)
		w.text = w.text[end:]
	}
	return nil
}

// string returns the string that comes next as it is spelled, with its quotes.
func (w *canonicalWriter) string() []byte {
	end := 1
	for w.text[end] != '"' {
		if w.text[end] == '\\' {
			end++
		}
		end++
	}
	spelled := w.text[:end+1]
	w.text = w.text[end+1:]
	return spelled
}

// member is where a member of an object stands in dst.
type member struct{ start, colon, end int }

func (w *canonicalWriter) object(depth int) error {
	var members []member
	begin := len(w.dst)
	w.dst = append(w.dst, '{')
	w.text = w.text[1:]
	for w.next() != '}' {
		if w.text[0] == ',' {
			w.text = w.text[1:]
			w.next()
			w.dst = append(w.dst, ',')
		}
		m := member{start: len(w.dst)}
		w.dst = appendSpelled(w.dst, w.string())
		m.colon = len(w.dst)
		w.next()
		w.text = w.text[1:] // the colon
		w.dst = append(w.dst, ':')
		if err := w.value(depth + 1); err != nil {
			return err
		}
		m.end = len(w.dst)
		members = append(members, m)
	}
	w.text = w.text[1:]
	key := func(m member) []byte { return w.dst[m.start:m.colon] }
	byKey := func(a, b member) int { return compareKeys(key(a), key(b)) }
	sorted := slices.IsSortedFunc(members, byKey)
	if !sorted {
		slices.SortFunc(members, byKey)
	}
	for i := 1; i < len(members); i++ {
		if bytes.Equal(key(members[i-1]), key(members[i])) {
			return fmt.Errorf("key %s is there twice", shorten(string(key(members[i])), 64))
		}
	}
	if !sorted {
		found := slices.Clone(w.dst[begin:])
		w.dst = w.dst[:begin]
		for i, m := range members {
			w.dst = append(w.dst, "{,"[min(i, 1)])
			w.dst = append(w.dst, found[m.start-begin:m.end-begin]...)
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

// compareKeys compares two keys by the texts that they spell.
func compareKeys(a, b []byte) int {
	if plainString(a) && plainString(b) {
		return bytes.Compare(a[1:len(a)-1], b[1:len(b)-1])
	}
	var x, y string
	_, _ = json.Unmarshal(a, &x), json.Unmarshal(b, &y) // both are strings
	return strings.Compare(x, y)
}

func (w *canonicalWriter) array(depth int) error {
	w.text = w.text[1:]
	w.dst = append(w.dst, '[')
	for first := true; w.next() != ']'; first = false {
		if !first {
			w.text = w.text[1:] // the comma
			w.dst = append(w.dst, ',')
		}
		if err := w.value(depth + 1); err != nil {
			return err
		}
	}
	w.text = w.text[1:]
	w.dst = append(w.dst, ']')
	return nil
}

// appendSpelled appends a JSON string in its one spelling, that of appendString.
func appendSpelled(dst, spelled []byte) []byte {
	if plainString(spelled) {
		return append(dst, spelled...)
	}
	var s string
	_ = json.Unmarshal(spelled, &s) // it is a string
	return appendString(dst, s)
}

// plainString reports whether encoding/json spells the string like this.
func plainString(spelled []byte) bool {
	for _, c := range spelled[1 : len(spelled)-1] {
		if c < ' ' || c >= utf8.RuneSelf || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7f {
			return false
		}
	}
	return true
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
