package form

import (
	"fmt"
	"strings"
)

// keywords lists what each interface of schema.ts has, beside type, title and
// description.
func (j *judge) keywords(typ string) (map[string]bool, string) {
	k := map[string]bool{"type": true, "title": true, "description": true}
	add := func(names ...string) {
		for _, n := range names {
			k[n] = true
		}
	}
	later := j.rev != Rev20250618
	switch typ {
	case "string":
		add("minLength", "maxLength", "format", "enum", "enumNames", "oneOf", "default")
		return k, "StringSchema and EnumSchema"
	case "number", "integer":
		add("minimum", "maximum", "default")
		return k, "NumberSchema"
	case "boolean":
		add("default")
		return k, "BooleanSchema"
	}
	if later {
		add("items", "minItems", "maxItems", "default")
	}
	return k, "MultiSelectEnumSchema"
}

// elsewhere are listed keywords that belong to another type.
var elsewhere = map[string]string{
	"minLength": "string", "maxLength": "string", "format": "string", "enum": "string", "enumNames": "string", "oneOf": "string",
	"minimum": "number", "maximum": "number", "items": "array", "minItems": "array", "maxItems": "array",
}

func (j *judge) property(at string, m member) {
	const clause = "PrimitiveSchemaDefinition"
	n := m.val
	if n.kind != jObject {
		j.add(SeverityError, "property-not-object", at, n.off, clause, "a property is described by an object")
		return
	}
	if ref := n.get("$ref"); ref != nil {
		j.add(SeverityError, "ref", at+"/$ref", ref.off, clause, "references are not part of a form; write the property in place")
		return
	}
	for _, key := range [...]string{"anyOf", "allOf", "not", "if"} {
		v := n.get(key)
		if v == nil {
			continue
		}
		rule, text := key+"-at-property", key+" is not part of a form"
		if key == "anyOf" {
			for _, b := range v.items {
				if t := b.get("type"); t != nil && t.str == "null" {
					rule, text = "anyOf-null", "a field that may be left out is simply not required; null is not part of a form"
				}
			}
		}
		j.add(SeverityError, rule, at+"/"+key, v.off, clause, text)
		return
	}
	t := n.get("type")
	if t == nil {
		j.add(SeverityError, "missing-type", at, n.off, clause, "the property lacks a type")
		j.choices(at, n)
		return
	}
	if t.kind != jString {
		rule, text := "type-list", "a property has one type"
		if names(t, "null") {
			rule, text = "type-null", "a field that may be left out is simply not required; null is not part of a form"
		}
		j.add(SeverityError, rule, at+"/type", t.off, clause, text)
		return
	}
	switch t.str {
	case "string", "number", "integer", "boolean":
	case "array":
		if j.rev == Rev20250618 {
			j.add(SeverityError, "array-not-in-revision", at+"/type", t.off, clause, "choosing several is not part of this revision")
			return
		}
	case "object":
		j.add(SeverityError, "nested-object", at, n.off, clause, "objects inside a form are not allowed; ask for plain fields")
		return
	case "null":
		j.add(SeverityError, "null-type", at+"/type", t.off, clause, "null is not part of a form")
		return
	default:
		j.add(SeverityError, "unknown-type", at+"/type", t.off, clause, fmt.Sprintf("%q is no type of a form", clip(t.str, 40)))
		return
	}
	j.members(at, m.key, n, t.str)
	switch t.str {
	case "string":
		j.text(at, n)
	case "array":
		j.array(at, n)
	case "number", "integer":
		j.bounds(at, n, "minimum", "maximum")
	}
	j.def(at, m.key, n, t.str)
}

func (j *judge) members(at, name string, n *node, typ string) {
	listed, clause := j.keywords(typ)
	for _, m := range n.members {
		p := at + join(m.key)
		if listed[m.key] {
			if (m.key == "title" || m.key == "description") && m.val.kind != jString {
				j.add(SeverityError, "keyword-type", p, m.val.off, clause, m.key+" is text")
			}
			continue
		}
		switch {
		case m.key == "pattern" && typ == "string":
			j.add(SeverityWarning, "pattern", p, m.off, clause, "pattern is not listed; clients may not check it, so check it on receipt")
			if m.val.kind == jString {
				if f, _ := j.s.Field(name); !f.PatternEnforced {
					j.add(SeverityWarning, "pattern-not-run", p, m.val.off, clause, "this pattern cannot be run in linear time and is not checked before the answer is sent")
				}
			}
		case m.key == "min" || m.key == "max":
			j.add(SeverityWarning, "min-max-alias", p, m.off, clause, m.key+" means nothing; the keyword is "+m.key+"imum")
		case elsewhere[m.key] != "":
			sev := SeverityWarning
			if m.key == "enum" || m.key == "oneOf" {
				sev = SeverityError // no revision has choices that are not strings
			}
			j.add(sev, "keyword-on-wrong-type", p, m.off, clause, m.key+" belongs to "+elsewhere[m.key]+", not to "+typ)
		case m.key == "$defs" || m.key == "definitions":
			j.add(SeverityError, "defs", p, m.off, clause, "definitions are not part of a form; write them in place")
		case strings.HasPrefix(m.key, "x-"):
			j.add(SeverityWarning, "x-extension", p, m.off, clause, "a private keyword means nothing to other clients")
		default:
			j.add(SeverityWarning, "unknown-keyword", p, m.off, clause, fmt.Sprintf("%q is not listed; strict clients refuse the question", clip(m.key, 40)))
		}
	}
}

func (j *judge) text(at string, n *node) {
	j.bounds(at, n, "minLength", "maxLength")
	if f := n.get("format"); f != nil {
		switch f.str {
		case "email", "uri", "date", "date-time":
			if f.kind == jString {
				break
			}
			fallthrough
		default:
			j.add(SeverityError, "bad-format", at+"/format", f.off, "StringSchema.format", "formats are email, uri, date and date-time")
		}
	}
	j.choices(at, n)
}

// choices judges enum, enumNames and oneOf of a single choice.
func (j *judge) choices(at string, n *node) {
	const clause = "EnumSchema"
	enum, one, enumNames := n.get("enum"), n.get("oneOf"), n.get("enumNames")
	if enum != nil {
		j.enum(at+"/enum", enum)
	}
	if enumNames != nil {
		p := at + "/enumNames"
		sev := SeverityNote
		if j.rev == Rev20250618 {
			sev = ""
		}
		if sev != "" {
			j.add(sev, "enumNames-legacy", p, enumNames.off, "LegacyTitledEnumSchema", "enumNames will go; use oneOf with const and title")
		}
		switch {
		case enum == nil:
			j.add(SeverityWarning, "enumNames-without-enum", p, enumNames.off, clause, "there are no values that the names belong to")
		case enumNames.kind != jArray:
			j.add(SeverityWarning, "enumNames-type", p, enumNames.off, clause, "enumNames is a list of strings")
		case len(enumNames.items) != len(enum.items):
			j.add(SeverityWarning, "enumNames-length", p, enumNames.off, clause,
				fmt.Sprintf("%d names for %d values", len(enumNames.items), len(enum.items)))
		}
		for i, item := range enumNames.items {
			if item.kind != jString {
				j.add(SeverityWarning, "enumNames-type", fmt.Sprintf("%s/%d", p, i), item.off, clause, "enumNames is a list of strings")
			}
		}
	}
	if one != nil {
		if j.rev == Rev20250618 {
			j.add(SeverityError, "titled-choice-not-in-revision", at+"/oneOf", one.off, clause, "this revision titles choices by enumNames")
		}
		j.titled(at+"/oneOf", one)
		if enum != nil {
			j.add(SeverityError, "enum-and-oneOf", at+"/oneOf", one.off, clause, "choices are given twice")
		}
	}
}

func (j *judge) enum(at string, enum *node) {
	const clause = "EnumSchema.enum"
	if enum.kind != jArray {
		j.add(SeverityError, "enum-type", at, enum.off, clause, "enum is a list of strings")
		return
	}
	if len(enum.items) == 0 {
		j.add(SeverityError, "enum-empty", at, enum.off, clause, "there is nothing to choose")
	}
	seen := map[string]bool{}
	for i, v := range enum.items {
		p := fmt.Sprintf("%s/%d", at, i)
		switch {
		case v.kind != jString:
			j.add(SeverityError, "enum-non-string", p, v.off, clause, "choices are strings")
		case seen[v.str]:
			j.add(SeverityWarning, "enum-duplicate", p, v.off, clause, "a choice is given twice")
		case v.str == "":
			j.add(SeverityWarning, "enum-empty-value", p, v.off, clause, "a choice without a name is hard to show and to tell from no answer")
		}
		seen[v.str] = true
	}
}

// titled judges a list of {const, title}.
func (j *judge) titled(at string, list *node) {
	const clause = "TitledSingleSelectEnumSchema and TitledMultiSelectEnumSchema"
	if list.kind != jArray {
		j.add(SeverityError, "option-list-type", at, list.off, clause, "choices are a list of const and title")
		return
	}
	if len(list.items) == 0 {
		j.add(SeverityError, "enum-empty", at, list.off, clause, "there is nothing to choose")
	}
	values, titles := map[string]bool{}, map[string]bool{}
	for i, o := range list.items {
		p := fmt.Sprintf("%s/%d", at, i)
		c, t := o.get("const"), o.get("title")
		switch {
		case o.kind != jObject:
			j.add(SeverityError, "option-type", p, o.off, clause, "a choice is an object with const and title")
			continue
		case o.get("type") != nil && o.get("type").str == "null":
			j.add(SeverityError, "oneOf-null", p, o.off, clause, "a field that may be left out is simply not required; null is not part of a form")
			continue
		case c == nil:
			j.add(SeverityError, "option-missing-const", p, o.off, clause, "a choice lacks its value")
		case c.kind != jString:
			j.add(SeverityError, "enum-non-string", p+"/const", c.off, clause, "choices are strings")
		case values[c.str]:
			j.add(SeverityWarning, "enum-duplicate", p+"/const", c.off, clause, "a choice is given twice")
		}
		if c != nil {
			values[c.str] = true
		}
		switch {
		case t == nil:
			j.add(SeverityError, "option-missing-title", p, o.off, clause, "a choice lacks its title")
		case t.kind != jString:
			j.add(SeverityError, "option-missing-title", p+"/title", t.off, clause, "the title of a choice is text")
		case titles[skeleton(t.str)]:
			j.add(SeverityWarning, "option-title-alike", p+"/title", t.off, clause, "two choices have titles that look the same")
		}
		if t != nil {
			titles[skeleton(t.str)] = true
		}
		for _, m := range o.members {
			if m.key != "const" && m.key != "title" && m.key != "type" {
				j.add(SeverityWarning, "unknown-keyword", p+join(m.key), m.off, clause, fmt.Sprintf("%q is not listed", clip(m.key, 40)))
			}
		}
	}
}

func (j *judge) array(at string, n *node) {
	const clause = "MultiSelectEnumSchema.items"
	j.bounds(at, n, "minItems", "maxItems")
	items := n.get("items")
	if items == nil {
		j.add(SeverityError, "array-missing-items", at, n.off, clause, "the choices of the list are missing")
		return
	}
	p := at + "/items"
	if items.kind != jObject {
		j.add(SeverityError, "items-type", p, items.off, clause, "items describes the choices")
		return
	}
	if ref := items.get("$ref"); ref != nil {
		j.add(SeverityError, "ref", p+"/$ref", ref.off, clause, "references are not part of a form; write the choices in place")
		return
	}
	enum, anyOf, one, t := items.get("enum"), items.get("anyOf"), items.get("oneOf"), items.get("type")
	listed := map[string]bool{"type": true}
	var nOptions int
	switch {
	case anyOf != nil:
		listed["anyOf"] = true
		j.titled(p+"/anyOf", anyOf)
		nOptions = len(anyOf.items)
	case enum != nil:
		listed["enum"] = true
		j.enum(p+"/enum", enum)
		nOptions = len(enum.items)
		if t == nil {
			j.add(SeverityError, "items-missing-type", p, items.off, clause, `the choices lack "type": "string"`)
		}
	case one != nil:
		listed["oneOf"] = true
		j.add(SeverityError, "items-oneOf", p+"/oneOf", one.off, clause, "titled choices of a list are written anyOf")
		nOptions = len(one.items)
	case t != nil && t.str == "object":
		j.add(SeverityError, "array-of-objects", p, items.off, clause, "a list of objects is not part of a form")
		return
	default:
		j.add(SeverityError, "array-free-form", p, items.off, clause, "a list in a form is a list of choices; free values are not possible")
		return
	}
	if t != nil && t.str != "string" {
		j.add(SeverityError, "enum-non-string", p+"/type", t.off, clause, "choices are strings")
	}
	for _, m := range items.members {
		if !listed[m.key] {
			j.add(SeverityWarning, "unknown-keyword", p+join(m.key), m.off, clause, fmt.Sprintf("%q is not listed", clip(m.key, 40)))
		}
	}
	if lo := count(n.get("minItems")); lo != nil && *lo > nOptions {
		j.add(SeverityError, "bounds-unreachable", at+"/minItems", n.get("minItems").off, clause, "more choices are demanded than offered")
	}
}

func (j *judge) bounds(at string, n *node, lo, hi string) {
	clause := "StringSchema, NumberSchema and MultiSelectEnumSchema"
	a, b := n.get(lo), n.get(hi)
	ok := true
	for _, kw := range [...]struct {
		name string
		n    *node
	}{{lo, a}, {hi, b}} {
		switch {
		case kw.n == nil:
			ok = false
		case kw.n.kind != jNumber:
			ok = false
			j.add(SeverityError, "keyword-type", at+"/"+kw.name, kw.n.off, clause, kw.name+" is a number")
		case lo != "minimum" && count(kw.n) == nil:
			ok = false
			j.add(SeverityWarning, "bounds-not-a-count", at+"/"+kw.name, kw.n.off, clause, kw.name+" is a whole number from 0")
		}
	}
	if ok && parseDecimal(a.str).cmp(parseDecimal(b.str)) > 0 {
		j.add(SeverityError, "bounds-inverted", at+"/"+lo, a.off, clause, lo+" is above "+hi+": nobody can answer")
	}
}

// def judges the default of a property.
func (j *judge) def(at, name string, n *node, typ string) {
	d := n.get("default")
	if d == nil {
		return
	}
	const clause = "default"
	p := at + "/default"
	ok := false
	switch typ {
	case "string":
		ok = d.kind == jString
	case "number":
		ok = d.kind == jNumber
	case "integer":
		ok = d.kind == jNumber && parseDecimal(d.str).integral()
	case "boolean":
		ok = d.kind == jBool
	case "array":
		ok = d.kind == jArray
		for _, v := range d.items {
			ok = ok && v.kind == jString
		}
	}
	if !ok {
		j.add(SeverityError, "default-mismatch", p, d.off, clause, "the default is not of the type "+typ)
		return
	}
	if j.rev == Rev20250618 && typ != "boolean" {
		j.add(SeverityWarning, "default-not-in-revision", p, d.off, clause, "this revision has defaults for booleans only; clients may ignore it")
	}
	f, found := j.s.Field(name)
	if !found || f.Kind == Unsupported || f.DefaultUsable {
		return
	}
	rule, text := "default-out-of-bounds", "the default breaks the property's own rules"
	errs := j.s.checkOne(&f, f.Default)
	if len(errs) > 0 {
		switch errs[0].Code {
		case CodeNotAnOption:
			rule, text = "default-not-an-option", "the default is none of the choices"
		case CodeEmail, CodeURI, CodeDate, CodeDateTime:
			rule, text = "default-not-format", "the default is not in the property's own format"
		case CodePattern:
			rule, text = "default-not-pattern", "the default does not match the property's own pattern"
		}
	}
	j.add(SeverityWarning, rule, p, d.off, clause, text)
}
