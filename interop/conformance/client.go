package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/memstore"
)

// The suite tells a client what to call in this variable, for some scenarios.
const contextVariable = "MCP_CONFORMANCE_CONTEXT"

var person = inbox.Principal{Issuer: "conformance", Subject: "person"}

// Client is the client that the suite tests: a host with the server at address.
// It calls the tools that the suite's context names, or else each one that the
// server lists, with the arguments that its schema requires, and accepts what it
// is asked, with the defaults where there are some.
func Client(ctx context.Context, address string) error {
	in := inbox.New(memstore.New(nil), seal.NewRing(), &inbox.Options{QuestionsPerMinute: 100})
	h, err := host.New(in, []*host.Server{{ID: "suite", URL: address}}, nil)
	if err != nil {
		return err
	}
	defer h.Close() //nolint:errcheck // it has no error of its own
	tools, err := h.Tools(ctx, person, "suite")
	if err != nil {
		return err
	}
	calls, err := wanted(os.Getenv(contextVariable), tools)
	if err != nil {
		return err
	}
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") == "http-standard-headers" {
		// A host lists neither resources nor prompts: who starts a call names them.
		calls = append(calls, host.NewCall{Method: "resources/read", Name: "file:///path/to/file%20name.txt"},
			host.NewCall{Method: "prompts/get", Name: "test_prompt"})
	}
	var faults []error
	for _, call := range calls {
		call.Server = "suite"
		if err := carry(ctx, h, in, call); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", call.Name, err))
		}
	}
	return errors.Join(faults...)
}

// wanted is what to call.
func wanted(text string, tools []*host.Tool) ([]host.NewCall, error) {
	var context struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &context); err != nil {
			return nil, fmt.Errorf("%s: %w", contextVariable, err)
		}
	}
	var calls []host.NewCall
	for _, c := range context.ToolCalls {
		calls = append(calls, host.NewCall{Name: c.Name, Arguments: c.Arguments})
	}
	if calls != nil {
		return calls, nil
	}
	for _, t := range tools {
		arguments, err := plainArguments(t.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		calls = append(calls, host.NewCall{Name: t.Name, Arguments: arguments})
	}
	for i := range calls {
		if calls[i].Name == "json_schema_echo" { // the suite wants to see what the client kept of its neighbour
			for _, t := range tools {
				if t.Name == "json_schema_2020_12_tool" {
					calls[i].Arguments = json.RawMessage(`{"schema":` + string(t.InputSchema) + `}`)
				}
			}
		}
	}
	return calls, nil
}

// plainArguments are the simplest that a tool takes.
func plainArguments(schema json.RawMessage) (json.RawMessage, error) {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, name := range s.Required {
		switch string(s.Properties[name].Type) {
		case `"number"`, `"integer"`:
			values[name] = 1
		case `"boolean"`:
			values[name] = true
		case `"object"`:
			values[name] = map[string]any{}
		case `"array"`:
			values[name] = []any{}
		default:
			values[name] = "word"
		}
	}
	return json.Marshal(values)
}

// carry carries one call to its end and answers on the way.
func carry(ctx context.Context, h *host.Host, in *inbox.Inbox, call host.NewCall) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c, err := h.Start(ctx, person, call)
	if err != nil {
		return err
	}
	end, err := h.Auto(ctx, person, c.ID, func(ctx context.Context, stop *host.Stop) error {
		if stop.Why != host.Asked && stop.Why != host.Held {
			return fmt.Errorf("the call stands still: %s", host.Explain(stop.Call, "the server"))
		}
		open, err := in.Questions(ctx, person, inbox.QuestionFilter{Call: c.ID, States: []inbox.QuestionState{inbox.Open}})
		if err != nil {
			return err
		}
		for _, q := range open {
			a := inbox.Answer{Action: inbox.Accept, Via: "api"}
			if q.Mode == inbox.Form {
				if a.Content, err = agree(q.Params); err != nil {
					return err
				}
			}
			if _, err := in.Answer(ctx, person, q.ID, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", call.Name, end.State)
	return nil
}

// agree fills a form with its defaults, and what it requires beside them.
func agree(params json.RawMessage) (json.RawMessage, error) {
	var p struct {
		Schema json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	s, err := form.Parse(p.Schema)
	if err != nil {
		return nil, err
	}
	return s.Fill([]byte("{}"), form.FillAll)
}
