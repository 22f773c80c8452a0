package vet_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/parley-mcp/parley/lint/vet"
)

// A program of its own runs the check over the packages it has loaded.
func Example() {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		log.Fatal(err)
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax,
		Dir:  dir,
		Env:  append(os.Environ(), "GO111MODULE=off", "GOPATH="+dir, "GOPROXY=off"), // testdata is no module
	}, "signup")
	if err != nil {
		log.Fatal(err)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{vet.Analyzer}, loaded, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, root := range graph.Roots {
		for _, d := range root.Diagnostics {
			at := root.Package.Fset.Position(d.Pos)
			fmt.Printf("%s:%d: %s\n", filepath.Base(at.Filename), at.Line, d.Category)
		}
	}
	// Output:
	// signup.go:10: secret-in-form
	// signup.go:14: swallowed-error
}
