package form

import "testing"

// Patterns mean what ECMA-262 says, or are not run.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern  string
		yes, no  string
		enforced bool
	}{
		{`^a$`, "a", "a\n", true},
		{`^.$`, "é", "\n", true},
		{`^.$`, "é", "\u2028", true},
		{`^[.]$`, ".", "x", true},
		{`^\s$`, "\u00a0", "x", true},
		{`^\s$`, "\ufeff", "\u200b", true},
		{`^[\s-]$`, "-", "x", true},
		{`^[a\s-z]$`, "-", "b", true},
		{`^\S$`, "x", "\u3000", true},
		{`^\d+$`, "12", "٣", true},
		{`^\w+$`, "a_1", "é", true},
		{`^\u00e9$`, "é", "e", true},
		{`^\u{1F600}$`, "\U0001F600", "x", true},
		{`^\x41$`, "A", "x", true},
		{`^[[]$`, "[", "]", true},
		{`^[[:alpha:]]$`, "a]", "b", true},
		{`^(?<year>\d{4})$`, "2026", "26", true},
		{`^(?:a|b)+?$`, "abab", "c", true},
		{`^\p{L}+$`, "Zwölf", "1", true},
		{`^[\b]$`, "\b", "b", true},
		{`^\v\0$`, "\v\x00", "v0", true},
		{`^https?:\/\/`, "http://x", "ftp://", true},
		{`^[\w.\-]+$`, "a.b-c", "a b", true},
		{`a{2}`, "xaax", "a", true},
		{`(?=a)`, "", "", false},
		{`(?<!a)b`, "", "", false},
		{`(a)\1`, "", "", false},
		{`\k<x>`, "", "", false},
		{`(?i)a`, "", "", false},
		{`\Aa\z`, "", "", false},
		{`\Qa\E`, "", "", false},
		{`[]`, "", "", false},
		{`[^]`, "", "", false},
		{`[\S]`, "", "", false},
		{`\ud83d\ude00`, "", "", false},
		{`\x{41}`, "", "", false},
		{`\u12`, "", "", false},
		{`(`, "", "", false},
		{`a\`, "", "", false},
		{`a{1,2000}`, "", "", false},
		{`((a{100}){100}){100}`, "", "", false},
	} {
		re, cost := compilePattern(tc.pattern)
		if (re != nil) != tc.enforced {
			t.Errorf("%s: enforced %t, want %t", tc.pattern, re != nil, tc.enforced)
			continue
		}
		if re == nil {
			continue
		}
		if cost <= 0 {
			t.Errorf("%s costs %d", tc.pattern, cost)
		}
		if !re.MatchString(tc.yes) || re.MatchString(tc.no) {
			t.Errorf("%s: %q %t, %q %t, want true and false", tc.pattern, tc.yes, re.MatchString(tc.yes), tc.no, re.MatchString(tc.no))
		}
	}
}
