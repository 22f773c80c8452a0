package sqlitestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// A call that was composed before the program ended is there after it.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	keys := inbox.NewKeys() // a program keeps them in a file of their own
	ann := inbox.Principal{Issuer: "https://id.example", Subject: "ann"}
	for run := range 2 {
		store, err := sqlitestore.Open(filepath.Join(dir, "inbox.db"), nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		in := inbox.New(store, keys, nil)
		if run == 0 {
			_, err = in.Compose(ctx, ann, inbox.NewCall{
				Conversation: "v_trip", Server: "flights", Era: inbox.Modern, Method: "tools/call", Name: "book",
			})
			fmt.Println("composed:", err)
		} else {
			calls, err := in.Calls(ctx, ann, inbox.CallFilter{})
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println("found:", calls[0].Name, calls[0].State)
		}
		if err := store.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// composed: <nil>
	// found: book ready
}
