package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

// none is what a tool without arguments takes.
type none struct{}

// The forms. Keys, names and messages are those that the suite looks for.
type (
	nameForm struct {
		Name string `json:"name" title:"Name"`
	}
	colorForm struct {
		Color string `json:"color" title:"Color"`
	}
	contextForm struct {
		Context string `json:"context" title:"Context"`
	}
	okForm struct {
		OK bool `json:"ok" title:"OK"`
	}
	usernameForm struct {
		Username string `json:"username" title:"User name" description:"The name you want to go by"`
	}
	defaultsForm struct {
		Name     string  `json:"name" title:"Name" elicit:"optional,default=John Doe"`
		Age      int     `json:"age" title:"Age" elicit:"optional,default=30"`
		Score    float64 `json:"score" title:"Score" elicit:"optional,default=95.5"`
		Status   string  `json:"status" title:"Status" elicit:"optional,options=active|inactive|pending,default=active"`
		Verified bool    `json:"verified" title:"Verified" elicit:"optional,default=true"`
	}
	messageArguments struct {
		Message string `json:"message"`
	}
)

// addAsking adds what asks a person: all of it is the kit's.
func addAsking(server *elicit.Server) {
	add := func(name, description string, handler func(context.Context, *elicit.Call) (string, error)) {
		elicit.AddTool(server, &mcp.Tool{Name: name, Description: description}, func(ctx context.Context, call *elicit.Call, _ none) (any, error) {
			text, err := handler(ctx, call)
			if err == nil {
				call.Content(&mcp.TextContent{Text: text})
			}
			return nil, err
		})
	}
	elicit.AddTool(server, &mcp.Tool{Name: "test_elicitation", Description: "Asks what it is told to ask"}, askWhatIsTold)
	add("test_elicitation_sep1034_defaults", "Asks with a default in every kind of field", askDefaults)
	add("test_streaming_elicitation", "Asks while a stream is open", askName)
	add("test_input_required_result_elicitation", "Asks one question", askName)
	add("test_input_required_result_request_state", "Asks for a confirmation", askOK)
	add("test_input_required_result_tampered_state", "Asks for a confirmation", askOK)
	add("test_input_required_result_multi_round", "Asks two questions, one after the other", askTwice)
	elicit.AddPrompt(server, &mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks for its context"}, askContext)
}

func askWhatIsTold(ctx context.Context, call *elicit.Call, in messageArguments) (any, error) {
	form, err := elicit.Ask[usernameForm](ctx, call, "username", in.Message)
	var not *elicit.Unanswered
	switch {
	case errors.Is(err, elicit.ErrPending):
		return nil, err
	case errors.As(err, &not):
		call.Content(&mcp.TextContent{Text: "Elicitation: " + string(not.Outcome)})
	case err != nil:
		return nil, err
	default:
		call.Content(&mcp.TextContent{Text: "Elicitation: accepted, username " + form.Username})
	}
	return nil, nil
}

func askDefaults(ctx context.Context, call *elicit.Call) (string, error) {
	form, err := elicit.Ask[defaultsForm](ctx, call, "defaults", "Change what is wrong.")
	return fmt.Sprintf("Elicitation: accepted, %+v", form), err
}

func askName(ctx context.Context, call *elicit.Call) (string, error) {
	form, err := elicit.Ask[nameForm](ctx, call, "user_name", "What is your name?")
	return "Hello, " + form.Name + "!", err
}

func askOK(ctx context.Context, call *elicit.Call) (string, error) {
	form, err := elicit.Ask[okForm](ctx, call, "confirm", "Please confirm")
	return fmt.Sprintf("state-ok: %t", form.OK), err
}

func askTwice(ctx context.Context, call *elicit.Call) (string, error) {
	name, err := elicit.Ask[nameForm](ctx, call, "step1", "Step 1: What is your name?")
	if err != nil {
		return "", err
	}
	color, err := elicit.Ask[colorForm](ctx, call, "step2", "Step 2: What is your favorite color?")
	return name.Name + " likes " + color.Color, err
}

func askContext(ctx context.Context, call *elicit.Call, _ map[string]string) (*mcp.GetPromptResult, error) {
	form, err := elicit.Ask[contextForm](ctx, call, "user_context", "What context should the prompt use?")
	if err != nil {
		return nil, err
	}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{userText("Context: " + form.Context)}}, nil
}
