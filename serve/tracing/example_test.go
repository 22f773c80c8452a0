package tracing_test

import (
	"fmt"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve/tracing"
	"github.com/parley-mcp/parley/store/memstore"
)

// A product that embeds the host gives it the provider that it has.
func Example() {
	t := tracing.New(sdk.NewTracerProvider())
	in := inbox.New(memstore.New(nil), inbox.NewKeys(), &inbox.Options{Observe: t.Observe})
	h, err := host.New(in, nil, &host.Options{Tracer: t})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	fmt.Println("traced")
	// Output: traced
}
