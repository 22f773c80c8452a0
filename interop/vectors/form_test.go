package vectors_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// A vector is a schema and what people typed: form/testdata/README.md.
type vector struct {
	Name      string
	Schema    json.RawMessage
	Arguments bool
	Refused   string
	Typed     []struct {
		Input   map[string]json.RawMessage
		Content string
		Errors  []struct{ Field, Code string }
	}
	schema *form.Schema
	view   *form.View
}

func readVectors(t *testing.T, file string) []*vector {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*vector
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, v := range all {
		var text bytes.Buffer
		if err := json.Compact(&text, v.Schema); err != nil {
			t.Fatal(err)
		}
		parse := form.Parse
		if v.Arguments {
			parse = form.ParseArguments
		}
		if v.schema, err = parse(text.Bytes()); (err != nil) != (v.Refused != "") {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if v.schema != nil {
			v.view = v.schema.View()
		}
	}
	return slices.DeleteFunc(all, func(v *vector) bool { return v.Refused != "" })
}

func vectorFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "form", "testdata", "vectors", "*.json"))
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d files of vectors: %v", len(files), err)
	}
	return files
}

// drawn are the fields that the page draws a control for, in its order.
func drawn(view *form.View) []form.ViewField {
	return slices.DeleteFunc(slices.Clone(view.Fields), func(f form.ViewField) bool { return f.Control == form.ControlUnsupported })
}

// filled is what the page says of a form that was filled: see testdata/fill.js.
// All lists are in the order of the controls.
type filled struct {
	Input    map[string]json.RawMessage
	Entered  []bool   // whether a person can enter it at all
	Problems []string // why the page would not send it
	Cleared  []bool   // whether the page takes an error away
	Again    map[string]json.RawMessage
}

// TestForms gives each vector to the page's own form: what it would send is what
// was typed, Go makes of it what the vector says, and the page takes an error away
// exactly when Go has none.
func TestForms(t *testing.T) {
	t.Parallel()
	base := serve(t, nil)
	for _, file := range vectorFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			p := browsertest.Open(t, base)
			entered := 0
			for _, v := range readVectors(t, file) {
				var inputs []map[string]json.RawMessage
				for _, typed := range v.Typed {
					inputs = append(inputs, typed.Input)
				}
				if len(inputs) == 0 {
					continue
				}
				var results []filled
				decode(t, browsertest.Eval[string](p, `fillAll(`+jsString(t, v.view)+`, `+jsString(t, inputs)+`)`), &results)
				for i := range results {
					entered += v.compare(t, i, &results[i])
				}
			}
			if entered == 0 {
				t.Error("nothing of it could be entered")
			}
			faultless(t, p)
		})
	}
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// compare judges the page's account of input i and returns how many of its
// entries were entered.
func (v *vector) compare(t *testing.T, i int, page *filled) (entered int) {
	t.Helper()
	typed := v.Typed[i]
	where, _ := json.Marshal(typed.Input)
	fields := drawn(v.view)
	if len(page.Entered) != len(fields) || len(page.Input) != len(fields) {
		t.Errorf("%s: %s: the page has %d controls for %d fields", v.Name, where, len(page.Input), len(fields))
		return 0
	}
	content, errs := v.schema.Coerce(input(t, page.Input))
	same, sendable := len(typed.Input) == 0 || len(fields) > 0, true
	for name := range typed.Input {
		same = same && slices.ContainsFunc(fields, func(f form.ViewField) bool { return f.Name == name })
	}
	for j, f := range fields {
		raw, got := typed.Input[f.Name], page.Input[f.Name]
		wrong := slices.ContainsFunc(errs, func(e form.Error) bool { return e.Field == f.Name })
		if page.Cleared[j] && wrong {
			t.Errorf("%s: %s: the page calls %s right, Go says %v", v.Name, where, f.Name, errs)
		}
		if !page.Cleared[j] && !wrong && !unjudged(f, got) {
			t.Errorf("%s: %s: the page keeps an error at %s, Go has none", v.Name, where, f.Name)
		}
		if page.Problems[j] != "" {
			sendable = false
			if !wrong {
				t.Errorf("%s: %s: the page does not send %s (%s), Go finds %s legal", v.Name, where, f.Name, page.Problems[j], got)
			}
			if legal(v.schema, f.Name, raw) && !leapSecond.Match(raw) {
				t.Errorf("%s: %s: the page does not send %s (%s), which is legal", v.Name, where, f.Name, page.Problems[j])
			}
			continue
		}
		if !page.Entered[j] {
			same = false
			continue
		}
		entered++
		want := asEntered(f, raw)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: %s: the page would send for %s (-want +got):\n%s", v.Name, where, f.Name, diff)
		}
		same = same && (len(raw) == 0 || want == compacted(raw))
		if diff := cmp.Diff(string(got), string(page.Again[f.Name])); diff != "" {
			t.Errorf("%s: %s: %s differs after a reload (-before +after):\n%s", v.Name, where, f.Name, diff)
		}
	}
	if !same || !sendable {
		return entered
	}
	if diff := cmp.Diff(typed.Content, string(content)); diff != "" {
		t.Errorf("%s: %s: the answer is another (-want +got):\n%s", v.Name, where, diff)
	}
	return entered
}

// legal reports whether Coerce takes raw for the field.
func legal(schema *form.Schema, name string, raw json.RawMessage) bool {
	var e form.Entry
	if len(raw) == 0 || json.Unmarshal(raw, &e) != nil {
		return false
	}
	_, errs := schema.Coerce(form.Input{name: e})
	return !slices.ContainsFunc(errs, func(e form.Error) bool { return e.Field == name })
}

// leapSecond is a moment that is legal and that the page does not take.
var leapSecond = regexp.MustCompile(`T\d\d:59:60`)

func input(t *testing.T, raw map[string]json.RawMessage) form.Input {
	t.Helper()
	in := form.Input{}
	for name, text := range raw {
		var e form.Entry
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatalf("%s: the page would send %s: %v", name, text, err)
		}
		in[name] = e
	}
	return in
}

// unjudged is what the page leaves to the server: patterns, which could hang it,
// and JSON, of which the view does not say what it should be.
func unjudged(f form.ViewField, raw json.RawMessage) bool {
	blank := strings.TrimSpace(strings.Trim(string(raw), `"`)) == ""
	return f.Control == form.ControlJSON && !blank || f.Pattern != "" && f.PatternEnforced && !blank || f.Control == form.ControlChoice && len(f.Options) == 0
}

var (
	datePattern   = regexp.MustCompile(`^"(\d{4})-(\d{1,2})-(\d{1,2})"$`)
	momentPattern = regexp.MustCompile(`^"(.*)[Tt](\d\d:\d\d)(:\d\d(?:\.\d+)?)? ?([Zz]|[+-]\d\d:\d\d)"$`)
)

// asEntered is raw after it went through a control: a blank one holds "", one line
// has no line breaks, a date is written as dates are, and boxes are in order.
func asEntered(f form.ViewField, raw json.RawMessage) string {
	if len(raw) == 0 {
		raw = json.RawMessage(`""`)
	}
	var list []string
	isList := json.Unmarshal(raw, &list) == nil
	text := string(raw)
	switch f.Control {
	case form.ControlChoices:
		if !isList {
			if text != `""` {
				list = []string{strings.Trim(text, `"`)}
			}
		}
		ticked := []string{}
		for _, o := range f.Options {
			if slices.Contains(list, o.Value) && !slices.Contains(ticked, o.Value) {
				ticked = append(ticked, o.Value)
			}
		}
		b, _ := json.Marshal(ticked)
		return string(b)
	case form.ControlChoice, form.ControlBoolean:
		return compacted(raw)
	case form.ControlDate:
		if m := datePattern.FindStringSubmatch(text); m != nil {
			return `"` + m[1] + "-" + two(m[2]) + "-" + two(m[3]) + `"`
		}
		return text
	case form.ControlDateTime:
		if m := momentPattern.FindStringSubmatch(text); m != nil {
			if m[3] == "" {
				m[3] = ":00"
			}
			return `"` + m[1] + "T" + m[2] + m[3] + strings.ToUpper(m[4]) + `"`
		}
		return text
	}
	if isList && len(list) == 1 {
		b, _ := json.Marshal(list[0])
		text = string(b)
	}
	var s string
	if json.Unmarshal([]byte(text), &s) != nil {
		return compacted(raw)
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !f.Multiline {
		s = strings.ReplaceAll(s, "\n", "")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return text
	}
	return strings.TrimSpace(b.String())
}

func compacted(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func two(s string) string { return strings.Repeat("0", 2-len(s)) + s }

// TestEarlyRelief types every text of the vectors into every field of its kind: an
// error never goes away while Go has one, and never stays when Go has none.
func TestEarlyRelief(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t, nil))
	var vectors []*vector
	texts := map[form.Control][]string{}
	for _, file := range vectorFiles(t) {
		for _, v := range readVectors(t, file) {
			vectors = append(vectors, v)
			for _, f := range drawn(v.view) {
				for _, typed := range v.Typed {
					var text string
					if json.Unmarshal(typed.Input[f.Name], &text) == nil && !slices.Contains(texts[f.Control], text) {
						texts[f.Control] = append(texts[f.Control], text)
					}
				}
			}
		}
	}
	// Of one kind in the eyes of a keyboard.
	texts[form.ControlInteger] = append(texts[form.ControlInteger], texts[form.ControlNumber]...)
	texts[form.ControlNumber] = texts[form.ControlInteger]
	texts[form.ControlText] = append(texts[form.ControlText], texts[form.ControlTextarea]...)
	texts[form.ControlTextarea] = texts[form.ControlText]
	var right, wrong int
	seen := map[string]bool{}
	for _, v := range vectors {
		for j, f := range drawn(v.view) {
			// Two fields that differ in their words only are one.
			like := f
			like.Name, like.Label, like.Hint = "", "", ""
			key := jsString(t, like)
			if seen[key] {
				continue
			}
			seen[key] = true
			switch f.Control {
			case form.ControlBoolean, form.ControlChoice, form.ControlChoices, form.ControlJSON:
				continue
			}
			var results []struct {
				Value   json.RawMessage
				Cleared bool
			}
			decode(t, browsertest.Eval[string](p, `judgeAll(`+jsString(t, v.view)+`, `+jsString(t, j)+`, `+jsString(t, texts[f.Control])+`)`), &results)
			for i, r := range results {
				ok := legal(v.schema, f.Name, r.Value)
				if ok {
					right++
				} else {
					wrong++
				}
				if r.Cleared != ok && (r.Cleared || !unjudged(f, r.Value)) {
					t.Errorf("%s: %s: %q, sent as %s: the page calls it right: %v, Go: %v", v.Name, f.Name, texts[f.Control][i], r.Value, r.Cleared, ok)
				}
			}
		}
	}
	if right < 500 || wrong < 500 {
		t.Errorf("only %d legal and %d wrong values: the test proves little", right, wrong)
	}
	faultless(t, p)
}
