package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want any // nil: it fits nowhere
	}{
		{"0", int64(0)}, {"-0", int64(0)}, {"-0.0", int64(0)}, {"0e999", int64(0)},
		{"1", int64(1)}, {"1.0", int64(1)}, {"10e-1", int64(1)}, {"1e3", int64(1000)}, {"-1E+3", int64(-1000)}, {"123.4500e2", int64(12345)},
		{"9007199254740993", int64(9007199254740993)}, {"9007199254740993.0", int64(9007199254740993)},
		{"9223372036854775807", int64(math.MaxInt64)}, {"-9223372036854775808", int64(math.MinInt64)},
		{"9223372036854775808", uint64(1 << 63)}, {"18446744073709551615", uint64(math.MaxUint64)},
		{"0.1", 0.1}, {"1.50", 1.5}, {"-2.5e-3", -0.0025}, {"1e21", 1e21}, {"1e300", 1e300}, {"5e-324", 5e-324},

		{"18446744073709551616", nil}, {"-9223372036854775809", nil}, {"18446744073709551617", nil},
		{"0.10000000000000000001", nil}, {"100.00000000000000001", nil}, {"9007199254740993.5", nil},
		{"1e400", nil}, {"1e-400", nil}, {"1e99999999999999999999", nil}, {"1e-99999999999999999999", nil}, {"1e999999999", nil},
		{"1" + strings.Repeat("0", 400), nil}, {strings.Repeat("9", 30), nil},
	} {
		got, err := celNumber(tc.text)
		if tc.want == nil {
			if !errors.Is(err, errInexact) {
				t.Errorf("%.40s: %v, %v", tc.text, got, err)
			}
			continue
		}
		if err != nil || got != tc.want {
			t.Errorf("%.40s: %T %v, %v, want %T %v", tc.text, got, got, err, tc.want, tc.want)
		}
	}
}

// drawNumber draws the spelling of a number, often one that is nearly another.
func drawNumber(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"0", "-0.0", "1", "1.0", "1e0", "10e-1", "2", "-1", "0.1", "0.10", "1.5", "100", "1e2", "1000.5",
			"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740992.0", "-9007199254740993",
			"9223372036854775807", "9223372036854775808", "9223372036854775809", "18446744073709551615", "18446744073709551616",
			"-9223372036854775808", "-9223372036854775809", "0.1000000000000000055", "0.3", "0.30000000000000004", "1e21", "1e22", "1e-7",
		}),
		rapid.Map(rapid.Int64(), func(i int64) string { return strconv.FormatInt(i, 10) }),
		rapid.Map(rapid.Int64Range(-999, 999), func(i int64) string { return fmt.Sprintf("%d.%02d", i/100, i&63) }),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`),
	).Draw(t, label)
}

// What celNumber returns has exactly the value that was spelled, or is nothing.
func TestNumberProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := drawNumber(t, "number")
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is no number", text)
		}
		got, err := celNumber(text)
		if err != nil {
			if want.IsInt() && (want.Num().IsInt64() || want.Num().IsUint64()) {
				t.Fatalf("%s is a whole number of 64 bits: %v", text, err)
			}
			return
		}
		var back *big.Rat
		switch n := got.(type) {
		case int64:
			back = new(big.Rat).SetInt64(n)
		case uint64:
			back = new(big.Rat).SetFrac(new(big.Int).SetUint64(n), big.NewInt(1))
		case float64:
			if want.IsInt() && want.Num().IsInt64() {
				t.Fatalf("%s became the double %v", text, n)
			}
			back, _ = new(big.Rat).SetString(strconv.FormatFloat(n, 'g', -1, 64))
		}
		if back == nil || back.Cmp(want) != 0 {
			t.Fatalf("%s became %T %v", text, got, got)
		}
	})
}

func TestArgumentsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`[1]`, `"x"`, `null`, `{"a":1`, `{"a":1,"a":1}`, `{"a":1,"A":1000000}`, `{"x":[{"y":1e400}]}`, `{"a":"\ud800"}`,
		strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70)} {
		if v, err := celArguments(json.RawMessage(raw)); err == nil {
			t.Errorf("%.60s: %v", raw, v)
		}
	}
	if v, err := celArguments(nil); err != nil || len(v) != 0 {
		t.Errorf("no arguments: %v, %v", v, err)
	}
}
