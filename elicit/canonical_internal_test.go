package elicit

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestArgumentsDigest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, a, b string
		same       bool
	}{
		{"key order", `{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{"white space", `{"a":[1,2]}`, " {\n\"a\" : [ 1 , 2 ] } ", true},
		{"integer and decimal", `{"n":1}`, `{"n":1.0}`, true},
		{"exponent", `{"n":100}`, `{"n":1e2}`, true},
		{"capital exponent", `{"n":100}`, `{"n":1E+2}`, true},
		{"fraction", `{"n":0.5}`, `{"n":5e-1}`, true},
		{"zeros", `{"n":0}`, `{"n":-0.00e9}`, true},
		{"trailing zeros", `{"n":1.50}`, `{"n":1.5}`, true},
		{"escapes", `{"s":"é"}`, `{"s":"\u00e9"}`, true},
		{"escaped key", `{"\u0061":1}`, `{"a":1}`, true},
		{"nothing and empty", ``, `{}`, true},
		{"null and empty", `null`, `{}`, true},
		{"beyond binary64", `{"n":9007199254740992}`, `{"n":9007199254740993}`, false},
		{"a long fraction", `{"n":0.1}`, `{"n":0.1000000000000000055511151231257827}`, false},
		{"sign", `{"n":1}`, `{"n":-1}`, false},
		{"number and text", `{"n":1}`, `{"n":"1"}`, false},
		{"digits moved", `{"a":1,"b":23}`, `{"a":12,"b":3}`, false},
		{"array order", `[1,2]`, `[2,1]`, false},
		{"false and null", `{"a":false}`, `{"a":null}`, false},
		{"null and absent", `{"a":null}`, `{}`, false},
		{"value", `{"to":"Tokyo"}`, `{"to":"tokyo"}`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, errA := argumentsDigest(json.RawMessage(test.a))
			b, errB := argumentsDigest(json.RawMessage(test.b))
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if (a == b) != test.same {
				t.Errorf("%s and %s: same digest %t, want %t", test.a, test.b, a == b, test.same)
			}
		})
	}
}

func TestArgumentsDigestRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"huge exponent":     `{"n":1e999999999}`,
		"tiny exponent":     `{"n":1e-999999999}`,
		"endless exponent":  `{"n":1e` + strings.Repeat("9", 1000) + `}`,
		"many digits":       `{"n":` + strings.Repeat("9", 1000) + `}`,
		"duplicate key":     `{"a":1,"a":2}`,
		"duplicate escaped": `{"a":1,"\u0061":2}`,
		"nested duplicate":  `{"x":[{"a":1,"a":1}]}`,
		"deep":              strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
		"two values":        `{} {}`,
		"half":              `{"a":`,
		"not UTF-8":         "{\"a\":\"\xff\"}",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if digest, err := argumentsDigest(json.RawMessage(text)); err == nil {
				t.Errorf("no error, digest %s", digest)
			}
		})
	}
}

// TestCanonicalNumbers compares with exact arithmetic.
func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, okA := new(big.Rat).SetString(a)
		y, okB := new(big.Rat).SetString(b)
		if !okA || !okB {
			t.Fatalf("%q or %q is no number", a, b)
		}
		canonicalA, errA := canonicalText([]byte(a))
		canonicalB, errB := canonicalText([]byte(b))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if (string(canonicalA) == string(canonicalB)) != (x.Cmp(y) == 0) {
			t.Fatalf("%s is %s, %s is %s", a, canonicalA, b, canonicalB)
		}
		if back, ok := new(big.Rat).SetString(string(canonicalA)); !ok || back.Cmp(x) != 0 {
			t.Fatalf("%s became %s", a, canonicalA)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.50,"x",null,true]}`, `1e400`, `{"a":1,"a":2}`, `"\ud800"`, `[[[]]]`, ` {"b" : {"z":1e2,"a":[ ]} ,"a\u0061":"<\u2028", "ä":-0.0}`, `{"\u0061":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := canonicalText(text)
		want, wantErr := canonicalByDecoder(text)
		if (err == nil) != (wantErr == nil) || string(once) != string(want) {
			t.Fatalf("%q: %s, %v; by encoding/json: %s, %v", text, once, err, want, wantErr)
		}
		if err != nil {
			return
		}
		twice, err := canonicalText(once)
		if err != nil && strings.Contains(err.Error(), "an exponent beyond") {
			return // 40e400 is within the bound, and 4e401, which is the same, is not
		}
		if err != nil {
			t.Fatalf("canonical form %s of %s is not readable: %v", once, text, err)
		}
		if string(once) != string(twice) {
			t.Fatalf("%s became %s and then %s", text, once, twice)
		}
	})
}

// canonicalByDecoder is canonicalText by tokens of encoding/json: digests in
// request states that wait somewhere must not change.
func canonicalByDecoder(text []byte) ([]byte, error) {
	if !utf8.Valid(text) || !json.Valid(text) {
		return nil, errors.New("not valid")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return canonicalToken(decoder, 0)
}

func canonicalToken(decoder *json.Decoder, depth int) ([]byte, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, errors.New("too deep")
	}
	switch token := token.(type) {
	case json.Number:
		number, err := parseDecimal(token.String())
		if err != nil {
			return nil, err
		}
		return number.append(nil), nil
	case string:
		return appendString(nil, token), nil
	case bool:
		return strconv.AppendBool(nil, token), nil
	case json.Delim:
		members, list := make(map[string][]byte), [][]byte(nil)
		for decoder.More() {
			if token == '[' {
				value, err := canonicalToken(decoder, depth+1)
				if err != nil {
					return nil, err
				}
				list = append(list, value)
				continue
			}
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := canonicalToken(decoder, depth+1)
			key, _ := name.(string) // JSON has no other keys
			if _, twice := members[key]; err != nil || twice {
				return nil, errors.Join(err, errors.New("twice"))
			}
			members[key] = value
		}
		if _, err := decoder.Token(); err != nil {
			return nil, err
		}
		if token == '[' {
			return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']'), nil
		}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			list = append(list, append(append(appendString(nil, key), ':'), members[key]...))
		}
		return append(append([]byte{'{'}, bytes.Join(list, []byte{','})...), '}'), nil
	}
	return []byte("null"), nil
}
