package pgstore_test

import (
	"context"
	"fmt"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/pgstore"
)

// Every machine opens the store with the same connection string.
func Example() {
	ctx := context.Background()
	store, err := pgstore.Open(ctx, "postgres://parley@127.0.0.1:1/parley?sslmode=disable&connect_timeout=5", nil)
	if err != nil {
		fmt.Println("nobody listens there")
		return
	}
	defer store.Close()
	err = store.View(ctx, "an issuer|a tenant|ann", func(tx inbox.Tx) error {
		calls, err := tx.Calls(inbox.CallQuery{States: []inbox.CallState{inbox.Waiting}, Limit: 10})
		fmt.Println(len(calls), "calls wait for Ann")
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: nobody listens there
}
