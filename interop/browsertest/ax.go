package browsertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// axNode is what the goldens need of a node in the accessibility tree.
type axNode struct {
	role, name, description, value string
	states                         []string
	focused, ignored               bool
	element                        cdp.BackendNodeID
	parent                         *axNode
	children                       []*axNode
}

// ancestors lists the nodes above, nearest first.
func (n *axNode) ancestors() []*axNode {
	var up []*axNode
	for n = n.parent; n != nil; n = n.parent {
		up = append(up, n)
	}
	return up
}

// nodes returns the accessibility trees of the page and of those of its frames
// that run in its process, in document order, roots first.
func (p *Page) nodes() ([]*axNode, error) {
	frames, err := try(p, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	var all []*axNode
	var visit func(tree *page.FrameTree) error
	visit = func(tree *page.FrameTree) error {
		nodes, err := p.frameNodes(tree.Frame.ID)
		if err != nil {
			return err
		}
		all = append(all, nodes...)
		for _, child := range tree.ChildFrames {
			if err := visit(child); err != nil {
				return err
			}
		}
		return nil
	}
	return all, visit(frames.FrameTree)
}

func (p *Page) frameNodes(frame cdp.FrameID) ([]*axNode, error) {
	tree, err := try(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{FrameID: frame})
	if err != nil {
		return nil, err
	}
	byID := make(map[accessibility.NodeID]*axNode, len(tree.Nodes))
	for _, from := range tree.Nodes {
		node := &axNode{
			role: text(from.Role), name: text(from.Name), description: text(from.Description), value: text(from.Value),
			ignored: from.Ignored, element: from.BackendDOMNodeID,
		}
		for _, property := range from.Properties {
			node.property(string(property.Name), text(property.Value))
		}
		slices.Sort(node.states)
		byID[from.NodeID] = node
	}
	// The list is not in document order; the children are.
	var ordered []*axNode
	var visit func(from *accessibility.Node)
	from := make(map[accessibility.NodeID]*accessibility.Node, len(tree.Nodes))
	for _, node := range tree.Nodes {
		from[node.NodeID] = node
	}
	visit = func(at *accessibility.Node) {
		node := byID[at.NodeID]
		ordered = append(ordered, node)
		for _, id := range at.ChildIDs {
			if child := from[id]; child != nil {
				byID[id].parent = node
				node.children = append(node.children, byID[id])
				visit(child)
			}
		}
	}
	for _, node := range tree.Nodes {
		if from[node.ParentID] == nil {
			visit(node)
		}
	}
	return ordered, nil
}

// property notes a property that a person is told about.
func (n *axNode) property(name, value string) {
	switch name {
	case "focused":
		n.focused = value == "true"
	case "required", "disabled", "readonly", "modal", "multiline", "multiselectable", "busy":
		if value == "true" {
			n.states = append(n.states, name)
		}
	case "invalid":
		if value != "false" {
			n.states = append(n.states, name+"="+value)
		}
	case "checked", "pressed", "expanded", "selected", "level", "live", "hasPopup", "valuetext":
		if value != "" {
			n.states = append(n.states, name+"="+value)
		}
	}
}

// text writes a value of the accessibility tree as a golden shows it.
func text(v *accessibility.Value) string {
	if v == nil || len(v.Value) == 0 {
		return ""
	}
	var value any
	if json.Unmarshal(v.Value, &value) != nil {
		return string(v.Value)
	}
	return fmt.Sprint(value)
}

// AX returns the accessibility tree, or the part below the element that one
// of q names, as indented lines
//
//	textbox "Amount" description="Whole number" value="12" invalid=true required
//
// Nodes that only group, and texts that repeat the name above, are left out.
func (p *Page) AX(q ...Query) string {
	p.t.Helper()
	var tree string
	p.wait(func() error {
		nodes, err := p.nodes()
		if err != nil {
			return err
		}
		if len(q) == 0 {
			tree = format(nodes, nil)
			return nil
		}
		var roots []*axNode
		for _, q := range q {
			id, err := p.one(q)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(nodes, func(n *axNode) bool { return n.element == id })
			if i < 0 {
				return fmt.Errorf("%v is not in the accessibility tree", q)
			}
			roots = append(roots, nodes[i])
		}
		tree = format(nodes, roots)
		return nil
	})
	return tree
}

// format writes the trees below roots, or all of them.
func format(nodes, roots []*axNode) string {
	if roots == nil {
		for _, node := range nodes {
			if node.parent == nil {
				roots = append(roots, node)
			}
		}
	}
	var b strings.Builder
	for _, root := range roots {
		root.write(&b, "", "")
	}
	return b.String()
}

func (n *axNode) write(b *strings.Builder, indent, above string) {
	hidden := n.ignored || n.role == "InlineTextBox" || n.role == "ListMarker" || n.role == "MenuListPopup" ||
		(n.role == "none" || n.role == "generic") && n.name == "" && n.description == "" && len(n.states) == 0 ||
		(n.role == "StaticText" || n.role == "LabelText" && n.name == "") && strings.Contains(above, n.name)
	if !hidden {
		b.WriteString(indent + n.String())
		if n.description != "" {
			fmt.Fprintf(b, " description=%q", n.description)
		}
		if n.value != "" && n.role != "StaticText" {
			fmt.Fprintf(b, " value=%q", n.value)
		}
		for _, state := range n.states {
			b.WriteString(" " + state)
		}
		b.WriteByte('\n')
		indent += "  "
		if n.name != "" {
			above = n.name
		}
	}
	if fields[n.role] && n.role != "combobox" && n.role != "listbox" {
		return // the browser's own parts, which differ with its release
	}
	for _, child := range n.children {
		child.write(b, indent, above)
	}
}

func (n *axNode) String() string {
	if n.name == "" {
		return n.role
	}
	return fmt.Sprintf("%s %q", n.role, n.name)
}

// Focused names the element that has the focus, as "button \"Send\"", or is
// empty when none has.
func (p *Page) Focused() string {
	p.t.Helper()
	focused := ""
	p.wait(func() error {
		nodes, err := p.nodes()
		if err != nil {
			return err
		}
		focused = ""
		for _, node := range nodes {
			if node.focused && node.role != "RootWebArea" {
				focused = node.String() // the innermost comes last
			}
		}
		return nil
	})
	return focused
}
