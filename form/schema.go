package form

import (
	"bytes"
	"errors"
	"fmt"
)

// Bounds on what is read.
const (
	// MaxSchema is the largest requestedSchema that Parse reads, in bytes.
	MaxSchema = 64 << 10
	// MaxArgumentsSchema is the largest inputSchema that ParseArguments reads.
	MaxArgumentsSchema = 1 << 20
	// MaxContent is the largest answer that Check reads.
	MaxContent = 64 << 10
	// MaxArguments is the largest set of arguments that Check reads.
	MaxArguments = 1 << 20
	// MaxFields is how many fields a schema may have.
	MaxFields = 200

	maxDepth     = 32
	maxValues    = 100_000
	maxRefs      = 32
	maxPattern   = 1000   // bytes
	maxPatternOp = 4000   // instructions of one compiled pattern
	maxPatterns  = 50_000 // instructions of all patterns of a schema
	maxMatchWork = 16 << 20
	maxErrors    = 100
	maxOptions   = 10_000  // of all fields
	maxSteps     = 200_000 // schemas that are looked at, for all fields
)

// ErrSchema is matched by every error of Parse and ParseArguments.
var ErrSchema = errors.New("schema cannot be read")

// A SchemaError says where a schema stops being one.
type SchemaError struct {
	Rule    string // too-large, malformed, root-type and others; see the package doc
	Pointer string // JSON Pointer into the schema
	Offset  int    // byte
	Reason  string
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("schema at %q (byte %d): %s", e.Pointer, e.Offset, e.Reason)
}

// Is makes every SchemaError match ErrSchema.
func (e *SchemaError) Is(target error) bool { return target == ErrSchema }

// A Schema is a form: the fields a server asks for. It is immutable and safe
// for concurrent use.
type Schema struct {
	raw       []byte
	root      *node
	arguments bool
	closed    bool // additionalProperties is false
	fields    []Field
	index     map[string]int
	// undeclared are names that required lists and properties does not.
	undeclared []string
	// left and patterns are used while it is read.
	left     budget
	patterns map[string]compiled
}

// A budget bounds what many fields together may cost: a small schema can make
// many fields refer to one large description.
type budget struct{ patterns, options, steps, defaults int }

// Parse reads the requestedSchema of a form question. It keeps the bytes and
// the order of the fields and reads every shape that servers send; what cannot
// be drawn becomes a field of kind Unsupported, not an error. No bytes, null
// and a schema without properties are a form without fields: a person accepts
// or declines it.
//
// It errs, with a *SchemaError, on what is not a schema at all or is past a
// bound. Nothing is ever fetched.
func Parse(b []byte) (*Schema, error) { return parse(b, false) }

// ParseArguments reads the inputSchema of a tool, so that a person can fill in
// a call. Fields that are no plain question become fields of kind JSON.
func ParseArguments(b []byte) (*Schema, error) { return parse(b, true) }

func parse(b []byte, arguments bool) (*Schema, error) {
	s := &Schema{raw: bytes.Clone(b), arguments: arguments}
	limit := MaxSchema
	if arguments {
		limit = MaxArgumentsSchema
	}
	if len(b) > limit {
		return nil, &SchemaError{"too-large", "", limit, fmt.Sprintf("larger than %d bytes", limit)}
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return s, nil
	}
	left := maxValues
	sc := scanner{b: s.raw}
	var at pointer
	root, err := sc.tree(maxDepth, &left, &at)
	if err == nil {
		err = sc.finish()
	}
	if err != nil {
		off, reason := 0, err.Error()
		if se := (*syntaxError)(nil); errors.As(err, &se) {
			off, reason = se.off, se.reason
		}
		return nil, &SchemaError{"malformed", at.String(), off, reason}
	}
	if root.kind == jNull {
		return s, nil
	}
	if arguments && root.kind == jBool { // JSON Schema 2020-12 4.3.2
		return s, nil
	}
	if root.kind != jObject {
		return nil, &SchemaError{"root-type", "", root.off, "a schema is an object"}
	}
	s.root = root
	if err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

// Bytes gives the bytes that were parsed, unchanged. Do not write to them.
func (s *Schema) Bytes() []byte { return s.raw }

// Fields gives the fields in the server's order.
func (s *Schema) Fields() []Field { return append([]Field(nil), s.fields...) }

// Field finds a field by name.
func (s *Schema) Field(name string) (Field, bool) {
	i, ok := s.index[name]
	if !ok {
		return Field{}, false
	}
	return s.fields[i], true
}

// IsConfirm is true for a form without fields: only the action is asked.
func (s *Schema) IsConfirm() bool { return len(s.fields) == 0 && len(s.undeclared) == 0 }

func (s *Schema) maxContent() int {
	if s.arguments {
		return MaxArguments
	}
	return MaxContent
}

// read finds the fields under the root.
func (s *Schema) read() error {
	s.left = budget{maxPatterns, maxOptions, maxSteps, s.maxContent()}
	s.patterns = map[string]compiled{}
	defer func() { s.patterns = nil }()
	root, problem := s.expand(s.root)
	if problem != "" && !s.arguments {
		return &SchemaError{"root-type", "", s.root.off, problem}
	}
	if t := root.get("type"); t != nil && !names(t, "object") {
		return &SchemaError{"root-type", "/type", t.off, `the type of a form is "object"`}
	}
	if ap := root.get("additionalProperties"); ap != nil && ap.kind == jBool && ap.str == "false" {
		s.closed = true
	}
	props := root.get("properties")
	if props != nil && props.kind != jObject {
		return &SchemaError{"properties-type", "/properties", props.off, "properties is not an object"}
	}
	required := map[string]bool{}
	req := root.get("required")
	if req != nil {
		if req.kind != jArray {
			return &SchemaError{"required-type", "/required", req.off, "required is not a list of names"}
		}
		for i, n := range req.items {
			if n.kind != jString {
				return &SchemaError{"required-type", fmt.Sprintf("/required/%d", i), n.off, "required is not a list of names"}
			}
		}
	}
	var order []string
	if req != nil {
		for _, n := range req.items {
			if !required[n.str] {
				order = append(order, n.str)
			}
			required[n.str] = true
		}
	}
	if props != nil {
		if len(props.members) > MaxFields {
			return &SchemaError{"too-many-fields", "/properties", props.off, fmt.Sprintf("more than %d fields", MaxFields)}
		}
		s.fields = make([]Field, 0, len(props.members))
		for _, m := range props.members {
			f := s.readField(m.key, m.val)
			f.Required = required[m.key]
			s.fields = append(s.fields, f)
		}
	}
	declared := make(map[string]bool, len(s.fields))
	for i := range s.fields {
		declared[s.fields[i].Name] = true
	}
	for _, name := range order {
		switch {
		case declared[name]:
		case s.arguments && len(s.fields) < MaxFields:
			s.fields = append(s.fields, Field{Name: name, Kind: JSON, Required: true, Pointer: join("properties", name)})
		default:
			s.undeclared = append(s.undeclared, name)
		}
	}
	s.index = make(map[string]int, len(s.fields))
	for i := range s.fields {
		s.index[s.fields[i].Name] = i
	}
	return nil
}

// names is true when a type keyword is, or lists, the given type.
func names(t *node, typ string) bool {
	if t.kind == jString {
		return t.str == typ
	}
	if t.kind == jArray {
		for _, n := range t.items {
			if n.kind == jString && n.str == typ {
				return true
			}
		}
	}
	return false
}
