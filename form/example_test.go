package form_test

import (
	"fmt"

	"github.com/parley-mcp/parley/form"
)

const booking = `{
	"type": "object",
	"properties": {
		"flight": {"type": "string", "title": "Connecting flight", "oneOf": [
			{"const": "LH400", "title": "10:25 by Frankfurt"},
			{"const": "BA117", "title": "13:10 by London"}]},
		"bags": {"type": "integer", "title": "Bags", "minimum": 0, "maximum": 3, "default": 1},
		"note": {"type": "string", "title": "Note to the airline"}
	},
	"required": ["flight", "bags"]
}`

// A host draws the question and turns what was typed into the answer.
func Example() {
	s, err := form.Parse([]byte(booking))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range s.View().Fields {
		fmt.Println(f.Label, "as", f.Control)
	}

	_, errs := s.Coerce(form.Input{"bags": form.Typed("12")})
	for _, e := range errs {
		fmt.Println(e.Code, "-", e.Text)
	}

	content, errs := s.Coerce(form.Input{"flight": form.Typed("LH400"), "bags": form.Typed(" 2 ")})
	fmt.Println(string(content), errs.Err())
	// Output:
	// Connecting flight as choice
	// Bags as integer
	// Note to the airline as text
	// required - Select an option for “Connecting flight”
	// too_big - “Bags” must be between 0 and 3
	// {"flight":"LH400","bags":2} <nil>
}

// A server fills in what is required and then judges what it was sent.
func ExampleSchema_Check() {
	s, err := form.Parse([]byte(booking))
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := s.Fill([]byte(`{"flight":"LH401"}`), form.FillRequired)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(content))
	for _, e := range s.Check(content) {
		fmt.Println(e.Pointer, e.Code)
	}
	// Output:
	// {"flight":"LH401","bags":1}
	// /flight not_an_option
}

// A server author learns what a revision does not have.
func ExampleSchema_Problems() {
	s, err := form.Parse([]byte(booking))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range s.Problems(form.Rev20250618) {
		fmt.Println(p.Severity, p.Rule, "at", p.Pointer)
	}
	fmt.Println(len(s.Problems(form.Rev20260728)))
	// Output:
	// error titled-choice-not-in-revision at /properties/flight/oneOf
	// warning default-not-in-revision at /properties/bags/default
	// 0
}
