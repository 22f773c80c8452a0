package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-mcp/parley/webhook"
)

// A receiver that sends mail verifies the message, looks up the address of the person,
// and writes that there is something to answer.
func Example() {
	const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODk=" // from the environment
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err == nil {
			err = webhook.Verify(secret, r.Header, body)
		}
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		// json.Unmarshal into a webhook.Message, and send mail.
	})

	w := httptest.NewRecorder()
	receiver.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"type":"asked"}`)))
	fmt.Println(w.Code)
	// Output: 401
}
