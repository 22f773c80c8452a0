package clients

import (
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/interop/tables"
)

var update = flag.Bool("update", false, "write the tables in docs/conformance.md")

const document = "../../docs/conformance.md"

// A scenario is a call with its answers and with what must come of it.
type scenario struct {
	name      string
	tool      string
	prompt    string
	resource  string
	list      bool
	arguments map[string]any
	cannot    bool // the client says that it cannot ask
	answers   map[string]answer
	asked     []string
	value     string // structured content
	text      string // of the prompt's message, of the resource, or among the tools
	fault     string // part of the error's text
}

var (
	refuse  = answer{Action: "decline"}
	dismiss = answer{Action: "cancel"}
	tokyo   = map[string]any{"to": "Tokyo"}
	which   = "Which flight to Tokyo?"
	whole   = accept(map[string]any{
		"name": "Ada", "email": "ada@example.com", "nights": 3, "budget": 99.5, "room": "double",
		"extras": []string{"breakfast", "sauna"}, "smoking": false,
	})
)

var scenarios = []scenario{
	{
		name: "form", tool: "check_in",
		answers: map[string]answer{"Who stays, and how?": whole},
		asked:   []string{"Who stays, and how? [budget email extras name nights room smoking]"},
		value:   `{"name":"Ada","email":"ada@example.com","nights":3,"budget":99.5,"room":"double","extras":["breakfast","sauna"],"smoking":false}`,
	},
	{
		name: "rounds", tool: "book", arguments: tokyo,
		answers: map[string]answer{which: accept(map[string]any{"flight": "PY 202"}), "Book PY 202?": accept(map[string]any{"confirmed": true})},
		asked:   []string{"Book PY 202? [confirmed]", which + " [flight]"},
		value:   `{"booked":"PY 202"}`,
	},
	{
		name: "at once", tool: "plan",
		answers: map[string]answer{"Who travels?": accept(map[string]any{"adults": 2}), "How long?": accept(map[string]any{"nights": 5})},
		asked:   []string{"How long? [nights]", "Who travels? [adults]"},
		value:   `{"booked":"party accepted 2, hotel accepted 5"}`,
	},
	{
		name: "one declined", tool: "plan",
		answers: map[string]answer{"Who travels?": accept(map[string]any{"adults": 2}), "How long?": refuse},
		asked:   []string{"How long? [nights]", "Who travels? [adults]"},
		value:   `{"booked":"party accepted 2, hotel declined 0"}`,
	},
	{
		name: "page", tool: "connect",
		answers: map[string]answer{"Sign in to your calendar.": accept(nil)},
		asked:   []string{"Sign in to your calendar. [page]"},
		value:   `{"booked":"calendar"}`,
	},
	{
		name: "decline", tool: "book", arguments: tokyo,
		answers: map[string]answer{which: refuse},
		asked:   []string{which + " [flight]"},
		fault:   `The person declined to answer the question "Which flight to Tokyo?". The call stopped there.`,
	},
	{
		name: "cancel", tool: "book", arguments: tokyo,
		answers: map[string]answer{which: dismiss},
		asked:   []string{which + " [flight]"},
		fault:   `The person dismissed the question "Which flight to Tokyo?" without deciding. The call stopped there; it can be called again.`,
	},
	{
		name: "cannot ask", tool: "book", arguments: tokyo, cannot: true,
		fault: `This client cannot put the question "Which flight to Tokyo?" to a person. Pass the argument "flight" instead.`,
	},
	{
		name: "prompt", prompt: "test_input_required_result_prompt",
		answers: map[string]answer{"What context should the prompt use?": accept(map[string]any{"context": "a wet Tuesday"})},
		asked:   []string{"What context should the prompt use? [context]"},
		text:    "Context: a wet Tuesday",
	},
	{
		name: "resource", resource: "desk://letter",
		answers: map[string]answer{"To whom is the letter?": accept(map[string]any{"name": "Ada"})},
		asked:   []string{"To whom is the letter? [name]"},
		text:    "Dear Ada",
	},
	{
		name: "page first", tool: "account",
		answers: map[string]answer{"Sign in to your calendar.": accept(nil)},
		asked:   []string{"Sign in to your calendar. [page]"},
		value:   `{"booked":"calendar"}`,
	},
	{name: "hidden", list: true, cannot: true},
}

// TestKitWithEverybodysClients calls every tool with every client, over both
// transports, in every revision that the client speaks.
func TestKitWithEverybodysClients(t *testing.T) {
	t.Parallel()
	server, err := newDesk(&elicit.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	desk := httptest.NewServer(elicit.NewHTTPHandler(server, nil))
	t.Cleanup(desk.Close)
	targets := []struct {
		name string
		at   target
	}{{"stdio", program(t)}, {"HTTP", target{URL: desk.URL + "/mcp"}}}
	pages, clients := newPages(t), everybody(t)

	table := &tables.Table{Head: []string{"Client", "Transport", "Revision"}}
	for _, s := range scenarios {
		table.Head = append(table.Head, s.name)
	}
	t.Cleanup(func() { compare(t, "clients", table) }) // when all tests below have ended
	for _, c := range clients {
		for _, at := range targets {
			for _, revision := range c.revisions {
				row := append([]string{c.name, at.name, revision}, make([]string, len(scenarios))...)
				table.Rows = append(table.Rows, row)
				t.Run(strings.Join(row[:3], "/"), func(t *testing.T) {
					t.Parallel()
					able := &link{server: at.at, revision: revision, canAsk: []string{"form", "url"}}
					unable := &link{server: at.at, revision: revision}
					sendAble, sendUnable := c.connect(t, able), c.connect(t, unable)
					for i, s := range scenarios {
						someone := s.person()
						able.person.Store(someone)
						unable.person.Store(someone)
						send := sendAble
						if s.cannot {
							send = sendUnable
						}
						row[3+i] = s.try(t, revision, pages, someone, send)
					}
				})
			}
		}
	}
}

// compare holds a table against the document, or writes it there. A table
// with holes is of a run with -run, and is left alone.
func compare(t *testing.T, name string, table *tables.Table) {
	t.Helper()
	if t.Failed() {
		return
	}
	for _, row := range table.Rows {
		if slices.Contains(row, "") {
			return
		}
	}
	got := table.String()
	if *update {
		if err := tables.Write(document, name, got); err != nil {
			t.Fatal(err)
		}
	}
	want, err := tables.Read(document, name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-update writes it):\n%s", document, diff)
	}
}

// try runs a scenario with one client and returns what the table shows.
func (s scenario) try(t *testing.T, revision, pages string, someone *person, send func(request) outcome) string {
	t.Helper()
	shown := "yes"
	if s.arguments == nil {
		s.arguments = map[string]any{}
	}
	if s.name == "page" || s.name == "page first" {
		open := pages + "/open/" + strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()+s.name)
		s.arguments = map[string]any{"page": open}
		if revision == "2025-06-18" {
			// The revision has no such questions: nobody is asked.
			shown, s.asked, s.value = "refused", nil, ""
			s.fault = `This client cannot put the question "Sign in to your calendar." to a person, because it cannot open pages for them.`
		}
	}
	if s.name == "hidden" {
		return s.hidden(t, send(request{list: true}))
	}
	if s.name == "page first" && revision == "2025-11-25" {
		send, shown = s.byError(t, send)
		if shown != "yes, by itself" {
			s.asked = nil // the client shows nothing: who calls it has to
		}
	}
	if s.name == "form" && revision == "2025-06-18" {
		// Nor has it lists: each choice is a yes or no.
		shown = "yes, without lists"
		s.asked = []string{"Who stays, and how? [budget email extras_1 extras_2 extras_3 name nights room smoking]"}
		someone.answers = map[string]answer{"Who stays, and how?": accept(map[string]any{
			"name": "Ada", "email": "ada@example.com", "nights": 3, "budget": 99.5, "room": "double",
			"extras_1": true, "extras_2": false, "extras_3": true, "smoking": false,
		})}
	}
	got := send(request{tool: s.tool, prompt: s.prompt, resource: s.resource, arguments: s.arguments})
	if diff := cmp.Diff(s.asked, someone.asked()); diff != "" {
		t.Errorf("%s: asked:\n%s", s.name, diff)
	}
	if s.fault == "" {
		same := got.Text == s.text
		if s.tool != "" {
			same = sameJSON(t, got.Value, s.value)
		}
		if got.Error != "" || got.IsError || !same {
			t.Errorf("%s: %+v (%s), want %s", s.name, got, got.Value, s.value+s.text)
		}
		return shown
	}
	text := got.Error
	if got.IsError {
		text = got.Text
	}
	switch {
	case s.cannot && revision == "2026-07-28" && (got.IsError || got.Code != 0 && got.Code != missingCapability):
		t.Errorf("%s: %+v, want the error %d", s.name, got, missingCapability)
	case s.cannot && text == `missing required client capability: ""`:
		shown = "yes, without words"
	case !strings.Contains(text, s.fault):
		t.Errorf("%s: %+v, want the error %q", s.name, got, s.fault)
	}
	return shown
}

// byError calls, and looks at the error that sends the person to a page. Clients
// that know it deal with it by themselves, and their result is what came of that;
// for the others somebody goes to the page, and calls again.
func (s scenario) byError(t *testing.T, send func(request) outcome) (then func(request) outcome, shown string) {
	t.Helper()
	const required = -32042
	got := send(request{tool: s.tool, arguments: s.arguments})
	if got.Error == "" && !got.IsError {
		return func(request) outcome { return got }, "yes, by itself"
	}
	if got.IsError || got.Code != 0 && got.Code != required {
		t.Errorf("%s: %+v, want the error %d", s.name, got, required)
	}
	page, _ := s.arguments["page"].(string)
	response, err := http.Post(page, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return send, "yes, by the caller"
}

// hidden looks for the tool that a client without elicitation is not shown.
func (s scenario) hidden(t *testing.T, got outcome) string {
	t.Helper()
	if got.Error != "" || !strings.Contains(got.Text, "check_in\n") || strings.Contains(got.Text, "person_only\n") {
		t.Errorf("%s: %+v", s.name, got)
	}
	return "yes"
}

// missingCapability is what MCP 2026-07-28 wants where the client cannot ask.
const missingCapability = -32021

func (s scenario) person() *person { return &person{answers: s.answers} }

func sameJSON(t *testing.T, got []byte, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		return false
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(a, b)
}
