// Command openapi writes the OpenAPI document of package serve to the file that it is given.
package main

import (
	"log"
	"os"

	"github.com/parley-mcp/parley/serve"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: openapi FILE")
	}
	if err := os.WriteFile(os.Args[1], serve.OpenAPI(), 0o644); err != nil { //nolint:gosec // a document that everybody may read
		log.Fatal(err)
	}
}
