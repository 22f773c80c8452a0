package travel

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

// Quote is the result of group_quote.
type Quote struct {
	People int    `json:"people"`
	Hotel  string `json:"hotel"`
	Total  int    `json:"total"` // whole euros for the group
}

type party struct {
	Adults   int  `json:"adults" title:"Adults" elicit:"min=1,max=20,default=2"`
	Children *int `json:"children" title:"Children under 12" elicit:"min=0,max=20"`
}

type lodging struct {
	Hotel  string   `json:"hotel" title:"Hotel" elicit:"options=garden:Garden Inn|harbour:Harbour View|tower:Tower Palace,default=garden"`
	Nights int      `json:"nights" title:"Nights" elicit:"min=1,max=30,default=5"`
	Extras []string `json:"extras" title:"Extras" elicit:"options=breakfast:Breakfast|transfer:Airport transfer|guide:City guide,optional"`
}

func (s *Server) addGroupQuote(kit *elicit.Server) {
	elicit.AddTool(kit, &mcp.Tool{
		Name:        toolQuote,
		Title:       "Quote a group journey",
		Description: "Asks who travels and where they stay, and works out what the journey costs.",
		InputSchema: json.RawMessage(`{"type": "object", "properties": {` + journey + `}, "required": ["from", "to", "date"]}`),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, s.groupQuote)
}

func (s *Server) groupQuote(ctx context.Context, call *elicit.Call, in bookArguments) (Quote, error) {
	day, err := parseDay(in.Date)
	if err != nil {
		return Quote{}, err
	}
	who := elicit.NewQuestion[party]("party", fmt.Sprintf("Who travels to %s?", in.To))
	where := elicit.NewQuestion[lodging]("hotel", fmt.Sprintf("Where do you want to stay in %s?", in.To))
	if err := elicit.AskAll(ctx, call, who, where); err != nil {
		return Quote{}, err
	}
	children := 0
	if who.Value.Children != nil {
		children = *who.Value.Children
	}
	quote := Quote{People: who.Value.Adults + children, Hotel: where.Value.Hotel}
	fare := search(in.From, in.To, day)[0].Price
	night := map[string]int{"garden": 80, "harbour": 120, "tower": 210}[quote.Hotel] + 15*len(where.Value.Extras)
	quote.Total = who.Value.Adults*fare + children*fare*3/4 + quote.People*night*where.Value.Nights
	err = s.record(Entry{
		Tool: toolQuote, Call: call.IdempotencyKey(),
		From: in.From, To: in.To, Date: in.Date, People: quote.People, Hotel: quote.Hotel, Price: quote.Total,
	})
	if err != nil {
		return Quote{}, err
	}
	call.Content(&mcp.TextContent{Text: fmt.Sprintf(
		"%d people from %s to %s on %s with %d nights: %d EUR.", quote.People, in.From, in.To, long(day), where.Value.Nights, quote.Total)})
	return quote, nil
}
