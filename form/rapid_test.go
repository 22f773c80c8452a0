package form

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// literal draws a JSON number.
func literal(maxExp int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?`).Draw(t, "mantissa")
		if rapid.Bool().Draw(t, "exp") {
			s += fmt.Sprintf("e%d", rapid.IntRange(-maxExp, maxExp).Draw(t, "e"))
		}
		return s
	})
}

func rat(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("not a number: " + s)
	}
	return r
}

// The exact decimals agree with math/big wherever that can follow.
func TestDecimalAgreesWithBig(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := literal(40).Draw(t, "a"), literal(40).Draw(t, "b")
		ra, rb, da, db := rat(a), rat(b), parseDecimal(a), parseDecimal(b)
		if got, want := da.cmp(db), ra.Cmp(rb); got != want {
			t.Fatalf("cmp(%s, %s) = %d, want %d", a, b, got, want)
		}
		if got, want := da.integral(), ra.IsInt(); got != want {
			t.Fatalf("integral(%s) = %t", a, got)
		}
		if da.integral() && da.integer() != ra.Num().String() {
			t.Fatalf("integer(%s) = %s, want %s", a, da.integer(), ra.Num())
		}
		if (da.canonical() == db.canonical()) != (ra.Cmp(rb) == 0) {
			t.Fatalf("canonical: %s and %s", da.canonical(), db.canonical())
		}
		if rb.Sign() != 0 {
			if got, want := da.multipleOf(db), new(big.Rat).Quo(ra, rb).IsInt(); got != want {
				t.Fatalf("%s multiple of %s = %t, want %t", a, b, got, want)
			}
		}
	})
}

// A typed literal keeps its value exactly.
func TestTypedNumberKeepsItsValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := literal(200).Draw(t, "typed")
		lit, code := parseTyped(in, false)
		if code != "" {
			t.Fatalf("%s refused: %s", in, code)
		}
		if rat(in).Cmp(rat(lit)) != 0 {
			t.Fatalf("%s became %s", in, lit)
		}
	})
}

// property draws the schema of one field in one of the shapes in the wild.
func property() *rapid.Generator[map[string]any] {
	words := rapid.SampledFrom([]string{"", "a", "b", "Red", " x ", "ä", "1", "true", "\U0001F600", "a\nb"})
	list := rapid.SliceOfN(words, 1, 5)
	return rapid.Custom(func(t *rapid.T) map[string]any {
		p := map[string]any{}
		maybe := func(key string, v func() any) {
			if rapid.Bool().Draw(t, key+"?") {
				p[key] = v()
			}
		}
		small := func() any { return rapid.IntRange(-1, 6).Draw(t, "small") }
		num := func() any { return json.Number(literal(20).Draw(t, "num")) }
		maybe("title", func() any { return words.Draw(t, "title") })
		titled := func() any {
			var out []any
			for _, v := range list.Draw(t, "values") {
				out = append(out, map[string]any{"const": v, "title": words.Draw(t, "title")})
			}
			return out
		}
		switch rapid.IntRange(0, 6).Draw(t, "shape") {
		case 0:
			p["type"] = "string"
			maybe("minLength", small)
			maybe("maxLength", small)
			maybe("pattern", func() any { return rapid.SampledFrom([]string{"a", "^[ab]*$", "(?=x)", "\\s"}).Draw(t, "pattern") })
			maybe("format", func() any {
				return rapid.SampledFrom([]string{"email", "uri", "date", "date-time", "odd"}).Draw(t, "format")
			})
			maybe("default", func() any { return words.Draw(t, "default") })
		case 1:
			p["type"] = rapid.SampledFrom([]string{"integer", "number"}).Draw(t, "type")
			for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "multipleOf", "default"} {
				maybe(k, num)
			}
		case 2:
			p["type"] = "boolean"
			maybe("default", func() any { return rapid.Bool().Draw(t, "default") })
		case 3:
			p["type"] = "string"
			p["enum"] = list.Draw(t, "enum")
			maybe("enumNames", func() any { return list.Draw(t, "names") })
			maybe("default", func() any { return words.Draw(t, "default") })
		case 4:
			p[rapid.SampledFrom([]string{"oneOf", "anyOf"}).Draw(t, "of")] = titled()
			maybe("type", func() any { return "string" })
		case 5:
			p["type"] = "array"
			if rapid.Bool().Draw(t, "titled") {
				p["items"] = map[string]any{"anyOf": titled()}
			} else {
				p["items"] = map[string]any{"enum": list.Draw(t, "enum")}
			}
			maybe("minItems", small)
			maybe("maxItems", small)
			maybe("uniqueItems", func() any { return true })
			maybe("default", func() any { return list.Draw(t, "default") })
		case 6:
			return map[string]any{"anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "null"}}, "default": nil}
		}
		return p
	})
}

// drawSchema writes a schema with its fields in a drawn order.
func drawSchema(t *rapid.T) []byte {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "", "__proto__", "x/y~z", "Zwölf"}), 0, 5, rapid.ID[string]).Draw(t, "names")
	var required []string
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		p, err := json.Marshal(property().Draw(t, "property"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s:%s", quote(name), p)
		if rapid.Bool().Draw(t, "required") {
			required = append(required, name)
		}
	}
	req, err := json.Marshal(required)
	if err != nil {
		t.Fatal(err)
	}
	if required == nil {
		req = []byte("[]")
	}
	return fmt.Appendf(nil, `%s},"required":%s}`, b.String(), req)
}

// Whatever a person types into whatever form: what Coerce gives is legal, also
// after Fill, in the order of the fields, and Entries lead back to it.
func TestCoercePromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := Parse(drawSchema(t))
		if err != nil {
			t.Fatalf("Parse: %v", err)
		}
		in := Input{}
		for _, f := range s.Fields() {
			var values []string
			for _, o := range f.Options {
				values = append(values, o.Value)
			}
			values = append(values, "", "a", "ab", " 12 ", "1,5", "-3", "true", "a@b.c", "https://a.b", "2024-02-29", "2024-02-29T10:00:00Z")
			one := rapid.SampledFrom(values)
			switch rapid.IntRange(0, 3).Draw(t, "entry") {
			case 0:
				in[f.Name] = Typed(one.Draw(t, "typed"))
			case 1:
				in[f.Name] = Ticked(rapid.SliceOfN(one, 0, 3).Draw(t, "ticked")...)
			case 2:
				in[f.Name] = Empty()
			}
		}
		checkCoerced(t, s, in)
		content, errs := s.Coerce(in)
		if errs != nil {
			return
		}
		root, err := (&scanner{b: content}).tree(maxDepth, new(1000), new(pointer))
		if err != nil {
			t.Fatal(err)
		}
		last := -1
		for _, m := range root.members {
			if i := s.index[m.key]; i <= last {
				t.Fatalf("%s is not in the order of the fields", content)
			} else {
				last = i
			}
		}
	})
}

// A form left as it was drawn lacks at most answers that were never suggested.
func TestUntouchedPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := Parse(drawSchema(t))
		if err != nil {
			t.Fatalf("Parse: %v", err)
		}
		in := Input{}
		for _, f := range s.View().Fields {
			if f.Default != nil {
				in[f.Name] = *f.Default
			}
		}
		_, errs := s.Coerce(in)
		for _, e := range errs {
			f, _ := s.Field(e.Field)
			if !f.Required || f.DefaultUsable {
				t.Fatalf("untouched %s: %v", s.Bytes(), e)
			}
		}
	})
}
