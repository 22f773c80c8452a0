package serve

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// inside are sentinels that no request of this API can cause: they are the host's
// own business with a claim, or configuration.
var inside = map[string]bool{
	"inbox.ErrFenced": true, "inbox.ErrNothing": true, "inbox.ErrReset": true, // the event stream answers it
	"inbox.ErrStopped": true, "inbox.ErrExpired": true,
}

// sentinels lists the exported Err variables of a package.
func sentinels(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s (%v)", dir, err)
	}
	var names []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(name.Name, "Err") {
						names = append(names, dir+"."+name.Name)
					}
				}
			}
		}
	}
	return names
}

// The table is complete: each sentinel that the layers below export has a row here,
// or is known to stay inside.
func TestEverySentinelHasARow(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				rows[x.Name+"."+sel.Sel.Name] = true
			}
		}
		return true
	})
	names := append(sentinels(t, "inbox"), sentinels(t, "host")...)
	if len(names) < 10 {
		t.Fatalf("only %d sentinels were found", len(names))
	}
	for _, name := range names {
		if rows[name] == inside[name] {
			t.Errorf("%s: in the table %v, known to stay inside %v; it must be one of the two", name, rows[name], inside[name])
		}
	}
}

func TestProblemsDoNotLeak(t *testing.T) {
	t.Parallel()
	const private = "sentinel-secret-4711"
	codes := map[string]int{}
	for _, row := range problems {
		p := describe(fmt.Errorf("%s: %w", private, row.is))
		if p.Code != row.code || p.Status != row.status || p.Title == "" {
			t.Errorf("%v is described as %+v: an earlier row hides it", row.is, p)
		}
		if strings.Contains(p.Detail+p.Title, private) {
			t.Errorf("%s shows the text of the error", p.Code)
		}
		codes[row.code] = row.status
	}
	for code, status := range codes {
		if status < 400 || status > 599 {
			t.Errorf("%s has the status %d", code, status)
		}
	}
	if p := describe(errors.New(private)); p.Status != http.StatusInternalServerError || p.Code != "internal" || p.Detail != "" {
		t.Errorf("an unknown error is described as %+v", p)
	}
}
