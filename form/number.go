package form

import (
	"strings"
	"unicode/utf8"
)

// zeros are the zeros of the digit sets that keyboards produce. Others are
// refused, and so is a number that mixes sets.
var zeros = [...]rune{'0', 0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50, 0xFF10}

// maxTyped bounds a typed number, in characters.
const maxTyped = 1000

// parseTyped reads a number that a person typed and gives the literal that is
// sent, or the code of the error.
//
// Taken: surrounding space; a sign; digits of one of the sets in zeros;
// spaces of any width, and apostrophes, between groups of three digits before
// the point; a point before decimals; a comma before decimals where it can
// only be that (1,5 and 0,125, not 1,234); for numbers an exponent (6.02e23).
// An integer may be written 1.0, and not 1e3. Nothing is rounded: the digits
// stay, only zeros and signs without meaning go.
func parseTyped(text string, integer bool) (string, string) {
	bad := CodeNotANumber
	if integer {
		bad = CodeNotAnInteger
	}
	if utf8.RuneCountInString(text) > maxTyped {
		return "", CodeNotFinite
	}
	s, ok := plainNumber(text)
	if !ok {
		return "", bad
	}
	sign := ""
	if s != "" && (s[0] == '+' || s[0] == '-') {
		if s[0] == '-' {
			sign = "-"
		}
		s = strings.TrimLeft(s[1:], " ")
	}
	mantissa, exp := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if integer {
			return "", bad
		}
		mantissa, exp = s[:i], s[i+1:]
		if e := strings.TrimLeft(exp, "+-"); len(exp)-len(e) > 1 || !onlyDigits(e) {
			return "", bad
		}
	}
	switch commas, points := strings.Count(mantissa, ","), strings.Count(mantissa, "."); {
	case commas > 0 && strings.Trim(mantissa, "0123456789 .,") == "":
		whole, frac, _ := strings.Cut(mantissa, ",")
		grouped := len(frac) == 3 && len(whole) <= 3 && whole != "0" && whole != ""
		if commas > 1 || points > 0 || grouped || !onlyDigits(frac) {
			return "", CodeAmbiguousNumber
		}
		mantissa = whole + "." + frac
	case points > 1:
		if onlyDigits(strings.ReplaceAll(mantissa, ".", "")) {
			return "", CodeAmbiguousNumber
		}
		return "", bad
	}
	whole, frac, hasPoint := strings.Cut(mantissa, ".")
	whole, ok = ungroup(whole)
	if !ok {
		return "", CodeAmbiguousNumber
	}
	if whole == "" && frac == "" || whole != "" && !onlyDigits(whole) || frac != "" && !onlyDigits(frac) {
		return "", bad
	}
	if hasPoint && frac == "" && whole == "" {
		return "", bad
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if integer {
		if strings.Trim(frac, "0") != "" {
			return "", bad
		}
		frac = ""
	}
	lit := whole
	if frac != "" {
		lit += "." + frac
	}
	if exp != "" {
		lit += "e" + exp
	}
	d := parseDecimal(lit)
	if !d.zero {
		lit = sign + lit
	}
	if !d.finite() {
		return "", CodeNotFinite
	}
	return lit, ""
}

// plainNumber writes a typed number with the digits and signs of ASCII, and a
// space for what may stand between groups. It is false for any other character,
// and for digits of two sets.
func plainNumber(text string) (string, bool) {
	var b strings.Builder
	var zero rune = -1
	for _, r := range text {
		switch {
		case r == 0x2212 || r == 0xFF0D:
			b.WriteByte('-')
		case r == 0xFF0B:
			b.WriteByte('+')
		case r == 0x066B: // Arabic decimal separator
			b.WriteByte('.')
		case r == 0xFF0E:
			b.WriteByte('.')
		case isSpace(r) || r == '\'' || r == 0x2019 || r == 0x066C:
			b.WriteByte(' ')
		case r == '.' || r == ',' || r == '+' || r == '-' || r == 'e' || r == 'E':
			b.WriteRune(r)
		default:
			z, ok := zeroOf(r)
			if !ok || zero >= 0 && z != zero {
				return "", false
			}
			zero = z
			b.WriteByte(byte('0' + r - z))
		}
	}
	return strings.TrimSpace(b.String()), true
}

// ungroup drops the spaces of 1 234 567. Other spaces between digits could
// hide two numbers.
func ungroup(s string) (string, bool) {
	if !strings.Contains(s, " ") {
		return s, true
	}
	groups := strings.Split(s, " ")
	for i, g := range groups {
		if !onlyDigits(g) || i == 0 && len(g) > 3 || i > 0 && len(g) != 3 {
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}

func onlyDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func zeroOf(r rune) (rune, bool) {
	for _, z := range zeros {
		if z <= r && r <= z+9 {
			return z, true
		}
	}
	return 0, false
}

func isSpace(r rune) bool {
	return r == ' ' || r == '\t' || r == 0xA0 || 0x2000 <= r && r <= 0x200A || r == 0x202F || r == 0x205F || r == 0x3000
}
