package settings_test

import (
	"fmt"

	"github.com/parley-mcp/parley/internal/settings"
)

// A value of a file takes what is secret from the environment.
func ExampleExpand() {
	environment := map[string]string{"TOKEN": "t0p"}
	lookup := func(name string) (string, bool) { value, ok := environment[name]; return value, ok }
	fmt.Println(settings.Expand("Bearer ${TOKEN}", lookup))
	fmt.Println(settings.Expand("https://${DOMAIN:-localhost}/", lookup))
	fmt.Println(settings.Expand("${PASSWORD}", lookup))
	// Output:
	// Bearer t0p <nil>
	// https://localhost/ <nil>
	//  variable PASSWORD is not set
}
