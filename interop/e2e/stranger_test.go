package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"slices"
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
const drawn = `(() => {
	const found = [];
	const visit = (node) => {
		for (const e of node.querySelectorAll('*')) {
			if (e.dataset.field) {
				const inputs = [...e.querySelectorAll('input, textarea, select')];
				const boxes = inputs.filter((i) => i.type === 'radio' || i.type === 'checkbox');
				found.push({
					Name: e.dataset.field, Control: e.dataset.control,
					Label: e.querySelector('.label .foreign').textContent,
					Value: boxes.length ? boxes.filter((i) => i.checked).map((i) => i.value).join() : inputs.filter((i) => i.type === 'text' || i.type === 'textarea').map((i) => i.value).join(' '),
				});
			}
			if (e.shadowRoot) visit(e.shadowRoot);
		}
	};
	visit(document);
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
		if want[i].Default == "" && field.Value != "" && strings.TrimSpace(field.Value) != "" {
			t.Errorf("%s holds %q, want nothing: it has no default", field.Name, field.Value)
		}
	}
	t.Logf("%+v", fields)
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

func TestStrangersAddress(t *testing.T) {
	t.Parallel()
	// A website that notes who comes.
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	_ = slices.Sorted[string]
	_ = cmp.Diff
	p := serve(t, map[string]any{"everything": everything(t)})
	page := signIn(t, p)
	pick(page, "trigger-url-elicitation")
	t.Log(page.AX(byRole("main", "")))
}
