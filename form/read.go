package form

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Layers are schemas that hold together: a property, what its $ref names, the
// one member of its allOf, the one branch of its anyOf that is not null. The
// first layer is the property itself and wins where only one value counts.
type layers []*node

func (l layers) get(key string) *node {
	for _, n := range l {
		if v := n.get(key); v != nil {
			return v
		}
	}
	return nil
}

func (l layers) text(key string) string {
	for _, n := range l {
		if v := n.get(key); v != nil && v.kind == jString {
			return v.str
		}
	}
	return ""
}

// conflict is true when two layers give a keyword that only one can win, and
// give it differently.
func (s *Schema) conflict(l layers) bool {
	for _, key := range [...]string{"type", "format", "pattern", "enum", "const", "items", "multipleOf"} {
		var first *node
		for _, n := range l {
			switch v := n.get(key); {
			case v == nil:
			case first == nil:
				first = v
			case string(s.raw[first.off:first.end]) != string(s.raw[v.off:v.end]):
				return true
			}
		}
	}
	return false
}

// resolve follows a local reference (RFC 6901 in a URI fragment). It never
// leaves the document.
func (s *Schema) resolve(ref string) *node {
	if ref == "#" {
		return s.root
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	n := s.root
	for part := range strings.SplitSeq(rest, "/") {
		part = percentDecode(part)
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch n.kind {
		case jObject:
			n = n.get(part)
		case jArray:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(n.items) {
				return nil
			}
			n = n.items[i]
		default:
			return nil
		}
		if n == nil {
			return nil
		}
	}
	return n
}

func percentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// expand follows $ref and an allOf of one. It gives a reason when it cannot.
func (s *Schema) expand(n *node) (layers, string) {
	var l layers
	for range maxRefs {
		if n.kind != jObject {
			return l, "its description is not an object"
		}
		for _, seen := range l {
			if seen == n {
				return l, "it refers to itself"
			}
		}
		l = append(l, n)
		ref, all := n.get("$ref"), n.get("allOf")
		switch {
		case ref != nil && all != nil:
			return l, "it combines several descriptions"
		case ref != nil:
			if ref.kind != jString {
				return l, "its reference cannot be followed"
			}
			if n = s.resolve(ref.str); n == nil {
				return l, "its reference leads nowhere in this form"
			}
		case all != nil:
			if all.kind != jArray || len(all.items) != 1 {
				return l, "it combines several descriptions"
			}
			n = all.items[0]
		default:
			return l, ""
		}
	}
	return l, "its references go too deep"
}

// Keywords that restrict an answer in ways that no control can show.
var restricting = []string{
	"not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies",
	"$dynamicRef", "$recursiveRef", "contains", "prefixItems", "patternProperties", "propertyNames",
}

func (s *Schema) readField(name string, n *node, left *budget) Field {
	f := Field{Name: name}
	problem := s.fill(&f, n, left)
	if problem == "" && len(f.Options) > left.options {
		problem = "it has too many choices"
	}
	if problem != "" {
		f.Kind, f.Problem = Unsupported, problem
		if s.arguments {
			f.Kind, f.Problem = JSON, ""
		}
		f.Options = nil
	}
	left.options -= len(f.Options)
	f.indexOptions()
	if f.Default != nil {
		f.DefaultUsable = f.Kind != Unsupported && s.legalDefault(&f)
	}
	return f
}

func (f *Field) indexOptions() {
	if len(f.Options) == 0 {
		return
	}
	f.byValue = make(map[string]int, len(f.Options))
	for i := len(f.Options) - 1; i >= 0; i-- {
		o := &f.Options[i]
		f.byValue[o.Value] = i
		if kindOf(o.Raw[0]) == jNumber {
			if f.byNumber == nil {
				f.byNumber = map[string]int{}
			}
			f.byNumber[parseDecimal(o.Value).canonical()] = i
		}
	}
}

// fill reads one property and gives the reason when it cannot be drawn.
func (s *Schema) fill(f *Field, n *node, left *budget) string {
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

	// Alternatives: options, or one description beside null.
	var opts []*node // option schemas, or enum values
	isOptions := false
	for _, key := range [...]string{"oneOf", "anyOf"} {
		alt := l.get(key)
		if alt == nil {
			continue
		}
		if alt.kind != jArray || len(alt.items) == 0 {
			return "its choices cannot be read"
		}
		var rest []layers
		var consts []*node
		for _, item := range alt.items {
			il, problem := s.expand(item)
			if problem != "" {
				return problem
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
			l = append(l[:len(l):len(l)], il...)
		case len(rest) == 0 && len(consts) > 0:
			if isOptions {
				return "it combines several descriptions"
			}
			opts, isOptions = consts, true
		case len(rest) == 1 && len(consts) == 0:
			if rest[0].get("anyOf") != nil || rest[0].get("oneOf") != nil {
				return "it can be of several kinds"
			}
			l = append(l[:len(l):len(l)], rest[0]...)
		default:
			return "it can be of several kinds"
		}
	}
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
			found = slices.DeleteFunc(found, func(o Option) bool {
				return !slices.ContainsFunc(e.items, func(n *node) bool { return n.str == o.Value })
			})
		}
	case l.get("enum") != nil:
		found, problem = s.enumOptions(l, typ, &f.Nullable)
	case l.get("const") != nil:
		var o []Option
		o, problem = s.option(l.get("const"), "", "", typ, &f.Nullable)
		found = o
	default:
		s.readPlain(f, l, typ, left)
		return ""
	}
	if problem != "" {
		return problem
	}
	f.Kind, f.Options = Choice, found
	return checkOptions(found)
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

// constType reads the type off the choices, where all are of one.
func (s *Schema) constType(l layers, isOptions bool) (string, string) {
	var vals []*node
	switch e := l.get("enum"); {
	case isOptions:
		for _, key := range [...]string{"oneOf", "anyOf"} {
			alt := l.get(key)
			if alt == nil {
				continue
			}
			for _, item := range alt.items {
				il, _ := s.expand(item)
				if c := il.get("const"); c != nil {
					vals = append(vals, c)
				} else if e := il.get("enum"); e != nil {
					vals = append(vals, e.items...)
				}
			}
		}
	case e != nil:
		vals = e.items
	default:
		vals = []*node{l.get("const")}
	}
	typ := ""
	for _, v := range vals {
		t := map[byte]string{jString: "string", jNumber: "number", jBool: "boolean"}[v.kind]
		switch {
		case v.kind == jNull:
		case t == "" || typ != "" && t != typ:
			return "", "its choices are of several kinds"
		default:
			typ = t
		}
	}
	if typ == "" {
		return "", "it offers no choice that could be sent"
	}
	return typ, ""
}

func (s *Schema) readPlain(f *Field, l layers, typ string, left *budget) {
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
		if f.Pattern != "" && left.patterns > 0 {
			f.re, f.reCost = compilePattern(f.Pattern)
			left.patterns -= f.reCost
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

// most and least give the tightest of the layers' bounds.
func (l layers) most(key string) *int {
	var out *int
	for _, n := range l {
		if v := count(n.get(key)); v != nil && (out == nil || *v > *out) {
			out = v
		}
	}
	return out
}

func (l layers) least(key string) *int {
	var out *int
	for _, n := range l {
		if v := count(n.get(key)); v != nil && (out == nil || *v < *out) {
			out = v
		}
	}
	return out
}

// bound gives the highest number of the layers, or with sign -1 the lowest.
func (l layers) bound(key string, sign int) (lit json.Number, b bound) {
	for _, n := range l {
		v := n.get(key)
		if v == nil || v.kind != jNumber {
			continue
		}
		if d := parseDecimal(v.str); !b.set || d.cmp(b.decimal) == sign {
			lit, b = json.Number(v.str), bound{true, d}
		}
	}
	return lit, b
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
	typ := ""
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

// options reads the branches of oneOf or anyOf. A branch is a const with a
// title, or an enum.
func (s *Schema) options(branches []*node, typ string, null *bool) ([]Option, string) {
	var out []Option
	for _, b := range branches {
		l, problem := s.expand(b)
		if problem != "" {
			return nil, problem
		}
		var o []Option
		switch {
		case l.get("const") != nil:
			o, problem = s.option(l.get("const"), l.text("title"), l.text("description"), typ, null)
		case l.get("enum") != nil:
			o, problem = s.enumOptions(l, typ, null)
		default:
			problem = "it can be of several kinds"
		}
		if problem != "" {
			return nil, problem
		}
		out = append(out, o...)
	}
	return out, ""
}

// enumOptions reads enum, with enumNames of whatever length.
func (s *Schema) enumOptions(l layers, typ string, null *bool) ([]Option, string) {
	enum := l.get("enum")
	if enum.kind != jArray {
		return nil, "its choices cannot be read"
	}
	titles := l.get("enumNames")
	out := make([]Option, 0, len(enum.items))
	for i, v := range enum.items {
		title := ""
		if titles != nil && titles.kind == jArray && i < len(titles.items) && titles.items[i].kind == jString {
			title = titles.items[i].str
		}
		o, problem := s.option(v, title, "", typ, null)
		if problem != "" {
			return nil, problem
		}
		out = append(out, o...)
	}
	return out, ""
}

// option reads one value. One that the type rules out is no option: none of
// its answers could be legal.
func (s *Schema) option(v *node, title, description, typ string, null *bool) ([]Option, string) {
	o := Option{Title: title, Description: description, Raw: json.RawMessage(s.raw[v.off:v.end])}
	switch v.kind {
	case jNull:
		*null = true
		return nil, ""
	case jString:
		if typ != "string" {
			return nil, ""
		}
	case jNumber:
		d := parseDecimal(v.str)
		if typ != "number" && typ != "integer" || typ == "integer" && !d.integral() || !d.finite() {
			return nil, ""
		}
	case jBool:
		if typ != "boolean" {
			return nil, ""
		}
		if title == "" {
			o.Title = map[string]string{"true": "Yes", "false": "No"}[v.str]
		}
	default:
		return nil, "its choices are not plain values"
	}
	o.Value = v.str
	if o.Title == "" {
		o.Title = o.Value
	}
	return []Option{o}, ""
}

func checkOptions(opts []Option) string {
	if len(opts) == 0 {
		return "it offers no choice that could be sent"
	}
	return ""
}
