package form

import (
	"encoding/json"
)

// options reads the branches of oneOf or anyOf. A branch is a const with a
// title, or an enum.
func (s *Schema) options(branches []*node, typ string, null *bool) ([]Option, string) {
	if len(branches) > s.left.options {
		return nil, "it has too many choices"
	}
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
	if len(enum.items) > s.left.options {
		return nil, "it has too many choices"
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
