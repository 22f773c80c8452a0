package signup

import (
	"context"

	"github.com/parley-mcp/parley/elicit"
)

type login struct {
	Password string `json:"password" title:"Password" description:"Of the old account"`
}

func ask(ctx context.Context, call *elicit.Call) string {
	answer, _ := elicit.Ask[login](ctx, call, "login", "Who were you?")
	return answer.Password
}
