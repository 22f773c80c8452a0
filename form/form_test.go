package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t testing.TB, schema string) *Schema {
	t.Helper()
	s, err := Parse([]byte(schema))
	if err != nil {
		t.Fatalf("Parse(%.200s): %v", schema, err)
	}
	return s
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	var many strings.Builder
	for i := range MaxFields + 1 {
		fmt.Fprintf(&many, `,"f%d":{"type":"string"}`, i)
	}
	for _, tc := range []struct {
		name, schema, rule, pointer string
		offset                      int
	}{
		{"not JSON", `{"type":`, "malformed", "/type", 8},
		{"trailing", `{} {}`, "malformed", "", 3},
		{"comma", `{"a":1,}`, "malformed", "", 7},
		{"twice", `{"properties":{"a":{},"a":{}}}`, "malformed", "/properties/a", 22},
		{"twice by an escape", `{"a":1,"\u0061":2}`, "malformed", "/a", 7},
		{"twice among many", `{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"9":1}`, "malformed", "/9", 55},
		{"not UTF-8", "{\"a\xff\":1}", "malformed", "", 3},
		{"half a surrogate", `{"a":"\ud800"}`, "malformed", "/a", 6},
		{"surrogates swapped", `{"a":"\udc00\ud800"}`, "malformed", "/a", 6},
		{"deep", `{"x":` + deep + `}`, "malformed", "/x" + strings.Repeat("/a", maxDepth-1), 5 + 5*(maxDepth-1)},
		{"large", `{"x":"` + strings.Repeat("a", MaxSchema) + `"}`, "too-large", "", MaxSchema},
		{"many fields", `{"properties":{` + many.String()[1:] + `}}`, "too-many-fields", "/properties", 14},
		{"array", `[]`, "root-type", "", 0},
		{"root is a loop", `{"$ref":"#"}`, "root-type", "", 0},
		{"type", ` {"type":"array"}`, "root-type", "/type", 9},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(tc.schema))
			var se *SchemaError
			if !errors.As(err, &se) || !errors.Is(err, ErrSchema) {
				t.Fatalf("got %v, want a *SchemaError", err)
			}
			if se.Rule != tc.rule || se.Pointer != tc.pointer || se.Offset != tc.offset {
				t.Errorf("got %s %q at %d, want %s %q at %d", se.Rule, se.Pointer, se.Offset, tc.rule, tc.pointer, tc.offset)
			}
		})
	}
}

// A small schema must not become much work or memory: everything that $ref can
// multiply has a bound.
func TestAmplification(t *testing.T) {
	t.Parallel()
	var opts, refs strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&opts, `,"%d"`, i)
	}
	for i := range MaxFields {
		fmt.Fprintf(&refs, `,"f%d":{"$ref":"#/$defs/x"}`, i)
	}
	s := mustParse(t, `{"type":"object","$defs":{"x":{"type":"string","enum":[`+opts.String()[1:]+`]}},"properties":{`+refs.String()[1:]+`}}`)
	total := 0
	for _, f := range s.Fields() {
		total += len(f.Options)
	}
	if total == 0 || total > maxOptions {
		t.Errorf("%d options, want 1 to %d", total, maxOptions)
	}
	v := s.View()
	if len(v.LeftOut) == 0 {
		t.Error("no field is left out")
	}

	s = mustParse(t, `{"type":"object","$defs":{"x":{"type":"string","description":"`+strings.Repeat("d", 25_000)+`","default":"`+strings.Repeat("d", 25_000)+`"}},"properties":{`+refs.String()[1:]+`}}`)
	if b := mustJSON(t, s.View()); len(b) > MaxFields*(maxHint+1000)+MaxContent {
		t.Errorf("view of %d bytes", len(b))
	}
	filled, err := s.Fill(nil, FillAll)
	if err != nil || len(filled) > MaxContent+MaxFields*10 {
		t.Errorf("filled to %d bytes, %v", len(filled), err)
	}

	var patterns strings.Builder
	for i := range MaxFields {
		fmt.Fprintf(&patterns, `,"f%d":{"type":"string","pattern":"^%d.{1,900}$"}`, i, i)
	}
	s = mustParse(t, `{"type":"object","properties":{`+patterns.String()[1:]+`}}`)
	enforced := 0
	for _, f := range s.Fields() {
		if f.PatternEnforced {
			enforced++
		}
	}
	if enforced == 0 || enforced == MaxFields {
		t.Errorf("%d patterns are enforced, want some and not all", enforced)
	}
}

func TestArgumentsAreLarger(t *testing.T) {
	t.Parallel()
	b := []byte(`{"type":"object","description":"` + strings.Repeat("a", MaxSchema) + `"}`)
	if _, err := Parse(b); err == nil {
		t.Error("Parse took a schema past its bound")
	}
	if _, err := ParseArguments(b); err != nil {
		t.Errorf("ParseArguments: %v", err)
	}
}

func TestContentTooLarge(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"properties":{"a":{"type":"string"}}}`)
	big := strings.Repeat("a", MaxContent)
	if errs := s.Check([]byte(`{"a":"` + big + `"}`)); len(errs) != 1 || errs[0].Code != CodeTooLarge {
		t.Errorf("Check: %v", errs)
	}
	if _, errs := s.Coerce(Input{"a": Typed(big)}); len(errs) != 1 || errs[0].Code != CodeTooLarge {
		t.Errorf("Coerce: %v", errs)
	}
	_, err := s.Fill([]byte(`{"a":"`+big+`"}`), FillAll)
	var errs Errors
	if !errors.As(err, &errs) || errs[0].Code != CodeTooLarge {
		t.Errorf("Fill: %v", err)
	}
}

func TestFillMalformed(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"properties":{"a":{"type":"string"}}}`)
	for _, content := range []string{`[]`, `{`, `{"a":"1","a":"2"}`, `{"a":1} 2`, `"x"`} {
		if got, err := s.Fill([]byte(content), FillRequired); err == nil {
			t.Errorf("Fill(%s) = %s, want an error", content, got)
		}
	}
}

func TestErrorsIsAnError(t *testing.T) {
	t.Parallel()
	if err := (Errors)(nil).Err(); err != nil {
		t.Errorf("no errors give %v", err)
	}
	s := mustParse(t, `{"properties":{"pin":{"type":"string","maxLength":2}},"required":["pin"]}`)
	errs := s.Check([]byte(`{"pin":"s3cret"}`))
	err := fmt.Errorf("answer: %w", errs.Err())
	var got Errors
	if !errors.As(err, &got) || len(got) != 1 {
		t.Fatalf("errors.As gives %v", got)
	}
	if b := mustJSON(t, errs) + err.Error(); strings.Contains(b, "s3cret") {
		t.Errorf("an error tells the answer: %s", b)
	}
	want := `[{"field":"pin","pointer":"/pin","code":"too_long","params":{"length":6,"max":2},"text":"“PIN” must be 2 characters or fewer"}]`
	if diff := cmp.Diff(want, mustJSON(t, errs)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestManyErrorsAreBounded(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{}`)
	var b strings.Builder
	in := Input{}
	for i := range 3000 {
		fmt.Fprintf(&b, `,"k%d":1`, i)
		in[fmt.Sprint(i)] = Typed("x")
	}
	if errs := s.Check([]byte("{" + b.String()[1:] + "}")); len(errs) != maxErrors {
		t.Errorf("Check gives %d errors", len(errs))
	}
	if _, errs := s.Coerce(in); len(errs) != maxErrors {
		t.Errorf("Coerce gives %d errors", len(errs))
	}
}

func TestEntryJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{`{"a":"x"}`, `{"a":"x"}`},
		{`{"a":["x","y"]}`, `{"a":["x","y"]}`},
		{`{"a":[]}`, `{"a":[]}`},
		{`{"a":{"empty":true}}`, `{"a":{"empty":true}}`},
		{`{"a":null}`, `{"a":""}`},
	} {
		var in Input
		if err := json.Unmarshal([]byte(tc.in), &in); err != nil {
			t.Errorf("%s: %v", tc.in, err)
			continue
		}
		if got := mustJSON(t, in); got != tc.want {
			t.Errorf("%s became %s, want %s", tc.in, got, tc.want)
		}
	}
	for _, bad := range []string{`{"a":1}`, `{"a":true}`, `{"a":{}}`, `{"a":{"empty":false}}`, `{"a":[1]}`, `{"a":[["x"]]}`} {
		var in Input
		if err := json.Unmarshal([]byte(bad), &in); err == nil {
			t.Errorf("%s was read as %v", bad, in)
		}
	}
}

func TestFieldsKeepTheSchema(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"properties":{"n":{"type":"number","minimum":1e2,"maximum":9007199254740993,"default":1.50e2}}}`)
	f, ok := s.Field("n")
	if !ok || f.Minimum != "1e2" || f.Maximum != "9007199254740993" || string(f.Default) != "1.50e2" || !f.DefaultUsable {
		t.Errorf("field is %+v", f)
	}
	if _, ok := s.Field("m"); ok {
		t.Error("a field that is not there was found")
	}
	fields := s.Fields()
	fields[0].Name = "changed"
	if f, _ := s.Field("n"); f.Name != "n" {
		t.Error("the schema changed through Fields")
	}
}

func TestBytesAreOwn(t *testing.T) {
	t.Parallel()
	b := []byte(`{"properties":{"a":{"type":"string","default":"x"}}}`)
	s, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = ' '
	}
	got, err := s.Fill(nil, FillAll)
	if err != nil || string(got) != `{"a":"x"}` {
		t.Errorf("Fill = %s, %v", got, err)
	}
}

func TestEntriesDropWhatIsNotLegal(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"properties":{
		"size":{"type":"string","enum":["S","L"]},"days":{"type":"array","items":{"enum":["mon","tue"]}},
		"bags":{"type":"integer","maximum":3},"ok":{"type":"boolean"},"note":{"type":"string"},"blob":{"type":"object"}}}`)
	in := s.Entries([]byte(`{"size":"M","days":["tue"],"bags":2.0,"ok":false,"note":"x","blob":{},"gone":1}`))
	if got, want := mustJSON(t, in), `{"bags":"2","days":["tue"],"note":"x","ok":"false"}`; got != want {
		t.Errorf("Entries = %s, want %s", got, want)
	}
	if in := s.Entries([]byte(`[`)); len(in) != 0 {
		t.Errorf("Entries of nonsense = %v", in)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"properties":{
		"size":{"type":"string","oneOf":[{"const":"s","title":"Small"}]},"days":{"type":"array","items":{"anyOf":[{"const":"m","title":"Monday"},{"const":"t","title":"Tuesday"}]}},
		"bags":{"type":"integer"},"ok":{"type":"boolean"},"note":{"type":"string","title":"Your note"}}}`)
	got := mustJSON(t, s.Lines([]byte(`{"size":"s","days":["m","t"],"bags":2,"ok":true,"note":"a\u202eb"}`)))
	want := `[{"name":"size","label":"Size","text":"Small"},{"name":"days","label":"Days","text":"","values":["Monday","Tuesday"]},` +
		`{"name":"bags","label":"Bags","text":"2"},{"name":"ok","label":"OK","text":"Yes"},{"name":"note","label":"Your note","text":"a⟨U+202E⟩b"}]`
	if diff := cmp.Diff(strings.Replace(want, `"OK"`, `"Ok"`, 1), got); diff != "" {
		t.Errorf("Lines (-want +got):\n%s", diff)
	}
}

// Every request that can be answered at all can be sent untouched or says by
// name which required fields lack an answer.
func TestRequestsUntouched(t *testing.T) {
	t.Parallel()
	for _, r := range readRequests(t) {
		if r.Mode != "form" {
			continue
		}
		s, err := Parse(r.Schema)
		if err != nil {
			t.Fatal(err)
		}
		in := Input{}
		for _, f := range s.View().Fields {
			if f.Default != nil {
				in[f.Name] = *f.Default
			}
		}
		content, errs := s.Coerce(in)
		for _, e := range errs {
			f, ok := s.Field(e.Field)
			if e.Code != CodeRequired || ok && f.DefaultUsable {
				t.Errorf("%s: untouched form: %v", r.ID, e)
			}
		}
		if errs == nil && s.Check(content) != nil {
			t.Errorf("%s: Check refuses %s", r.ID, content)
		}
	}
}
