package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/parley-mcp/parley/internal/plain"
)

// Bounds of a file.
const (
	MaxFile   = 256 << 10 // bytes
	maxErrors = 20        // that are reported at once
	maxList   = 200       // items of one list
	maxRules  = 500       // of each kind
	maxCases  = 2000
	maxText   = 500 // characters of a name or a reason
)

// An Error is a mistake in a policy file.
type Error struct {
	File         string
	Line, Column int // from 1; 0 if unknown
	Text         string
	Hint         string // what to write instead; may be empty
}

// Error writes the place the way compilers do, so that editors find it.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	b.WriteString(": " + e.Text)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// A reader walks the nodes of a file and collects its mistakes.
type reader struct {
	file   string
	source []string // lines
	errs   []error
}

func (r *reader) failf(n *yaml.Node, hint, format string, args ...any) {
	e := &Error{File: r.file, Text: fmt.Sprintf(format, args...), Hint: hint}
	if n != nil {
		e.Line, e.Column = n.Line, n.Column
	}
	r.add(e)
}

func (r *reader) add(e *Error) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, e)
	}
}

// err joins the mistakes in the order of the file.
func (r *reader) err() error {
	slices.SortStableFunc(r.errs, func(a, b error) int {
		x, y := a.(*Error), b.(*Error) //nolint:errorlint,forcetypeassert // failf adds nothing else
		return (x.Line-y.Line)<<16 + x.Column - y.Column
	})
	return errors.Join(r.errs...)
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

// document reads the one document of a file.
func (r *reader) document(data []byte) *yaml.Node {
	if len(data) > MaxFile {
		r.failf(nil, "", "the file has more than %d bytes", MaxFile)
		return nil
	}
	r.source = strings.Split(string(data), "\n")
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if err == nil {
		if err = dec.Decode(&second); err == nil {
			r.failf(&second, "", "a file is one document, and a second one begins here")
			return nil
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		r.failf(nil, "", "the file is empty, and an empty policy is most often a mistake")
		return nil
	}
	if err != nil {
		e := &Error{File: r.file, Text: "not YAML: " + plain.Line(yamlLine.ReplaceAllString(err.Error(), ""), maxText)}
		if m := yamlLine.FindStringSubmatch(err.Error()); len(m) == 2 && m[1] != "" {
			e.Line, _ = strconv.Atoi(m[1])
		}
		r.add(e)
		return nil
	}
	root := doc.Content[0]
	if !r.simple(root, 0) {
		return nil
	}
	return root
}

// maxYAML bounds how deep values are within each other.
const maxYAML = 80

// simple refuses what makes YAML a puzzle: anchors and aliases, tags, and
// depth.
func (r *reader) simple(n *yaml.Node, depth int) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.failf(n, "write the value out", "anchors and aliases are not supported")
		return false
	case depth > maxYAML:
		r.failf(n, "", "nested deeper than %d levels", maxYAML)
		return false
	case n.Style&yaml.TaggedStyle != 0:
		r.failf(n, "", "tags such as %s are not supported", plain.Line(n.Tag, 40))
		return false
	}
	for _, child := range n.Content {
		if !r.simple(child, depth+1) {
			return false
		}
	}
	return true
}

// A field reads the value of one key.
type field struct {
	key  string
	read func(value *yaml.Node)
}

// mapping reads the keys of n. Unknown keys and keys that are there twice are
// mistakes. It reports whether n is a mapping at all.
func (r *reader) mapping(n *yaml.Node, what string, fields ...field) bool {
	if n.Kind != yaml.MappingNode {
		r.failf(n, "", "%s is a mapping of keys and values", what)
		return false
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			r.failf(key, "", "a key is one word")
			continue
		}
		if seen[key.Value] {
			r.failf(key, "", "%q is here for the second time", plain.Line(key.Value, 60))
			continue
		}
		seen[key.Value] = true
		at := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
		if at < 0 {
			r.failf(key, suggest(key.Value, fields), "%s has no key %q", what, plain.Line(key.Value, 60))
			continue
		}
		fields[at].read(value)
	}
	return true
}

// suggest names the key that was most likely meant, else all of them.
func suggest(key string, fields []field) string {
	best, distance := "", 3
	var all []string
	for _, f := range fields {
		all = append(all, f.key)
		if len(key) <= 40 {
			if d := edits(key, f.key); d < distance {
				best, distance = f.key, d
			}
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "its keys are " + strings.Join(all, ", ")
}

// edits counts the letters to change, add or drop between two short words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// text reads a value that is a text and not a number, a date or nothing.
func (r *reader) text(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		r.failf(n, "", "%s is one text", what)
		return "", false
	}
	if n.Tag != "!!str" {
		hint := "write it in quotes"
		if n.Tag == "!!null" {
			hint = "leave the key out"
		}
		r.failf(n, hint, "%s is a text, and %s is none", what, shown(n))
		return "", false
	}
	if n.Value == "" {
		r.failf(n, "leave the key out", "%s is empty", what)
		return "", false
	}
	return n.Value, true
}

func shown(n *yaml.Node) string {
	if n.Tag == "!!null" {
		return "nothing"
	}
	return plain.Line(n.Value, 40)
}

// line reads a text of one line for people.
func (r *reader) line(n *yaml.Node, what string) string {
	s, ok := r.text(n, what)
	if ok && (len(s) > maxText || plain.Line(s, maxText) != s) {
		r.failf(n, "", "%s is one line of at most %d characters, without control characters", what, maxText)
	}
	return s
}

// flag reads true or false.
func (r *reader) flag(n *yaml.Node, what string) *bool {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" {
		b := strings.EqualFold(n.Value, "true")
		return &b
	}
	r.failf(n, "", "%s is true or false", what)
	return nil
}

// texts reads a text or a list of texts.
func (r *reader) texts(n *yaml.Node, what string) (list []string, nodes []*yaml.Node) {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
		if len(items) == 0 {
			r.failf(n, "leave the key out, which matches everything", "an empty list of %s matches nothing", what)
		}
	}
	if len(items) > maxList {
		r.failf(n, "", "%s has more than %d items", what, maxList)
		return nil, nil
	}
	for _, item := range items {
		if s, ok := r.text(item, what); ok {
			list, nodes = append(list, s), append(nodes, item)
		}
	}
	return list, nodes
}

// word reads one of a few words.
func (r *reader) word(n *yaml.Node, what string, words ...string) string {
	s, ok := r.text(n, what)
	if !ok {
		return ""
	}
	if !slices.Contains(words, s) {
		r.failf(n, "", "%s is %s, not %q", what, either(words), plain.Line(s, 60))
		return ""
	}
	return s
}

func either(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// within is the place of a line and column inside of a text.
func (r *reader) within(n *yaml.Node, line, column int) (int, int) {
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		at := n.Line + line // the text begins on the line after the |
		if at <= len(r.source) {
			text := r.source[at-1]
			return at, len(text) - len(strings.TrimLeft(text, " ")) + column
		}
	case n.Style&yaml.FoldedStyle != 0:
	case line == 1 && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return n.Line, n.Column + column
	case line == 1:
		return n.Line, n.Column + column - 1
	}
	return n.Line, n.Column
}
