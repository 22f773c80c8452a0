package form

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seeds gives every schema that the tests know, with what was typed into it.
func seeds(f *testing.F, add func(schema []byte, input, content string)) {
	for _, r := range readRequests(f) {
		add(r.Schema, `{"value":"x"}`, `{"value":"x"}`)
	}
	for _, file := range vectorFiles(f) {
		for _, v := range readVectors(f, file) {
			add(v.Schema, `{"v":""}`, `{}`)
			for _, tv := range v.Typed {
				add(v.Schema, mustJSON(f, tv.Input), tv.Content)
			}
			for _, a := range v.Answers {
				add(v.Schema, `{"v":["a",""]}`, a.Content)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	seeds(f, func(schema []byte, _, _ string) { f.Add(schema) })
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func([]byte) (*Schema, error){Parse, ParseArguments} {
			s, err := parse(b)
			if err != nil {
				continue
			}
			if !bytes.Equal(s.Bytes(), b) {
				t.Fatal("Bytes differ from what was parsed")
			}
			// What is read as JSON is JSON to the standard library too.
			if len(bytes.TrimSpace(b)) > 0 && !json.Valid(b) {
				t.Fatalf("read %q, which is not JSON", b)
			}
			if _, err := json.Marshal(s.View()); err != nil {
				t.Fatal(err)
			}
			for _, rev := range []Revision{Rev20250618, Rev20251125, Rev20260728} {
				for _, p := range s.Problems(rev) {
					if p.Offset < 0 || p.Offset > len(b) {
						t.Fatalf("problem %s lies outside: %d", p.Rule, p.Offset)
					}
				}
			}
			checkUntouched(t, s)
		}
	})
}

// checkUntouched: a usable default shown in its control goes back as a legal
// answer of the same value.
func checkUntouched(t *testing.T, s *Schema) {
	t.Helper()
	for _, vf := range s.View().Fields {
		if vf.Default == nil {
			continue
		}
		_, errs := s.Coerce(Input{vf.Name: *vf.Default})
		for _, e := range errs {
			if e.Field == vf.Name {
				t.Fatalf("untouched default of %q: %v", vf.Name, e)
			}
		}
	}
	filled, err := s.Fill(nil, FillAll)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Check(filled) {
		if e.Code != CodeRequired && e.Code != CodeTooLarge {
			t.Fatalf("filled %s: %v", filled, e)
		}
	}
}

func FuzzCheck(f *testing.F) {
	seeds(f, func(schema []byte, _, content string) { f.Add(schema, []byte(content)) })
	f.Fuzz(func(t *testing.T, schema, content []byte) {
		s, err := Parse(schema)
		if err != nil {
			return
		}
		errs := s.Check(content)
		for _, e := range errs {
			if e.Code == "" || e.Text == "" {
				t.Fatalf("error without code or text: %+v", e)
			}
		}
		if errs != nil {
			return
		}
		if len(bytes.TrimSpace(content)) > 0 && !json.Valid(content) {
			t.Fatalf("legal answer %q is not JSON", content)
		}
		for _, mode := range []FillMode{FillAll, FillRequired} {
			filled, err := s.Fill(content, mode)
			if err != nil {
				t.Fatalf("Fill refuses a legal answer: %v", err)
			}
			if errs := s.Check(filled); errs != nil {
				t.Fatalf("%s became %s: %v", content, filled, errs)
			}
			again, err := s.Fill(filled, mode)
			if err != nil || !bytes.Equal(again, filled) {
				t.Fatalf("Fill twice: %s, then %s, %v", filled, again, err)
			}
		}
		s.Lines(content)
	})
}

func FuzzCoerce(f *testing.F) {
	seeds(f, func(schema []byte, input, _ string) { f.Add(schema, []byte(input)) })
	f.Fuzz(func(t *testing.T, schema, input []byte) {
		var in Input
		if json.Unmarshal(input, &in) != nil {
			return
		}
		for _, parse := range []func([]byte) (*Schema, error){Parse, ParseArguments} {
			s, err := parse(schema)
			if err != nil {
				continue
			}
			checkCoerced(t, s, in)
		}
	})
}

// checkCoerced: what Coerce gives is legal, filled or not, and Entries lead
// back to it.
func checkCoerced(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Schema, in Input) {
	t.Helper()
	content, errs := s.Coerce(in)
	if errs != nil {
		if content != nil {
			t.Fatalf("content %s beside %v", content, errs)
		}
		return
	}
	if errs := s.Check(content); errs != nil {
		t.Fatalf("Check refuses %s: %v", content, errs)
	}
	for _, mode := range []FillMode{FillAll, FillRequired} {
		filled, err := s.Fill(content, mode)
		if err != nil {
			t.Fatalf("Fill(%s): %v", content, err)
		}
		if errs := s.Check(filled); errs != nil {
			t.Fatalf("Check refuses %s, filled from %s: %v", filled, content, errs)
		}
	}
	again, errs := s.Coerce(s.Entries(content))
	if errs == nil {
		var a, b map[string]any
		if json.Unmarshal(again, &a) != nil || json.Unmarshal(content, &b) != nil {
			return // numbers beyond the standard library
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Fatalf("Entries of %s lead to %s", content, again)
		}
	}
}

// FuzzNumber: what is read as a number is the literal of the same value.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1", "-0", "1 234", "1,5", "1e5", "٣", "0.10", "1,234", ".5", "5.", "+7", "1'000", "9007199254740993"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		for _, integer := range []bool{true, false} {
			lit, code := parseTyped(typed, integer)
			if (lit == "") == (code == "") {
				t.Fatalf("%q gives %q and %q", typed, lit, code)
			}
			if code != "" {
				continue
			}
			if !json.Valid([]byte(lit)) {
				t.Fatalf("%q gives %q, which is not JSON", typed, lit)
			}
			if again, code := parseTyped(lit, integer); again != lit || code != "" {
				t.Fatalf("%q gives %q, which gives %q %s", typed, lit, again, code)
			}
			if d := parseDecimal(lit); !d.finite() || integer && d.integer() != lit {
				t.Fatalf("%q gives %q", typed, lit)
			}
		}
	})
}
