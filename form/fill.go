package form

import (
	"bytes"
	"encoding/json"
)

// A FillMode says which absent fields get their default.
type FillMode int

const (
	// FillAll fills every absent field that has a usable default: what a
	// person sees before they touch anything (MCP 2026-07-28 elicitation,
	// "Requested Schema" C1). A default of null is no answer and only fills a
	// required field.
	FillAll FillMode = iota
	// FillRequired fills only required fields: what a server does with an
	// answer. An optional field that is absent was cleared, and stays so.
	// So was one that is null: null is no value of an answer (MCP 2026-07-28
	// ElicitResult.content), and clients write it for an empty control.
	// Integers written 3.0 or 3e0 become 3, which decodes everywhere.
	FillRequired
)

// Fill gives content with defaults filled in, fields in the schema's order,
// keys that were not asked for after them. A default that is not itself legal
// is never filled in. The bytes of values are kept.
//
// It errs, with Errors, only when the content cannot be read as an object with
// each key once; whether the values are legal is for Check.
func (s *Schema) Fill(content []byte, mode FillMode) ([]byte, error) {
	values := make([]json.RawMessage, len(s.fields))
	var extra bytes.Buffer
	if err := s.split(content, values, &extra); err != nil {
		return nil, Errors{*err}
	}
	for i := range s.fields {
		f := &s.fields[i]
		switch {
		case mode == FillRequired && string(values[i]) == "null" && !f.nullIsLegal():
			values[i] = nil
			if f.Required && f.DefaultUsable {
				values[i] = f.Default
			}
		case values[i] != nil:
			if mode == FillRequired && f.Kind == Integer {
				values[i] = plainInteger(values[i])
			}
		case !f.DefaultUsable:
		case f.Required, mode == FillAll && string(f.Default) != "null":
			values[i] = f.Default
		}
	}
	return s.build(values, extra.Bytes()), nil
}

// split finds the value of each field; the rest goes to extra as members.
func (s *Schema) split(content []byte, values []json.RawMessage, extra *bytes.Buffer) *Error {
	if limit := s.maxContent(); len(content) > limit {
		e := whole("The answer is too large", CodeTooLarge, map[string]any{"max": limit})
		return &e
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil
	}
	sc := scanner{b: content}
	left := maxValues
	var at pointer
	n, err := sc.tree(maxDepth, &left, &at)
	if err == nil {
		err = sc.finish()
	}
	if err != nil {
		return malformed(err)
	}
	if n.kind == jNull {
		return nil
	}
	if n.kind != jObject {
		return malformed(&syntaxError{n.off, "not an object"})
	}
	for _, m := range n.members {
		raw := content[m.val.off:m.val.end]
		if i, ok := s.index[m.key]; ok {
			values[i] = raw
			continue
		}
		if extra == nil {
			continue
		}
		if extra.Len() > 0 {
			extra.WriteByte(',')
		}
		extra.Write(quote(m.key))
		extra.WriteByte(':')
		extra.Write(raw)
	}
	return nil
}

// build writes an object of the values that are there.
func (s *Schema) build(values []json.RawMessage, extra []byte) []byte {
	out := []byte{'{'}
	for i := range s.fields {
		if values[i] == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, quote(s.fields[i].Name)...)
		out = append(out, ':')
		out = append(out, values[i]...)
	}
	if len(extra) > 0 {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, extra...)
	}
	return append(out, '}')
}

func (f *Field) nullIsLegal() bool {
	return f.Nullable || f.Kind == JSON && typeFits(f.types, &node{kind: jNull})
}

func plainInteger(raw json.RawMessage) json.RawMessage {
	if kindOf(raw[0]) != jNumber || !bytes.ContainsAny(raw, ".eE") {
		return raw
	}
	d := parseDecimal(string(raw))
	if !d.integral() || !d.finite() {
		return raw
	}
	return json.RawMessage(d.integer())
}

// quote writes a JSON string without the escapes that encoding/json adds for
// HTML, so that text stays readable on the wire.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
