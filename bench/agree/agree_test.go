package agree_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/bench/corpus"
	"github.com/parley-mcp/parley/bench/repo"
	"github.com/parley-mcp/parley/form"
)

// theirs compiles a schema for the other validator, with formats asserted as
// package form asserts them.
func theirs(schema []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("mem:///form.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("mem:///form.json")
}

// legalToThem is their verdict on the bytes of an answer.
func legalToThem(s *jsonschema.Schema, content []byte) bool {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	return err == nil && s.Validate(value) == nil
}

// A difference is a point where package form judges otherwise, on purpose.
type difference struct {
	name string // as in docs/benchmarks.md
	// code is the error that only package form has; stricter differences are
	// told by it.
	code string
	// An example: package form says legal, they say the opposite.
	schema, content string
	legal           bool
}

// textSchema is a schema of one field of text.
func textSchema(rest string) string {
	return `{"type":"object","properties":{"v":{"type":"string"` + rest + `}}}`
}

var differences = []difference{
	{"a key that was not asked for", form.CodeUnknownField, textSchema(""), `{"w":1}`, false},
	{"a key given twice", form.CodeDuplicateField, textSchema(""), `{"v":"a","v":"b"}`, false},
	{"half a surrogate pair", form.CodeMalformed, textSchema(""), `{"v":"\ud800"}`, false},
	{"text that is not UTF-8", form.CodeMalformed, textSchema(""), "{\"v\":\"\xff\"}", false},
	{"a number beyond the range of a float64", form.CodeNotFinite, `{"type":"object","properties":{"v":{"type":"number"}}}`, `{"v":1e309}`, false},
	{"a space in a URI", form.CodeURI, textSchema(`,"format":"uri"`), `{"v":"https://a.b/x y"}`, false},
	{"a letter outside of ASCII in a URI", form.CodeURI, textSchema(`,"format":"uri"`), `{"v":"https://ä.de/"}`, false},
	{"a character that RFC 3986 has no place for", form.CodeURI, textSchema(`,"format":"uri"`), `{"v":"https://a.b/{x}"}`, false},
	{"brackets in the path of a URI", form.CodeURI, textSchema(`,"format":"uri"`), `{"v":"https://a.b/[x]"}`, false},
	{"a second # in a URI", form.CodeURI, textSchema(`,"format":"uri"`), `{"v":"https://a.b/#a#b"}`, false},
	{"http or https without a domain", form.CodeURI, textSchema(`,"format":"uri"`), `{"v":"https:///x"}`, false},
	{"a port above 65535", form.CodeURI, textSchema(`,"format":"uri"`), `{"v":"https://a.b:99999/"}`, false},
	{"an email address with nothing before the @", form.CodeEmail, textSchema(`,"format":"email"`), `{"v":"@example.com"}`, false},
	{"a quoted pair in an email address", "", textSchema(`,"format":"email"`), `{"v":"\"a\\\"b\"@example.com"}`, true},
	{"a line separator for . in a pattern", form.CodePattern, textSchema(`,"pattern":"^.$"`), `{"v":"\u2028"}`, false},
	{"a space outside of ASCII for \\s in a pattern", "", textSchema(`,"pattern":"^\\s$"`), `{"v":"\u00a0"}`, true},
	{"no answer at all", "", textSchema(""), `null`, true},
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	file, err := repo.Path("docs", "benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(string(doc), "- "+d.name) {
				t.Error("not written down in docs/benchmarks.md")
			}
			other, err := theirs([]byte(d.schema))
			if err != nil {
				t.Fatal(err)
			}
			s, err := form.Parse([]byte(d.schema))
			if err != nil {
				t.Fatal(err)
			}
			errs := s.Check([]byte(d.content))
			if (errs == nil) != d.legal {
				t.Errorf("Check: %v, want legal %t", errs, d.legal)
			}
			if legalToThem(other, []byte(d.content)) == d.legal {
				t.Error("no difference any more: drop the row")
			}
			for _, e := range errs {
				if e.Code != d.code {
					t.Errorf("error %s, want %s", e.Code, d.code)
				}
			}
		})
	}
}

// onPurpose reports whether every error is one that only package form has.
func onPurpose(errs form.Errors) bool {
	for _, e := range errs {
		switch e.Code {
		case form.CodeUnknownField, form.CodeNotFinite:
		default:
			return false
		}
	}
	return errs != nil
}

// compare fails the test where the two disagree.
func compare(t interface{ Fatalf(string, ...any) }, s *form.Schema, other *jsonschema.Schema, content []byte) {
	errs := s.Check(content)
	legal := legalToThem(other, content)
	if (errs == nil) == legal || legal && onPurpose(errs) {
		return
	}
	why := ""
	if value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content)); err != nil {
		why = err.Error()
	} else if err := other.Validate(value); err != nil {
		why = err.Error()
	}
	t.Fatalf("schema %s\nanswer %s\nform says %v\nthe other says %q", s.Bytes(), content, errs, why)
}

func TestDrawnForms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields, schema := drawSchema(t)
		s, err := form.Parse(schema)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		for _, p := range s.Problems(form.Rev20260728) {
			if p.Severity == form.SeverityError {
				t.Fatalf("%s is outside of the subset: %v", schema, p)
			}
		}
		other, err := theirs(schema)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		for range 30 {
			compare(t, s, other, drawAnswer(t, fields))
		}
	})
}

func TestRealForms(t *testing.T) {
	t.Parallel()
	requests, err := corpus.Read()
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, r := range requests {
		if r.Validity == "out-of-subset" {
			continue
		}
		s, err := form.Parse(r.Schema)
		if err != nil {
			t.Fatalf("%s: %v", r.ID, err)
		}
		other, err := theirs(r.Schema)
		if err != nil {
			t.Fatalf("%s: %v", r.ID, err)
		}
		legal, ok := corpus.Legal(s)
		if !ok {
			legal = []byte("{}")
		}
		compare(t, s, other, legal)
		illegal, err := corpus.Illegal(s, legal)
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range illegal {
			compare(t, s, other, content)
		}
		judged++
	}
	if judged != 134 { // all that are not out of the subset
		t.Errorf("%d requests were judged", judged)
	}
}

// A field is a drawn property and how to draw values near its limits.
type field struct {
	name   string
	values *rapid.Generator[string]
}

func jsonOf(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

var (
	words = rapid.SampledFrom([]string{"", "a", "b", "ab", "Red", " x ", "ä", "1", "1.0", "true", "null", "\U0001F600\U0001F600", "a\nb", "é", "e\u0301", "\\", "\"", "</script>"})
	// emails, dates and addresses, right and nearly right.
	emails = rapid.SampledFrom([]string{
		"a@b.c", "ada@example.com", "a.b+c@x-y.org", "a@b", "a@localhost", "a@", "a", "a@@b", "a b@c.d", ".a@b.c", "a.@b.c",
		"a..b@c.d", "a@-b.c", "a@b-.c", "a@b..c", "a@[127.0.0.1]", "a@[IPv6:::1]", "a@[300.0.0.1]", `"a b"@c.d`, `"a"b@c.d`, "a@b_c.d", "ä@b.c", "a@ä.de",
		"a@b.c ", "a@b.c\n", strings.Repeat("a", 64) + "@b.c", strings.Repeat("a", 65) + "@b.c", "a@" + strings.Repeat("b", 64) + ".c",
		"a@" + strings.Repeat("bcd.", 62) + "e", "Ada <a@b.c>",
	})
	addresses = rapid.SampledFrom([]string{
		"https://example.com", "http://a.b/c?d=e#f", "HTTPS://EXAMPLE.COM", "mailto:a@b.c", "urn:isbn:1", "//a.b", "/a", "a", "https://a b", "https://a.b/%zz", "https://a.b/%41",
		"https://[::1]/", "https://[::1", "https://[1.2.3.4]/", "https://a.b:80/", "https://a.b:x/", "https://u:p@a.b/", "1a:b", "a+b.c-d:e", "javascript:alert(1)", "data:,x", "", ":a",
		"file:///etc/passwd", "https://[fe80::1%25eth0]/", "https://@a.b/",
	})
	dates = rapid.SampledFrom([]string{
		"2026-03-27", "2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "9999-12-31", "2026-00-01", "2026-13-01", "2026-01-00", "2026-01-32", "2026-04-31",
		"26-03-27", "2026-3-27", "2026-03-7", "2026/03/27", " 2026-03-27", "2026-03-27 ", "2026-03-27Z", "+2026-03-27", "2026-03-2７", "", "12345-01-01",
	})
	times = rapid.SampledFrom([]string{
		"2026-03-27T14:30:00Z", "2026-03-27t14:30:00z", "2026-03-27 14:30:00Z", "2026-03-27T14:30:00+02:00", "2026-03-27T14:30:00-00:00", "2026-03-27T14:30:00.123456789Z", "2026-03-27T14:30:00.Z",
		"2026-03-27T14:30:00", "2026-03-27T14:30Z", "2026-03-27T24:00:00Z", "2026-03-27T23:60:00Z", "2026-03-27T23:59:60Z", "1990-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00", "2026-03-27T12:59:60Z", "2026-03-27T23:59:61Z",
		"2026-03-27T14:30:00+24:00", "2026-03-27T14:30:00+23:59", "2026-03-27T14:30:00+02:60", "2026-03-27T14:30:00+0200", "2026-03-27T14:30:00+02", "2026-02-30T14:30:00Z", "2026-03-27T14:30:00,5Z", "2026-03-27T1:30:00Z", "", "2026-03-27T14:30:00.5", "2026-03-27T00:29:60+00:30", "2026-03-27T00:29:60.5+00:30",
	})
	numbers = rapid.Custom(func(t *rapid.T) string {
		s := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,12})?`).Draw(t, "mantissa")
		if rapid.IntRange(0, 3).Draw(t, "exponent?") == 0 {
			s += rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + rapid.SampledFrom([]string{"", "+", "-"}).Draw(t, "sign") + fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "exponent"))
		}
		return s
	})
	small  = rapid.Map(rapid.IntRange(-3, 7), func(n int) string { return fmt.Sprint(n) })
	number = rapid.OneOf(numbers, small, rapid.SampledFrom([]string{"1.0", "1e0", "10e-1", "-0", "0.5", "9007199254740993", "9007199254740992", "1e400", "0e999"}))
	// strangers are values of any type.
	strangers = rapid.OneOf(number, rapid.Map(words, func(s string) string { return jsonOf(s) }),
		rapid.SampledFrom([]string{"true", "false", "null", "{}", "[]", `["a"]`, `[1]`, `[["a"]]`, `{"a":1}`}))
)

// drawSchema draws a form in the subset of MCP 2026-07-28 (schema.ts,
// PrimitiveSchemaDefinition), with pattern, which servers send beside it.
func drawSchema(t *rapid.T) ([]field, []byte) {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "", "__proto__", "x/y~z", "Zwölf", "$ref", "type"}), 0, 5, rapid.ID[string]).Draw(t, "names")
	var fields []field
	var properties []string
	required := []string{}
	for _, name := range names {
		property, values := drawProperty(t)
		fields = append(fields, field{name, values})
		properties = append(properties, jsonOf(name)+":"+property)
		if rapid.Bool().Draw(t, "required") {
			required = append(required, name)
		}
	}
	return fields, fmt.Appendf(nil, `{"type":"object","properties":{%s},"required":%s}`, strings.Join(properties, ","), jsonOf(required))
}

func drawProperty(t *rapid.T) (string, *rapid.Generator[string]) {
	var members []string
	put := func(key, value string) { members = append(members, jsonOf(key)+":"+value) }
	// pair draws two limits, the lower one first, of which either may be left out.
	pair := func(low, high string, from *rapid.Generator[int]) {
		a, b := from.Draw(t, low), from.Draw(t, high)
		if rapid.Bool().Draw(t, low+"?") {
			put(low, fmt.Sprint(min(a, b)))
		}
		if rapid.Bool().Draw(t, high+"?") {
			put(high, fmt.Sprint(max(a, b)))
		}
	}
	some := rapid.IntRange(0, 4)
	choices := rapid.SliceOfNDistinct(words, 1, 5, rapid.ID[string])
	quoted := func(g *rapid.Generator[string]) *rapid.Generator[string] {
		return rapid.Map(g, func(s string) string { return jsonOf(s) })
	}
	titled := func(values []string) string {
		options := make([]string, len(values))
		for i, v := range values {
			options[i] = `{"const":` + jsonOf(v) + `,"title":"Option"}`
		}
		return "[" + strings.Join(options, ",") + "]"
	}
	values := strangers
	switch rapid.IntRange(0, 6).Draw(t, "shape") {
	case 0:
		put("type", `"string"`)
		pair("minLength", "maxLength", some)
		values = quoted(words)
		if rapid.Bool().Draw(t, "pattern?") {
			put("pattern", jsonOf(rapid.SampledFrom([]string{"a", "^[ab]*$", "^.$", "\\s", "^\\w+$", "b|x", "^(a|b){2}$"}).Draw(t, "pattern")))
		}
	case 1:
		put("type", `"string"`)
		format := rapid.SampledFrom([]string{"email", "uri", "date", "date-time"}).Draw(t, "format")
		put("format", jsonOf(format))
		values = quoted(map[string]*rapid.Generator[string]{"email": emails, "uri": addresses, "date": dates, "date-time": times}[format])
	case 2:
		put("type", jsonOf(rapid.SampledFrom([]string{"integer", "number"}).Draw(t, "type")))
		if rapid.Bool().Draw(t, "exact") {
			if rapid.Bool().Draw(t, "low") {
				put("minimum", number.Filter(finite).Draw(t, "minimum"))
			} else {
				put("maximum", number.Filter(finite).Draw(t, "maximum"))
			}
		} else {
			pair("minimum", "maximum", some)
		}
		values = number
	case 3:
		put("type", `"boolean"`)
		values = rapid.SampledFrom([]string{"true", "false"})
	case 4:
		list := choices.Draw(t, "enum")
		put("type", `"string"`)
		put("enum", jsonOf(list))
		values = quoted(rapid.OneOf(words, rapid.SampledFrom(list)))
	case 5:
		list := choices.Draw(t, "oneOf")
		put("type", `"string"`)
		put("oneOf", titled(list))
		values = quoted(rapid.OneOf(words, rapid.SampledFrom(list)))
	case 6:
		list := choices.Draw(t, "items")
		put("type", `"array"`)
		if rapid.Bool().Draw(t, "titled") {
			put("items", `{"anyOf":`+titled(list)+`}`)
		} else {
			put("items", `{"type":"string","enum":`+jsonOf(list)+`}`)
		}
		pair("minItems", "maxItems", rapid.IntRange(0, len(list)))
		item := rapid.OneOf(rapid.SampledFrom(list), rapid.SampledFrom(list), rapid.SampledFrom(list), words)
		values = rapid.Map(rapid.SliceOfN(item, 0, 5), func(v []string) string { return jsonOf(v) })
	}
	return "{" + strings.Join(members, ",") + "}", values
}

// finite leaves out bounds that no float64 holds: the subset has none.
func finite(s string) bool { return s != "1e400" }

func drawAnswer(t *rapid.T, fields []field) []byte {
	var members []string
	for _, f := range fields {
		switch rapid.IntRange(0, 9).Draw(t, "answer") {
		case 0: // left out
		case 1:
			members = append(members, jsonOf(f.name)+":"+strangers.Draw(t, "stranger"))
		default:
			members = append(members, jsonOf(f.name)+": "+f.values.Draw(t, "value"))
		}
	}
	if rapid.IntRange(0, 19).Draw(t, "extra") == 0 {
		members = append(members, `"not asked for": `+strangers.Draw(t, "extra value"))
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}
