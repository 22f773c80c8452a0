package elicit

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzReadCall: what the kit takes for a request, the SDK takes for the same.
func FuzzReadCall(f *testing.F) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"a":[1]},` + meta + `}}`,
		`{"jsonrpc":"2.0","id":"a\u00e9","method":"prompts/get","params":{"name":"p","arguments":{"a":"b"},"inputResponses":{},` + meta + `}} `,
		`{"jsonrpc":"2.0","id":-1,"method":"resources/read","params":{"uri":"test://r","requestState":"s",` + meta + `},"params":null}`,
		`{"jsonrpc":"2.0","id":1,"id":null,"method":"tools/call","Method":"x","params":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, ok := readCall(body)
		if !ok {
			return
		}
		if m.meta == nil || m.capabilities == nil || m.name == "" {
			t.Fatalf("%q was read as %+v", body, m)
		}
		decoded, err := jsonrpc.DecodeMessage(body)
		request, isRequest := decoded.(*jsonrpc.Request)
		if err != nil || !isRequest {
			t.Fatalf("%q was read; the SDK says %v, %T", body, err, decoded)
		}
		if request.Method != m.method || request.ID != m.id {
			t.Fatalf("%q was read as %s %v; the SDK says %s %v", body, m.method, m.id, request.Method, request.ID)
		}
	})
}
