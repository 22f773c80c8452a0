package form

import (
	"math/big"
	"strings"
)

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
