package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/interop/browsertest"
	"github.com/parley-mcp/parley/interop/stranger"
)

// A rawField is what the stranger's own schema says of a field.
type rawField struct {
	Name    string
	Label   string
	Default string
}

// askStranger asks the example server itself what its form is, with the SDK
// and past Parley. The SDK loses the order of the fields, so it is read from the wire.
func askStranger(t *testing.T) []rawField {
	t.Helper()
	command, err := stranger.Everything(t.Context(), "stdio")
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "0"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "cancel"}, nil
		},
	})
	wire := &buffer{}
	session, err := client.Connect(t.Context(), &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: command}, Writer: wire}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "trigger-elicitation-request"}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(wire.String()) {
		_, raw, _ := strings.Cut(line, "read: ")
		var message struct {
			Method string
			Params struct {
				RequestedSchema struct {
					Properties json.RawMessage
				}
			}
		}
		if json.Unmarshal([]byte(raw), &message) == nil && message.Method == "elicitation/create" {
			return rawFields(t, message.Params.RequestedSchema.Properties)
		}
	}
	t.Fatalf("no question on the wire:\n%s", wire)
	return nil
}

func rawFields(t *testing.T, properties json.RawMessage) (list []rawField) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(properties))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		var field struct {
			Title   string
			Default json.RawMessage
		}
		if err := dec.Decode(&field); err != nil {
			t.Fatal(err)
		}
		label := field.Title
		if label == "" {
			label = name.(string)
		}
		list = append(list, rawField{Name: name.(string), Label: label, Default: string(field.Default)})
	}
	return list
}

// drawn is what the page shows of a form: each field with what stands in it.
const drawn = `(() => {` + walk + `
	const found = [];
	find((e) => {
		if (!e.dataset.field) return;
		const inputs = [...e.querySelectorAll('input, textarea, select')];
		const boxes = inputs.filter((i) => i.type === 'radio' || i.type === 'checkbox');
		const texts = inputs.filter((i) => i.type === 'text' || i.type === 'textarea');
		found.push({
			Name: e.dataset.field, Control: e.dataset.control,
			Label: e.querySelector('.label .foreign').textContent,
			Value: boxes.length ? boxes.filter((i) => i.checked).map((i) => i.value).join() : texts.map((i) => i.value).join(' '),
		});
	});
	return found;
})()`

type drawnField struct{ Name, Control, Label, Value string }

func TestStrangersForm(t *testing.T) {
	t.Parallel()
	p := serve(t, map[string]any{"everything": everything(t)})
	page := signIn(t, p)
	runTool(page, "trigger-elicitation-request", "Please provide inputs for the following fields")

	want := askStranger(t)
	fields := browsertest.Eval[[]drawnField](page, drawn)
	if len(want) < 10 || len(fields) != len(want) {
		t.Fatalf("the page draws %d fields, the server has %d: %+v", len(fields), len(want), fields)
	}
	for i, field := range fields {
		if field.Name != want[i].Name || field.Label != want[i].Label || field.Control == "" || field.Control == "unsupported" {
			t.Errorf("field %d is %+v, want %+v", i+1, field, want[i])
		}
		if got := asJSON(t, field, want[i].Default); want[i].Default != "" && got != want[i].Default {
			t.Errorf("%s holds %q, want the default %s", field.Name, field.Value, want[i].Default)
		}
		if want[i].Default == "" && strings.TrimSpace(field.Value) != "" {
			t.Errorf("%s holds %q, want nothing: it has no default", field.Name, field.Value)
		}
	}
}

// asJSON writes what stands in a field like the default that it stands for.
func asJSON(t *testing.T, field drawnField, like string) string {
	t.Helper()
	switch {
	case strings.HasPrefix(like, "["):
		b, err := json.Marshal(strings.Split(field.Value, ","))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	case strings.HasPrefix(like, `"`):
		return quote(field.Value)
	}
	return field.Value
}

// answerStranger is what is typed into the fields that have no default.
func answerStranger(page *browsertest.Page) {
	page.Fill("String", "Zoë \"quoted\"")
	page.Click(radio("Yes").In(byCSS(`[data-field="check"]`)))
	page.Fill("String with email format (optional)", "zoe@example.com")
	page.Fill("String with uri format (optional)", "https://example.com/a?b=c")
	page.Fill("Day", "29")
	page.Fill("Month", "2")
	page.Fill("Year", "2028")
	page.Fill("Integer (optional)", "77")
	page.Fill("Number in range 1-1000 (optional)", "2.5")
}

func TestStrangersFormIsAnswered(t *testing.T) {
	t.Parallel()
	p := serve(t, map[string]any{"everything": everything(t)})
	page := signIn(t, p)
	runTool(page, "trigger-elicitation-request", "Please provide inputs for the following fields")
	answerStranger(page)
	page.Click(button("Review answers"))
	page.WaitText("Check what will be sent to everything")
	for label, want := range map[string]string{
		"String": `Zoë "quoted"`, "Integer": "77", "String with date format": "2028-02-29", "String with default": "It was a dark and stormy night.",
	} {
		if got := row(page, label); !strings.HasPrefix(got, want) {
			t.Errorf("the review shows %s: %q, want %q", label, got, want)
		}
	}
	page.Click(button("Send to everything"))
	page.WaitText("Answer from everything")
	c := p.await(p.calls()[0].ID, "done")
	var got map[string]any
	for _, text := range texts(t, c) {
		if _, raw, ok := strings.Cut(text, "Raw result: "); ok {
			var answer struct {
				Action  string         `json:"action"`
				Content map[string]any `json:"content"`
			}
			if err := json.Unmarshal([]byte(raw), &answer); err != nil {
				t.Fatal(err)
			}
			if answer.Action != "accept" {
				t.Errorf("the server got %s, want accept", answer.Action)
			}
			got = answer.Content
		}
	}
	want := map[string]any{
		"name": `Zoë "quoted"`, "check": true, "firstLine": "It was a dark and stormy night.",
		"email": "zoe@example.com", "homepage": "https://example.com/a?b=c", "birthdate": "2028-02-29",
		"integer": 77.0, "number": 2.5,
		"untitledSingleSelectEnum": "Monica", "untitledMultipleSelectEnum": []any{"Guitar"},
		"titledSingleSelectEnum": "hero-1", "titledMultipleSelectEnum": []any{"fish-1"}, "legacyTitledEnum": "pet-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the server got (-want +got):\n%s", diff)
	}
	if got := faults(page); len(got) > 0 {
		t.Errorf("errors on the console: %q", got)
	}
}

// texts are the text blocks of a call's result.
func texts(t *testing.T, c call) (list []string) {
	t.Helper()
	var result struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(c.Result, &result); err != nil {
		t.Fatalf("the call is %s: %s %s", c.State, c.Text, c.Result)
	}
	for _, block := range result.Content {
		list = append(list, block.Text)
	}
	return list
}

func TestStrangersAddress(t *testing.T) {
	t.Parallel()
	website := newWebsite(t)
	address := website.url + "/finish?code=a%20b"

	p := serve(t, map[string]any{"everything": everything(t)})
	page := signIn(t, p)
	pick(page, "trigger-url-elicitation")
	page.Fill("URL", address)
	page.Click(button("Run “Trigger URL Elicitation Tool”"))
	page.WaitText("Please open the link to complete this action.")
	if got := page.Text(byCSS(`[data-part="address"]`)); got != address {
		t.Errorf("the card shows the address %s, want %s", got, address)
	}
	if n := page.Count(byCSS(`a[href*="finish"]`)); n != 0 {
		t.Errorf("%d links to the address, want a button only", n)
	}
	page.Reload()
	page.WaitFor(byCSS(`[data-part="address"]`))
	if n := website.visits.Load(); n != 0 {
		t.Errorf("%d requests to the address before anybody agreed", n)
	}
	p.open(1)
	site := agree(page)
	if got := browsertest.Eval[bool](site, `window.opener === null && document.referrer === ''`); !got {
		t.Error("the website learns where its visitor comes from")
	}
	c := p.await(p.calls()[0].ID, "done")
	if text := strings.Join(texts(t, c), "\n"); !strings.Contains(text, "accept") {
		t.Errorf("the server says %q, want that it was accepted", text)
	}
	page.WaitText("You agreed to open")
}
