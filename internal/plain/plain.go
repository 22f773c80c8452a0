package plain

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// DefaultMax is the length of a text, in characters, that is used where the given one
// is not positive.
const DefaultMax = 16384

const (
	maxMarks = 4   // combining marks on one base; more climb over the lines above
	ellipsis = '…' // ends a text that was cut
)

// Findings count what Text changed that a person should be told. Composed letters,
// tabs and the line ends of other systems are not counted.
type Findings struct {
	Invalid  int  `json:"invalid,omitempty"`  // runs of bytes that are not UTF-8
	Controls int  `json:"controls,omitempty"` // control characters, shown as pictures
	Hidden   int  `json:"hidden,omitempty"`   // invisible and direction characters, shown as numbers
	Marks    int  `json:"marks,omitempty"`    // combining marks that were dropped
	Cut      bool `json:"cut,omitempty"`      // the text was too long; it ends in an ellipsis
}

// Any reports whether anything was found.
func (f Findings) Any() bool { return f != Findings{} }

// String says in a few words what was found, and is empty if nothing was.
func (f Findings) String() string {
	var parts []string
	if f.Controls > 0 || f.Hidden > 0 {
		parts = append(parts, "hidden characters made visible")
	}
	if f.Invalid > 0 {
		parts = append(parts, "damaged characters replaced")
	}
	if f.Marks > 0 {
		parts = append(parts, "stacked marks removed")
	}
	if f.Cut {
		parts = append(parts, "too long, cut")
	}
	return strings.Join(parts, "; ")
}

// Text cleans text of several lines. The result is valid UTF-8 in normal form C, of at
// most max characters (DefaultMax if max is not positive), the ellipsis included. Its only
// control character is "\n"; a tab becomes a space. Cleaning it again changes nothing.
//
// max also bounds the work: bytes past 16 times max are not looked at.
func Text(s string, max int) (clean string, found Findings) {
	return sanitise(s, max, "\n")
}

// Line is Text for a single line: the end of a line becomes ␤.
func Line(s string, max int) string {
	clean, _ := sanitise(s, max, "␤")
	return clean
}

func sanitise(s string, max int, newline string) (string, Findings) {
	var found Findings
	if max <= 0 {
		max = DefaultMax
	}
	if len(s) <= max && isPlainASCII(s, newline == "\n") {
		return s, found
	}
	if limit := max * 16; limit/16 == max && len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s, found.Cut = s[:limit], true
	}
	if !utf8.ValidString(s) {
		valid := strings.ToValidUTF8(s, "\uFFFD")
		found.Invalid = invalidRuns(s)
		s = valid
	}
	// Normalise first: marks are counted as they will stand, and nothing that follows
	// makes two characters compose.
	w := writer{newline: newline, max: max, in: []rune(norm.NFC.String(unstack(s, &found))), found: &found}
	w.run()
	return w.String(), found
}

// isPlainASCII is the fast path for most text.
func isPlainASCII(s string, lines bool) bool {
	for i := range len(s) {
		if (s[i] < ' ' || s[i] > '~') && (s[i] != '\n' || !lines) {
			return false
		}
	}
	return true
}

// unstack drops what is past a dozen marks in a row. Package norm would break such a row
// with a joiner of its own (UAX 15, stream-safe text), after 30 marks when decomposed.
func unstack(s string, found *Findings) string {
	row := 0
	return strings.Map(func(r rune) rune {
		if r < 0x300 || !isMark(r) {
			row = 0
		} else if row++; row > 12 {
			found.Marks++
			return -1
		}
		return r
	}, s)
}

func invalidRuns(s string) (n int) {
	bad := false
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		now := r == utf8.RuneError && size <= 1
		if now && !bad {
			n++
		}
		bad = now
		i += size
	}
	return n
}

// A writer copies runes to cells: what must not be torn apart when the text is cut.
type writer struct {
	in      []rune
	newline string
	max     int
	found   *Findings

	out   []rune
	cells []int // index in out where each cell begins
	marks int   // combining marks in the last cell
}

func (w *writer) cell(s string) {
	w.cells = append(w.cells, len(w.out))
	w.out = append(w.out, []rune(s)...)
	w.marks = 0
}

// attach adds r to the last cell.
func (w *writer) attach(r rune) {
	if len(w.cells) == 0 {
		w.cells = append(w.cells, 0)
	}
	w.out = append(w.out, r)
}

func (w *writer) run() {
	for i := range len(w.in) {
		if len(w.out) > w.max {
			break
		}
		switch r := w.in[i]; {
		case r == '\t':
			w.cell(" ")
		case r == '\r' && i+1 < len(w.in) && w.in[i+1] == '\n':
			// The line feed that follows stands for both.
		case r == '\n', r == '\u2028', r == '\u2029':
			w.cell(w.newline)
		case r < ' ':
			w.found.Controls++
			w.cell(string('\u2400' + r))
		case r == 0x7F:
			w.found.Controls++
			w.cell("\u2421")
		case r > 0x7F && r < 0xA0:
			w.found.Controls++
			w.cell(number(r))
		case r == zwj || r == zwnj || isVariation(r):
			if needed(r, w.out, w.after(i)) {
				w.attach(r)
			} else {
				w.found.Hidden++
				w.cell(number(r))
			}
		case invisible(r):
			w.found.Hidden++
			w.cell(number(r))
		case isMark(r):
			if w.marks == maxMarks {
				w.found.Marks++
				continue
			}
			w.marks++
			w.attach(r)
		default:
			w.cell(string(r))
		}
	}
	if len(w.out) > w.max || w.found.Cut {
		w.cut()
	}
}

// after is what will stand after a joiner at i that stays: not a mark that is one too
// many. It is 0 if nothing does, or only a number.
func (w *writer) after(i int) rune {
	for i++; i < len(w.in); i++ {
		switch r := w.in[i]; {
		case r == zwj || r == zwnj || invisible(r):
			return 0
		case w.marks < maxMarks || !isMark(r) || isVariation(r):
			return r
		}
	}
	return 0
}

// cut ends the text with an ellipsis, after the last whole cell that leaves room for it.
func (w *writer) cut() {
	w.found.Cut = true
	for len(w.out) > w.max-1 {
		last := len(w.cells) - 1
		if last < 0 {
			w.out = nil
			break
		}
		w.out, w.cells = w.out[:w.cells[last]], w.cells[:last]
	}
	// A joiner needs what follows it.
	for len(w.out) > 0 && (w.out[len(w.out)-1] == zwj || w.out[len(w.out)-1] == zwnj) {
		w.out = w.out[:len(w.out)-1]
	}
	w.out = append(w.out, ellipsis)
}

func (w *writer) String() string { return string(w.out) }

// number shows a character that cannot be seen.
func number(r rune) string { return fmt.Sprintf("⟨U+%04X⟩", r) }
