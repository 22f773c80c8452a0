// Command parley-vet runs the check of package lint/vet under go vet:
//
//	go install github.com/parley-mcp/parley/lint/vet/cmd/parley-vet@latest
//	go vet -vettool=$(which parley-vet) ./...
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/parley-mcp/parley/lint/vet"
)

func main() { unitchecker.Main(vet.Analyzer) }
