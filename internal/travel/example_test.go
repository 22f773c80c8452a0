package travel_test

import (
	"fmt"
	"log"

	"github.com/parley-mcp/parley/internal/travel"
)

// The travel desk is an http.Handler; a program serves it on a port of its own:
//
//	http.ListenAndServe("127.0.0.1:8801", desk)
func ExampleNew() {
	desk, err := travel.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer desk.Close()
	fmt.Println(len(desk.Entries()), "executions so far")
	// Output: 0 executions so far
}
