package form

import (
	"encoding/json"
	"errors"
	"slices"
)

// Check judges an answer: the JSON object that is sent with accept. nil means
// that it is legal. It reads the bytes, so that integers beyond 2^53 and
// repeated keys are seen as they are. No bytes and null count as {}.
//
// Types, bounds, formats and options are those of the schema. Keys that were
// not asked for are errors; for arguments only where the schema says so.
func (s *Schema) Check(content []byte) Errors {
	var errs Errors
	c := checker{s: s, sc: scanner{b: content}}
	if err := c.object(); err != nil {
		return Errors{*err}
	}
	errs = c.errs
	for i := range s.fields {
		f := &s.fields[i]
		if f.Required && !c.seen.has(i) {
			errs = append(errs, f.fail(CodeRequired, nil))
		}
	}
	for _, name := range s.undeclared {
		f := Field{Name: name, Kind: Unsupported}
		errs = append(errs, f.fail(CodeRequired, nil))
	}
	return s.sortErrors(errs)
}

// A set holds field numbers; MaxFields fits without an allocation.
type set [(MaxFields + 63) / 64]uint64

func (b *set) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b *set) add(i int)      { b[i/64] |= 1 << (i % 64) }

type checker struct {
	s    *Schema
	sc   scanner
	seen set
	errs Errors
	// copied is the answer as a string, made when a format first needs it.
	copied string
	// once refuses repeated items also where the schema does not.
	once bool
}

func (c *checker) add(e Error) {
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, e)
	}
}

func malformed(err error) *Error {
	off := 0
	if se := (*syntaxError)(nil); errors.As(err, &se) {
		off = se.off
	}
	e := whole("The answer is not JSON that can be read", CodeMalformed, map[string]any{"offset": off})
	return &e
}

// object walks the content. It returns an error when the content as a whole
// cannot be read; what is wrong with a field goes to c.errs.
func (c *checker) object() *Error {
	limit := c.s.maxContent()
	if len(c.sc.b) > limit {
		e := whole("The answer is too large", CodeTooLarge, map[string]any{"max": limit})
		return &e
	}
	c.sc.space()
	if c.sc.i == len(c.sc.b) {
		return nil
	}
	kind, err := c.sc.peek()
	if err != nil {
		return malformed(err)
	}
	switch kind {
	case jNull:
		if _, err := c.sc.scalar(kind); err != nil {
			return malformed(err)
		}
	case jObject:
		c.sc.i++
		for first := true; ; first = false {
			more, err := c.sc.next('}', first)
			if err != nil {
				return malformed(err)
			}
			if !more {
				break
			}
			if err := c.member(); err != nil {
				return malformed(err)
			}
		}
	default:
		return malformed(&syntaxError{c.sc.i, "not an object"})
	}
	if err := c.sc.finish(); err != nil {
		return malformed(err)
	}
	return nil
}

func (c *checker) member() error {
	k, err := c.sc.key()
	if err != nil {
		return err
	}
	key := c.sc.text(k)
	i, ok := c.s.index[string(key)]
	if !ok {
		if !c.s.arguments || c.s.closed {
			name := string(key)
			c.add(Error{Field: name, Pointer: join(name), Code: CodeUnknownField,
				Text: "“" + clip(clean(name), 80) + "” was not asked for"})
		}
		left := maxValues
		var at pointer
		_, err := c.sc.tree(maxDepth, &left, &at)
		return err
	}
	f := &c.s.fields[i]
	if c.seen.has(i) {
		c.add(f.fail(CodeDuplicateField, nil))
	}
	c.seen.add(i)
	return c.value(f)
}

// value reads one value of a field. A syntax error is returned; anything else
// that is wrong is recorded.
func (c *checker) value(f *Field) error {
	kind, err := c.sc.peek()
	if err != nil {
		return err
	}
	if f.Kind == JSON || kind == jObject || kind == jArray && f.Kind != Choices {
		left := maxValues
		var at pointer
		n, err := c.sc.tree(maxDepth, &left, &at)
		if err != nil {
			return err
		}
		if f.Kind == JSON {
			if !typeFits(f.types, n) {
				c.add(f.fail(CodeType, map[string]any{"want": f.want()}))
			}
		} else {
			c.wrongType(f)
		}
		return nil
	}
	if kind == jArray {
		return c.items(f)
	}
	t, err := c.sc.scalar(kind)
	if err != nil {
		return err
	}
	if kind == jNull && f.Nullable {
		return nil
	}
	switch f.Kind {
	case Text:
		if kind != jString {
			c.wrongType(f)
			return nil
		}
		c.text(f, t)
	case Integer, Number:
		if kind != jNumber {
			c.wrongType(f)
			return nil
		}
		c.number(f, c.sc.b[t.start:t.end])
	case Boolean:
		if kind != jBool {
			c.wrongType(f)
		}
	case Choice:
		if f.option(&c.sc, kind, t) < 0 {
			if !f.sameType(kind) {
				c.wrongType(f)
			} else {
				c.add(f.fail(CodeNotAnOption, nil))
			}
		}
	default:
		c.wrongType(f)
	}
	return nil
}

func (c *checker) wrongType(f *Field) {
	if f.Kind == Unsupported {
		c.add(f.fail(CodeUnsupported, nil))
		return
	}
	c.add(f.fail(CodeType, map[string]any{"want": f.want()}))
}

// want names the JSON type of a field.
func (f *Field) want() string {
	switch f.Kind {
	case Text:
		return "string"
	case Choices:
		return "array"
	case Choice:
		switch f.Options[0].Raw[0] {
		case '"':
			return "string"
		case 't', 'f':
			return "boolean"
		}
		return "number"
	case JSON:
		for i, t := range f.types {
			if i == 0 {
				continue
			}
			return f.types[0] + " or " + t
		}
		if len(f.types) == 1 {
			return f.types[0]
		}
		return "any"
	}
	return f.Kind.String()
}

func (f *Field) sameType(kind byte) bool {
	return slices.ContainsFunc(f.Options, func(o Option) bool { return kindOf(o.Raw[0]) == kind })
}

func kindOf(c byte) byte {
	switch c {
	case '{', '[', '"', 'n':
		return c
	case 't', 'f':
		return jBool
	}
	return jNumber
}

// option finds the option that a value stands for, -1 for none. Numbers are
// compared as numbers: 1 and 1.0 are one option.
func (f *Field) option(sc *scanner, kind byte, t token) int {
	i, ok := 0, false
	switch kind {
	case jNumber:
		i, ok = f.byNumber[parseDecimal(string(sc.b[t.start:t.end])).canonical()]
	case jString:
		i, ok = f.byValue[string(sc.text(t))]
	case jBool:
		i, ok = f.byValue[string(sc.b[t.start:t.end])]
	}
	if !ok || kindOf(f.Options[i].Raw[0]) != kind {
		return -1
	}
	return i
}

// string is the text of a token that sc.text has given as b. One copy of the
// answer serves all texts without escapes.
func (c *checker) string(t token, b []byte) string {
	if t.escaped {
		return string(b)
	}
	if c.copied == "" {
		c.copied = string(c.sc.b)
	}
	return c.copied[t.start+1 : t.end-1]
}

func (c *checker) text(f *Field, t token) {
	b := c.sc.text(t)
	n := length(b)
	switch {
	case f.MinLength != nil && n < *f.MinLength:
		c.add(f.fail(CodeTooShort, map[string]any{"min": *f.MinLength, "length": n}))
		return
	case f.MaxLength != nil && n > *f.MaxLength:
		c.add(f.fail(CodeTooLong, map[string]any{"max": *f.MaxLength, "length": n}))
		return
	}
	if asserted(f.Format) {
		if code := formatCode(f.Format, c.string(t, b)); code != "" {
			c.add(f.fail(code, nil))
			return
		}
	}
	// A text so long that the pattern would take seconds is left to the server.
	if f.re != nil && f.reCost*len(b) <= maxMatchWork && !f.re.Match(b) {
		c.add(f.fail(CodePattern, map[string]any{"pattern": f.Pattern}))
	}
}

func (c *checker) number(f *Field, lit []byte) {
	d := parseDecimal(string(lit))
	switch {
	case !d.finite():
		c.add(f.fail(CodeNotFinite, nil))
	case f.Kind == Integer && !d.integral():
		c.add(f.fail(CodeNotAnInteger, nil))
	case f.min.set && d.cmp(f.min.decimal) < 0, f.xmin.set && d.cmp(f.xmin.decimal) <= 0:
		c.add(f.fail(CodeTooSmall, f.rangeParams()))
	case f.max.set && d.cmp(f.max.decimal) > 0, f.xmax.set && d.cmp(f.xmax.decimal) >= 0:
		c.add(f.fail(CodeTooBig, f.rangeParams()))
	case f.step.set && !d.multipleOf(f.step.decimal):
		c.add(f.fail(CodeNotMultiple, map[string]any{"of": string(f.MultipleOf)}))
	}
}

func (c *checker) items(f *Field) error {
	c.sc.i++
	n, bad, twice := 0, false, false
	var few [8]int
	seen := few[:0]
	for first := true; ; first = false {
		more, err := c.sc.next(']', first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		kind, err := c.sc.peek()
		if err != nil {
			return err
		}
		n++
		if kind == jObject || kind == jArray {
			left := maxValues
			var at pointer
			if _, err := c.sc.tree(maxDepth, &left, &at); err != nil {
				return err
			}
			bad = true
			continue
		}
		t, err := c.sc.scalar(kind)
		if err != nil {
			return err
		}
		if c.once && (bad || twice) {
			continue // known enough
		}
		i := f.option(&c.sc, kind, t)
		if i < 0 {
			bad = true
			continue
		}
		if f.UniqueItems || c.once {
			twice = twice || slices.Contains(seen, i)
			if !twice {
				seen = append(seen, i)
			}
		}
	}
	switch {
	case bad:
		c.add(f.fail(CodeNotAnOption, nil))
	case f.MinItems != nil && n < *f.MinItems:
		c.add(f.fail(CodeTooFew, map[string]any{"min": *f.MinItems, "count": n}))
	case f.MaxItems != nil && n > *f.MaxItems:
		c.add(f.fail(CodeTooMany, map[string]any{"max": *f.MaxItems, "count": n}))
	case twice:
		c.add(f.fail(CodeDuplicate, nil))
	}
	return nil
}

func typeFits(types []string, n *node) bool {
	if len(types) == 0 {
		return true
	}
	for _, t := range types {
		switch t {
		case "object":
			if n.kind == jObject {
				return true
			}
		case "array":
			if n.kind == jArray {
				return true
			}
		case "string":
			if n.kind == jString {
				return true
			}
		case "number":
			if n.kind == jNumber {
				return true
			}
		case "integer":
			if n.kind == jNumber && parseDecimal(n.str).integral() {
				return true
			}
		case "boolean":
			if n.kind == jBool {
				return true
			}
		case "null":
			if n.kind == jNull {
				return true
			}
		default:
			return true // a type that is not known here
		}
	}
	return false
}

// legalDefault is true when a default is legal and an untouched control would
// send it: boxes are ticked once.
func (s *Schema) legalDefault(f *Field) bool {
	if kindOf(f.Default[0]) == jNumber && len(f.Default) > maxTyped {
		return false // an untouched control must be able to send it
	}
	c := checker{s: s, sc: scanner{b: f.Default}, once: true}
	err := c.value(f)
	return err == nil && len(c.errs) == 0
}

// checkOne judges one value of a field.
func (s *Schema) checkOne(f *Field, raw json.RawMessage) Errors {
	c := checker{s: s, sc: scanner{b: raw}}
	if err := c.value(f); err != nil {
		return Errors{f.fail(CodeMalformed, nil)}
	}
	if err := c.sc.finish(); err != nil {
		return Errors{f.fail(CodeMalformed, nil)}
	}
	return c.errs
}
