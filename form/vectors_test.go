package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the views and error texts in testdata; codes and contents are written by hand")

// A vector is a schema and what must come of it. The files are read by the
// browser's tests too, so that both sides agree. Answers are text, since their
// exact bytes count.
type vector struct {
	Name   string          `json:"name"`
	About  string          `json:"about,omitempty"`
	Schema json.RawMessage `json:"schema"`
	// Arguments is true for the inputSchema of a tool.
	Arguments bool `json:"arguments,omitempty"`
	// Refused is the rule of the parse error, instead of all below.
	Refused string         `json:"refused,omitempty"`
	Typed   []typedVector  `json:"typed,omitempty"`
	Answers []answerVector `json:"answers,omitempty"`
	Filled  []filledVector `json:"filled,omitempty"`
	View    *View          `json:"view,omitempty"`
}

type typedVector struct {
	Input   Input         `json:"input"`
	Content string        `json:"content,omitempty"`
	Errors  []errorVector `json:"errors,omitempty"`
}

type answerVector struct {
	Content string        `json:"content"`
	Errors  []errorVector `json:"errors,omitempty"`
}

type filledVector struct {
	Content  string `json:"content"`
	All      string `json:"all"`
	Required string `json:"required"`
}

type errorVector struct {
	Field string `json:"field,omitempty"`
	Code  string `json:"code"`
	Text  string `json:"text"`
}

func errorVectors(errs Errors) []errorVector {
	var out []errorVector
	for _, e := range errs {
		out = append(out, errorVector{e.Field, e.Code, e.Text})
	}
	return out
}

// sameErrors compares all but the texts, which -update takes over.
func sameErrors(t *testing.T, what string, got Errors, want []errorVector) []errorVector {
	t.Helper()
	g := errorVectors(got)
	cg, cw := codesOf(g), codesOf(want)
	if diff := cmp.Diff(cw, cg); diff != "" {
		t.Errorf("%s: errors (-want +got):\n%s", what, diff)
		return want
	}
	if diff := cmp.Diff(want, g); diff != "" && !*update {
		t.Errorf("%s: error texts (-want +got):\n%s", what, diff)
	}
	return g
}

func codesOf(es []errorVector) [][2]string {
	var out [][2]string
	for _, e := range es {
		out = append(out, [2]string{e.Field, e.Code})
	}
	return out
}

func vectorFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/vectors/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	return files
}

func readVectors(t testing.TB, file string) []vector {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var vs []vector
	if err := dec.Decode(&vs); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return vs
}

func (v *vector) parse() (*Schema, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, v.Schema); err != nil {
		return nil, err
	}
	if v.Arguments {
		return ParseArguments(b.Bytes())
	}
	return Parse(b.Bytes())
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, file := range vectorFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			vs := readVectors(t, file)
			for i := range vs {
				t.Run(vs[i].Name, func(t *testing.T) { runVector(t, &vs[i]) })
			}
			if !*update || t.Failed() {
				return
			}
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", " ")
			if err := enc.Encode(vs); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func runVector(t *testing.T, v *vector) {
	s, err := v.parse()
	if v.Refused != "" {
		var se *SchemaError
		if !errors.As(err, &se) || se.Rule != v.Refused {
			t.Fatalf("parse gave %v, want rule %s", err, v.Refused)
		}
		return
	}
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	for i := range v.Typed {
		tv := &v.Typed[i]
		content, errs := s.Coerce(tv.Input)
		what := "typed " + mustJSON(t, tv.Input)
		if string(content) != tv.Content {
			t.Errorf("%s: content %s, want %s", what, content, tv.Content)
		}
		tv.Errors = sameErrors(t, what, errs, tv.Errors)
		if errs != nil {
			continue
		}
		if errs := s.Check(content); errs != nil {
			t.Errorf("%s: Check refuses what Coerce gave: %v", what, errs)
		}
		again, errs := s.Coerce(s.Entries(content))
		if errs == nil && !sameJSON(t, again, content) {
			t.Errorf("%s: Entries lead to %s, not to %s", what, again, content)
		}
	}
	for i := range v.Answers {
		a := &v.Answers[i]
		a.Errors = sameErrors(t, "answer "+a.Content, s.Check([]byte(a.Content)), a.Errors)
	}
	for _, f := range v.Filled {
		for mode, want := range map[FillMode]string{FillAll: f.All, FillRequired: f.Required} {
			got, err := s.Fill([]byte(f.Content), mode)
			if err != nil || string(got) != want {
				t.Errorf("Fill(%s, %d) = %s, %v, want %s", f.Content, mode, got, err, want)
			}
		}
	}
	view := s.View()
	if *update {
		v.View = view
	}
	if diff := cmp.Diff(mustJSON(t, v.View), mustJSON(t, view)); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	var va, vb any
	for _, x := range []struct {
		b []byte
		v *any
	}{{a, &va}, {b, &vb}} {
		dec := json.NewDecoder(bytes.NewReader(x.b))
		dec.UseNumber()
		if err := dec.Decode(x.v); err != nil {
			t.Fatalf("%s: %v", x.b, err)
		}
	}
	return cmp.Equal(va, vb)
}
