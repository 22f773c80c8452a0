package elicit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/lint"
)

// Mode is the way a question is put.
type Mode string

// The modes of MCP elicitation.
const (
	FormMode Mode = "form" // the answer comes back through the client
	URLMode  Mode = "url"  // the person acts on a page; nothing passes the client
)

// question is a question as the engine sees it, without its Go type.
type question struct {
	key       string // the author's
	message   string
	mode      Mode
	url, id   string // in URL mode
	fields    []field
	goType    reflect.Type  // struct that the answer goes into
	lifetime  time.Duration // zero: as long as the call
	single    bool          // see TakeSingle
	callAgain bool          // see CallAgain
	digest    string
	full      json.RawMessage // schema of the newest revision
	schema    *form.Schema    // the same, read
}

// AskOption changes one question at run time.
type AskOption func(*question) error

// Choices makes field a choice among items, in their order. The field is a
// string (one choice) or a list of strings (several). No items is an error
// before anything is asked, and so are two options with one value.
func Choices[S ~[]E, E any](fieldName string, items S, option func(E) Option) AskOption {
	return func(q *question) error {
		f, err := q.field(fieldName)
		if err != nil {
			return err
		}
		if f.kind != kindString && f.kind != kindChoice && f.kind != kindChoices {
			return fmt.Errorf("choices for %q: only strings and lists of strings are chosen", fieldName)
		}
		if len(items) == 0 {
			return fmt.Errorf("choices for %q: there is nothing to choose from", fieldName)
		}
		f.options = make([]Option, len(items))
		for i, item := range items {
			f.options[i] = option(item)
		}
		if err := checkOptions(f.options); err != nil {
			return fmt.Errorf("choices for %q: %w", fieldName, err)
		}
		if !f.list {
			f.kind = kindChoice
			// What bounds the text of a free field means nothing for a choice.
			f.minLength, f.maxLength, f.format = "", "", ""
		}
		return nil
	}
}

// Default gives field a value that the form starts with.
func Default(fieldName string, value any) AskOption {
	return func(q *question) error {
		f, err := q.field(fieldName)
		if err != nil {
			return err
		}
		return f.setDefault(value)
	}
}

// Within limits how long the question stays open. After that it is
// [ErrExpired], even if an answer comes. Without it a question stays open for
// [Options.Lifetime].
func Within(lifetime time.Duration) AskOption {
	return func(q *question) error {
		if lifetime <= 0 {
			return fmt.Errorf("a question cannot be open for %s", lifetime)
		}
		q.lifetime = lifetime
		return nil
	}
}

// TakeSingle answers a question with the only choice that there is, without
// asking anybody: for a form that is one required choice, as of [Choose], when a
// search has found one thing.
func TakeSingle() AskOption {
	return func(q *question) error {
		q.single = true
		return nil
	}
}

// only returns the answer to a question that TakeSingle spares.
func (q *question) only() (verdict, bool) {
	if !q.single || len(q.fields) != 1 {
		return verdict{}, false
	}
	f := q.fields[0]
	if f.kind != kindChoice || !f.required || len(f.options) != 1 {
		return verdict{}, false
	}
	target := reflect.New(q.goType)
	at := f.in(target.Elem())
	at.SetString(f.options[0].Value)
	return verdict{value: target, outcome: Accepted}, true
}

func (q *question) field(name string) (*field, error) {
	for i := range q.fields {
		if q.fields[i].name == name {
			return &q.fields[i], nil
		}
	}
	return nil, fmt.Errorf("the form has no field %q, only %s", name, strings.Join(q.needs(), ", "))
}

// newQuestion builds and checks a question. Its errors are mistakes of the
// tool, not of the person.
func newQuestion(key, message string, t reflect.Type, options []AskOption) (*question, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	q := &question{key: key, message: message, mode: FormMode, goType: t}
	if err := checkMessage(key, message); err != nil {
		return nil, err
	}
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	q.fields = slices.Clone(fields) // the options below change it
	asTyped := len(options) == 0
	for i := range q.fields {
		if q.fields[i].index == bare {
			q.fields[i].name, asTyped = key, false
		}
	}
	for _, option := range options {
		if err := option(q); err != nil {
			return nil, fmt.Errorf("elicit: question %q: %w", key, err)
		}
	}
	if err := q.draw(asTyped); err != nil {
		return nil, err
	}
	q.digest = digest([]byte(FormMode), []byte(message), q.full)
	return q, nil
}

// drawings are the forms that no option has changed, by type. They stay as they
// are as long as the program runs, and drawing one is most of the work of asking.
var drawings sync.Map // of reflect.Type to drawing

type drawing struct {
	full   []byte
	schema *form.Schema
}

// draw writes and checks the form. One that is as its type says is kept.
func (q *question) draw(asTyped bool) (err error) {
	if asTyped {
		known, _ := drawings.Load(q.goType)
		if d, ok := known.(drawing); ok {
			q.full, q.schema = d.full, d.schema
			return nil
		}
	}
	for _, f := range q.fields {
		if f.kind == kindChoices && len(f.options) == 0 {
			return fmt.Errorf("elicit: question %q: %q is a list without options", q.key, f.name)
		}
	}
	if q.full, err = writeSchema(q.fields, rev20260728); err != nil {
		return fmt.Errorf("elicit: question %q: %w", q.key, err)
	}
	if q.schema, err = form.Parse(q.full); err != nil {
		return fmt.Errorf("elicit: question %q: %w", q.key, err)
	}
	for _, f := range q.fields {
		if err := q.checkDefault(f); err != nil {
			return err
		}
	}
	// MCP 2026-07-28 elicitation, "Form Mode Security" S1, MCP 2025-06-18
	// elicitation, "Security Considerations" S2 and "User Interaction Model": no
	// passwords, API keys and the like in a form.
	for _, f := range q.fields {
		if words := q.secret(f); words != "" {
			return fmt.Errorf("elicit: question %q: field %q asks for a secret (%s), which must not pass a form: ask for it on a page of your own, in URL mode", q.key, f.name, words)
		}
	}
	if asTyped {
		drawings.Store(q.goType, drawing{q.full, q.schema})
	}
	return nil
}

// secretCache holds the words by which a field asks for a secret, "" if it does
// not. Options change a field's kind, but not its texts.
var secretCache sync.Map

type secretKey struct {
	goType reflect.Type
	name   string
	kind   form.Kind
}

// secret gives the words by which f asks for a secret, or "".
func (q *question) secret(f field) string {
	seen, ok := q.schema.Field(f.name)
	if !ok || f.notSecret {
		return ""
	}
	key := secretKey{q.goType, f.name, seen.Kind}
	cached, _ := secretCache.Load(key)
	if words, ok := cached.(string); ok {
		return words
	}
	words, _ := lint.AsksSecret(&seen)
	secretCache.Store(key, words)
	return words
}

// checkDefault refuses a default that the person could not send.
func (q *question) checkDefault(f field) error {
	if f.fallback == nil {
		return nil
	}
	f.required = true
	schema, err := writeSchema([]field{f}, rev20260728)
	if err != nil {
		return err
	}
	parsed, err := form.Parse(schema)
	if err != nil {
		return fmt.Errorf("elicit: question %q: %w", q.key, err)
	}
	w := &objectWriter{}
	w.raw(f.name, f.fallback)
	if errs := parsed.Check(w.close()); len(errs) > 0 {
		return fmt.Errorf("elicit: question %q: the default of %q is not a value of the field", q.key, f.name)
	}
	return nil
}

func checkMessage(key, message string) error {
	if strings.TrimSpace(message) == "" || !utf8.ValidString(message) {
		return fmt.Errorf("elicit: question %q: the message is empty or not UTF-8", key)
	}
	return nil
}

// checkKey keeps the author's keys apart from wire keys, which have a #.
func checkKey(key string) error {
	if key == "" || len(key) > 64 || strings.ContainsRune(key, '#') || !utf8.ValidString(key) {
		return fmt.Errorf("elicit: key %q: want 1 to 64 bytes without #", shorten(key, 64))
	}
	return nil
}

// judge checks the content of an accepted answer (MCP 2026-07-28 elicitation,
// "Form Mode Security" S2; MCP 2025-06-18 elicitation, "Security Considerations" B1). It returns the members of
// the content, or why they do not fit; the reason holds no value.
func (q *question) judge(content json.RawMessage, rev revision) (members map[string]json.RawMessage, reason string) {
	if len(content) == 0 || string(content) == "null" {
		content = json.RawMessage("{}") // a form without required fields may come back empty
	}
	if _, err := canonicalText(content); err != nil {
		return nil, "the answer is not usable JSON: " + err.Error()
	}
	if err := json.Unmarshal(content, &members); err != nil || members == nil {
		return nil, "the answer is not an object"
	}
	if rev == rev20250618 {
		if err := expand(q.fields, members); err != nil {
			return nil, err.Error()
		}
	}
	known := make(map[string]json.RawMessage, len(q.fields))
	for _, f := range q.fields {
		raw, ok := members[f.name]
		// Clients send null for a field that was cleared.
		if ok && (f.required || string(raw) != "null") {
			known[f.name] = raw
		}
	}
	text := []byte(content)
	if rev == rev20250618 || len(known) < len(members) {
		var err error
		if text, err = json.Marshal(known); err != nil {
			return nil, "the answer is not usable JSON"
		}
	}
	filled, err := q.schema.Fill(text, form.FillRequired)
	if err != nil {
		return nil, "the answer is not usable JSON"
	}
	if errs := q.schema.Check(filled); len(errs) > 0 {
		return nil, describe(errs)
	}
	if bytes.Equal(filled, text) {
		return known, ""
	}
	if err := json.Unmarshal(filled, &known); err != nil {
		return nil, "the answer is not usable JSON"
	}
	return known, ""
}

// decode puts checked members into the struct that target points to.
func (q *question) decode(members map[string]json.RawMessage, target reflect.Value) error {
	var problems []error
	for _, f := range q.fields {
		raw, ok := members[f.name]
		if !ok {
			continue
		}
		if f.kind == kindInteger {
			// JSON Schema counts 1.0 and 1e3 as integers; Go's decoder does not.
			number, err := parseDecimal(string(raw))
			if err != nil {
				problems = append(problems, fmt.Errorf("%s is too large", heading(f.title, f.name)))
				continue
			}
			whole, ok := number.integer()
			if !ok {
				problems = append(problems, fmt.Errorf("%s is too large", heading(f.title, f.name)))
				continue
			}
			raw = json.RawMessage(whole)
		}
		if err := json.Unmarshal(raw, f.in(target.Elem()).Addr().Interface()); err != nil {
			// The decoder's own text quotes the value.
			problems = append(problems, fmt.Errorf("%s is out of range", heading(f.title, f.name)))
		}
	}
	return errors.Join(problems...)
}

func describe(errs form.Errors) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Text // made for people; holds no value
	}
	return shorten(strings.Join(texts, "; "), 500)
}

// needs lists the fields for a client that cannot ask.
func (q *question) needs() []string {
	var list []string
	for _, f := range q.fields {
		list = append(list, f.name)
	}
	return list
}
