package elicit

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type bread string

func (bread) Options() []Option {
	return []Option{{Value: "r", Title: "Rye"}, {Value: "s", Title: "Spelt"}}
}

type weekday string

func (weekday) Options() []Option { return []Option{{Value: "mon"}, {Value: "tue"}} }

// everything is a form with a field of each kind.
type everything struct {
	Zeta    string      `json:"zeta" title:"Name" description:"As in your passport" elicit:"min=1,max=80"`
	Mail    string      `json:"mail" elicit:"format=email,default=ada@example.com"`
	Site    *string     `json:"site" title:"Page" elicit:"format=uri"`
	Day     string      `json:"day" elicit:"format=date"`
	Moment  time.Time   `json:"moment"`
	Count   int         `json:"count" title:"How many" elicit:"min=0,max=3,default=1"`
	Exact   int64       `json:"exact" elicit:"max=9007199254740993"`
	Small   uint8       `json:"small"`
	Share   float64     `json:"share" elicit:"min=0,max=1.5,default=0.5"`
	Literal json.Number `json:"literal"`
	Yes     bool        `json:"yes" elicit:"default=true"`
	Maybe   *bool       `json:"maybe"`
	Bread   bread       `json:"bread" title:"Bread" elicit:"default=s"`
	Window  string      `json:"window" elicit:"options=w:Window\\, left|a:Aisle"`
	Plain   weekday     `json:"plain"`
	Days    []weekday   `json:"days" title:"Days" elicit:"min=1,max=2,default=mon|tue"`
	Extras  []string    `json:"extras" elicit:"options=b:Breakfast|g:Guide,optional"`
	NoTag   string
	Skipped func() `elicit:"-"`
	Dropped string `json:"-"`
	Pin     string `json:"pin" title:"Pin on the map" elicit:"notsecret"`
}

// TestSchemas shows the exact bytes of one form in each revision.
func TestSchemas(t *testing.T) {
	t.Parallel()
	names := map[revision]string{rev20250618: "2025-06-18", rev20251125: "2025-11-25", rev20260728: "2026-07-28"}
	q, err := newQuestion("k", "m", reflect.TypeFor[everything](), nil)
	if err != nil {
		t.Fatal(err)
	}
	for rev, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema, err := writeSchema(q.fields, rev)
			if err != nil {
				t.Fatal(err)
			}
			// Only white space is added for reading: the order stays.
			var indented bytes.Buffer
			if err := json.Indent(&indented, schema, "", "\t"); err != nil {
				t.Fatal(err)
			}
			indented.WriteByte('\n')
			path := filepath.Join("testdata", "everything."+name+".json")
			if flag.Lookup("update").Value.String() == "true" {
				if err := os.WriteFile(path, indented.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), indented.String()); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFieldsRefused(t *testing.T) {
	t.Parallel()
	type inner struct{ A string }
	tests := []struct {
		name    string
		form    any
		options []AskOption
		field   string // the error names it
	}{
		{"no struct and no field", map[string]string{}, nil, "map"},
		{"list of numbers", []int{}, nil, "int"},
		{"nested struct", struct{ Inner inner }{}, nil, "Inner"},
		{"list of structs", struct{ Tags []inner }{}, nil, "Tags"},
		{"map", struct{ M map[string]string }{}, nil, "M"},
		{"interface", struct{ Any any }{}, nil, "Any"},
		{"embedded", struct{ inner }{}, nil, "inner"},
		{"pointer to pointer", struct{ P **string }{}, nil, "P"},
		{"list of numbers", struct{ N []int }{}, nil, "N"},
		{"list without options", struct{ Free []string }{}, nil, "Free"},
		{"one name twice", struct {
			X string
			B string `json:"X"`
		}{}, nil, `"X"`},
		{"unknown setting", struct {
			A string `elicit:"minimum=3"`
		}{}, nil, "minimum"},
		{"bound of a bool", struct {
			A bool `elicit:"min=3"`
		}{}, nil, "A"},
		{"bound that is no number", struct {
			A int `elicit:"min=x"`
		}{}, nil, "A"},
		{"fraction as a length", struct {
			A string `elicit:"min=1.5"`
		}{}, nil, "A"},
		{"unknown format", struct {
			A string `elicit:"format=phone"`
		}{}, nil, "A"},
		{"default out of bounds", struct {
			A int `json:"a" elicit:"max=3,default=4"`
		}{}, nil, `"a"`},
		{"default of another type", struct {
			A int `json:"a" elicit:"default=true"`
		}{}, nil, `"a"`},
		{"default that is no option", struct {
			A bread `json:"a" elicit:"default=Rye"`
		}{}, nil, `"a"`},
		{"option twice", struct {
			A string `elicit:"options=a:1|a:2"`
		}{}, nil, "A"},
		{"a password", struct {
			A string `json:"password"`
		}{}, nil, "URL mode"},
		{"a secret by title", struct {
			A string `title:"Your API key"`
		}{}, nil, "URL mode"},
		{"a secret in another language", struct {
			A string `json:"zugang" title:"Ihr Passwort"`
		}{}, nil, "URL mode"},
		{"nothing to choose", struct {
			A string `json:"a"`
		}{}, []AskOption{Choices("a", []string{}, textOption)}, `"a"`},
		{"one value twice", struct {
			A string `json:"a"`
		}{}, []AskOption{Choices("a", []string{"x", "x"}, textOption)}, `"x"`},
		{"choices of a number", struct {
			A int `json:"a"`
		}{}, []AskOption{Choices("a", []string{"x"}, textOption)}, `"a"`},
		{"choices of an unknown field", struct {
			A string `json:"a"`
		}{}, []AskOption{Choices("A", []string{"x"}, textOption)}, `"A"`},
		{"open for no time", struct{}{}, []AskOption{Within(0)}, "0s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := newQuestion("k", "m", reflect.TypeOf(test.form), test.options)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), test.field) {
				t.Errorf("the error does not say %q: %v", test.field, err)
			}
		})
	}
}

// TestNoSecret has what only sounds like a secret, and what its author vouches for.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]any{
		"a count": struct {
			A int    `json:"token_count"`
			B string `json:"page_token"`
		}{},
		"a list to choose from": struct {
			A string `json:"secret" elicit:"options=a:The first|b:The second"`
		}{},
		"vouched for": struct {
			A string `json:"password" elicit:"notsecret"`
		}{},
	} {
		if _, err := newQuestion("k", "m", reflect.TypeOf(form), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func textOption(s string) Option { return Option{Value: s} }

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "a#2", strings.Repeat("k", 65), "\xff"} {
		if _, err := newQuestion(key, "m", reflect.TypeFor[struct{}](), nil); err == nil {
			t.Errorf("key %q is allowed", key)
		}
	}
	for _, message := range []string{"", " \n", "\xff"} {
		if _, err := newQuestion("k", message, reflect.TypeFor[struct{}](), nil); err == nil {
			t.Errorf("message %q is allowed", message)
		}
	}
}

// TestOptionsDoNotLeak asks one type twice with different choices.
func TestOptionsDoNotLeak(t *testing.T) {
	t.Parallel()
	type pick struct {
		A string `json:"a"`
	}
	first, err := newQuestion("k", "m", reflect.TypeFor[pick](), []AskOption{Choices("a", []string{"x"}, textOption), Default("a", "x")})
	if err != nil {
		t.Fatal(err)
	}
	second, err := newQuestion("k", "m", reflect.TypeFor[pick](), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"object","properties":{"a":{"type":"string","enum":["x"],"default":"x"}},"required":["a"]}`; string(first.full) != want {
		t.Errorf("got  %s\nwant %s", first.full, want)
	}
	if want := `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`; string(second.full) != want {
		t.Errorf("got  %s\nwant %s", second.full, want)
	}
}
