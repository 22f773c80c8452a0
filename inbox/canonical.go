package inbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// digest names what a question asks: its params without _meta, with the keys
// in order and the numbers in one form, so that a server that writes the same
// question in another way asks the same question. The elicitationId of the
// legacy URL mode is new with each asking and does not count.
func digest(params []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(params))
	dec.UseNumber() // 2^53 + 1 is not 2^53
	var value any
	if err := dec.Decode(&value); err != nil {
		return "", errors.New("not JSON")
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", errors.New("more than one JSON value")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return "", errors.New("not an object")
	}
	delete(object, "_meta")
	delete(object, "elicitationId")
	sum := sha256.Sum256(appendCanonical(nil, object))
	return hex.EncodeToString(sum[:]), nil
}

// appendCanonical writes a decoded value. encoding/json bounds the depth of
// what it decodes, so the recursion is bounded too.
func appendCanonical(b []byte, value any) []byte {
	switch v := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		b = append(b, '{')
		for i, key := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendQuote(b, key)
			b = append(b, ':')
			b = appendCanonical(b, v[key])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, item)
		}
		return append(b, ']')
	case json.Number:
		return appendNumber(b, string(v))
	case string:
		return strconv.AppendQuote(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, "null"...)
}

// appendNumber writes a JSON number as digits and a power of ten, without
// computing with it: 1, 1.0 and 10e-1 are all "1e0", and 1e999999999 stays short.
func appendNumber(b []byte, text string) []byte {
	mantissa, exponent := text, "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	sign := strings.HasPrefix(mantissa, "-")
	mantissa = strings.TrimPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return append(b, "0e0"...)
	}
	short := strings.TrimRight(digits, "0")
	power, err := strconv.ParseInt(strings.TrimPrefix(exponent, "+"), 10, 48)
	if err != nil {
		return append(b, text...) // an exponent of more than 14 digits: only the same spelling is the same
	}
	if sign {
		b = append(b, '-')
	}
	b = append(b, short...)
	b = append(b, 'e')
	return strconv.AppendInt(b, power-int64(len(fraction))+int64(len(digits)-len(short)), 10)
}

var askedAgain = regexp.MustCompile(`#[0-9]{1,9}$`)

// baseKey is a wire key without the #n that a later asking adds.
func baseKey(key string) string { return askedAgain.ReplaceAllString(key, "") }

// sameQuestion reports whether b asks again what a asked. Form mode: the same
// digest and key; without keys (legacy) the digest alone. URL mode: the same
// key, because a fresh link is the same question.
func sameQuestion(a, b *Question) bool {
	if a.Mode != b.Mode {
		return false
	}
	if a.Mode == URL && a.Key != "" {
		return baseKey(a.Key) == baseKey(b.Key)
	}
	return a.Digest == b.Digest && baseKey(a.Key) == baseKey(b.Key)
}
