package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// recorder serves tools that report what they were answered.
func recorder(t *testing.T, revision string) (*parley, *hosttest.Server) {
	t.Helper()
	tools := modernTools
	if revision != "2026-07-28" {
		tools = legacyTools
	}
	s := hosttest.NewServer(t, &hosttest.Script{Revision: revision, Tools: tools})
	return serve(t, map[string]any{"recorder": map[string]any{"url": s.URL}}), s
}

// runTool runs a tool without arguments and waits for its first question.
func runTool(page *browsertest.Page, tool, asks string) {
	pick(page, tool)
	page.Click(byCSS("#run")) // it is called by the title of the tool
	page.WaitText(asks)
}

// received is the answer in the text of a call's result.
func received(t *testing.T, c call) (action string, content json.RawMessage) {
	t.Helper()
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(c.Result, &result); err != nil || len(result.Content) == 0 {
		t.Fatalf("the call is %s: %s %s", c.State, c.Text, c.Result)
	}
	text := strings.TrimPrefix(result.Content[0].Text, "got ")
	var got struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
		Result  *struct {       // legacy: the whole response
			Action  string          `json:"action"`
			Content json.RawMessage `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("the server reports %q: %v", text, err)
	}
	if got.Result != nil {
		return got.Result.Action, got.Result.Content
	}
	return got.Action, got.Content
}

func TestThreeActions(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			p, s := recorder(t, revision)
			page := signIn(t, p)
			for i, action := range []struct{ name, press, content, says string }{
				{"accept", "Send to recorder", `{"word":"olé"}`, "You sent this"},
				{"decline", "Decline", "", "You declined"},
				{"cancel", "Cancel question", "", "You cancelled this question"},
			} {
				if i > 0 {
					page.Click(button("Run another tool"))
				}
				runTool(page, "ask", "Say a word")
				page.WaitFor(byRole("textbox", "Word"))
				page.Fill("Word", "olé")
				page.Click(button(action.press))
				page.WaitText(action.says)
				calls := p.calls()
				c := p.await(calls[len(calls)-1].ID, "done")
				name, content := received(t, c)
				if name != action.name || string(content) != action.content {
					t.Errorf("%s: the server got %s with %s, want %s with %s", action.press, name, content, action.name, action.content)
				}
			}
			if got, want := len(s.Calls()), map[string]int{"2026-07-28": 6, "2025-11-25": 3}[revision]; got != want {
				t.Errorf("the server was called %d times, want %d", got, want)
			}
			if got := faults(page); len(got) > 0 {
				t.Errorf("errors on the console: %q", got)
			}
		})
	}
}

func TestOnlyAPersonAnswers(t *testing.T) {
	t.Parallel()
	p, s := recorder(t, "2026-07-28")
	page := signIn(t, p)
	runTool(page, "ask", "Say a word")
	address := page.URL()

	page.Click(button("Not now"))
	page.WaitText("Left for later. The question stays open.")
	p.open(1)
	page.Click(button("Answer now"))
	page.WaitFor(byRole("textbox", "Word"))
	page.Fill("Word", "unsent")
	page.Press("Escape")
	page.WaitFor(byRole("textbox", "Word"))
	page.Close()

	other := browsertest.Open(t, p.fresh())
	other.WaitText("1 question waiting")
	other.Goto(address)
	other.WaitText("Say a word")
	p.open(1)
	if got := len(s.Calls()); got != 1 {
		t.Errorf("the server was called %d times without an answer, want once", got)
	}
	other.Fill("Word", "late")
	other.Click(button("Send to recorder"))
	if _, content := received(t, p.await(p.calls()[0].ID, "done")); string(content) != `{"word":"late"}` {
		t.Errorf("the server got %s", content)
	}
}

func TestTwoTabs(t *testing.T) {
	t.Parallel()
	p, _ := recorder(t, "2026-07-28")
	first := signIn(t, p)
	overhear(first)
	runTool(first, "two", "Say a word")
	second := first.Tab(first.URL())
	second.WaitText("Say a word")
	second.WaitText("Which size?")

	// One answers; the other sees it at once, and cannot answer any more.
	second.Fill("Word", "second")
	first.Fill("Word", "first")
	first.Click(button("Send to recorder").In(card(first, "Say a word")))
	for _, page := range []*browsertest.Page{first, second} {
		page.Wait("the record of the answer", func() bool { return row(page, "Word") == "first" })
	}

	// It can be taken back as long as the round is not complete, in either tab. The
	// form that is open again does not stand under the news of its end.
	const elsewhere = "This question was closed elsewhere"
	second.WaitText(elsewhere)
	first.Click(button("Take back"))
	second.WaitFor(byRole("textbox", "Word"))
	if strings.Contains(second.Text(card(second, "Say a word")), elsewhere) {
		t.Errorf("the open card says %q", elsewhere)
	}
	first.Click(button("Review answers").In(card(first, "Say a word")))
	first.Click(button("Send to recorder"))
	second.WaitGone(byRole("textbox", "Word"))
	second.Click(button("Take back"))
	first.WaitFor(byRole("textbox", "Word"))
	first.WaitText("From your earlier answer")
	first.Fill("Word", "better")
	first.Click(button("Review answers").In(card(first, "Say a word")))
	first.Click(button("Send to recorder"))
	second.Wait("the better answer", func() bool { return row(second, "Word") == "better" })

	second.Fill("Size", "7")
	size := card(second, "Which size?")
	second.Click(button("Review answers").In(size))
	second.Click(button("Send to recorder").In(size))
	first.WaitText("Answer from recorder")
	second.WaitText("Answer from recorder")
	for _, page := range []*browsertest.Page{first, second} {
		page.WaitGone(button("Take back"))
	}
	if n := said(first, "recorder asks: Say a word"); n != 1 {
		t.Errorf("the question was announced %d times, want once: taking back asks nobody anew", n)
	}
	c := p.await(p.calls()[0].ID, "done")
	for _, want := range []string{`\"better\"`, `\"size\":7`} {
		if !strings.Contains(string(c.Result), want) {
			t.Errorf("the server reports %s, want %s in it", c.Result, want)
		}
	}
	for _, page := range []*browsertest.Page{first, second} {
		if got := faults(page); len(got) > 0 {
			t.Errorf("errors on the console: %q", got)
		}
	}
}

// Two answers that are sent before either tab heard of the other.
func TestTwoAnswersRace(t *testing.T) {
	t.Parallel()
	p, s := recorder(t, "2026-07-28")
	page := signIn(t, p)
	runTool(page, "ask", "Say a word")
	page.Fill("Word", "slow")
	id := p.open(1)[0].ID
	got := p.api("POST", "/v1/questions/"+id+"/answer", `{"action":"accept","content":{"word":"fast"}}`)
	if got.Status != 200 {
		t.Fatalf("the first answer: %d %s", got.Status, got.Body)
	}
	late := p.api("POST", "/v1/questions/"+id+"/answer", `{"action":"accept","content":{"word":"slow"}}`)
	if tr := late.trouble(t); tr.Status != 409 || tr.Code != "question_closed" || tr.ClosedBy != "person" || tr.Detail == "" {
		t.Errorf("the second answer: %s, want question_closed by person", late.Body)
	}
	page.Wait("what counts", func() bool { return row(page, "Word") == "fast" })
	page.WaitText("through another program")
	if _, content := received(t, p.await(p.calls()[0].ID, "done")); string(content) != `{"word":"fast"}` {
		t.Errorf("the server got %s", content)
	}
	if got := len(s.Calls()); got != 2 {
		t.Errorf("the server was called %d times, want twice: to ask, and with one answer", got)
	}
}

// Of many answers at the same moment one wins, and is the one that is sent.
func TestManyAnswersAtOnce(t *testing.T) {
	t.Parallel()
	p, s := recorder(t, "2026-07-28")
	c := p.run("v_mine", "recorder", "ask", `{}`)
	id := p.open(1)[0].ID
	statuses := make([]int, 8)
	var group sync.WaitGroup
	for i := range statuses {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+"/v1/questions/"+id+"/answer",
			strings.NewReader(fmt.Sprintf(`{"action":"accept","content":{"word":"word %d"}}`, i)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+p.bearer())
		group.Go(func() {
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			statuses[i] = resp.StatusCode
		})
	}
	group.Wait()
	winner := slices.Index(statuses, 200)
	for i, status := range statuses {
		if i != winner && status != 409 {
			t.Errorf("answer %d: %d, want 409 after another won", i, status)
		}
	}
	if _, content := received(t, p.await(c.ID, "done")); string(content) != fmt.Sprintf(`{"word":"word %d"}`, winner) {
		t.Errorf("the server got %s, want that of answer %d", content, winner)
	}
	if n := len(s.Calls()); n != 2 {
		t.Errorf("the server was called %d times, want twice", n)
	}
}

func TestCheckedOnTheServer(t *testing.T) {
	t.Parallel()
	p := demo(t)
	page := signIn(t, p)
	pick(page, "book_flight")
	page.Fill("From", "X")
	page.Fill("To", "")
	page.Fill("Day", "31")
	page.Fill("Month", "2")
	page.Fill("Year", "2027")
	page.Click(button("Run “Book a flight”"))
	page.WaitText("There is a problem")
	if n := len(p.calls()); n != 0 {
		t.Fatalf("%d calls with arguments that do not fit", n)
	}
	page.Fill("Day", "27")
	page.Fill("Month", "3")
	page.Click(button("Run “Book a flight”"))
	page.Wait("errors at both cities", func() bool { return page.Count(byCSS("[data-field] .error:not([hidden])")) >= 2 })
	page.Fill("From", "Hamburg")
	page.Fill("To", "Tokyo")
	page.Click(button("Run “Book a flight”"))
	page.WaitText("Which connection")

	page.Fill("Bags", "four")
	page.Click(button("Review answers"))
	page.WaitText("There is a problem")
	page.Wait("the focus on the summary", func() bool {
		return browsertest.Eval[bool](page, `(() => {
			let at = document.activeElement;
			while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
			return at?.dataset.part === 'summary';
		})()`)
	})
	if got := field(page, "bags"); got != "four" {
		t.Errorf("after the error the field holds %q, want what was typed", got)
	}
	for _, name := range []string{"flight", "bags"} {
		page.WaitFor(byCSS(`[data-field="` + name + `"] .error:not([hidden])`))
	}
	if n := page.Count(byCSS(`[data-field="aisle"] .error:not([hidden])`)); n != 0 {
		t.Errorf("%d errors at a field that is right", n)
	}

	id := p.open(1)[0].ID
	for _, test := range []struct{ body, pointer string }{
		{`{"action":"accept","content":{"flight":"PY 129","bags":4}}`, "/bags"},
		{`{"action":"accept","content":{"flight":"PY 129","bags":1.5}}`, "/bags"},
		{`{"action":"accept","content":{"flight":"PY 129","bags":"1"}}`, "/bags"},
		{`{"action":"accept","content":{"flight":"PY 1","bags":1}}`, "/flight"},
		{`{"action":"accept","content":{"bags":1}}`, "/flight"},
		{`{"action":"accept","content":{"flight":"PY 129","bags":1,"seat":"12A"}}`, "/seat"},
		{`{"action":"accept","content":{"flight":"PY 129","bags":1,"aisle":null}}`, "/aisle"},
		{`{"action":"accept","input":{"flight":"PY 129","bags":"1e400"}}`, "/bags"},
	} {
		got := p.api("POST", "/v1/questions/"+id+"/answer", test.body)
		tr := got.trouble(t)
		if tr.Status != 422 || tr.Code != "check_failed" || len(tr.Errors) != 1 || tr.Errors[0].Pointer != test.pointer || tr.Errors[0].Text == "" {
			t.Errorf("%s: %d %s, want 422 check_failed at %s", test.body, got.Status, got.Body, test.pointer)
		}
	}
	for _, body := range []string{`{"action":"accept","content":[]}`, `{"action":"accept","content":1}`, `{"action":"accept"}`} {
		if got := p.api("POST", "/v1/questions/"+id+"/answer", body); got.Status != 422 && got.Status != 400 {
			t.Errorf("%s: %d %s, want a refusal", body, got.Status, got.Body)
		}
	}
	p.open(1) // none of these answered it
	choose(page)
	page.WaitText("Book PY 129 to Tokyo")
}
