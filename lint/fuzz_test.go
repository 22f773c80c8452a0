package lint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/lint"
)

// Any bytes get a report or a named error; a report can be printed in every
// format, points into the input, and comes out the same twice.
func FuzzLint(f *testing.F) {
	inputs, err := filepath.Glob("testdata/golden/*.json*")
	if err != nil || len(inputs) == 0 {
		f.Fatal(err)
	}
	for _, name := range inputs {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(0))
	}
	for _, c := range ruleCases {
		if len(c.bad) < 2000 {
			f.Add([]byte(c.bad), uint8(1))
		}
	}
	f.Add([]byte("{\"a\":1}\n{\"dir\":\"recv\",\"msg\":7}\n\n[]\n{"), uint8(2))
	f.Add([]byte("\ufeff{\"message\":\"\\ud800\"}"), uint8(3))
	revisions := []form.Revision{"", form.Rev20250618, form.Rev20251125, form.Rev20260728, "tomorrow"}
	f.Fuzz(func(t *testing.T, input []byte, rev uint8) {
		opts := &lint.Options{Revision: revisions[int(rev)%len(revisions)]}
		rep, err := lint.Lint(input, opts)
		if err != nil {
			var syntax *lint.SyntaxError
			if !errors.As(err, &syntax) && !errors.Is(err, lint.ErrTooLarge) {
				t.Fatalf("error %v", err)
			}
			if syntax != nil && (syntax.Line < 1 || syntax.Column < 1) {
				t.Fatalf("%+v", syntax)
			}
			return
		}
		lines := bytes.Count(input, []byte("\n")) + 1
		for _, finding := range rep.Findings {
			if finding.Line < 1 || finding.Line > lines || finding.Column < 1 || finding.Code == "" || finding.Text == "" {
				t.Fatalf("%+v", finding)
			}
		}
		var first bytes.Buffer
		for _, format := range []lint.Format{lint.Text, lint.JSON, lint.SARIF, lint.GitHub} {
			if err := lint.Write(&first, format, []lint.File{{Name: "in.json", Report: rep}}); err != nil {
				t.Fatal(err)
			}
		}
		again, err := lint.Lint(input, opts)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(rep)
		b, _ := json.Marshal(again)
		if !bytes.Equal(a, b) {
			t.Fatal("a second run found something else")
		}
	})
}

// FuzzSecrets looks for texts that make the rule on secrets slow or fall over.
func FuzzSecrets(f *testing.F) {
	for _, p := range phrases(f) {
		f.Add(p.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		field := &form.Field{Kind: form.Text, Name: text, Title: text, Description: text}
		words, asks := lint.AsksSecret(field)
		if asks == (words == "") {
			t.Fatalf("%q: %q, %v", text, words, asks)
		}
	})
}
