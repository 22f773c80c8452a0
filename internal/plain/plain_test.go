package plain

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string
		found          Findings
	}{
		{"empty", "", "", Findings{}},
		{"plain", "Which seat?\nAisle, or window.", "Which seat?\nAisle, or window.", Findings{}},
		{"tab", "a\tb", "a b", Findings{}},
		{"line ends", "a\r\nb\u2028c", "a\nb\nc", Findings{}},
		{"lone carriage return", "send: yes\rsend: no ", "send: yes␍send: no ", Findings{Controls: 1}},
		{"backspace", "no\b\byes", "no␈␈yes", Findings{Controls: 2}},
		{"bell, NUL, DEL, shift out", "\a\x00\x7f\x0e", "␇␀␡␎", Findings{Controls: 4}},
		{"invalid bytes", "a\xff\xfeb\xc0c", "a\uFFFDb\uFFFDc", Findings{Invalid: 2}},
		{"raw 8-bit CSI", "\x9b31m", "\uFFFD31m", Findings{Invalid: 1}},

		// What terminals obey.
		{"CSI colour", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m", Findings{Controls: 2}},
		{"CSI in C1", "\u009b31mred", "⟨U+009B⟩31mred", Findings{Controls: 1}},
		{"CSI 6n asks where the cursor is", "\x1b[6n", "␛[6n", Findings{Controls: 1}},
		{"CSI c asks what the terminal is", "\x1b[c\x1b[>c", "␛[c␛[>c", Findings{Controls: 2}},
		{"CSI 2J clears", "\x1b[2J\x1b[H", "␛[2J␛[H", Findings{Controls: 2}},
		{"alternate screen", "\x1b[?1049h", "␛[?1049h", Findings{Controls: 1}},
		{"bracketed paste", "\x1b[201~yes\n", "␛[201~yes\n", Findings{Controls: 1}},
		{"ESC c resets", "\x1bc", "␛c", Findings{Controls: 1}},
		{"ESC ( 0 changes the alphabet", "\x1b(0lqqk", "␛(0lqqk", Findings{Controls: 1}},
		{"OSC 8 link", "\x1b]8;;https://evil.example/\x1b\\bank.example\x1b]8;;\x1b\\",
			"␛]8;;https://evil.example/␛\\bank.example␛]8;;␛\\", Findings{Controls: 4}},
		{"OSC 52 clipboard", "\x1b]52;c;cm0gLXJmIH4=\a", "␛]52;c;cm0gLXJmIH4=␇", Findings{Controls: 2}},
		{"OSC 52 in C1", "\u009d52;c;?\u009c", "⟨U+009D⟩52;c;?⟨U+009C⟩", Findings{Controls: 2}},
		{"OSC 0 title", "\x1b]0;bank\a", "␛]0;bank␇", Findings{Controls: 2}},
		{"OSC without its end", "\x1b]0;the rest stays", "␛]0;the rest stays", Findings{Controls: 1}},
		{"DECRQSS is typed back", "\x1bP$q\nrm -rf ~\n\x1b\\", "␛P$q\nrm -rf ~\n␛\\", Findings{Controls: 2}},
		{"XTGETTCAP", "\x1bP+q544e\x1b\\", "␛P+q544e␛\\", Findings{Controls: 2}},
		{"APC", "\x1b_Gf=24;AAAA\x1b\\", "␛_Gf=24;AAAA␛\\", Findings{Controls: 2}},
		{"8-bit controls as UTF-8", "\u0085\u0090", "⟨U+0085⟩⟨U+0090⟩", Findings{Controls: 2}},

		// What hides or reorders text.
		{"right-to-left override", "\u202Egpj.exe", "⟨U+202E⟩gpj.exe", Findings{Hidden: 1}},
		{"isolates", "\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩", Findings{Hidden: 2}},
		{"zero width, BOM, soft hyphen", "p\u200Ba\uFEFFy\u00ADpal", "p⟨U+200B⟩a⟨U+FEFF⟩y⟨U+00AD⟩pal", Findings{Hidden: 3}},
		{"tags", "hi\U000E0079\U000E0065\U000E0073", "hi⟨U+E0079⟩⟨U+E0065⟩⟨U+E0073⟩", Findings{Hidden: 3}},
		{"fillers", "\u3164\u115F\u2800\u034F", "⟨U+3164⟩⟨U+115F⟩⟨U+2800⟩⟨U+034F⟩", Findings{Hidden: 4}},
		{"noncharacter", "\uFFFF", "⟨U+FFFF⟩", Findings{Hidden: 1}},
		{"interlinear annotation", "\uFFF9a\uFFFB", "⟨U+FFF9⟩a⟨U+FFFB⟩", Findings{Hidden: 2}},
		{"bytes in variation selectors", "😀\uFE00\U000E0101\uFE0F\uFE0F", "😀⟨U+FE00⟩⟨U+E0101⟩⟨U+FE0F⟩⟨U+FE0F⟩", Findings{Hidden: 4}},
		{"joiner between Latin letters", "pay\u200Dpal", "pay⟨U+200D⟩pal", Findings{Hidden: 1}},
		{"joiner at the ends", "\u200Da\u200C", "⟨U+200D⟩a⟨U+200C⟩", Findings{Hidden: 2}},
		{"joiner after a virama that is dropped", "क" + strings.Repeat("\u0336", 4) + "\u094D\u200D", "क" + strings.Repeat("\u0336", 4) + "⟨U+200D⟩", Findings{Hidden: 1, Marks: 1}},
		{"joiner before a mark that is dropped", "\u0336\u0915" + strings.Repeat("\u0301", 4) + "\u200D\u093C", "\u0336\u0915" + strings.Repeat("\u0301", 4) + "⟨U+200D⟩\u093C", Findings{Hidden: 1}},
		{"joiner before a letter mark", "\u0628\u200D\u061C", "\u0628⟨U+200D⟩⟨U+061C⟩", Findings{Hidden: 2}},
		{"joiner after a letter mark", "\u061C\u200D\u0628", "⟨U+061C⟩⟨U+200D⟩\u0628", Findings{Hidden: 2}},

		// What people write.
		{"Persian", "می\u200Cخواهم", "می\u200Cخواهم", Findings{}},
		{"Devanagari", "क्\u200Dष", "क्\u200Dष", Findings{}},
		{"Malayalam at the end of a word", "ന്\u200D ന", "ന്\u200D ന", Findings{}},
		{"family", "👩\u200D👩\u200D👧", "👩\u200D👩\u200D👧", Findings{}},
		{"heart", "❤\uFE0F", "❤\uFE0F", Findings{}},
		{"heart on fire, skin tone", "❤\uFE0F\u200D🔥👩🏽\u200D💻", "❤\uFE0F\u200D🔥👩🏽\u200D💻", Findings{}},
		{"keycap", "1\uFE0F\u20E3", "1\uFE0F\u20E3", Findings{}},
		{"Han variant", "葛\U000E0100", "葛\U000E0100", Findings{}},
		{"Arabic number sign", "\u0600\u0661", "\u0600\u0661", Findings{}},
		{"Hebrew with points and accents", "בְּרֵאשִׁ֖ית", norm.NFC.String("בְּרֵאשִׁ֖ית"), Findings{}},
		{"composition", "u\u0308", "ü", Findings{}},
		{"stacked marks", "x" + strings.Repeat("\u0336", 9), "x" + strings.Repeat("\u0336", 4), Findings{Marks: 5}},
		{"very many marks", "x" + strings.Repeat("\u0336", 5000) + "y", "x" + strings.Repeat("\u0336", 4) + "y", Findings{Marks: 4996}},
		{"musical marks", "x" + strings.Repeat("\U0001D165", 50), "x" + strings.Repeat("\U0001D165", 4), Findings{Marks: 46}},
		{"marks without a base", strings.Repeat("\u0336", 6), strings.Repeat("\u0336", 4), Findings{Marks: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, found := Text(tt.in, 0)
			if got != tt.want || found != tt.found {
				t.Errorf("Text(%+q): got %+q %+v, want %+q %+v", tt.in, got, found, tt.want, tt.found)
			}
		})
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		max  int
		want string
	}{
		{"abcd", 4, "abcd"},
		{"abcde", 4, "abc…"},
		{"abc", 1, "…"},
		{"üüüü", 3, "üü…"},
		{"abc\u202E", 6, "abc…"},                    // not in the middle of a number
		{"abx\u0336\u0337y", 4, "ab…"},              // not between a base and its marks
		{"a👩\u200D👩\u200D👧", 4, "a👩…"},              // a joiner needs what follows
		{strings.Repeat("a", 99), 10, "aaaaaaaaa…"}, //
		{strings.Repeat("\u0336", 999), 10, "\u0336\u0336\u0336\u0336…"},
	}
	for _, tt := range tests {
		got, found := Text(tt.in, tt.max)
		if got != tt.want || found.Cut != (got != tt.in) {
			t.Errorf("Text(%+q, %d): got %+q %+v, want %+q", tt.in, tt.max, got, found, tt.want)
		}
	}
	if got, found := Text(strings.Repeat("a", DefaultMax+1), 0); utf8.RuneCountInString(got) != DefaultMax || !found.Cut {
		t.Errorf("Text of %d characters: got %d, %+v", DefaultMax+1, utf8.RuneCountInString(got), found)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\nb":              "a␤b",
		"a\r\nb\u2029":      "a␤b␤",
		"\x1b]0;x\a":        "␛]0;x␇",
		"level=info\nfake=": "level=info␤fake=",
	} {
		if got := Line(in, 0); got != want {
			t.Errorf("Line(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestFindingsString(t *testing.T) {
	t.Parallel()
	if f := (Findings{}); f.Any() || f.String() != "" {
		t.Errorf("no findings: got %v %q", f.Any(), f)
	}
	f := Findings{Hidden: 1, Cut: true}
	if want := "hidden characters made visible; too long, cut"; !f.Any() || f.String() != want {
		t.Errorf("findings: got %v %q, want %q", f.Any(), f, want)
	}
}

// check holds for every text and limit.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, s string, max int) {
	t.Helper()
	got, found := Text(s, max)
	limit := max
	if limit <= 0 {
		limit = DefaultMax
	}
	if n := utf8.RuneCountInString(got); n > limit {
		t.Fatalf("Text(%+q, %d): %d characters", s, max, n)
	}
	if !utf8.ValidString(got) || !norm.NFC.IsNormalString(got) {
		t.Fatalf("Text(%+q, %d) = %+q: not valid or not NFC", s, max, got)
	}
	marks := 0
	for _, r := range got {
		switch {
		case r == '\n':
		case unicode.IsControl(r):
			t.Fatalf("Text(%+q, %d) = %+q: has %U", s, max, got, r)
		case r != zwj && r != zwnj && unicode.Is(unicode.Cf, r) && !unicode.Is(visibleFormat, r):
			t.Fatalf("Text(%+q, %d) = %+q: has %U", s, max, got, r)
		}
		if isMark(r) && !isVariation(r) {
			if marks++; marks > maxMarks {
				t.Fatalf("Text(%+q, %d) = %+q: too many marks", s, max, got)
			}
		} else if r != zwj && r != zwnj && !isVariation(r) {
			marks = 0
		}
	}
	if again, more := Text(got, max); again != got || more.Any() {
		t.Fatalf("Text(%+q, %d): first %+q %+v, then %+q %+v", s, max, got, found, again, more)
	}
	line := Line(s, max)
	if strings.Contains(line, "\n") {
		t.Fatalf("Line(%+q, %d) = %+q: has a line end", s, max, line)
	}
	if again := Line(line, max); again != line {
		t.Fatalf("Line(%+q, %d): first %+q, then %+q", s, max, line, again)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	odd := rapid.SampledFrom([]rune("\u200D\u200C\uFE0F\uFE00\u0336\u0301\u094D\u0915\u0628\u1100\u1161\u2126e\u0308\u202E\u034F\u0E33\u0F71\u0344👩❤\r\n\t\x1b⟨⟩…\u09C7\u09BE"))
	texts := rapid.OneOf(
		rapid.StringOf(odd),
		rapid.StringOf(rapid.OneOf(odd, rapid.Rune())),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		check(t, texts.Draw(t, "text"), rapid.IntRange(-1, 40).Draw(t, "max"))
	})
}

// TestEveryCharacter looks at characters of every kind, between letters.
func TestEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		// Ideographs, syllables and hieroglyphs are all alike, and most planes are empty.
		if r < 0x3400 || r >= 0xA600 && r < 0xAC00 || r >= 0xF900 && r < 0x11000 || r >= 0x1D000 && r < 0x1F800 || r >= 0xE0000 && r < 0xE0200 || r&0xFFF0 == 0xFFF0 {
			check(t, "a"+string(r)+"b", 0)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"a\u0301\u200D", "\x1b]52;c;?\a", "❤\uFE0F\u200D🔥", "\xff\r\n", "क्\u200D"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, max int) { check(t, s, max%1000) })
}

func BenchmarkText(b *testing.B) {
	for name, s := range map[string]string{
		"ascii":  strings.Repeat("Which of these do you want to book? ", 20),
		"mixed":  strings.Repeat("Welchen möchten Sie buchen? ❤\uFE0F ", 20),
		"attack": strings.Repeat("\x1b]8;;https://evil.example/\x1b\\\u202Ebank", 20),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Text(s, 0)
			}
		})
	}
}
