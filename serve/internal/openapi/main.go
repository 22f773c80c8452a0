// Command openapi writes the OpenAPI document of package serve to the first file that it
// is given, and the tables of events and of codes into the second one, docs/api.md.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/parley-mcp/parley/serve"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: openapi DOCUMENT GUIDE")
	}
	if err := os.WriteFile(os.Args[1], serve.OpenAPI(), 0o644); err != nil { //nolint:gosec // a document that everybody may read
		log.Fatal(err)
	}
	guide, err := os.ReadFile(os.Args[2]) //nolint:gosec // whoever builds names it
	if err == nil {
		guide, err = withTables(guide)
	}
	if err == nil {
		err = os.WriteFile(os.Args[2], guide, 0o644) //nolint:gosec // as above
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A document is as much of the OpenAPI document as the tables tell.
type document struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct {
				Events []struct {
					Event, Description string
					Data               struct {
						Ref string `json:"$ref"`
					}
				} `json:"x-parley-events"`
			}
		}
	}
	Components struct {
		Responses map[string]struct {
			Problems []struct {
				Code, When string
				Status     int
				Params     map[string]string
			} `json:"x-parley-problems"`
		}
	}
}

// withTables is the guide with the tables of the document between their marks.
func withTables(guide []byte) ([]byte, error) {
	var d document
	if err := json.Unmarshal(serve.OpenAPI(), &d); err != nil { //nolint:musttag // OpenAPI's names are Go's in other letters
		return nil, fmt.Errorf("the document: %w", err)
	}
	var events, codes strings.Builder
	events.WriteString("| event | data | when |\n|---|---|---|\n")
	for _, e := range d.Paths["/v1/events"]["get"].Responses["200"].Content["text/event-stream"].Events {
		data := "`{\"seq\": …}`"
		if name := e.Data.Ref[strings.LastIndex(e.Data.Ref, "/")+1:]; name != "" {
			data = "`" + name + "`"
		}
		fmt.Fprintf(&events, "| `%s` | %s | %s |\n", e.Event, data, e.Description)
	}
	codes.WriteString("| code | status | when | params |\n|---|---|---|---|\n")
	for _, p := range d.Components.Responses["Problem"].Problems {
		var params []string
		for _, name := range slices.Sorted(maps.Keys(p.Params)) {
			params = append(params, "`"+name+"`: "+p.Params[name])
		}
		fmt.Fprintf(&codes, "| `%s` | %d | %s | %s |\n", p.Code, p.Status, p.When, strings.Join(params, "; "))
	}
	for _, table := range []struct{ name, text string }{{"events", events.String()}, {"codes", codes.String()}} {
		begin, end := "<!-- "+table.name+", by go generate -->\n", "<!-- end -->\n"
		before, rest, ok := bytes.Cut(guide, []byte(begin))
		_, after, ok2 := bytes.Cut(rest, []byte(end))
		if !ok || !ok2 {
			return nil, fmt.Errorf("the guide has no place for the table of %s", table.name)
		}
		guide = slices.Concat(before, []byte(begin+"\n"+table.text+"\n"+end), after)
	}
	return guide, nil
}
