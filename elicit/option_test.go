package elicit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// TestHideUnless lists tools to who can be asked, page by page, and marks the
// lists as private. Without such a tool lists are as the SDK makes them.
func TestHideUnless(t *testing.T) {
	t.Parallel()
	do := func(context.Context, *elicit.Call, none) (none, error) { return none{}, nil }
	for name, test := range map[string]struct {
		capabilities string
		form, url    bool
	}{
		"nothing": {`{}`, false, false},
		"form":    {`{"elicitation":{}}`, true, false},
		"url":     {`{"elicitation":{"url":{}}}`, false, true},
		"both":    {string(both), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, revision := range elicittest.Revisions {
				t.Run(revision, func(t *testing.T) {
					t.Parallel()
					server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{PageSize: 1}), nil)
					if err != nil {
						t.Fatal(err)
					}
					elicit.AddTool(server, &mcp.Tool{Name: "always"}, do)
					elicit.AddTool(server, &mcp.Tool{Name: "form"}, do, elicit.HideUnless(elicit.FormMode))
					elicit.AddTool(server, &mcp.Tool{Name: "replaced"}, do, elicit.HideUnless(elicit.FormMode))
					elicit.AddTool(server, &mcp.Tool{Name: "replaced"}, do)
					elicit.AddTool(server, &mcp.Tool{Name: "url"}, do, elicit.HideUnless(elicit.URLMode))
					client := elicittest.Connect(t, elicit.NewHTTPHandler(server, nil), revision, nil, &elicittest.Options{Capabilities: json.RawMessage(test.capabilities)})
					names, scopes := listed(t, client)
					want := []string{"always"}
					if test.form {
						want = append(want, "form")
					}
					want = append(want, "replaced")
					if test.url && revision != "2025-06-18" { // which has no URL mode
						want = append(want, "url")
					}
					if diff := cmp.Diff(want, names); diff != "" {
						t.Errorf("tools (-want +got):\n%s", diff)
					}
					for _, scope := range scopes {
						if scope != "private" {
							t.Errorf("a list of scope %q", scope)
						}
					}
					// Hidden is not forbidden.
					if result, err := client.Call(t.Context(), "form", none{}); err != nil || result.IsError {
						t.Errorf("error %v, result %+v", err, result)
					}
				})
			}
		})
	}
	t.Run("no such tool", func(t *testing.T) {
		t.Parallel()
		server, handler := newServer(t, nil)
		elicit.AddTool(server, &mcp.Tool{Name: "always"}, do)
		names, scopes := listed(t, elicittest.Connect(t, handler, modern, nil, nil))
		if len(names) != 1 || scopes[0] != "public" {
			t.Errorf("tools %v, scopes %v", names, scopes)
		}
	})
}

// listed reads all pages of the list of tools.
func listed(t *testing.T, client *elicittest.Client) (names, scopes []string) {
	t.Helper()
	params := map[string]any{}
	for {
		raw, err := client.Send(t.Context(), "tools/list", params)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
			Scope  string `json:"cacheScope"`
			Cursor string `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			t.Fatal(err)
		}
		for _, tool := range page.Tools {
			names = append(names, tool.Name)
		}
		scopes = append(scopes, page.Scope)
		if page.Cursor == "" {
			return names, scopes
		}
		params["cursor"] = page.Cursor
	}
}

type badForm struct {
	Good  string `json:"good"`
	Parts struct {
		Deep chan int `json:"deep"`
	} `json:"parts"`
}

// TestAsks finds a form that nobody can fill in when the tool is added.
func TestAsks(t *testing.T) {
	t.Parallel()
	server, _ := newServer(t, nil)
	do := func(context.Context, *elicit.Call, none) (none, error) { return none{}, nil }
	add := func(option elicit.ToolOption) (said string) {
		defer func() {
			if value := recover(); value != nil {
				said = fmt.Sprint(value)
			}
		}()
		elicit.AddTool(server, &mcp.Tool{Name: "t"}, do, option)
		return ""
	}
	for want, option := range map[string]elicit.ToolOption{
		`elicit: tool "t": elicit_test.badForm.Parts: a form cannot ask for struct`: elicit.Asks[badForm](),
		`elicit: tool "t": map[string]int: a form cannot ask for map`:               elicit.Asks[map[string]int](),
		`elicit: tool "t": "phone" is no mode of asking`:                            elicit.HideUnless("phone"),
	} {
		if got := add(option); !strings.HasPrefix(got, want) {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
	for _, option := range []elicit.ToolOption{elicit.Asks[size](), elicit.Asks[string](), elicit.Asks[[]string]()} {
		if got := add(option); got != "" {
			t.Errorf("panic %q", got)
		}
	}
}

type bread string

func (bread) Options() []elicit.Option {
	return []elicit.Option{{Value: "rye", Title: "Rye"}, {Value: "white"}}
}

// TestBare asks for a value without a struct around it.
func TestBare(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (string, error) {
			text := elicit.NewQuestion[string]("text", "Name?", elicit.Default("text", "Ada"))
			number := elicit.NewQuestion[uint8]("number", "How many?")
			budget := elicit.NewQuestion[*float64]("budget", "How much?")
			loaf := elicit.NewQuestion[bread]("loaf", "Which bread?")
			loaves := elicit.NewQuestion[[]bread]("loaves", "Which breads?")
			seat := elicit.NewQuestion[string]("seat", "Which seat?", elicit.Choices("seat", []string{"1A", "2B"}, asOption))
			if err := elicit.AskAll(ctx, call, text, number, budget, loaf, loaves, seat); err != nil {
				return "", err
			}
			return fmt.Sprintf("%s %d %t %s %s %s", text.Value, number.Value, budget.Value == nil, loaf.Value, loaves.Value, seat.Value), nil
		})
		content := map[string]string{
			"Name?": `{"text":"Bob"}`, "How many?": `{"number":3}`, "How much?": `{}`, "Which bread?": `{"loaf":"rye"}`,
			"Which breads?": `{"loaves":["white"]}`, "Which seat?": `{"seat":"2B"}`,
		}
		if revision == "2025-06-18" {
			content["Which breads?"] = `{"loaves_1":false,"loaves_2":true}`
		}
		client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
			return elicittest.Accept(json.RawMessage(content[q.Message]))
		}, nil)
		result, err := client.Call(t.Context(), "ask", none{})
		if err != nil {
			t.Fatal(err)
		}
		if want := `"Bob 3 true rye [white] 2B"`; string(result.Structured) != want {
			t.Errorf("result %s, want %s", result.Raw, want)
		}
	})
}

// TestBareArgument names the argument to pass for a question without a struct.
func TestBareArgument(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ deletion) (string, error) {
			return elicit.Ask[string](ctx, call, "path", "Where?")
		})
		result, err := elicittest.Connect(t, handler, revision, nil, nil).Call(t.Context(), "ask", map[string]any{"path": "?"})
		said := fmt.Sprint(err)
		if err == nil {
			said = result.Text
		}
		if !strings.Contains(said, `Pass the argument "path" instead.`) {
			t.Errorf("error %v, result %+v", err, result)
		}
	})
}

func asOption(value string) elicit.Option { return elicit.Option{Value: value} }

// TestChoices is nothing, one, several and many things to choose from.
func TestChoices(t *testing.T) {
	t.Parallel()
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprint("offer ", i)
	}
	for name, test := range map[string]struct {
		ask   func(ctx context.Context, call *elicit.Call) (any, error)
		asked int
		want  string // result, or part of the error
	}{
		"none": {func(ctx context.Context, call *elicit.Call) (any, error) {
			return elicit.Choose(ctx, call, "k", "Which?", []string{}, asOption)
		}, 0, "there is nothing to choose from"},
		"one": {func(ctx context.Context, call *elicit.Call) (any, error) {
			return elicit.Choose(ctx, call, "k", "Which?", many[:1], asOption)
		}, 1, "offer 0"},
		"one, taken": {func(ctx context.Context, call *elicit.Call) (any, error) {
			return elicit.Choose(ctx, call, "k", "Which?", many[:1], asOption, elicit.TakeSingle())
		}, 0, "offer 0"},
		"one without a struct, taken": {func(ctx context.Context, call *elicit.Call) (any, error) {
			return elicit.Ask[string](ctx, call, "k", "Which?", elicit.Choices("k", many[:1], asOption), elicit.TakeSingle())
		}, 0, "offer 0"},
		"two": {func(ctx context.Context, call *elicit.Call) (any, error) {
			return elicit.Choose(ctx, call, "k", "Which?", many[:2], asOption, elicit.TakeSingle())
		}, 1, "offer 1"},
		"500": {func(ctx context.Context, call *elicit.Call) (any, error) {
			return elicit.Choose(ctx, call, "k", "Which?", many, asOption)
		}, 1, "offer 499"},
		"several": {func(ctx context.Context, call *elicit.Call) (any, error) {
			return elicit.ChooseSeveral(ctx, call, "k", "Which?", many[:3], asOption)
		}, 1, "[offer 0 offer 2]"},
		"none of several": {func(ctx context.Context, call *elicit.Call) (any, error) {
			return elicit.ChooseSeveral(ctx, call, "k", "Which?", many[:1], asOption)
		}, 1, "[]"},
		"no such field": {func(ctx context.Context, call *elicit.Call) (any, error) {
			return elicit.Ask[size](ctx, call, "k", "Which?", elicit.Choices("length", many, asOption))
		}, 0, `the form has no field "length", only width, colour, note`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
				elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
					got, err := test.ask(ctx, call)
					if err == nil {
						call.Content(&mcp.TextContent{Text: fmt.Sprint(got)})
					}
					return none{}, err
				})
				asked := 0
				client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
					asked++
					last := test.want
					switch legacy := revision == "2025-06-18"; {
					case name == "several" && legacy:
						return elicittest.Accept(json.RawMessage(`{"choices_1":true,"choices_2":false,"choices_3":true}`))
					case name == "none of several" && legacy:
						return elicittest.Accept(json.RawMessage(`{"choices_1":false}`))
					case name == "several":
						return elicittest.Accept(json.RawMessage(`{"choices":["offer 2","offer 0"]}`))
					case name == "none of several":
						return elicittest.Accept(json.RawMessage(`{"choices":[]}`))
					}
					return elicittest.Accept(map[string]any{"choice": last})
				}, nil)
				result, err := client.Call(t.Context(), "ask", none{})
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(result.Text, test.want) || asked != test.asked {
					t.Errorf("%d questions, result %s", asked, result.Text)
				}
			})
		})
	}
}
