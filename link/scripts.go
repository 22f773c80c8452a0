package link

import (
	"slices"
	"strings"
	"unicode"
)

// A script is one of those that UAX 31, table 5, recommends for identifiers.
type script struct {
	name  string
	table *unicode.RangeTable
}

var scriptTable = []script{
	{"Latin", unicode.Latin}, {"Cyrillic", unicode.Cyrillic}, {"Greek", unicode.Greek},
	{"Han", unicode.Han}, {"Hiragana", unicode.Hiragana}, {"Katakana", unicode.Katakana},
	{"Hangul", unicode.Hangul}, {"Bopomofo", unicode.Bopomofo}, {"Arabic", unicode.Arabic},
	{"Hebrew", unicode.Hebrew}, {"Armenian", unicode.Armenian}, {"Georgian", unicode.Georgian},
	{"Devanagari", unicode.Devanagari}, {"Bengali", unicode.Bengali}, {"Gurmukhi", unicode.Gurmukhi},
	{"Gujarati", unicode.Gujarati}, {"Oriya", unicode.Oriya}, {"Tamil", unicode.Tamil},
	{"Telugu", unicode.Telugu}, {"Kannada", unicode.Kannada}, {"Malayalam", unicode.Malayalam},
	{"Sinhala", unicode.Sinhala}, {"Thai", unicode.Thai}, {"Lao", unicode.Lao},
	{"Tibetan", unicode.Tibetan}, {"Myanmar", unicode.Myanmar}, {"Khmer", unicode.Khmer},
	{"Ethiopic", unicode.Ethiopic}, {"Thaana", unicode.Thaana},
}

// mixes are the scripts that are written together (UTS 39, section 5.2, "Highly
// Restrictive").
var mixes = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"},
}

// scriptsOf returns the scripts of a label in order of appearance. Digits, hyphens and
// marks belong to all.
func scriptsOf(label string) (names []string) {
	for _, r := range label {
		if unicode.In(r, unicode.Common, unicode.Inherited) {
			continue
		}
		name := "other"
		if i := slices.IndexFunc(scriptTable, func(s script) bool { return unicode.Is(s.table, r) }); i >= 0 {
			name = scriptTable[i].name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func mixed(scripts []string) bool {
	return len(scripts) > 1 && !slices.ContainsFunc(mixes, func(mix []string) bool {
		return !slices.ContainsFunc(scripts, func(s string) bool { return !slices.Contains(mix, s) })
	})
}

// restricted holds letters and marks of recommended scripts that hardly any living
// language writes: phonetic, historic and technical ones. It is a coarse part of what
// UTS 39 gives the Identifier_Status Restricted; a warning on a letter that people do
// use would teach them to ignore warnings.
var restricted = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0180, 0x0180, 1}, {0x018D, 0x018D, 1}, {0x01A2, 0x01A3, 1}, {0x01AA, 0x01AB, 1}, {0x01BA, 0x01BB, 1},
		{0x01BF, 0x01C3, 1}, {0x021C, 0x021D, 1}, {0x0221, 0x0225, 1}, {0x0234, 0x0252, 1}, {0x0255, 0x0255, 1},
		{0x0258, 0x0258, 1}, {0x025A, 0x025A, 1}, {0x025C, 0x0262, 1}, {0x0264, 0x0267, 1}, {0x026A, 0x0271, 1},
		{0x0273, 0x0282, 1}, {0x0284, 0x0288, 1}, {0x028C, 0x0291, 1}, {0x0293, 0x02BA, 1}, {0x02BD, 0x02FF, 1},
		{0x0334, 0x0338, 1}, {0x0363, 0x037A, 1},
		{0x03CF, 0x03EF, 1}, {0x03F1, 0x03F2, 1}, {0x03F7, 0x03FB, 1}, {0x0460, 0x0489, 1}, {0x04C1, 0x04C1, 1},
		{0x0500, 0x050F, 1}, {0x0514, 0x0519, 1}, {0x051E, 0x0523, 1}, {0x0527, 0x0527, 1}, {0x10A0, 0x10CF, 1},
		{0x10F1, 0x10F6, 1}, {0x10F8, 0x10FC, 1}, {0x1100, 0x11FF, 1}, {0x1AB0, 0x1AFF, 1}, {0x1C80, 0x1C8F, 1}, {0x1CD0, 0x1CFF, 1}, {0x1D00, 0x1DFF, 1}, {0x1E9C, 0x1E9D, 1},
		{0x1E9F, 0x1E9F, 1}, {0x1EFA, 0x1EFF, 1}, {0x20D0, 0x20FF, 1}, {0x2C60, 0x2C65, 1}, {0x2C67, 0x2C7F, 1}, {0x2D00, 0x2D2F, 1},
		{0x2D80, 0x2DFF, 1}, {0x302A, 0x302F, 1}, {0x31F0, 0x31FF, 1}, {0xA640, 0xA69F, 1}, {0xA700, 0xA78C, 1}, {0xA78E, 0xA7FF, 1}, {0xA8E0, 0xA8FF, 1}, {0xA960, 0xA97F, 1}, {0xA9E0, 0xA9FF, 1},
		{0xAA60, 0xAA7F, 1}, {0xAB00, 0xAB6F, 1}, {0xD7B0, 0xD7FF, 1}, {0xFE20, 0xFE2F, 1},
	},
	R32: []unicode.Range32{{0x1AFF0, 0x1B16F, 1}, {0x1D000, 0x1E2FF, 1}, {0x1E7E0, 0x1E7FF, 1}},
}

// unusual reports whether r is outside what UTS 39 allows in identifiers, nearly.
func unusual(r rune) bool {
	switch {
	case r < unicode.MaxASCII, strings.ContainsRune("\u00B7\u0375\u05F3\u05F4\u06FD\u06FE\u0F0B\u200C\u200D\u30A0\u30FB", r):
		return false
	case unicode.Is(restricted, r):
		return true
	case !unicode.In(r, unicode.L, unicode.Mn, unicode.Mc, unicode.Nd) && r != '\u3007':
		return true
	case unicode.In(r, unicode.Common, unicode.Inherited):
		return false
	}
	return !slices.ContainsFunc(scriptTable, func(s script) bool { return unicode.Is(s.table, r) })
}

const (
	slashes = "\u2044\u2215\u2571\u29F6\u29F8\u3033"             // look like a slash anywhere
	strokes = "\u30CE\u30BD\u30BE\u30F3\u4E36\u4E3F\u4E40\u3035" // and these among Latin letters
)

// fakeSlash reports whether a label holds a character that people take for a slash.
func fakeSlash(label string) bool {
	rs := []rune(label)
	ascii := func(i int) bool { return i >= 0 && i < len(rs) && rs[i] < unicode.MaxASCII }
	for i, r := range rs {
		if strings.ContainsRune(slashes, r) || strings.ContainsRune(strokes, r) && (ascii(i-1) || ascii(i+1)) {
			return true
		}
	}
	return false
}

// scripts judges the characters of an international name, label by label.
func (in *inspection) scripts(h host) {
	if isASCII(h.unicode) {
		return
	}
	labels := strings.Split(strings.TrimSuffix(h.unicode, "."), ".")
	top := scriptsOf(labels[len(labels)-1])
	in.add(Note, "international", "This is an international name. Its technical form is %{host}.", "host", h.name())
	for i, label := range labels {
		if isASCII(label) {
			continue
		}
		scripts := scriptsOf(label)
		ascii := "xn--" // what browsers may show instead
		if a, err := toASCII.ToASCII(label); err == nil {
			ascii = a
		}
		plain, alike := latin(label)
		switch {
		case fakeSlash(label):
			in.once(Warn, "fake_slash", "The name of the site contains a character that looks like a slash. It belongs to %{domain}.", "domain", h.domain)
		case mixed(scripts):
			in.once(Warn, "mixed_scripts", "The name %{label} mixes letters of different alphabets (%{scripts}), so that it may look like another name.",
				"label", ascii, "scripts", strings.Join(scripts, ", "))
		case strings.ContainsFunc(label, unusual):
			in.once(Warn, "unusual_character", "The name %{label} contains characters that are not used in names.", "label", ascii)
		case alike && len(scripts) == 1 && scripts[0] != "Latin" && (i == len(labels)-1 || !slices.Equal(scripts, top)):
			in.once(Warn, "whole_script", "The name %{label} is written in %{script} letters that look like %{looks_like}.",
				"label", ascii, "script", scripts[0], "looks_like", plain)
		case i < len(labels)-1 && isASCII(labels[len(labels)-1]) && len(scripts) > 0 && !slices.Contains(scripts, "Latin"):
			in.once(Note, "other_script", "The name is written in %{script} letters, its ending is not.", "script", strings.Join(scripts, ", "))
		}
		// IDNA2003 mapped these, so that the same text led to another site.
		if strings.ContainsAny(label, "ß\u03C2\u200C\u200D") {
			in.once(Note, "deviation", "Old programs read this name in another way. Its technical form is %{host}.", "host", h.name())
		}
	}
}

// once adds a finding unless there is one with its code.
func (in *inspection) once(v Verdict, code, text string, params ...string) {
	if !in.Has(code) {
		in.add(v, code, text, params...)
	}
}
