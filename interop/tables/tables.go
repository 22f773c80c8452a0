// Package tables keeps the tables in docs that tests write: each stands
// between <!-- measured: NAME --> and <!-- end: NAME -->.
package tables

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// A Table is drawn in Markdown.
type Table struct {
	Head []string
	Rows [][]string
}

// String draws the table. The first column is left-aligned, the others centred.
func (t *Table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.Head)
	rule := []string{"---"}
	for range t.Head[1:] {
		rule = append(rule, ":---:")
	}
	line(rule)
	for _, row := range t.Rows {
		line(row)
	}
	return b.String()
}

// Read returns what stands in a file under a name.
func Read(file, name string) (string, error) {
	text, from, to, err := find(file, name)
	if err != nil {
		return "", err
	}
	return string(text[from:to]), nil
}

// Write puts content there instead.
func Write(file, name, content string) error {
	text, from, to, err := find(file, name)
	if err != nil {
		return err
	}
	return os.WriteFile(file, bytes.Join([][]byte{text[:from], []byte(content), text[to:]}, nil), 0o644)
}

func find(file, name string) (text []byte, from, to int, err error) {
	text, err = os.ReadFile(file)
	if err != nil {
		return nil, 0, 0, err
	}
	begin, end := "<!-- measured: "+name+" -->\n", "<!-- end: "+name+" -->"
	from = bytes.Index(text, []byte(begin)) + len(begin)
	to = bytes.Index(text, []byte(end))
	if from < len(begin) || to < from {
		return nil, 0, 0, fmt.Errorf("%s has no place %q", file, name)
	}
	return text, from, to, nil
}
