package plain_test

import (
	"fmt"

	"github.com/parley-mcp/parley/internal/plain"
)

func ExampleText() {
	message, found := plain.Text("Delete \u202Egpj.sotohp\u202C?\x1b[2K\rDelete nothing?", 200)
	fmt.Println(message)
	fmt.Println(found)
	// Output:
	// Delete ⟨U+202E⟩gpj.sotohp⟨U+202C⟩?␛[2K␍Delete nothing?
	// hidden characters made visible
}
