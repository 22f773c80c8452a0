package elicit

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Option is one choice that a person can take.
type Option struct {
	Value string // what the answer holds; unique within the field
	Title string // what the person reads; empty means the value
}

// optioner is a named string type that lists its own values:
//
//	func (Bread) Options() []elicit.Option
type optioner interface{ Options() []Option }

type kind int

const (
	kindString kind = iota
	kindInteger
	kindNumber
	kindBoolean
	kindChoice  // one of options
	kindChoices // several of options
)

// field is one question within a form, read from a struct field.
type field struct {
	name        string
	title       string
	description string
	kind        kind
	required    bool
	index       int // in the struct
	goType      reflect.Type

	format               string
	minLength, maxLength string // number literals, empty if there is none
	minimum, maximum     string
	minItems, maxItems   string
	fallback             json.RawMessage // the default
	options              []Option
	list                 bool // the Go field is a slice
	notSecret            bool // the author says that it only looks like one
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	numberType = reflect.TypeFor[json.Number]()
)

// fieldCache holds []field or error per struct type.
var fieldCache sync.Map

// fieldsOf reads the fields of struct type t. The result is shared: it is
// copied before options or defaults of a single question are put in.
func fieldsOf(t reflect.Type) ([]field, error) {
	if cached, ok := fieldCache.Load(t); ok {
		switch cached := cached.(type) {
		case error:
			return nil, cached
		case []field:
			return cached, nil
		}
	}
	fields, err := readFields(t)
	if err != nil {
		fieldCache.Store(t, err)
		return nil, err
	}
	fieldCache.Store(t, fields)
	return fields, nil
}

func readFields(t reflect.Type) ([]field, error) {
	if t.Kind() != reflect.Struct || t == timeType {
		return readBare(t)
	}
	fields := []field{}
	names := make(map[string]string)
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("elicit")
		if tag == "-" || !sf.IsExported() && !sf.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		// MCP elicitation, "Requested Schema": flat objects with primitive
		// properties only. A field that does not fit is never left out in
		// silence: the person would not be asked what the tool needs.
		if sf.Anonymous {
			return nil, fmt.Errorf("elicit: %s.%s: a form is flat: write the fields of an embedded struct out, or tag it elicit:\"-\"", t, sf.Name)
		}
		if name == "" {
			name = sf.Name
		}
		if other, twice := names[name]; twice {
			return nil, fmt.Errorf("elicit: %s.%s and %s.%s are both named %q", t, other, t, sf.Name, name)
		}
		names[name] = sf.Name
		f := field{
			name:        name,
			title:       sf.Tag.Get("title"),
			description: sf.Tag.Get("description"),
			required:    true,
			index:       i,
			goType:      sf.Type,
		}
		if err := f.readType(sf.Type); err != nil {
			return nil, fmt.Errorf("elicit: %s.%s: %w", t, sf.Name, err)
		}
		if err := f.readTag(tag); err != nil {
			return nil, fmt.Errorf("elicit: %s.%s: tag %w", t, sf.Name, err)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// bare is the index of the only field of a form that is no struct. Its name is
// the key of its question.
const bare = -1

func readBare(t reflect.Type) ([]field, error) {
	f := field{required: true, index: bare, goType: t}
	if err := f.readType(t); err != nil {
		return nil, fmt.Errorf("elicit: %s: %w", t, err)
	}
	return []field{f}, nil
}

// in returns where the value of the field goes in the value that it is a part of.
func (f *field) in(target reflect.Value) reflect.Value {
	if f.index == bare {
		return target
	}
	return target.Field(f.index)
}

// readType sets the kind of the field from its Go type.
func (f *field) readType(t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		f.required = false // nil means that the person gave no answer
		t = t.Elem()
	}
	if t == timeType {
		f.format = "date-time"
		return nil
	}
	if t == numberType {
		f.kind = kindNumber
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		if o, ok := reflect.TypeAssert[optioner](reflect.Zero(t)); ok {
			f.kind, f.options = kindChoice, o.Options()
			return checkOptions(f.options)
		}
	case reflect.Bool:
		f.kind = kindBoolean
	case reflect.Int, reflect.Int64:
		f.kind = kindInteger
	case reflect.Int8, reflect.Int16, reflect.Int32:
		f.kind = kindInteger
		f.minimum = strconv.FormatInt(-1<<(t.Bits()-1), 10)
		f.maximum = strconv.FormatInt(1<<(t.Bits()-1)-1, 10)
	case reflect.Uint, reflect.Uint64:
		f.kind, f.minimum = kindInteger, "0"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		f.kind, f.minimum = kindInteger, "0"
		f.maximum = strconv.FormatUint(1<<t.Bits()-1, 10)
	case reflect.Float32, reflect.Float64:
		f.kind = kindNumber
	case reflect.Slice:
		if t.Elem().Kind() != reflect.String || t.Elem() == numberType {
			return fmt.Errorf("a form can ask for several strings, not for %s", t)
		}
		f.kind, f.list = kindChoices, true
		if o, ok := reflect.TypeAssert[optioner](reflect.Zero(t.Elem())); ok {
			f.options = o.Options()
			return checkOptions(f.options)
		}
	default:
		return fmt.Errorf("a form cannot ask for %s: use a string, a number, a bool, a time.Time, a list of choices, or tag it elicit:\"-\"", t)
	}
	return nil
}

// readTag reads the comma-separated settings of an elicit tag. A comma within
// a value is written \\,.
func (f *field) readTag(tag string) error {
	var fallback string
	hasDefault := false
	for _, setting := range splitTag(tag, ',') {
		key, value, hasValue := strings.Cut(setting, "=")
		key = strings.TrimSpace(key)
		if key == "" {
			continue
		}
		if hasValue == (key == "optional" || key == "notsecret") {
			return fmt.Errorf("%q: want key=value, or optional or notsecret", key)
		}
		switch key {
		case "optional":
			f.required = false
		case "notsecret":
			f.notSecret = true
		case "min", "max":
			if err := f.setBound(key, value); err != nil {
				return err
			}
		case "format":
			if f.kind != kindString || f.goType == timeType {
				return errors.New("format: only a string has a format")
			}
			switch value {
			case "email", "uri", "date", "date-time":
				f.format = value
			default:
				return fmt.Errorf("format %q: want email, uri, date or date-time", value)
			}
		case "options":
			if f.kind != kindString && f.kind != kindChoice && f.kind != kindChoices {
				return errors.New("options: only strings have options")
			}
			f.options = nil
			for _, option := range splitTag(value, '|') {
				value, title, _ := strings.Cut(option, ":")
				f.options = append(f.options, Option{Value: value, Title: title})
			}
			if err := checkOptions(f.options); err != nil {
				return err
			}
			if !f.list {
				f.kind = kindChoice
			}
		case "default":
			fallback, hasDefault = value, true
		default:
			return fmt.Errorf("%q: unknown setting", key)
		}
	}
	if !hasDefault {
		return nil
	}
	return f.setDefaultText(fallback)
}

func (f *field) setBound(key, value string) error {
	low, high := &f.minimum, &f.maximum
	switch f.kind {
	case kindString:
		if f.format != "" {
			return fmt.Errorf("%s: a %s has no length", key, f.format)
		}
		low, high = &f.minLength, &f.maxLength
	case kindChoices:
		low, high = &f.minItems, &f.maxItems
	case kindBoolean, kindChoice:
		return fmt.Errorf("%s: only numbers, texts and lists have bounds", key)
	}
	if _, err := strconv.ParseFloat(value, 64); err != nil || !json.Valid([]byte(value)) {
		return fmt.Errorf("%s: %q is not a number", key, value)
	}
	if f.kind != kindNumber {
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("%s: %q is not a whole number", key, value)
		}
	}
	if key == "min" {
		*low = value
	} else {
		*high = value
	}
	return nil
}

// setDefaultText sets the default from a tag, where everything is text.
func (f *field) setDefaultText(text string) error {
	switch f.kind {
	case kindString, kindChoice:
		return f.setDefault(text)
	case kindChoices:
		return f.setDefault(splitTag(text, '|'))
	}
	if !json.Valid([]byte(text)) {
		return fmt.Errorf("default: %q is not a value of this field", text)
	}
	return f.setDefault(json.RawMessage(text))
}

// setDefault sets the default from any value that marshals to the right kind.
// Whether it is within the bounds is checked with the whole schema.
func (f *field) setDefault(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("default of %q: %w", f.name, err)
	}
	f.fallback = text
	return nil
}

func checkOptions(options []Option) error {
	if len(options) == 0 {
		return errors.New("a choice needs at least one option")
	}
	seen := make(map[string]bool, len(options))
	for _, option := range options {
		if seen[option.Value] {
			return fmt.Errorf("option %q is there twice", option.Value)
		}
		seen[option.Value] = true
	}
	return nil
}

// splitTag splits at sep, except where a backslash stands before it.
func splitTag(text string, sep byte) []string {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == sep:
			i++
			part.WriteByte(sep)
		case text[i] == sep:
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(text[i])
		}
	}
	return append(parts, part.String())
}
