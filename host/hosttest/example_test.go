package hosttest_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/parley-mcp/parley/host/hosttest"
)

// A tool that asks in its first round and is done in its second.
func Example() {
	s := hosttest.Start(&hosttest.Script{Tools: map[string]hosttest.Tool{
		"greet": func(x *hosttest.Exchange) {
			if x.State == nil {
				x.Asks(`{"who":{"method":"elicitation/create","params":{"message":"Who are you?"}}}`, "s1")
				return
			}
			x.Text("hello")
		},
	}})
	defer s.Close()
	for _, params := range []string{`{"name":"greet"}`, `{"name":"greet","requestState":"s1"}`} {
		resp, err := http.Post(s.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`))
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(body))
	}
	fmt.Println(len(s.Calls()), "calls")
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who are you?"}}},"requestState":"s1"}}
	// {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"hello"}]}}
	// 2 calls
}
