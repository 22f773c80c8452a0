package lint

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/parley-mcp/parley/internal/plain"
)

// A Format is a way to print reports.
type Format string

const (
	Text   Format = "text"   // for people
	JSON   Format = "json"   // one object, see File
	SARIF  Format = "sarif"  // OASIS SARIF 2.1.0, for code scanning
	GitHub Format = "github" // workflow commands, for annotations in a pull request
)

// A File is the report of one input under its name: a path, a URL, or "-".
type File struct {
	Name    string
	*Report //nolint:embeddedstructfieldcheck // a file has a name first
}

// Write prints the reports of several inputs. It errs on an unknown format and
// where w does.
func Write(w io.Writer, format Format, files []File) error {
	switch format {
	case Text:
		return writeText(w, files)
	case JSON:
		return writeJSON(w, files)
	case SARIF:
		return writeSARIF(w, files)
	case GitHub:
		return writeGitHub(w, files)
	}
	return fmt.Errorf("format %q is not known", string(format))
}

func writeText(w io.Writer, files []File) error {
	var b strings.Builder
	total := map[Severity]int{}
	for _, file := range files {
		name := plain.Line(file.Name, 300)
		fmt.Fprintf(&b, "%s: %s", name, file.Kind)
		if file.Kind != KindSource {
			fmt.Fprintf(&b, ", judged by %s", file.Revision)
		}
		if file.Kind == KindSession || file.Kind == KindResult {
			fmt.Fprintf(&b, ", %d %s", file.Questions, plural(file.Questions, "question"))
		}
		b.WriteByte('\n')
		for _, f := range file.Findings {
			total[f.Severity]++
			place := name
			if f.Line > 0 {
				place = fmt.Sprintf("%s:%d:%d", name, f.Line, f.Column)
			}
			fmt.Fprintf(&b, "%s: %s: %s [%s]\n", place, f.Severity, line(f.Text), f.Code)
			if f.Pointer != "" {
				fmt.Fprintf(&b, "    at %s\n", line(f.Pointer))
			}
			fmt.Fprintf(&b, "    %s (%s)\n", f.Advice, f.Clause)
		}
	}
	fmt.Fprintf(&b, "%d %s, %d %s, %d %s\n", total[Error], plural(total[Error], "error"),
		total[Warning], plural(total[Warning], "warning"), total[Note], plural(total[Note], "note"))
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func line(s string) string { return plain.Line(s, 1000) }

func writeJSON(w io.Writer, files []File) error {
	type file struct {
		Name    string `json:"name"`
		*Report        //nolint:embeddedstructfieldcheck // the name comes first in the JSON
	}
	out := struct {
		Files []file `json:"files"`
	}{Files: []file{}}
	for _, f := range files {
		out.Files = append(out.Files, file(f))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// writeGitHub prints workflow commands. In them "%", line ends and, in
// properties, ":" and "," are escaped.
func writeGitHub(w io.Writer, files []File) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	command := map[Severity]string{Error: "error", Warning: "warning", Note: "notice"}
	var b strings.Builder
	for _, file := range files {
		for _, f := range file.Findings {
			fmt.Fprintf(&b, "::%s file=%s", command[f.Severity], property.Replace(plain.Line(file.Name, 300)))
			if f.Line > 0 {
				fmt.Fprintf(&b, ",line=%d,col=%d", f.Line, f.Column)
			}
			text := line(f.Text) + ". " + f.Advice
			if f.Pointer != "" {
				text = line(f.Pointer) + ": " + text
			}
			fmt.Fprintf(&b, ",title=%s::%s\n", property.Replace(f.Code), data.Replace(text))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// The part of SARIF 2.1.0 that is written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string            `json:"id"`
		ShortDescription sarifText         `json:"shortDescription"`
		Help             sarifText         `json:"help"`
		Configuration    sarifLevel        `json:"defaultConfiguration"`
		Properties       map[string]string `json:"properties"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

func writeSARIF(w io.Writer, files []File) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "parley lint", InformationURI: "https://github.com/parley-mcp/parley/blob/main/docs/lint.md", Rules: []sarifRule{},
		}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	// Only the rules that are used, in the order of their first use.
	index := map[string]int{}
	for _, file := range files {
		for _, f := range file.Findings {
			if _, ok := index[f.Code]; !ok {
				index[f.Code] = len(index)
				r := ruleOf(f.Code)
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
					ID: r.Code, ShortDescription: sarifText{r.Means}, Help: sarifText{r.Advice},
					Configuration: sarifLevel{string(r.Severity)}, Properties: map[string]string{"clause": r.Clause},
				})
			}
			loc := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{fileURI(file.Name)}}}
			if f.Line > 0 {
				loc.Physical.Region = &sarifRegion{f.Line, f.Column}
			}
			if f.Pointer != "" {
				loc.Logical = []sarifLogical{{line(f.Pointer), "member"}}
			}
			run.Results = append(run.Results, sarifResult{
				RuleID: f.Code, RuleIndex: index[f.Code], Level: string(f.Severity),
				Message:   sarifText{line(f.Text) + ". " + f.Advice},
				Locations: []sarifLocation{loc},
			})
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// ruleOf also knows the rules of lint/vet, which are named there.
func ruleOf(code string) Rule {
	if r := ruleIndex[code]; r != nil {
		return *r
	}
	return Rule{Code: code, Severity: Warning, Means: code, Advice: "", Clause: onPractice}
}

// fileURI writes a path as a relative URI reference (SARIF 2.1.0, 3.4.3).
func fileURI(name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	return (&url.URL{Path: strings.ReplaceAll(name, `\`, "/")}).String()
}
