// Package corpus gives the benchmarks and the differential test the real
// requests of package form, with answers to them.
package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/parley-mcp/parley/bench/repo"
	"github.com/parley-mcp/parley/form"
)

// A Request is one form request found in public repositories.
type Request struct {
	ID       string          `json:"id"`
	Mode     string          `json:"mode"`
	Validity string          `json:"validity"`
	Message  string          `json:"message"`
	Schema   json.RawMessage `json:"requestedSchema"`
}

// Read gives the form requests, in the order of the file.
func Read() ([]Request, error) {
	file, err := repo.Path("form", "testdata", "requests.json")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all, forms []Request
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, r := range all {
		if r.Mode == "form" && len(r.Schema) > 0 && r.Schema[0] == '{' {
			forms = append(forms, r)
		}
	}
	return forms, nil
}

// Params are the parameters of the elicitation/create that asks the request.
func (r Request) Params() []byte {
	text, err := json.Marshal(map[string]any{"mode": "form", "message": r.Message, "requestedSchema": r.Schema})
	if err != nil {
		panic(err) // the schema was read from JSON
	}
	return text
}

// Legal gives an answer that fills in every field, or false where that takes
// more than the schema says, as with a pattern and no default.
func Legal(s *form.Schema) ([]byte, bool) {
	members := make([]string, 0, len(s.Fields()))
	for _, f := range s.Fields() {
		value, ok := legalValue(&f)
		if !ok {
			if f.Required {
				return nil, false
			}
			continue
		}
		members = append(members, quote(f.Name)+":"+value)
	}
	answer := []byte("{" + strings.Join(members, ",") + "}")
	return answer, s.Check(answer) == nil
}

func legalValue(f *form.Field) (string, bool) {
	if f.DefaultUsable && string(f.Default) != "null" {
		return string(f.Default), true
	}
	switch f.Kind {
	case form.Boolean:
		return "true", true
	case form.Choice:
		return string(f.Options[len(f.Options)/2].Raw), true
	case form.Choices:
		n := 1
		if f.MinItems != nil {
			n = max(n, *f.MinItems)
		}
		if n > len(f.Options) {
			return "", false
		}
		items := make([]string, 0, n)
		for _, o := range f.Options[:n] {
			items = append(items, string(o.Raw))
		}
		return "[" + strings.Join(items, ",") + "]", true
	case form.Integer, form.Number:
		switch {
		case f.Minimum != "":
			return string(f.Minimum), true
		case f.Maximum != "":
			return string(f.Maximum), true
		}
		return "42", true
	case form.Text:
		return legalText(f)
	case form.JSON, form.Unsupported:
	}
	return "", false
}

func legalText(f *form.Field) (string, bool) {
	switch f.Format {
	case "email":
		return `"ada.lovelace@example.com"`, true
	case "uri":
		return `"https://example.com/a/page?with=query"`, true
	case "date":
		return `"2026-03-27"`, true
	case "date-time":
		return `"2026-03-27T14:30:00Z"`, true
	}
	if f.Pattern != "" {
		return "", false
	}
	text := "Ada Lovelace"
	if f.MinLength != nil && *f.MinLength > len(text) {
		text += strings.Repeat("a", *f.MinLength-len(text))
	}
	if f.MaxLength != nil && *f.MaxLength < len(text) {
		text = text[:*f.MaxLength]
	}
	return quote(text), true
}

// Illegal gives answers that each break one thing about a legal one.
func Illegal(s *form.Schema, legal []byte) ([][]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(legal, &members); err != nil {
		return nil, err
	}
	var answers [][]byte
	with := func(name, value string) error {
		changed := maps.Clone(members)
		changed[name] = json.RawMessage(value)
		if value == "" {
			delete(changed, name)
		}
		text, err := json.Marshal(changed)
		answers = append(answers, text)
		return err
	}
	for _, f := range s.Fields() {
		for _, value := range []string{"", "null", "true", "0.5", "-1e9", `""`, `"no"`, `[]`, `["no"]`, `{}`, `"` + strings.Repeat("x", 3000) + `"`} {
			if value == "" && !f.Required {
				continue
			}
			if err := with(f.Name, value); err != nil {
				return nil, err
			}
		}
	}
	return answers, nil
}

func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string
	}
	return strings.TrimSuffix(b.String(), "\n")
}
