package e2e_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// officeTools are tools that a model calls.
var officeTools = &hosttest.Script{
	Tools: map[string]hosttest.Tool{
		"post":  func(x *hosttest.Exchange) { x.Text("posted") },
		"pay":   func(x *hosttest.Exchange) { x.Text("paid") },
		"clean": func(x *hosttest.Exchange) { x.Text("cleaned") },
		"book": func(x *hosttest.Exchange) {
			if x.Responses == nil {
				x.Asks(`{"word":{"method":"elicitation/create","params":{"mode":"form","message":"Which room?","requestedSchema":{"type":"object","properties":{"room":{"type":"string","title":"Room"}},"required":["room"]}}}}`, "s1")
				return
			}
			x.Text("booked")
		},
	},
	Titles:  map[string]string{"clean": "Clean the desk"},
	Schemas: map[string]string{"clean": `{"type":"object","properties":{"rows":{"type":"integer"},"deep":{"type":"object"},"note":{"type":"string"}}}`},
}

var permission = byCSS("section.permission")

// What a model wants is shown as the host's own request: who, which tool, exactly
// what would be sent, why; and each way out says what it does.
func TestPermission(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeTools, "")
	page := o.enter("ann")
	page.Goto(o.base + "/?c=v_1")
	page.WaitText("Signed in: Ann")
	c := o.model("ann", "v_1", "clean", `{"rows":9007199254740993,"deep":{"b":1,"a":[true]},"note":"all of it"}`)
	page.WaitFor(permission)
	page.WaitText("A model wants to use “Clean the desk” on desk")
	page.WaitText("9007199254740993")
	if got := browsertest.Eval[string](page, `document.activeElement.localName + (document.activeElement.shadowRoot?.activeElement?.localName ?? '')`); strings.Contains(got, "approval") {
		t.Errorf("the new card took the focus: %s", got)
	}
	page.Wait("the announcement", func() bool {
		return strings.Contains(browsertest.Eval[string](page, `document.getElementById('parley-status').textContent`), "Your permission is needed: “Clean the desk” on desk")
	})
	page.Click(byCSS("section.permission details summary").In(byCSS(".sent")))
	shown := byCSS(`[data-part="json"]`) // it is written a moment after the disclosure opens
	page.Wait("the exact JSON", func() bool { return page.Count(shown) == 1 && page.Text(shown) != "" })
	if got, want := page.Text(byCSS(`[data-part="json"]`)), "{\n  \"rows\": 9007199254740993,\n  \"deep\": {\n    \"b\": 1,\n    \"a\": [\n      true\n    ]\n  },\n  \"note\": \"all of it\"\n}"; got != want {
		t.Errorf("the JSON is %s", got)
	}
	settled(page)
	golden(t, "permission-open.txt", still(page.AX(permission)))
	sound(t, page)
	page.Media(browsertest.Media{Width: 320, Height: 640})
	shot(page, "permission-narrow")
	page.Media(browsertest.Media{})
	shot(page, "permission-open")

	eventually(t, "the evidence of the chat", func() bool { return len(o.trail("ann", inbox.AuditShown)) == 1 })
	page.Click(button("Allow in this conversation"))
	page.WaitText("cleaned")
	page.WaitText("You allowed this tool in the conversation")
	soonOn(page, "A model wanted to use")
	golden(t, "permission-record.txt", still(page.AX(permission)))
	sound(t, page)
	// It covers the next call, but not one of another conversation.
	o.model("ann", "v_1", "clean", `{}`)
	page.Wait("two results", func() bool { return strings.Count(page.Text(browsertest.Query{}), "cleaned") == 2 })
	o.model("ann", "v_2", "clean", `{}`)
	page.WaitText("1 permission to decide")

	// In the inbox, and denied.
	page.Click(byCSS("#inbox-link"))
	page.WaitFor(button("Don’t allow"))
	eventually(t, "the evidence of both surfaces", func() bool { return len(o.trail("ann", inbox.AuditShown)) == 2 })
	sound(t, page)
	page.Click(button("Don’t allow"))
	page.WaitText("You did not allow it")
	page.WaitText("No questions waiting")

	page.Click(byCSS("#view-permissions"))
	page.WaitText("In one conversation, since")
	sound(t, page)
	shot(page, "permissions")
	page.Click(button("Revoke “Clean the desk” on desk"))
	page.WaitText("There are none.")
	soonOn(page, "Permissions that hold")
	page.Click(byCSS("#view-trail"))
	page.WaitText("A permission for “clean” on desk was revoked by you.")
	page.WaitText("A model asked for “clean” on desk for you.")
	page.WaitText("“clean” on desk was not allowed by you from the inbox.")
	sound(t, page)
	shot(page, "trail")

	// Each surface has recorded once that it was in sight, by its own words.
	if shown := o.trail("ann", inbox.AuditShown); len(shown) != 2 || shown[0].Via == shown[1].Via {
		t.Errorf("shown: %+v", shown)
	}
	for _, e := range o.trail("ann", inbox.AuditShown) {
		if !strings.HasPrefix(e.Evidence, "in view 1 s, ") || e.Approval == "" || e.Via != "chat" && e.Via != "inbox" {
			t.Errorf("shown: %+v", e)
		}
	}
	if decided := o.trail("ann", inbox.AuditApprovalDecided); len(decided) < 2 || decided[len(decided)-1].Call != c.ID {
		t.Errorf("decided: %+v", decided)
	}
}
