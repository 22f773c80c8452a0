// Command clauses holds the code's citations of the MCP specification against
// an index of the clauses that it should obey, and writes a table of which are
// cited where: docs/conformance-clauses.md.
//
// A citation stands in a comment of a Go or TypeScript file:
//
//	MCP REVISION PAGE, "SECTION" IDS: why, or what for
//	MCP 2026-07-28 elicitation, "Safe URL Handling" C3, C5: the whole address is shown
//
// REVISION is the date of a revision. PAGE is the last part of the page's path
// (elicitation, mrtr, transports), with more of it in front if that helps
// (client/elicitation). SECTION is the nearest heading, without what follows in
// brackets; "top" is what stands before the first. IDS are ids of clauses in
// clauses.json: S for what binds servers, C clients, B both. Without IDS the whole
// section is meant, without SECTION the whole page: such a citation helps readers
// and counts for no clause.
//
// The index holds paraphrases in our own words, not the specification's text. A
// clause that no comment cites needs a reason there ("why"); a clause that is
// cited must not have one. With -check the program writes nothing, and fails when
// the table is not current.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed clauses.json
var indexJSON []byte

func main() {
	root := flag.String("root", "..", "folder of the repository")
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "clauses:", err)
		os.Exit(1)
	}
}

// A clause is one sentence that binds somebody.
type clause struct {
	Page      string   `json:"page"`
	Section   string   `json:"section"`
	ID        string   `json:"id"`
	Level     string   `json:"level"` // MUST, MUST NOT, SHOULD, SHOULD NOT
	Text      string   `json:"text"`  // in our words; follows "servers" or "clients" and the level
	Revisions []string `json:"revisions"`
	Why       string   `json:"why,omitempty"` // why no code cites it

	files []string // that cite it
}

func (c *clause) name() string { return fmt.Sprintf("%s, %q %s", c.Page, c.Section, c.ID) }

// A citation is a mention of the specification in a file.
type citation struct {
	file, revision, page, section string
	ids                           []string
}

func run(root string, check bool) error {
	index, err := readIndex(indexJSON)
	if err != nil {
		return err
	}
	files, err := sources(root)
	if err != nil {
		return err
	}
	var all []citation
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, but not yet for git
		}
		if err != nil {
			return err
		}
		all = append(all, find(name, string(text))...)
	}
	if err := match(index, all); err != nil {
		return err
	}
	path := filepath.Join(root, "docs", "conformance-clauses.md")
	page := render(index, all)
	if !check {
		return os.WriteFile(path, page, 0o644)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(old, page) {
		return fmt.Errorf("%s is not current: cd tools && go run ./clauses", path)
	}
	return nil
}

func readIndex(text []byte) ([]*clause, error) {
	var index []*clause
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&index); err != nil {
		return nil, fmt.Errorf("clauses.json: %w", err)
	}
	seen := map[string]bool{}
	for _, c := range index {
		if seen[c.name()] {
			return nil, fmt.Errorf("clauses.json: %s is there twice", c.name())
		}
		seen[c.name()] = true
		if !slices.Contains([]string{"MUST", "MUST NOT", "SHOULD", "SHOULD NOT"}, c.Level) || c.Text == "" || len(c.Revisions) == 0 {
			return nil, fmt.Errorf("clauses.json: %s is not complete", c.name())
		}
		slices.Sort(c.Revisions)
	}
	return index, nil
}

func sources(root string) ([]string, error) {
	command := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "*.go", "*.ts")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var files []string
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if !strings.HasPrefix(name, "tools/clauses/") && name != "" {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

var (
	// comment is what continues a comment on the next line.
	comment = regexp.MustCompile(`\n[ \t]*(//|\*)[ \t]?`)
	cited   = regexp.MustCompile(`MCP (20\d\d-\d\d-\d\d)(?:,? ([a-z][a-z0-9/_-]*)(?:, "([^"\n]{1,80})"(?: ([SCB]\d+(?:, [SCB]\d+)*))?)?)?`)
)

// find returns the citations of a file in their order.
func find(file, text string) []citation {
	text = comment.ReplaceAllString(text, " ")
	var found []citation
	for _, m := range cited.FindAllStringSubmatch(text, -1) {
		c := citation{file: file, revision: m[1], page: m[2], section: m[3]}
		if i := strings.LastIndexByte(c.page, '/'); i >= 0 {
			c.page = c.page[i+1:]
		}
		if m[4] != "" {
			c.ids = strings.Split(m[4], ", ")
		}
		found = append(found, c)
	}
	return found
}

// match gives each clause the files that cite it, and says what is wrong with
// the citations and the index.
func match(index []*clause, all []citation) error {
	byName := map[string]*clause{}
	sections := map[string]bool{} // revision, page, section
	pages := map[string]bool{}
	for _, c := range index {
		byName[c.name()] = c
		pages[c.Page] = true
		for _, revision := range c.Revisions {
			sections[revision+" "+c.Page+" "+c.Section] = true
		}
	}
	var faults []error
	for _, cite := range all {
		if len(cite.ids) > 0 && !sections[cite.revision+" "+cite.page+" "+cite.section] {
			faults = append(faults, fmt.Errorf("%s: MCP %s %s has no section %q in clauses.json", cite.file, cite.revision, cite.page, cite.section))
			continue
		}
		for _, id := range cite.ids {
			c := byName[(&clause{Page: cite.page, Section: cite.section, ID: id}).name()]
			if c == nil || !slices.Contains(c.Revisions, cite.revision) {
				faults = append(faults, fmt.Errorf("%s: MCP %s %s, %q has no clause %s", cite.file, cite.revision, cite.page, cite.section, id))
				continue
			}
			if !slices.Contains(c.files, cite.file) {
				c.files = append(c.files, cite.file)
			}
		}
	}
	for _, c := range index {
		switch {
		case len(c.files) == 0 && c.Why == "":
			faults = append(faults, fmt.Errorf("nothing cites %s (%s %s): cite it where the code obeys it, or say why not in clauses.json", c.name(), c.Level, c.Text))
		case len(c.files) > 0 && c.Why != "":
			faults = append(faults, fmt.Errorf("clauses.json says why nothing cites %s, but %s does", c.name(), c.files[0]))
		}
	}
	return errors.Join(faults...)
}

// side is whom a clause binds.
func side(id string) string {
	switch id[0] {
	case 'S':
		return "servers"
	case 'C':
		return "clients"
	}
	return "both"
}

func render(index []*clause, all []citation) []byte {
	var b bytes.Buffer
	cited := 0
	for _, c := range index {
		if len(c.files) > 0 {
			cited++
		}
	}
	fmt.Fprintf(&b, `# Clauses of the specification

Generated by `+"`cd tools && go run ./clauses`"+`; do not edit. What the MCP specification demands of elicitation (client/elicitation of
2025-06-18, 2025-11-25 and 2026-07-28) and of multi round-trip requests (basic/patterns/mrtr of 2026-07-28), in our own words, and the
files with a comment that says how it is obeyed. A citation is a pointer for readers and no proof; the proof is the tests of that package.

%d clauses, %d of them cited. For the others the last column says why.
`, len(index), cited)
	heading := ""
	for _, c := range index {
		if h := fmt.Sprintf("\n## %s, %q\n\n| id | revisions | binds | level | to | where |\n|---|---|---|---|---|---|\n", c.Page, c.Section); h != heading {
			heading = h
			b.WriteString(h)
		}
		where := "not cited: " + c.Why
		if len(c.files) > 0 {
			where = strings.Join(c.files, ", ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", c.ID, strings.Join(c.Revisions, ", "), side(c.ID), c.Level, c.Text, where)
	}
	b.WriteString("\n## Other citations\n\nOf whole sections or pages, and of other pages: for readers, not counted above.\n\n")
	lines := map[string]bool{}
	for _, cite := range all {
		if len(cite.ids) > 0 {
			continue
		}
		what := cite.revision
		if cite.page != "" {
			what += " " + cite.page
		}
		if cite.section != "" {
			what += fmt.Sprintf(", %q", cite.section)
		}
		lines[fmt.Sprintf("- %s: %s\n", what, cite.file)] = true
	}
	sorted := make([]string, 0, len(lines))
	for line := range lines {
		sorted = append(sorted, line)
	}
	slices.Sort(sorted)
	for _, line := range sorted {
		b.WriteString(line)
	}
	return b.Bytes()
}
