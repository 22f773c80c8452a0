package browsertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

// A Query says which element is meant. The zero Query is the whole document.
type Query struct {
	role, name string
	css        string
	within     *Query
}

// ByRole is the element with that role and exactly that accessible name, as
// the accessibility tree has them; an empty name stands for any.
func ByRole(role, name string) Query { return Query{role: role, name: name} }

// ByCSS is the element that the selector matches, in the document or in any
// open shadow root. A selector never spans two of these trees.
func ByCSS(selector string) Query { return Query{css: selector} }

// In limits q to what lies inside outer.
func (q Query) In(outer Query) Query {
	if q.within != nil {
		outer = q.within.In(outer)
	}
	q.within = &outer
	return q
}

func (q Query) String() string {
	var text string
	switch {
	case q.css != "":
		text = q.css
	case q.role != "" && q.name != "":
		text = fmt.Sprintf("%s %q", q.role, q.name)
	case q.role != "":
		text = q.role
	default:
		text = "the document"
	}
	if q.within != nil {
		text += " in " + q.within.String()
	}
	return text
}

// deepQuery collects what a selector matches below this node, shadow roots
// included, in document order.
const deepQuery = `function(selector) {
	const found = [];
	const visit = (node) => {
		if (node instanceof Element && node.matches(selector)) found.push(node);
		if (node.shadowRoot) visit(node.shadowRoot);
		for (const child of node.children) visit(child);
	};
	if (this.shadowRoot) visit(this.shadowRoot);
	for (const child of this.children) visit(child);
	return found;
}`

// all returns the elements that q matches.
func (p *Page) all(q Query) ([]cdp.BackendNodeID, error) {
	if q.role != "" {
		return p.allByRole(q)
	}
	root, err := p.document()
	if err != nil {
		return nil, err
	}
	if q.within != nil {
		outer, err := p.one(*q.within)
		if err != nil {
			return nil, err
		}
		if root, err = p.object(outer); err != nil {
			return nil, err
		}
	}
	if q.css == "" {
		id, err := p.backend(root)
		return []cdp.BackendNodeID{id}, err
	}
	list, err := p.callOn(root, deepQuery, false, q.css)
	if err != nil {
		return nil, err
	}
	elements, err := try(p, runtime.GetProperties, runtime.GetPropertiesParams{ObjectID: list.ObjectID, OwnProperties: new(true)})
	if err != nil {
		return nil, err
	}
	var ids []cdp.BackendNodeID
	for _, property := range elements.Result {
		if property.Value == nil || property.Value.ObjectID == "" || property.Value.Subtype != runtime.RemoteObjectSubtypeNode {
			continue
		}
		id, err := p.backend(property.Value.ObjectID)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (p *Page) allByRole(q Query) ([]cdp.BackendNodeID, error) {
	nodes, err := p.nodes()
	if err != nil {
		return nil, err
	}
	within := cdp.BackendNodeID(0)
	if q.within != nil {
		if within, err = p.one(*q.within); err != nil {
			return nil, err
		}
	}
	var ids []cdp.BackendNodeID
	for _, node := range nodes {
		if node.ignored || node.role != q.role || q.name != "" && node.name != q.name {
			continue
		}
		if within != 0 && !slices.ContainsFunc(node.ancestors(), func(up *axNode) bool { return up.element == within }) {
			continue
		}
		ids = append(ids, node.element)
	}
	return ids, nil
}

// one returns the only element that q matches.
func (p *Page) one(q Query) (cdp.BackendNodeID, error) {
	ids, err := p.all(q)
	if err != nil {
		return 0, err
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		return 0, fmt.Errorf("nothing is %v", q)
	default:
		return 0, fmt.Errorf("%d elements are %v, which should be one", len(ids), q)
	}
}

// Count returns how many elements match now.
func (p *Page) Count(q Query) int {
	p.t.Helper()
	ids, err := p.all(q)
	if err != nil {
		return 0 // the page is being replaced, or the outer element is not there
	}
	return len(ids)
}

// document returns the document as an object of JavaScript.
func (p *Page) document() (runtime.RemoteObjectID, error) {
	result, err := try(p, runtime.Evaluate, runtime.EvaluateParams{Expression: "document", ObjectGroup: "browsertest"})
	if err != nil {
		return "", err
	}
	return result.Result.ObjectID, nil
}

func (p *Page) object(id cdp.BackendNodeID) (runtime.RemoteObjectID, error) {
	result, err := try(p, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: id, ObjectGroup: "browsertest"})
	if err != nil {
		return "", err
	}
	return result.Object.ObjectID, nil
}

func (p *Page) backend(id runtime.RemoteObjectID) (cdp.BackendNodeID, error) {
	result, err := try(p, dom.DescribeNode, dom.DescribeNodeParams{ObjectID: id})
	if err != nil {
		return 0, err
	}
	return result.Node.BackendNodeID, nil
}

// callOn calls a function of JavaScript with the object as this.
func (p *Page) callOn(object runtime.RemoteObjectID, function string, byValue bool, args ...any) (*runtime.RemoteObject, error) {
	params := runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: object, ObjectGroup: "browsertest", ReturnByValue: &byValue}
	for _, arg := range args {
		value, err := json.Marshal(arg)
		if err != nil {
			return nil, err
		}
		params.Arguments = append(params.Arguments, &runtime.CallArgument{Value: value})
	}
	result, err := try(p, runtime.CallFunctionOn, params)
	if err != nil {
		return nil, err
	}
	return result.Result, thrown(result.ExceptionDetails)
}

// on calls a function with the element as this and decodes what it returns.
func on[T any](p *Page, id cdp.BackendNodeID, function string, args ...any) (T, error) {
	var value T
	object, err := p.object(id)
	if err != nil {
		return value, err
	}
	result, err := p.callOn(object, function, true, args...)
	if err != nil {
		return value, err
	}
	if len(result.Value) == 0 {
		return value, nil
	}
	return value, json.Unmarshal(result.Value, &value)
}

// textOf returns what a person reads in this element. innerText stops at a
// shadow root, so the text of hosts is put together from their roots.
const textOf = `function() {
	const lines = (node) => {
		const hosts = [];
		const collect = (n) => {
			for (const child of n.children ?? []) {
				if (child.shadowRoot) hosts.push(child); else collect(child);
			}
		};
		if (node.shadowRoot) node = node.shadowRoot;
		collect(node);
		const own = node instanceof HTMLElement ? [node.innerText] : node instanceof Document
			? [node.body?.innerText ?? ''] : [...node.children].filter((c) => !c.shadowRoot && !['STYLE', 'SCRIPT'].includes(c.tagName)).map((c) => c.innerText ?? c.textContent);
		return [...own, ...hosts.filter((h) => h.checkVisibility()).flatMap(lines)];
	};
	return lines(this).map((l) => l.trim()).filter((l) => l).join('\n');
}`

// text returns what a person reads in the element.
func (p *Page) text(q Query) (string, error) {
	id, err := p.one(q)
	if err != nil {
		return "", err
	}
	return on[string](p, id, textOf)
}

// Text returns the visible text in the element that q matches, once it is
// there. Text in open shadow roots follows the text around them.
func (p *Page) Text(q Query) string {
	p.t.Helper()
	var text string
	p.wait(func() (err error) {
		text, err = p.text(q)
		return err
	})
	return text
}

// WaitText waits until the page shows text.
func (p *Page) WaitText(text string) {
	p.t.Helper()
	p.wait(func() error {
		shown, err := p.text(Query{})
		if err == nil && !strings.Contains(shown, text) {
			err = fmt.Errorf("the page does not show %q", text)
		}
		return err
	})
}

// WaitFor waits until exactly one element matches.
func (p *Page) WaitFor(q Query) {
	p.t.Helper()
	p.wait(func() error {
		_, err := p.one(q)
		return err
	})
}

// WaitGone waits until no element matches.
func (p *Page) WaitGone(q Query) {
	p.t.Helper()
	p.wait(func() error {
		ids, err := p.all(q)
		if err == nil && len(ids) > 0 {
			err = errors.New(q.String() + " is still there")
		}
		return err
	})
}
