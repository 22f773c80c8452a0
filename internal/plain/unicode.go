package plain

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	zwnj = '\u200C'
	zwj  = '\u200D'
)

// visibleFormat are format characters (Cf) that are drawn: number and verse signs.
var visibleFormat = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0600, 0x0605, 1}, {0x06DD, 0x06DD, 1}, {0x070F, 0x070F, 1}, {0x0890, 0x0891, 1}, {0x08E2, 0x08E2, 1},
	},
	R32: []unicode.Range32{{0x110BD, 0x110BD, 1}, {0x110CD, 0x110CD, 1}},
}

// invisible reports whether r hides itself or other text: format characters, those
// that Unicode lets a font ignore, noncharacters, and blanks that are not spaces.
func invisible(r rune) bool {
	switch {
	case r < 0xA0:
		return false
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(visibleFormat, r)
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Noncharacter_Code_Point, r):
		return true
	case r == 0x2800: // a braille cell without dots
		return true
	case r >= 0xFFF0 && r <= 0xFFFB, r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	return false
}

// isMark reports whether r is drawn over, under or around the character before it.
func isMark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) || norm.NFC.PropertiesString(string(r)).CCC() > 0
}

func isVariation(r rune) bool { return unicode.Is(unicode.Variation_Selector, r) }

// joining are the scripts whose letters change shape with a joiner between them.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Manichaean, unicode.Adlam,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
	unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
	unicode.Tibetan, unicode.Balinese, unicode.Javanese,
}

// needed reports whether a joiner or variation selector changes how the text around it is
// read, which is that of the result: what is shown by its number stands there as such.
// Elsewhere it can only hide something.
func needed(r rune, before []rune, next rune) bool {
	if len(before) == 0 {
		return false
	}
	before, prev := before[:len(before)-1], before[len(before)-1]
	switch {
	case r == 0xFE0E || r == 0xFE0F:
		// Emoji or text style of a symbol; keycaps begin with a digit.
		return emoji(prev) || prev == '#' || prev == '*' || prev >= '0' && prev <= '9'
	case r >= 0xFE00 && r <= 0xFE0D:
		return unicode.In(prev, unicode.Han, unicode.Sm, unicode.Myanmar)
	case r >= 0xE0100 && r <= 0xE01EF:
		return unicode.Is(unicode.Han, prev)
	case isVariation(r):
		return unicode.Is(unicode.Mongolian, prev)
	}
	if norm.NFC.PropertiesString(string(prev)).CCC() == 9 {
		return true // after a virama (RFC 5892, appendix A.1), also at the end of a word
	}
	if r == zwj && emoji(next) {
		return emoji(prev) || prev == 0xFE0F && len(before) > 0 && emoji(before[len(before)-1])
	}
	for len(before) > 0 && unicode.In(prev, unicode.Mn, unicode.Mc) && unicode.Is(unicode.Inherited, prev) {
		before, prev = before[:len(before)-1], before[len(before)-1]
	}
	for _, script := range joining {
		if unicode.Is(script, prev) && unicode.Is(script, next) {
			return true
		}
	}
	return false
}

// emoji reports whether r is a pictograph (nearly Extended_Pictographic) or a skin tone.
func emoji(r rune) bool {
	return r >= 0x1F000 && r <= 0x1FAFF || r >= 0x2600 && r <= 0x27BF || r >= 0x2300 && r <= 0x23FF ||
		r >= 0x2190 && r <= 0x21FF || r >= 0x2B00 && r <= 0x2BFF || r == 0xA9 || r == 0xAE || r == 0x203C || r == 0x2049 ||
		r >= 0x2100 && r <= 0x214F || r >= 0x25A0 && r <= 0x25FF || r >= 0x2900 && r <= 0x297F || r == 0x3030 || r == 0x303D || r == 0x3297 || r == 0x3299
}
