package elicit_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// TestCallers asks one person, or one address, up to the limit of a minute, and
// then others.
func TestCallers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		one, another string // addresses, or subjects
		counted      bool   // the two together
	}{
		{"one address", "203.0.113.7:1", "203.0.113.7:2", true},
		{"two addresses", "203.0.113.7:1", "203.0.113.8:1", false},
		{"one network of IPv6", "[2001:db8::1]:1", "[2001:db8::ffff:1]:1", true},
		{"two networks of IPv6", "[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
		{"IPv4 in IPv6", "203.0.113.7:1", "[::ffff:203.0.113.7]:2", true},
		{"an address without a port", "203.0.113.7", "203.0.113.7:2", true},
		{"loopback", "127.0.0.1:1", "::1", false},
		{"a Unix socket", "@", "", false},
		{"two people at one address", "ada", "bob", false},
		{"one person", "ada", "ada", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			options := &elicit.Options{Principal: byHeader, Limits: elicit.Limits{QuestionsPerMinute: 2}}
			inEach(t, options, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
				elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
					_, err := elicit.Confirm(ctx, call, "sure", "Sure?")
					return none{}, err
				})
				ask := func(who string) bool {
					header, address := http.Header{}, who
					if who == "ada" || who == "bob" {
						header.Set("X-Subject", who)
						address = "203.0.113.7:1"
					}
					from := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
						req.RemoteAddr = address
						handler.ServeHTTP(w, req)
					})
					client := elicittest.Connect(t, from, revision, func(elicittest.Question) elicittest.Answer { return elicittest.Decline() }, &elicittest.Options{Header: header})
					result, err := client.Call(t.Context(), "ask", none{})
					if err != nil {
						t.Fatal(err)
					}
					return !strings.Contains(result.Text, "limit of questions per minute")
				}
				got := []bool{ask(test.one), ask(test.another), ask(test.one), ask(test.another)}
				want := []bool{true, true, !test.counted, !test.counted}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
			})
		})
	}
}
