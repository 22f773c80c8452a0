package inboxtest

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

var toolTests = map[string]func(*kit){
	"tools that change":      toolsChange,
	"tools and approvals":    toolsAndApprovals,
	"tools without end":      toolsWithoutEnd,
	"tools of one person":    toolsOfOnePerson,
	"tools under a lost key": toolsUnderALostKey,
}

var bookTool = inbox.ToolText{Name: "book", Description: "Books a flight", InputSchema: `{"type":"object"}`, Annotations: `{"readOnlyHint":true}`}

func (k *kit) changes(tools ...inbox.ToolText) map[string]*inbox.ToolChange {
	k.t.Helper()
	changes, err := k.in.ToolChanges(k.ctx, k.ann, "flights", tools)
	k.must("ToolChanges", err)
	return changes
}

func (k *kit) want(changes, want map[string]*inbox.ToolChange) {
	k.t.Helper()
	if diff := cmp.Diff(want, changes); diff != "" {
		k.t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func toolsChange(k *kit) {
	none := map[string]*inbox.ToolChange{}
	k.want(k.changes(bookTool), none) // the first list is what was seen
	k.want(k.changes(bookTool), none)

	other := bookTool
	other.Description, other.Annotations = "Books a flight, and the hotel", ""
	added := inbox.ToolText{Name: "cancel"}
	changed := map[string]*inbox.ToolChange{
		"book": {Parts: []inbox.ToolPart{
			{Name: "description", Before: "Books a flight", After: "Books a flight, and the hotel"},
			{Name: "annotations", Before: `{"readOnlyHint":true}`},
		}},
		"cancel": {New: true},
	}
	for range 2 { // looking is not seeing: a program may have looked
		k.want(k.changes(other, added), changed)
	}
	k.want(k.changes(bookTool), none) // it flaps

	k.must("SeeTools", k.in.SeeTools(k.ctx, k.ann, "flights", []inbox.ToolText{other, added}))
	k.want(k.changes(other, added), none)
	k.want(k.changes(bookTool), map[string]*inbox.ToolChange{"book": {Parts: []inbox.ToolPart{
		{Name: "description", Before: "Books a flight, and the hotel", After: "Books a flight"},
		{Name: "annotations", After: `{"readOnlyHint":true}`},
	}}})
	other.InputSchema = `{"type":"object","properties":{}}`
	k.want(k.changes(other), map[string]*inbox.ToolChange{"book": {Parts: []inbox.ToolPart{
		{Name: "input_schema", Before: `{"type":"object"}`, After: `{"type":"object","properties":{}}`},
	}}})
	k.is("no server", k.in.SeeTools(k.ctx, k.ann, "", nil), inbox.ErrInvalid)
}

// What a card showed of the tool is what the person knows of it, once it was allowed.
func toolsAndApprovals(k *kit) {
	under := func(tool inbox.ToolText) *inbox.Approval {
		want := ask()
		want.Tool = &tool
		_, a := k.approving(want)
		return a
	}
	a := under(bookTool)
	if a.Changed != nil {
		k.t.Errorf("the first time: %+v", a.Changed)
	}
	k.decide(k.ann, a.ID, inbox.Decision{Allow: true})
	other := bookTool
	other.Description = "Books anything"
	denied := under(other)
	k.decide(k.ann, denied.ID, inbox.Decision{})
	changed := under(other)
	want := &inbox.ToolChange{Parts: []inbox.ToolPart{{Name: "description", Before: "Books a flight", After: "Books anything"}}}
	for _, a := range []*inbox.Approval{denied, changed} {
		if diff := cmp.Diff(want, a.Changed); diff != "" {
			k.t.Errorf("changed (-want +got):\n%s", diff)
		}
	}
	k.decide(k.ann, changed.ID, inbox.Decision{Allow: true})
	if a := under(other); a.Changed != nil {
		k.t.Errorf("after it was allowed: %+v", a.Changed)
	}
	// The list is seen for the first time, and the other tools are not new.
	k.want(k.changes(other, inbox.ToolText{Name: "cancel"}), map[string]*inbox.ToolChange{})
}

// A server with very many tools, long names and endless descriptions is known
// by digests; what is kept of it is bounded.
func toolsWithoutEnd(k *kit) {
	list := func(text string) (tools []inbox.ToolText) {
		for n := range 5000 {
			tools = append(tools, inbox.ToolText{Name: strings.Repeat("n", 200) + fmt.Sprint(n), Description: text + strings.Repeat("x", 3000)})
		}
		return tools
	}
	k.want(k.changes(list("a")...), map[string]*inbox.ToolChange{})
	changes := k.changes(list("b")...)
	if len(changes) != 5000 {
		k.t.Fatalf("%d tools have changed, want all", len(changes))
	}
	texts := 0
	for name, c := range changes {
		if len(c.Parts) != 1 || !c.Parts[0].Cut {
			k.t.Fatalf("%s: %+v", name, c)
		}
		texts += len(c.Parts[0].Before)
	}
	if texts == 0 || texts > 256<<10 {
		k.t.Errorf("%d bytes of descriptions are kept", texts)
	}
	// Other 5000 take their place.
	var others []inbox.ToolText
	for n := range 5000 {
		others = append(others, inbox.ToolText{Name: fmt.Sprint("other", n)})
	}
	k.must("SeeTools", k.in.SeeTools(k.ctx, k.ann, "flights", others))
	k.want(k.changes(others...), map[string]*inbox.ToolChange{})
	if changes := k.changes(list("a")...); len(changes) != 5000 || !changes[list("a")[0].Name].New {
		k.t.Errorf("%d of the first tools are known", 5000-len(changes))
	}
}

func toolsOfOnePerson(k *kit) {
	k.want(k.changes(bookTool), map[string]*inbox.ToolChange{})
	other := bookTool
	other.Description = "Books anything"
	if changes, err := k.in.ToolChanges(k.ctx, k.bob, "flights", []inbox.ToolText{other}); err != nil || len(changes) != 0 {
		k.t.Errorf("another person's first look: %v, %v", changes, err)
	}
	if changes, err := k.in.ToolChanges(k.ctx, k.ann, "trains", []inbox.ToolText{other}); err != nil || len(changes) != 0 {
		k.t.Errorf("another server's: %v, %v", changes, err)
	}
	if changes := k.changes(other); len(changes) != 1 {
		k.t.Errorf("%v: somebody else's look counted", changes)
	}
	k.must("Erase", k.in.Erase(k.ctx, k.ann))
	if changes, err := k.in.ToolChanges(k.ctx, k.ann, "flights", []inbox.ToolText{other}); err != nil || len(changes) != 0 {
		k.t.Errorf("after the erasure: %v, %v", changes, err)
	}
}

// What a key that is gone had sealed counts as never seen: it is no error for ever.
func toolsUnderALostKey(k *kit) {
	k.want(k.changes(bookTool), map[string]*inbox.ToolChange{})
	k.in = inbox.New(k.store, inbox.NewKeys(), nil)
	other := bookTool
	other.Description = "Books anything"
	k.want(k.changes(other), map[string]*inbox.ToolChange{})
	if changes := k.changes(bookTool); len(changes) != 1 {
		k.t.Errorf("changes %v", changes)
	}
}
