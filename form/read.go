package form

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// Keywords that restrict an answer in ways that no control can show.
var restricting = []string{
	"not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies",
	"$dynamicRef", "$recursiveRef", "contains", "prefixItems", "patternProperties", "propertyNames",
}

func (s *Schema) readField(name string, n *node) Field {
	f := Field{Name: name, Pointer: join("properties", name), Offset: n.off}
	problem := s.fill(&f, n)
	if problem == "" && len(f.Options) > s.left.options {
		problem = "it has too many choices"
	}
	if problem != "" {
		f.Kind, f.Problem = Unsupported, problem
		if s.arguments {
			f.Kind, f.Problem = JSON, ""
		}
		f.Options = nil
	}
	s.left.options -= len(f.Options)
	f.indexOptions()
	if f.Default != nil {
		f.DefaultUsable = f.Kind != Unsupported && len(f.Default) <= s.left.defaults && s.legalDefault(&f)
		if f.DefaultUsable {
			s.left.defaults -= len(f.Default)
		}
	}
	return f
}

// fill reads one property and gives the reason when it cannot be drawn.
func (s *Schema) fill(f *Field, n *node) string {
	l, problem := s.expand(n)
	f.Title, f.Description = l.text("title"), l.text("description")
	if d := l.get("default"); d != nil {
		f.Default = json.RawMessage(s.raw[d.off:d.end])
	}
	if problem != "" {
		return problem
	}
	if s.arguments {
		f.types = typeNames(l)
	}

	l, opts, problem := s.alternatives(f, l)
	if problem != "" {
		return problem
	}
	isOptions := len(opts) > 0
	if f.Title == "" {
		f.Title = l.text("title")
	}
	if f.Description == "" {
		f.Description = l.text("description")
	}
	for _, key := range restricting {
		if l.get(key) != nil {
			return "it uses " + key + ", which a form cannot show"
		}
	}
	if s.conflict(l) {
		return "it combines several descriptions"
	}

	typ, problem := s.fieldType(f, l, isOptions)
	if problem != "" {
		return problem
	}
	switch typ {
	case "string", "number", "integer", "boolean":
	case "array":
		return s.readArray(f, l)
	case "object":
		return "it asks for an object, and a form has only plain fields"
	case "null":
		return "nothing can be answered to it"
	default:
		return "its type is not known"
	}

	var found []Option
	switch {
	case isOptions:
		found, problem = s.options(opts, typ, &f.Nullable)
		if e := l.get("enum"); e != nil { // both hold
			both := make(map[string]bool, len(e.items))
			for _, n := range e.items {
				both[n.str] = true
			}
			found = slices.DeleteFunc(found, func(o Option) bool { return !both[o.Value] })
		}
	case l.get("enum") != nil:
		found, problem = s.enumOptions(l, typ, &f.Nullable)
	case l.get("const") != nil:
		var o []Option
		o, problem = s.option(l.get("const"), "", "", typ, &f.Nullable)
		found = o
	default:
		s.readPlain(f, l, typ)
		return ""
	}
	if problem != "" {
		return problem
	}
	f.Kind, f.Options = Choice, found
	return checkOptions(found)
}

// alternatives reads oneOf and anyOf: they are options, or one description
// beside null, which becomes a part of l.
func (s *Schema) alternatives(f *Field, l layers) (_ layers, opts []*node, problem string) {
	for _, key := range [...]string{"oneOf", "anyOf"} {
		alt := l.get(key)
		if alt == nil {
			continue
		}
		if alt.kind != jArray || len(alt.items) == 0 {
			return l, nil, "its choices cannot be read"
		}
		if len(alt.items) > s.left.options {
			return l, nil, "it has too many choices"
		}
		var rest []layers
		var consts []*node
		for _, item := range alt.items {
			il, problem := s.expand(item)
			if problem != "" {
				return l, nil, problem
			}
			switch {
			case il.get("const") != nil || il.get("enum") != nil:
				consts = append(consts, item)
			case il.get("type") != nil && il.get("type").kind == jString && il.get("type").str == "null":
				f.Nullable = true
			default:
				rest = append(rest, il)
			}
		}
		switch {
		case len(rest) == 0 && len(consts) == 1 && len(alt.items) > 1 && consts[0].get("const") == nil:
			// An enum beside null: pydantic's Optional[Enum].
			il, _ := s.expand(consts[0])
			l = append(slices.Clip(l), il...)
		case len(rest) == 0 && len(consts) > 0:
			if len(opts) > 0 {
				return l, nil, "it combines several descriptions"
			}
			opts = consts
		case len(rest) == 1 && len(consts) == 0:
			if rest[0].get("anyOf") != nil || rest[0].get("oneOf") != nil {
				return l, nil, "it can be of several kinds"
			}
			l = append(slices.Clip(l), rest[0]...)
		default:
			return l, nil, "it can be of several kinds"
		}
	}
	return l, opts, ""
}

func typeNames(l layers) []string {
	t := l.get("type")
	if t == nil {
		return nil
	}
	if t.kind == jString {
		return []string{t.str}
	}
	var out []string
	for _, n := range t.items {
		if n.kind == jString {
			out = append(out, n.str)
		}
	}
	return out
}

// fieldType is the one type a property has beside null.
func (s *Schema) fieldType(f *Field, l layers, isOptions bool) (string, string) {
	t := l.get("type")
	if t == nil {
		return s.inferType(l, isOptions)
	}
	if t.kind == jString {
		return t.str, ""
	}
	if t.kind != jArray {
		return "", "its type is not known"
	}
	typ := ""
	for _, n := range t.items {
		switch {
		case n.kind != jString:
			return "", "its type is not known"
		case n.str == "null":
			f.Nullable = true
		case typ == "" || typ == n.str:
			typ = n.str
		case typ == "integer" && n.str == "number", typ == "number" && n.str == "integer":
			typ = "number"
		default:
			return "", "it can be of several kinds"
		}
	}
	if typ == "" {
		return "null", ""
	}
	return typ, ""
}

// inferType reads what a schema without a type can only mean.
func (s *Schema) inferType(l layers, isOptions bool) (string, string) {
	if isOptions || l.get("enum") != nil || l.get("const") != nil {
		return s.constType(l, isOptions)
	}
	for _, kw := range [...]struct{ key, typ string }{
		{"properties", "object"}, {"items", "array"},
		{"format", "string"}, {"minLength", "string"}, {"maxLength", "string"}, {"pattern", "string"},
		{"minimum", "number"}, {"maximum", "number"}, {"multipleOf", "number"},
	} {
		if l.get(kw.key) != nil {
			return kw.typ, ""
		}
	}
	return "", "it has no type"
}

func (s *Schema) readPlain(f *Field, l layers, typ string) {
	f.Format = l.text("format")
	switch typ {
	case "boolean":
		f.Kind = Boolean
		f.Format = ""
	case "string":
		f.Kind = Text
		f.MinLength, f.MaxLength = l.most("minLength"), l.least("maxLength")
		f.explicitEmpty = f.MinLength != nil && *f.MinLength == 0
		f.Pattern = l.text("pattern")
		if _, known := s.patterns[f.Pattern]; f.Pattern != "" && (known || s.left.patterns > 0) {
			c, known := s.patterns[f.Pattern]
			if !known {
				c.re, c.cost = compilePattern(f.Pattern)
				s.patterns[f.Pattern] = c
				s.left.patterns -= c.cost + len(f.Pattern)
			}
			f.re, f.reCost = c.re, c.cost
			f.PatternEnforced = f.re != nil
		}
	case "integer", "number":
		f.Kind = Number
		if typ == "integer" {
			f.Kind = Integer
		}
		f.Format = ""
		f.Minimum, f.min = l.bound("minimum", 1)
		f.Maximum, f.max = l.bound("maximum", -1)
		f.ExclusiveMinimum, f.xmin = l.bound("exclusiveMinimum", 1)
		f.ExclusiveMaximum, f.xmax = l.bound("exclusiveMaximum", -1)
		// Draft 4: a boolean that turns minimum into an exclusive bound.
		if x := l.get("exclusiveMinimum"); x != nil && x.str == "true" {
			f.ExclusiveMinimum, f.xmin = f.Minimum, f.min
		}
		if x := l.get("exclusiveMaximum"); x != nil && x.str == "true" {
			f.ExclusiveMaximum, f.xmax = f.Maximum, f.max
		}
		f.MultipleOf, f.step = l.bound("multipleOf", 1)
		if f.step.set && (f.step.zero || f.step.neg) {
			f.MultipleOf, f.step = "", bound{}
		}
	}
}

// count reads a length, which may be written 3.0. Nonsense counts as absent.
func count(n *node) *int {
	if n == nil || n.kind != jNumber {
		return nil
	}
	d := parseDecimal(n.str)
	if !d.integral() || d.neg && !d.zero {
		return nil
	}
	v := math.MaxInt32
	if d.exp <= 9 {
		v, _ = strconv.Atoi(d.integer())
	}
	return &v
}

func (s *Schema) readArray(f *Field, l layers) string {
	f.MinItems, f.MaxItems = l.most("minItems"), l.least("maxItems")
	if u := l.get("uniqueItems"); u != nil && u.str == "true" && u.kind == jBool {
		f.UniqueItems = true
	}
	items := l.get("items")
	if items == nil {
		return "it is a list without a description of what may be in it"
	}
	il, problem := s.expand(items)
	if problem != "" {
		return problem
	}
	for _, key := range restricting {
		if il.get(key) != nil {
			return "it uses " + key + ", which a form cannot show"
		}
	}
	isOptions := il.get("anyOf") != nil || il.get("oneOf") != nil
	var typ string
	switch t := il.get("type"); {
	case t != nil && t.kind == jString:
		typ = t.str
	case t != nil:
		return "its items can be of several kinds"
	case isOptions || il.get("enum") != nil || il.get("const") != nil:
		if typ, problem = s.constType(il, isOptions); problem != "" {
			return problem
		}
	default:
		typ = "string"
	}
	switch typ {
	case "string", "integer", "number", "boolean":
	default:
		return "it is a list of something other than plain choices"
	}
	null := false
	var opts []Option
	switch {
	case il.get("enum") != nil:
		opts, problem = s.enumOptions(il, typ, &null)
	case isOptions:
		alt := il.get("anyOf")
		if alt == nil {
			alt = il.get("oneOf")
		}
		opts, problem = s.options(alt.items, typ, &null)
	case il.get("const") != nil: // FastMCP sends a list of one option so
		opts, problem = s.option(il.get("const"), il.text("title"), "", typ, &null)
	default:
		return "it is a list of free values, and a form can only offer choices"
	}
	if problem != "" {
		return problem
	}
	f.Kind, f.Options = Choices, opts
	return checkOptions(opts)
}
