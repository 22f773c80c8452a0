package pgnotify_test

import (
	"context"
	"fmt"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/notify/pgnotify"
	"github.com/parley-mcp/parley/store/memstore"
)

// Each machine opens its end and gives it to its inbox.
func Example() {
	ctx := context.Background()
	options := &inbox.Options{}
	notifier, err := pgnotify.Open(ctx, "postgres://parley@127.0.0.1:1/parley?sslmode=disable", nil)
	if err == nil {
		defer notifier.Close()
		options.Notifier = notifier
	} else {
		fmt.Println("the database is not there: polling only")
	}
	machine := inbox.New(memstore.New(nil), seal.NewRing(), options)
	_, err = machine.SubscribeAll(ctx)
	fmt.Println(err)
	// Output:
	// the database is not there: polling only
	// <nil>
}
