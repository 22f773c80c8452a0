package lint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// fold brings a text to the form in which phrases are compared: lower case,
// compatibility forms resolved, Latin letters without their marks.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	latin := false
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
			if latin {
				continue
			}
		case unicode.Is(unicode.Cf, r):
			continue
		case r == 'ı', r == 'İ':
			r = 'i'
		case r == 'ł', r == 'Ł':
			r = 'l'
		case r == 'ß':
			b.WriteByte('s')
			r = 's'
		case r == 'ё', r == 'Ё':
			r = 'е'
		}
		latin = unicode.Is(unicode.Latin, r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.ReplaceAll(norm.NFC.String(b.String()), "ё", "е")
}

// splitWords gives the runs of letters and digits of a folded text.
func splitWords(folded string) []string {
	return strings.FieldsFunc(folded, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r)
	})
}

// splitName sets a name such as apiKey or APIKey apart, as "api Key". Text of
// several words is left alone.
func splitName(s string) string {
	if strings.ContainsAny(s, " \t\n") {
		return s
	}
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) {
			before := runes[i-1]
			last := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(before) || unicode.IsDigit(before) || unicode.IsUpper(before) && last {
				b.WriteByte(' ')
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}
