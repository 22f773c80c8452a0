package lint

import (
	"errors"
	"fmt"

	"github.com/parley-mcp/parley/form"
)

// tools judges the result of tools/list: what a server declares before anybody
// has called it.
func (l *linter) tools(ptr string, list *node) {
	seen := map[string]bool{}
	for i, t := range list.list() {
		p := atIndex(ptr, i)
		if !l.declared(p, "tool", t, seen) {
			continue
		}
		l.annotations(p, t)
		l.arguments(p, t)
	}
}

// prompts judges the result of prompts/list.
func (l *linter) prompts(ptr string, list *node) {
	seen := map[string]bool{}
	for i, t := range list.list() {
		p := atIndex(ptr, i)
		if !l.declared(p, "prompt", t, seen) {
			continue
		}
		for j, a := range t.get("arguments").list() {
			q := atIndex(at(p, "arguments"), j)
			f := form.Field{Kind: form.Text, Name: a.get("name").text(), Title: a.get("title").text(), Description: a.get("description").text()}
			l.declaredWords(q, a)
			if w, ok := AsksSecret(&f); ok {
				l.add("secret-in-arguments", q, a.off, fmt.Sprintf("argument %s of prompt %s is a secret (%s)", quote(f.Name), quote(t.get("name").text()), w))
			}
		}
	}
}

func (l *linter) declared(ptr, what string, t *node, seen map[string]bool) bool {
	name := t.get("name")
	if name.text() == "" {
		l.add("name-missing", ptr, t.off, "a "+what+" has no name")
		return t.is(objectNode)
	}
	if seen[name.str] {
		l.add("name-duplicate", at(ptr, "name"), name.off, "two have the name "+quote(name.str))
	}
	seen[name.str] = true
	l.declaredWords(ptr, t)
	return true
}

func (l *linter) declaredWords(ptr string, t *node) {
	for _, k := range [...]string{"name", "title", "description"} {
		n := t.get(k)
		if !n.is(stringNode) {
			continue
		}
		p := at(ptr, k)
		l.hidden(p, n, "the "+k)
		if w := coercive(n.str); w != "" {
			l.add("coercive-wording", p, n.off, "the "+k+" presses: \""+w+"\"")
		}
		if w := ordersModel(n.str); w != "" {
			l.add("instructs-model", p, n.off, "the "+k+" gives the model an order: \""+w+"\"")
		}
	}
}

// writing are verbs at the head of names of tools that change something.
var writing = set("delete remove drop destroy purge wipe erase truncate write update create insert set put send post publish deploy execute exec kill terminate overwrite rename move transfer pay buy order book cancel revoke reset")

func (l *linter) annotations(ptr string, t *node) {
	a := t.get("annotations")
	yes := func(key string) bool { v := a.get(key); return v.is(boolNode) && v.str == "true" }
	if !yes("readOnlyHint") {
		return
	}
	p := at(ptr, "annotations")
	if yes("destructiveHint") {
		l.add("annotations-contradict", p, a.off, quote(t.get("name").text())+" says that it only reads and that it is destructive")
	}
	if ws := splitWords(fold(splitName(t.get("name").text()))); len(ws) > 0 && writing[ws[0]] {
		l.add("annotations-doubtful", p, a.off, quote(t.get("name").text())+" says that it only reads")
	}
}

// arguments judges an inputSchema. Its shape is the server's affair; what a
// person or model would put into it is not.
func (l *linter) arguments(ptr string, t *node) {
	in := t.get("inputSchema")
	p := at(ptr, "inputSchema")
	tool := quote(t.get("name").text())
	if in == nil {
		l.add("input-schema-invalid", p, t.off, tool+" has no input schema")
		return
	}
	s, err := form.ParseArguments(l.doc[in.off:in.end])
	if err != nil {
		off, reason := in.off, "it cannot be read"
		if bad, ok := errors.AsType[*form.SchemaError](err); ok {
			off, reason = off+bad.Offset, bad.Reason
		}
		l.add("input-schema-invalid", p, off, "the input schema of "+tool+": "+reason)
		return
	}
	for _, f := range s.Fields() {
		q, n := p+f.Pointer, in.get("properties").get(f.Name)
		if n.is(objectNode) {
			l.declaredWords(q, n)
		}
		if w, ok := AsksSecret(&f); ok {
			l.add("secret-in-arguments", q, in.off+f.Offset, fmt.Sprintf("argument %s of tool %s is a secret (%s)", quote(f.Name), tool, w))
		}
	}
}
