package notify_test

import (
	"context"
	"fmt"
	"log"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
)

// Two machines share a store, and a notifier: here the one of a single process,
// in its place pgnotify's or natsnotify's. What one of them does reaches whoever
// listens at the other.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store, keys, local := memstore.New(nil), inbox.NewKeys(), new(inbox.Local)
	a := inbox.New(store, keys, &inbox.Options{Notifier: local})
	b := inbox.New(store, keys, &inbox.Options{Notifier: local})
	ann := inbox.Principal{Issuer: "https://id.example", Subject: "ann"}

	hints, err := b.Subscribe(ctx, ann)
	if err != nil {
		log.Fatal(err)
	}
	call, err := a.Compose(ctx, ann, inbox.NewCall{
		Conversation: "v_trip", Server: "flights", Era: inbox.Modern, Method: "tools/call", Name: "book",
	})
	if err != nil {
		log.Fatal(err)
	}
	hint := <-hints
	fmt.Println(hint.Call == call.ID)

	// A hint is no news by itself: the store has it.
	call, err = b.Call(ctx, ann, hint.Call)
	fmt.Println(call.Name, err)
	// Output:
	// true
	// book <nil>
}
