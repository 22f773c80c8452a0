package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/internal/travel"
	"github.com/parley-mcp/parley/store/memstore"
)

// A program embeds the host: it sends a call for a person, shows what the
// server asks, and hands over the answer. Here the answer is given in code.
func Example() {
	ctx := context.Background()

	// Only needed for purposes of the example: a server that asks.
	desk, err := travel.New(&travel.Options{Kit: elicit.Options{}})
	if err != nil {
		log.Fatal(err)
	}
	defer desk.Close()
	web := httptest.NewServer(desk)
	defer web.Close()

	in := inbox.New(memstore.New(nil), seal.NewRing(), nil)
	h, err := host.New(in, []*host.Server{{ID: "travel", URL: web.URL}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	me := inbox.Principal{Issuer: "example", Subject: "ada"}
	call, err := h.Start(ctx, me, host.NewCall{
		Server: "travel", Name: "book_flight",
		Arguments: json.RawMessage(`{"from":"Hamburg","to":"Tokyo","date":"2027-03-01"}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	end, err := h.Auto(ctx, me, call.ID, func(ctx context.Context, stop *host.Stop) error {
		questions, err := in.Questions(ctx, me, inbox.QuestionFilter{Call: stop.Call.ID, States: []inbox.QuestionState{inbox.Open}})
		if err != nil {
			return err
		}
		for _, q := range questions {
			fmt.Println(q.Message)
			_, err := in.Answer(ctx, me, q.ID, inbox.Answer{Action: inbox.Accept, Content: agree(q.Params), Via: "api"})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.State, len(desk.Entries()))
	// Output:
	// Which connection from Hamburg to Tokyo do you want on Monday, 1 March 2027?
	// Book PY 106 to Tokyo on Monday, 1 March 2027 for 825 EUR, 1 bag, aisle seat?
	// done 1
}

// agree fills a form in as an easy-going person would: the first choice of
// each list, yes to everything.
func agree(params json.RawMessage) json.RawMessage {
	var p struct {
		Schema json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		log.Fatal(err)
	}
	s, err := form.Parse(p.Schema)
	if err != nil {
		log.Fatal(err)
	}
	content := map[string]any{}
	for _, f := range s.Fields() {
		switch {
		case len(f.Options) > 0:
			content[f.Name] = f.Options[0].Value
		case f.Kind == form.Boolean:
			content[f.Name] = true
		case f.Default != nil:
			content[f.Name] = f.Default
		}
	}
	answer, err := json.Marshal(content)
	if err != nil {
		log.Fatal(err)
	}
	return answer
}
