package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// Somebody else decides: the asker sees whom the call waits for, and who decided.
func TestPermissionOfOthers(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeTools, "")
	ann := o.enter("ann")
	ann.Goto(o.base + "/?c=v_1")
	o.model("ann", "v_1", "pay", `{"amount":"5.00"}`)
	ann.WaitText("A model wants to use pay on desk")
	ann.WaitText("Waiting for bob. Who asked may not decide.")
	if n := ann.Count(button("Allow once")); n != 0 {
		t.Errorf("the asker has %d buttons to allow it", n)
	}
	ann.WaitText("No questions waiting") // for her
	sound(t, ann)

	bob := o.enter("bob")
	bob.WaitText("1 permission to decide")
	bob.Click(byCSS("#inbox-link"))
	bob.WaitText("A model of ann wants to use pay on desk")
	bob.WaitText("5.00")
	for _, reach := range []string{"Allow in this conversation", "Always allow this tool"} {
		if n := bob.Count(button(reach)); n != 0 {
			t.Errorf("who decides for others is offered %q", reach)
		}
	}
	settled(bob)
	golden(t, "permission-of-others.txt", still(bob.AX(permission)))
	sound(t, bob)
	bob.Click(button("Allow once"))
	bob.WaitText("You allowed this call")
	ann.WaitText("bob allowed this call")
	ann.WaitText("paid")

	// A member of a group is told of what is assigned to it, and of what became of it.
	rita := o.enter("rita")
	rita.Click(byCSS("#inbox-link"))
	rita.WaitText("No questions waiting")
	looks := strings.Count(strings.Join(rita.Requests(), "\n"), "/v1/approvals?state=open")
	o.model("ann", "v_1", "post", `{}`)
	ann.WaitText("Waiting for somebody of the group registry.")
	rita.WaitText("A model of ann wants to use post on desk")
	rita.Click(button("Don’t allow"))
	ann.WaitText("rita did not allow it")
	c := o.model("ann", "v_1", "post", `{"again":true}`)
	rita.WaitText("1 permission to decide")
	if _, err := o.inbox.Stop(t.Context(), someone("ann"), c.ID); err != nil {
		t.Fatal(err)
	}
	rita.WaitText("No questions waiting")
	if now := strings.Count(strings.Join(rita.Requests(), "\n"), "/v1/approvals?state=open"); now != looks {
		t.Errorf("the page looked %d times for what it is told of", now-looks)
	}
	if n := bob.Count(byRole("heading", "A model of ann wants to use post on desk")); n != 0 {
		t.Error("who is not in the group sees what is assigned to it")
	}
}

// On resume the permission names the questions that were answered, never an answer.
func TestPermissionOnResume(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeTools, "")
	page := o.enter("ann")
	page.Goto(o.base + "/?c=v_1")
	o.model("ann", "v_1", "book", `{}`)
	page.Fill("Room", "the blue one")
	page.Click(button("Send to desk"))
	page.WaitFor(permission)
	page.WaitText("You have answered a question, and your answer would be sent now:")
	text := page.Text(permission)
	if !strings.Contains(text, "Which room?") || strings.Contains(text, "the blue one") {
		t.Errorf("the permission says\n%s", text)
	}
	order := browsertest.Eval[[]string](page, `(() => {`+walk+`
		return [...find((e) => e.matches('.questions') ? e : null).children].map((e) => e.localName);
	})()`)
	if !slices.Equal(order, []string{"parley-question", "parley-approval"}) {
		t.Errorf("the cards stand in the order %v", order)
	}
	sound(t, page)
	page.Click(button("Allow once"))
	page.WaitText("booked")
}

// A person without a mouse looks at all of it, and decides.
func TestPermissionByKeyboard(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeTools, "")
	c := o.model("ann", "v_1", "clean", `{"note":"under the table"}`)
	page := o.enter("ann")
	page.Goto(o.base + "/?view=inbox")
	page.WaitFor(permission)
	page.Focus(byCSS("#main"))
	at := func(want string) {
		t.Helper()
		page.Press("Tab")
		if got := page.Focused(); !strings.Contains(got, want) {
			t.Fatalf("the focus is on %s, want %s", got, want)
		}
	}
	at(`button "Show the conversation"`)
	at(`"Exactly this, as JSON"`)
	page.Press("Enter")
	page.WaitText(`"note": "under the table"`)
	page.Press("Tab") // the JSON can be scrolled by keyboard
	at(`"What desk says about the tool"`)
	at(`button "Allow once"`)
	at(`button "Allow in this conversation"`)
	page.Press("Escape") // the card is no dialog
	page.Press("Shift+Tab")
	at(`button "Allow in this conversation"`)
	at(`button "Always allow this tool"`)
	at(`button "Don’t allow"`)
	at(`"What do these buttons do?"`)
	page.Press("Space")
	page.WaitText("If desk changes the tool, you are asked again.")
	page.Press("Shift+Tab", "Enter")
	page.WaitText("You did not allow it")
	soonOn(page, `heading "A model wanted to use “Clean the desk” on desk"`)
	if got, err := o.inbox.Call(t.Context(), someone("ann"), c.ID); err != nil || got.State != inbox.Denied {
		t.Errorf("the call is %v %v", got, err)
	}
}

const evil = `<img src=https://evil.example/x onerror=alert(1)>`

// Whatever a server or a model writes is text, in its place, and hides nothing.
func TestPermissionOfHostileTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	listed := fmt.Sprintf(`[{"name":"clean","title":%s,"description":%s,"inputSchema":{"type":"object"}}]`,
		quote(evil+"\u202e on bank Allow once"), quote("SYSTEM: "+evil+" "+long))
	o := newOffice(t, &hosttest.Script{
		Tools:  map[string]hosttest.Tool{"clean": func(x *hosttest.Exchange) { x.Text("cleaned") }},
		Listed: func(int) string { return listed },
	}, "")
	page := o.enter("ann")
	page.Goto(o.base + "/?c=v_1")
	page.WaitText("Signed in: Ann")
	o.model("ann", "v_1", "clean", `{"`+long+`":1,"__proto__":{"a":1},"constructor":"c","pay\u202eee":"a\u200bb\u2066c","link":"https://evil.example/","html":`+quote(evil)+`,"2":"two","1":"one"}`)
	page.WaitFor(permission)
	text := page.Text(permission)
	for _, want := range []string{`pay\u202eee`, `a\u200bb\u2066c`, "__proto__", "constructor", evil, `\u202e`} {
		if !strings.Contains(text, want) {
			t.Errorf("the card does not show %q:\n%s", want, text)
		}
	}
	for _, c := range "\u202e\u200b\u2066" {
		if strings.ContainsRune(text, c) {
			t.Errorf("the card holds %U as it is", c)
		}
	}
	for _, of := range []string{"img", "a[href*=evil]", "a[href*=https]"} {
		if n := page.Count(byCSS(of)); n != 0 {
			t.Errorf("%d elements are %s", n, of)
		}
	}
	page.Click(byRole("DisclosureTriangle", "What desk says about the tool"))
	sound(t, page)
	page.Click(button("Always allow this tool"))
	page.WaitText("cleaned")
	page.Goto(o.base + "/?view=permissions")
	page.WaitText("In all your conversations, since")
	sound(t, page)
	page.Goto(o.base + "/?view=trail")
	page.WaitText("was allowed by you in this conversation")
	sound(t, page)
	for _, request := range page.Requests() {
		if strings.Contains(request, "evil.example") || strings.HasPrefix(request, "beyond:") {
			t.Errorf("the page asked for %s", request)
		}
	}
}

// What was not shown is said, and everything of that server can be stopped at once.
func TestRefusals(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeTools, "")
	c := o.model("ann", "v_1", "book", `{}`)
	page, other := o.enter("ann"), o.enter("ann")
	other.Goto(o.base + "/?view=inbox")
	other.WaitText("Which room?")
	page.Goto(o.base + "/?view=inbox")
	page.WaitText("Which room?")
	if err := o.inbox.Refused(t.Context(), someone("ann"), "desk", 3); err != nil {
		t.Fatal(err)
	}
	page.WaitText("3 questions from desk were not shown: they were too many, too large, or against the rules here.") // it is told, both are
	other.WaitText("3 questions from desk were not shown: they were too many, too large, or against the rules here.")
	page.WaitText("Which room?")
	sound(t, page)
	shot(page, "refusals")
	page.Click(button("Stop all from desk"))
	page.WaitText("1 call of desk was stopped.")
	page.WaitText("The question ended because you stopped the call.")
	for _, p := range []*browsertest.Page{page, other} {
		p.Wait("no notice", func() bool { return p.Count(byCSS("[data-refusal]")) == 0 })
	}
	eventually(t, "the stop", func() bool {
		got, err := o.inbox.Call(t.Context(), someone("ann"), c.ID)
		return err == nil && got.State == inbox.Stopped
	})
}

// The trail is read page by page, to its end, and reading goes on where the button was.
func TestTrailIsPaged(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeTools, "")
	const entries = 620 // more than the API sends at once
	for i := range entries {
		use := inbox.CredentialUse{Server: fmt.Sprintf("server-%d", i), Credential: "mail", Purpose: "sign_in"}
		if err := o.inbox.CredentialRead(t.Context(), someone("ann"), use); err != nil {
			t.Fatal(err)
		}
	}
	page := o.enter("ann")
	page.Goto(o.base + "/?view=trail")
	shown := byCSS(".trail > li")
	for n := 50; n < entries; n += 50 {
		page.Wait(fmt.Sprintf("%d entries", n), func() bool { return page.Count(shown) == n })
		page.Click(button("Show older entries"))
	}
	page.Wait("all entries", func() bool { return page.Count(shown) == entries })
	soonOn(page, "listitem") // the first entry of the last page
	page.WaitText("A sign-in of yours was used for server-0.")
	page.Click(button("Show older entries"))
	page.WaitText("That is all.")
}

// Who decides on much looks at it first, also where it is the call of somebody else.
func TestPermissionOfMuch(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeTools, "")
	page := o.enter("ann")
	page.Goto(o.base + "/?view=inbox")
	page.WaitText("No questions waiting")
	much := `{"note":"` + strings.Repeat("much ", 60_000) + `the end"}`
	o.model("ann", "v_1", "clean", much)
	page.WaitText("Much would be sent (300 kB). Look at it before you decide.")
	page.Click(button("Show it"))
	page.WaitText("the end")
	if n := page.Count(button("Show it")); n != 0 {
		t.Errorf("there are %d buttons to show what is shown", n)
	}
	o.model("ann", "v_1", "pay", much)
	bob := o.enter("bob")
	bob.Click(byCSS("#inbox-link"))
	bob.WaitText("Much would be sent (300 kB). Look at it before you decide.")
	sound(t, bob)
	bob.Click(button("Show it"))
	bob.WaitText("the end")
}

// Who is signed in by a cookie sees as whom, can leave, and comes back to where they
// were when the sign-in has ended. What was typed is still there.
func TestSignInElsewhere(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeTools, "")
	page := o.enter("ann")
	c, err := o.host.Start(t.Context(), someone("ann"), host.NewCall{Conversation: "v_1", Server: "desk", Name: "book"})
	if err != nil {
		t.Fatal(err)
	}
	page.WaitText("1 question waiting")
	list, err := o.inbox.Questions(t.Context(), someone("ann"), inbox.QuestionFilter{Call: c.ID})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d questions, %v", len(list), err)
	}
	// The address of a webhook.
	page.Goto(o.base + "/#question=" + string(list[0].ID))
	page.Reload() // another fragment alone loads nothing
	page.WaitText("Which room?")
	if got := page.URL(); got != o.base+"/?q="+string(list[0].ID) {
		t.Errorf("the page is at %s", got)
	}
	page.Media(browsertest.Media{Width: 320, Height: 640})
	page.WaitText("Signed in: Ann")
	page.Media(browsertest.Media{})
	page.Fill("Room", "the blue one")
	browsertest.Eval[any](page, `fetch('/sign-out', {method: 'POST'}).then(() => undefined)`)
	page.Click(button("Send to desk"))
	page.WaitText("Who are you")
	if got := page.URL(); got != o.base+"/sign-in?return=%2F%3Fq%3D"+string(list[0].ID) {
		t.Errorf("the sign-in is at %s", got)
	}
	page.Goto(o.base + "/sign-in?as=ann")
	page.Goto(o.base + "/?q=" + string(list[0].ID))
	page.WaitText("Which room?")
	if got := field(page, "room"); got != "the blue one" {
		t.Errorf("the field holds %q, want what was typed", got)
	}
	page.Click(button("Sign out"))
	page.WaitText("You are signed out")
	page.Goto(o.base)
	page.WaitText("Who are you")

	// Access that was taken away is no endless trying again.
	page.Goto(o.base + "/sign-in?as=bob")
	page.WaitText("Signed in: Bob")
	page.WaitFor(byCSS(`[data-tool="book"]`)) // the last that a page asks for by itself
	if err := o.inbox.Disable(t.Context(), someone("bob")); err != nil {
		t.Fatal(err)
	}
	page.WaitFor(byRole("heading", "You may not use this any more")) // its stream has ended
	page.WaitText("Whoever runs this Parley has taken your access away.")
	// Nor is it a way round and round when the page is loaded anew, whatever it showed.
	for _, path := range []string{"/", "/?view=inbox", "/?q=" + string(list[0].ID)} {
		before := len(page.Requests())
		page.Goto(o.base + path)
		page.WaitFor(byRole("heading", "You may not use this any more"))
		page.WaitText("Whoever runs this Parley has taken your access away.")
		if got := page.URL(); got != o.base+path {
			t.Errorf("who is disabled and opens %s is at %s", path, got)
		}
		for _, request := range page.Requests()[before:] {
			if strings.Contains(request, "/sign-in") || strings.Contains(request, "/v1/") {
				t.Errorf("who is disabled and opens %s asks for %s", path, request)
			}
		}
	}
	for _, finding := range page.Axe() {
		t.Errorf("axe: %s", finding)
	}
	shot(page, "disabled")
	page.Click(button("Sign out"))
	page.WaitText("You are signed out")
}

// Notifications are off until they are turned on, and never say what is asked.
func TestNotifications(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeTools, "")
	page := o.enter("ann")
	browsertest.Eval[any](page, `void (() => {
		window.told = [];
		window.Notification = class { static permission = 'default'; static async requestPermission() { return this.permission = 'granted'; }
			constructor(title, options) { told.push(title + ' ' + JSON.stringify(options)); } close() {} };
		Object.defineProperty(document, 'hidden', {get: () => window.away === true});
	})()`)
	told := func() []string { return browsertest.Eval[[]string](page, `told`) }
	browsertest.Eval[any](page, `void (away = true)`)
	o.model("ann", "v_1", "book", `{}`)
	page.WaitText("1 question waiting")
	if got := told(); len(got) != 0 {
		t.Fatalf("told without being asked to: %q", got)
	}
	browsertest.Eval[any](page, `void (away = false)`)
	page.Click(byCSS("#notify"))
	page.WaitText("They say who asks, never what.")
	browsertest.Eval[any](page, `void (away = true)`)
	o.model("ann", "v_1", "book", `{}`)
	page.Wait("a notification", func() bool { return len(told()) == 1 })
	o.model("ann", "v_1", "clean", `{"note":"private"}`)
	page.Wait("another", func() bool { return len(told()) == 2 })
	got := told()
	if !strings.HasPrefix(got[0], "desk asks you something ") || !strings.HasPrefix(got[1], "Parley needs your permission ") || strings.Contains(strings.Join(got, ""), "Which room") {
		t.Errorf("told: %q", got)
	}
	browsertest.Eval[any](page, `void (away = false)`)
	page.Click(byCSS("#notify"))
	page.Wait("off", func() bool { return page.LocalStorage()["parley.notify"] == "" })
}

// elsewhere serves a page of another origin under a strict policy of its own.
func elsewhere(t *testing.T) (origin string, show func(base, token, body string)) {
	t.Helper()
	var base, token, body string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' "+base+"; style-src 'self'; connect-src "+base+"; img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Product</title><link rel="icon" href="/icon.png"><main><h1>Product</h1><h2>Questions</h2>%s</main>
			<script src="/token.js"></script><script type="module" src="%s/assets/elements.js"></script>`, body, base)
	})
	mux.HandleFunc("GET /token.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		fmt.Fprintf(w, `window.heard = [];
			for (const e of document.querySelectorAll('[base]')) e.getToken = async () => %s;
			for (const type of ['parley-answered', 'parley-error', 'parley-token-expired']) document.addEventListener(type, (e) => heard.push(type + ' ' + (e.detail?.code ?? e.detail?.action ?? '')));`, quote(token))
	})
	mux.HandleFunc("GET /icon.png", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "image/png") })
	server := newSite(t, mux)
	return server, func(at, with, html string) { base, token, body = at, with, html }
}

// The elements work in pages of other origins that the host knows, with a token and
// without a cookie, and offer what the token may do.
func TestElementsElsewhere(t *testing.T) {
	t.Parallel()
	origin, show := elsewhere(t)
	o := newOffice(t, officeTools, origin)
	zoe := inbox.Principal{Issuer: "https://product.example", Subject: "zoe"}
	run := func(conversation, tool string) *inbox.Call {
		c, err := o.host.Start(t.Context(), zoe, host.NewCall{Conversation: conversation, Server: "desk", Name: tool, Actor: inbox.Model})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := run("job-1", "book")
	run("job-2", "book") // which the token does not see
	var id string
	eventually(t, "the question", func() bool {
		list, err := o.inbox.Questions(t.Context(), zoe, inbox.QuestionFilter{Call: c.ID})
		if err != nil || len(list) != 1 {
			return false
		}
		id = string(list[0].ID)
		return true
	})
	element := `<parley-question base="` + o.base + `" question-id="` + id + `"></parley-question>`

	show(o.base, o.mint("zoe", "job-1", "read"), element)
	page := browsertest.Open(t, o.base+"/sign-in?as=ann") // a cookie that must not count
	page.Goto(origin)
	page.WaitText("Which room?")
	page.WaitText("It can be looked at here, but not decided.")
	for _, name := range []string{"Send to desk", "Decline", "Cancel question"} {
		if n := page.Count(button(name)); n != 0 {
			t.Errorf("a token that may only read is offered %q", name)
		}
	}
	quiet := func() {
		t.Helper()
		for _, fault := range faults(page) {
			t.Errorf("the page's console: %s", fault)
		}
	}
	quiet()

	show(o.base, o.mint("zoe", "job-1", "read", "answer"), element)
	page.Goto(origin)
	page.Fill("Room", "the red one")
	page.Click(button("Send to desk"))
	page.WaitText("You sent this")
	// The stream may draw the record before the reply to the answer is here.
	heard := func() []string { return browsertest.Eval[[]string](page, `heard`) }
	page.Wait("an event", func() bool { return len(heard()) > 0 })
	if got := heard(); !slices.Equal(got, []string{"parley-answered accept"}) {
		t.Errorf("the page heard %q", got)
	}
	quiet()

	// A conversation with its permission; there is nothing to run for this token.
	show(o.base, o.mint("zoe", "job-1", "read", "answer"), `<parley-chat base="`+o.base+`" conversation-id="job-1"></parley-chat>`)
	page.Goto(origin)
	page.WaitText("A model asked for book on desk")
	page.WaitFor(permission)
	if n := page.Count(byRole("region", "Pick a tool")); n != 0 {
		t.Error("a token that may not call is offered tools")
	}
	for _, finding := range page.Axe() {
		t.Errorf("axe: %s", finding)
	}
	page.Click(button("Allow once"))
	page.WaitText("booked")
	quiet()

	// The inbox of a bound token is that of its conversation.
	run("job-1", "clean")
	show(o.base, o.mint("zoe", "job-1", "read", "answer"), `<parley-inbox base="`+o.base+`"></parley-inbox>`)
	page.Goto(origin)
	page.WaitText("1 permission to decide")
	if strings.Contains(page.Text(browsertest.Query{}), "Which room?") {
		t.Error("the token of one conversation shows another")
	}
	quiet()

	// A token that is not accepted is said to the page.
	show(o.base, "parley_embed_nonsense", element)
	page.Goto(origin)
	page.Wait("the event", func() bool {
		return slices.Contains(browsertest.Eval[[]string](page, `heard`), "parley-token-expired ")
	})

	// A page of an origin that the host does not know gets no answer.
	stranger, showStranger := elsewhere(t)
	showStranger(o.base, o.mint("zoe", "job-1", "read"), element)
	page.Goto(stranger)
	page.WaitText("Parley did not answer.")
	if strings.Contains(page.Text(browsertest.Query{}), "Which room?") {
		t.Error("a page of an unknown origin shows the question")
	}
}
