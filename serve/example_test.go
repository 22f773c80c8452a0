package serve_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
)

// A product with users of its own says who sends a request, and mounts the handler
// under a name of its own.
func Example() {
	in := inbox.New(memstore.New(nil), inbox.NewKeys(), nil)
	h, err := host.New(in, []*host.Server{{ID: "travel", URL: "https://travel.example/mcp"}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	server := serve.New(h, in, &serve.Options{
		Hosts: []string{"app.example.com"},
		Identify: func(r *http.Request) (*serve.Session, error) {
			// The session check of the product; only what is verified goes in here.
			if user := r.Header.Get("X-Verified-User"); user != "" {
				return &serve.Session{Principal: inbox.Principal{Issuer: "https://id.example.com", Subject: user}}, nil
			}
			return nil, serve.ErrSignedOut
		},
	})

	for _, row := range []struct{ host, user string }{
		{"app.example.com", "ada"}, {"app.example.com", ""}, {"elsewhere.example", "ada"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://"+row.host+"/v1/questions", nil)
		r.Header.Set("X-Verified-User", row.user)
		server.Handler().ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 401
	// 421
}
