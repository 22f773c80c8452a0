package rules

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/parley-mcp/parley/internal/exact"
)

var (
	errNotObject = errors.New("the arguments are no object")
	errInexact   = errors.New("the arguments hold a number that no 64-bit number is equal to")
)

// celArguments decodes a call's arguments into values that CEL can compute
// with, or fails: it never rounds.
//
// A number with a whole value, however it is spelled (1000, 1000.0, 1e3), is an
// int, or a uint above 9223372036854775807. Others are doubles, if the shortest
// spelling of the double has the same value: 0.1 is one, and
// 0.10000000000000000001 is none. A number that fits nowhere makes all the
// arguments unusable, not itself only: an expression could otherwise look past
// it (!= is true of values of two types).
func celArguments(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	v, err := exact.Decode(raw)
	if err != nil {
		return nil, errors.New("the arguments cannot be read in one way only: " + err.Error())
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errNotObject
	}
	if _, err := celValue(object); err != nil {
		return nil, err
	}
	return object, nil
}

// celValue replaces the numbers within v.
func celValue(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		return celNumber(string(v))
	case []any:
		for i, item := range v {
			var err error
			if v[i], err = celValue(item); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name, item := range v {
			var err error
			if v[name], err = celValue(item); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// celNumber returns an int64, uint64 or float64 with exactly the value of a JSON
// number.
func celNumber(text string) (any, error) {
	d, err := parseDecimal(text)
	if err != nil {
		return nil, err
	}
	if whole, ok := d.whole(); ok {
		if i, err := strconv.ParseInt(whole, 10, 64); err == nil {
			return i, nil
		}
		if u, err := strconv.ParseUint(whole, 10, 64); err == nil {
			return u, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errInexact // beyond the range
	}
	if back, err := parseDecimal(strconv.FormatFloat(f, 'e', -1, 64)); err != nil || back != d {
		return nil, errInexact
	}
	return f, nil
}

// A decimal is the value of a number as its digits, without zeros at either end,
// and a power of ten. Equal values are equal decimals, and 1e999999999 is short.
type decimal struct {
	minus  bool
	digits string // empty for zero
	power  int64
}

func parseDecimal(text string) (decimal, error) {
	mantissa, exponent := text, "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	mantissa, minus := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{}, nil // and so is -0
	}
	power, err := strconv.ParseInt(strings.TrimPrefix(exponent, "+"), 10, 32)
	if err != nil {
		return decimal{}, errInexact // no double has an exponent of ten digits
	}
	short := strings.TrimRight(digits, "0")
	return decimal{minus, short, power - int64(len(fraction)) + int64(len(digits)-len(short))}, nil
}

// whole writes the number as digits only, if it is an integer of at most 20 digits.
func (d decimal) whole() (string, bool) {
	if d.power < 0 || int64(len(d.digits))+d.power > 20 {
		return "", false
	}
	text := d.digits + strings.Repeat("0", int(d.power))
	if d.digits == "" {
		text = "0"
	}
	if d.minus {
		text = "-" + text
	}
	return text, true
}
