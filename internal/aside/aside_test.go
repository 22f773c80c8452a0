package aside_test

import (
	"fmt"
	"testing"

	"github.com/parley-mcp/parley/internal/aside"
)

// A value that the deep part leaves behind is there as soon as Do is back.
func Example() {
	var depth func(n int) int
	depth = func(n int) int {
		if n == 0 {
			return 0
		}
		return 1 + depth(n-1)
	}
	reached := 0
	aside.Do(func() { reached = depth(10_000) })
	fmt.Println(reached)
	// Output: 10000
}

// What panics on a goroutine of its own panics where it is waited for: there net/http, or
// whoever called, may recover it.
func TestPanic(t *testing.T) {
	t.Parallel()
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("recovered %v", got)
		}
	}()
	aside.Do(func() { panic("broken") })
	t.Error("it went on")
}
