package metrics_test

import (
	"fmt"
	"net/http"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve/metrics"
	"github.com/parley-mcp/parley/store/memstore"
)

// A product that embeds the host puts the page where only its collector gets.
func Example() {
	m := metrics.New(&metrics.Options{Servers: []string{"travel"}})
	in := inbox.New(memstore.New(nil), inbox.NewKeys(), &inbox.Options{Observe: m.Observe})
	m.Watch(in, nil)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	fmt.Println("http.ListenAndServe(\"127.0.0.1:9464\", mux)")
	// Output: http.ListenAndServe("127.0.0.1:9464", mux)
}
