package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// A person of a product decides in its page about another one's call, with a token of that
// approval, and nothing that the element asks for besides is refused.
func TestApprovalElsewhere(t *testing.T) {
	t.Parallel()
	origin, show := elsewhere(t)
	o := newOffice(t, officeTools, origin)
	zoe := inbox.Principal{Issuer: "https://product.example", Subject: "zoe"}
	c, err := o.host.Start(t.Context(), zoe, host.NewCall{Conversation: "job-1", Server: "desk", Name: "post", Actor: inbox.Model})
	if err != nil {
		t.Fatal(err)
	}
	var id string
	eventually(t, "the approval", func() bool {
		list, err := o.inbox.Approvals(t.Context(), zoe, inbox.ApprovalFilter{Call: c.ID})
		if err != nil || len(list) != 1 {
			return false
		}
		id = string(list[0].ID)
		return true
	})
	token := o.mintFor(map[string]any{"subject": "yan", "groups": []string{"registry"}, "approval": id, "scopes": []string{"read", "answer"}})
	show(o.base, token, `<parley-approval base="`+o.base+`" approval-id="`+id+`"></parley-approval>`)
	page := browsertest.Open(t, origin)
	page.WaitText("The registry looks at what leaves the house.")
	page.Click(button("Allow once"))
	eventually(t, "the end of the call", func() bool {
		now, err := o.inbox.Call(t.Context(), zoe, c.ID)
		return err == nil && now.State == inbox.Done
	})
	page.Wait("the record", func() bool { return page.Count(button("Allow once")) == 0 })
	for _, fault := range faults(page) {
		t.Errorf("the page's console: %s", fault)
	}
	if heard := browsertest.Eval[[]string](page, `heard`); slices.ContainsFunc(heard, func(one string) bool { return strings.HasPrefix(one, "parley-error") }) {
		t.Errorf("the page heard %q", heard)
	}
}
