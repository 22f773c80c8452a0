package vectors_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// kinds are one field for each kind of control: what its schema says beside the
// title, a default, and what a person could do wrong.
var kinds = []struct {
	control           form.Control
	schema, preset    string
	wrong             string
	argument, dropped bool
}{
	{control: form.ControlText, schema: `"type":"string","description":"As it is in your passport","maxLength":5`, preset: `"Ada"`, wrong: `"Augusta Ada"`},
	{control: form.ControlTextarea, schema: `"type":"string","minLength":10,"maxLength":300`, preset: `"A line,\nand another"`, wrong: `"Short"`},
	{control: form.ControlEmail, schema: `"type":"string","format":"email"`, preset: `"ada@example.com"`, wrong: `"ada"`},
	{control: form.ControlURI, schema: `"type":"string","format":"uri"`, preset: `"https://example.com/"`, wrong: `"example.com"`},
	{control: form.ControlInteger, schema: `"type":"integer","minimum":0,"maximum":3`, preset: `1`, wrong: `"4"`},
	{control: form.ControlNumber, schema: `"type":"number","exclusiveMinimum":0,"multipleOf":0.5`, preset: `1.50`, wrong: `"1,234"`},
	{control: form.ControlBoolean, schema: `"type":"boolean"`, preset: `false`, wrong: `""`},
	{control: form.ControlDate, schema: `"type":"string","format":"date"`, preset: `"2027-03-27"`, wrong: `"2027-02-30"`},
	{control: form.ControlDateTime, schema: `"type":"string","format":"date-time"`, preset: `"2027-03-27T14:30:00Z"`, wrong: `"2027-03-27T25:00"`},
	{control: form.ControlChoice, schema: `"type":"string","oneOf":[{"const":"a","title":"Aisle"},{"const":"w","title":"Window"}]`, preset: `"w"`, wrong: `""`},
	{control: form.ControlChoices, schema: `"type":"array","maxItems":2,"items":{"type":"string","enum":["Fish","Rice","Egg"]}`, preset: `["Rice"]`, wrong: `["Fish","Rice","Egg"]`},
	{control: form.ControlJSON, schema: `"type":"object"`, preset: `{"a": [1.0]}`, wrong: `"{"`, argument: true},
	{control: form.ControlUnsupported, schema: `"type":"object"`, preset: `{}`, wrong: `""`, dropped: true},
}

var states = []string{"empty", "default", "error"}

// TestAccessibility holds what assistive technology is told of each control, blank,
// with a suggestion, and after an error, against testdata/ax, and has axe look for
// faults.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t, nil))
	// The same list of zones, and the same own zone, on every machine.
	browsertest.Eval[any](p, `void (() => {
		Intl.supportedValuesOf = () => ['UTC', 'Europe/Paris'];
		const was = Intl.DateTimeFormat.prototype.resolvedOptions;
		Intl.DateTimeFormat.prototype.resolvedOptions = function() { return {...was.call(this), timeZone: 'UTC'} };
	})()`)
	var names []string
	var draw strings.Builder
	for _, k := range kinds {
		for _, state := range states {
			name := string(k.control) + "-" + state
			names = append(names, name)
			parse := form.Parse
			if k.argument {
				parse = form.ParseArguments
			}
			s, err := parse([]byte(schemaOf(state, k.schema, k.preset)))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			view, options, then := s.View(), map[string]any{}, ""
			if len(drawn(view)) == 1 && drawn(view)[0].Control != k.control || len(drawn(view)) == 0 != k.dropped {
				t.Fatalf("%s: the view is %+v", name, view.Fields)
			}
			if state == "error" {
				in := map[string]json.RawMessage{"field": json.RawMessage(k.wrong)}
				_, errs := s.Coerce(input(t, in))
				if len(errs) == 0 {
					t.Fatalf("%s: %s is no error", name, k.wrong)
				}
				options["draft"], then = in, `.fail(JSON.parse(`+jsString(t, errs)+`))`
			}
			draw.WriteString(`testOnlyForm(JSON.parse(` + jsString(t, view) + `), JSON.parse(` + jsString(t, options) + `), '` + name + `')` + then + ";\n")
		}
	}
	browsertest.Eval[any](p, draw.String()+"undefined")
	trees := regions(p.AX(browsertest.ByRole("main", "")))
	for _, name := range names {
		golden(t, name+".txt", trees[name])
	}
	for _, finding := range p.Axe() {
		t.Errorf("axe: %s", finding)
	}
	faultless(t, p)
	entries, err := os.ReadDir(filepath.Join("testdata", "ax"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), ".txt"); name != "card" && !slices.Contains(names, name) {
			t.Errorf("testdata/ax/%s is of no test", entry.Name())
		}
	}
}

// regions cuts the tree of the page into those of its regions, by their names.
func regions(tree string) map[string]string {
	parts := map[string]string{}
	name := ""
	for line := range strings.Lines(tree) {
		line = strings.TrimPrefix(line, "  ")
		if quoted, ok := strings.CutPrefix(line, "region "); ok {
			name = strings.Trim(quoted, "\"\n")
		}
		parts[name] += line
	}
	return parts
}

// schemaOf is a form of one field: optional, optional with a default, or required.
func schemaOf(state, schema, preset string) string {
	s := `{"type":"object","properties":{"field":{"title":"Your answer",` + schema
	switch state {
	case "default":
		return s + `,"default":` + preset + `}}}`
	case "error":
		return s + `}},"required":["field"]}`
	}
	return s + `}}}`
}

// aQuestion is a question as the API has it.
func aQuestion(t *testing.T) map[string]any {
	t.Helper()
	s, err := form.Parse([]byte(`{"type":"object","properties":{
		"seat":{"type":"string","title":"Seat","oneOf":[{"const":"a","title":"Aisle"},{"const":"w","title":"Window"}]},
		"bags":{"type":"integer","title":"Bags","minimum":0,"maximum":3,"default":1}},"required":["seat"]}`))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"id": "q1", "version": 1, "call": "c1", "conversation": "v1", "server": "desk", "server_local": false, "server_address": "https://desk.example/mcp",
		"tool": "book", "mode": "form", "message": "Where do you want to sit?", "message_findings": []string{}, "view": s.View(), "url": nil, "state": "open",
		"round": 1, "position": 1, "of": 1, "held": false, "answer": nil, "can_take_back": false, "created_at": "2027-03-27T14:30:00Z",
	}
}

// TestCard is the card of a question as other pages embed it.
func TestCard(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t, aQuestion(t))+"/card")
	card := browsertest.ByCSS("section.card")
	p.WaitFor(card)
	for _, action := range []string{"Review answers", "Decline", "Cancel question", "Not now"} {
		p.WaitFor(browsertest.ByRole("button", action))
	}
	p.WaitGone(browsertest.ByCSS(`[aria-disabled="true"]`))
	golden(t, "card.txt", p.AX(card))
	for _, finding := range p.Axe() {
		t.Errorf("axe: %s", finding)
	}
	faultless(t, p)
}

// TestTwoCopies is a page with the script under both of its names, as a product and
// a part that it has from somebody else may bring it.
func TestTwoCopies(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t, aQuestion(t))+"/twice")
	p.WaitFor(browsertest.ByRole("button", "Review answers"))
	if n := p.Count(browsertest.ByCSS("#parley-status")); n != 1 {
		t.Errorf("the page has %d regions for announcements, want 1", n)
	}
	faultless(t, p)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "ax", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
