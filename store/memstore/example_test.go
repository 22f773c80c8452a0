package memstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
)

// A test lets a process end and looks at what the next one finds.
func Example() {
	ctx := context.Background()
	keys := inbox.NewKeys()
	ann := inbox.Principal{Issuer: "https://id.example", Subject: "ann"}

	store := memstore.New(nil)
	call, err := inbox.New(store, keys, nil).Compose(ctx, ann, inbox.NewCall{
		Conversation: "v_trip", Server: "flights", Era: inbox.Modern, Method: "tools/call", Name: "book",
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Close(); err != nil {
		log.Fatal(err)
	}

	restarted := inbox.New(store.Reopen(nil), keys, nil)
	claim, found, err := restarted.ClaimNext(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(claim.Call == call.ID, found.Name, found.State)
	// Output: true book claimed
}
