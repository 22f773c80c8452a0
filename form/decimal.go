package form

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// A decimal is a number literal seen as sign, digits and place, so that
// 1e999999999 costs as much as 1. It points into the literal.
//
// value = ±0.d1 d2 d3 ... × 10^exp, where d1 is the first digit that is not 0.
type decimal struct {
	lit  string // mantissa only: digits and perhaps a point
	neg  bool
	exp  int64
	zero bool
}

const maxExp = 1 << 40 // exponents saturate here; nothing legal comes near

// parseDecimal expects the grammar of a JSON number.
func parseDecimal(lit string) decimal {
	var d decimal
	if lit != "" && (lit[0] == '-' || lit[0] == '+') {
		d.neg = lit[0] == '-'
		lit = lit[1:]
	}
	var exp int64
	if i := strings.IndexAny(lit, "eE"); i >= 0 {
		e := lit[i+1:]
		lit = lit[:i]
		negExp := false
		if e != "" && (e[0] == '-' || e[0] == '+') {
			negExp = e[0] == '-'
			e = e[1:]
		}
		for _, c := range []byte(e) {
			if exp < maxExp {
				exp = exp*10 + int64(c-'0')
			}
		}
		exp = min(exp, maxExp)
		if negExp {
			exp = -exp
		}
	}
	intDigits := strings.IndexByte(lit, '.')
	if intDigits < 0 {
		intDigits = len(lit)
	}
	// Skip leading zeros, remember where the first digit stood.
	i := 0
	for i < len(lit) && (lit[i] == '0' || lit[i] == '.') {
		i++
	}
	if i == len(lit) {
		return decimal{zero: true}
	}
	if i < intDigits {
		d.exp = exp + int64(intDigits-i)
	} else {
		d.exp = exp - int64(i-intDigits-1)
	}
	if strings.IndexByte(lit, '.') >= 0 {
		lit = strings.TrimRight(lit, "0")
		lit = strings.TrimSuffix(lit, ".")
	}
	if strings.IndexByte(lit, '.') < 0 {
		lit = strings.TrimRight(lit, "0")
	}
	d.lit = lit[min(i, len(lit)):]
	return d
}

// digits counts the significant digits.
func (d decimal) digits() int {
	n := len(d.lit)
	if strings.IndexByte(d.lit, '.') >= 0 {
		n--
	}
	return n
}

func (d decimal) integral() bool { return d.zero || d.exp >= int64(d.digits()) }

// canonical is the same for equal values.
func (d decimal) canonical() string {
	if d.zero {
		return "0"
	}
	sign := ""
	if d.neg {
		sign = "-"
	}
	return sign + strings.Replace(d.lit, ".", "", 1) + "e" + strconv.FormatInt(d.exp, 10)
}

// cmp compares exactly.
func (d decimal) cmp(o decimal) int {
	switch {
	case d.zero && o.zero:
		return 0
	case d.zero:
		if o.neg {
			return 1
		}
		return -1
	case o.zero:
		if d.neg {
			return -1
		}
		return 1
	case d.neg != o.neg:
		if d.neg {
			return -1
		}
		return 1
	}
	c := cmp.Compare(d.exp, o.exp)
	if c == 0 {
		c = cmpDigits(d.lit, o.lit)
	}
	if d.neg {
		return -c
	}
	return c
}

func cmpDigits(a, b string) int {
	i, j := 0, 0
	for {
		if i < len(a) && a[i] == '.' {
			i++
		}
		if j < len(b) && b[j] == '.' {
			j++
		}
		switch {
		case i >= len(a) && j >= len(b):
			return 0
		case i >= len(a):
			return -1
		case j >= len(b):
			return 1
		case a[i] != b[j]:
			if a[i] < b[j] {
				return -1
			}
			return 1
		}
		i++
		j++
	}
}

// largest is the greatest finite binary64. A number beyond it is infinite, or
// an error, to most readers of JSON (RFC 8259 6).
var largest = parseDecimal("1.7976931348623157e308")

func (d decimal) finite() bool {
	d.neg = false
	return d.cmp(largest) <= 0
}

// integer writes an integral, finite decimal as plain digits.
func (d decimal) integer() string {
	if d.zero {
		return "0"
	}
	var b strings.Builder
	if d.neg {
		b.WriteByte('-')
	}
	b.WriteString(strings.Replace(d.lit, ".", "", 1))
	for range d.exp - int64(d.digits()) {
		b.WriteByte('0')
	}
	return b.String()
}

// multipleOf says whether d is a whole multiple of m, by long division on the
// digits. Both are finite; the work is bounded by their lengths and places.
func (d decimal) multipleOf(m decimal) bool {
	if d.zero || m.zero {
		return d.zero
	}
	a, b := d.big(m), m.big(d)
	if a == nil || b == nil {
		return true // a place too far apart to decide; the server will
	}
	return a.Rem(a, b).Sign() == 0
}

// maxScale bounds the digits that an exact division may need.
const maxScale = 2000

// big gives d as a whole number in units of the smaller last place of d and o,
// nil when that would take more than maxScale digits.
func (d decimal) big(o decimal) *big.Int {
	unit := min(d.exp-int64(d.digits()), o.exp-int64(o.digits()))
	zeros := d.exp - int64(d.digits()) - unit
	if zeros > maxScale || d.digits() > maxScale {
		return nil
	}
	digits := strings.Replace(d.lit, ".", "", 1) + strings.Repeat("0", int(zeros))
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return nil
	}
	return n
}
