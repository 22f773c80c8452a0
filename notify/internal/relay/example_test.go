package relay_test

import (
	"context"
	"fmt"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/notify/internal/relay"
)

// What one machine's relay takes, the wire carries and the other's receives.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a, b := relay.New(), relay.New()
	defer a.Close()
	defer b.Close()
	hints, err := b.Subscribe(ctx, "ann")
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 { // three changes of one person are one hint
		if err := a.Notify(ctx, inbox.Hint{Principal: "ann"}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if a.Wait() {
		for _, message := range a.Take() {
			b.Receive(message)
		}
	}
	fmt.Println((<-hints).Principal, len(hints))
	// Output: ann 0
}
