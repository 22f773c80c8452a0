package serve

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
)

// inside are sentinels that no request of this API can cause: they are the host's
// own business with a claim, or configuration.
var inside = map[string]bool{
	"inbox.ErrFenced": true, "inbox.ErrNothing": true, "inbox.ErrReset": true, // the event stream answers it
	"inbox.ErrStopped": true, "inbox.ErrExpired": true, "inbox.ErrRevoked": true, // the host carries the call
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

// The document explains each code once, with all params that an error may have.
func TestProblemsAreExplained(t *testing.T) {
	t.Parallel()
	statuses := map[string]int{}
	for _, row := range slices.Concat(problems, ownProblems) {
		if other, ok := statuses[row.code]; ok && other != row.status {
			t.Errorf("%s has the status %d here and %d there", row.code, row.status, other)
		}
		statuses[row.code] = row.status
		if explanations[row.code].when == "" {
			t.Errorf("nothing explains %s", row.code)
		}
	}
	for code := range explanations {
		if statuses[code] == 0 {
			t.Errorf("no problem has the code %s", code)
		}
	}
	for _, err := range []error{
		&badRequest{"why"}, &http.MaxBytesError{Limit: 1}, &checkError{}, &host.SignInError{Server: "s"}, &host.UnreachableError{Server: "s"},
		&inbox.ClosedError{}, &inbox.LimitError{Reason: "r", Limit: 1}, &inbox.CheckError{}, &inbox.StateError{State: inbox.Done}, &inbox.DecidedError{},
	} {
		p := describe(fmt.Errorf("wrapped: %w", err))
		if statuses[p.Code] != p.Status || p.Code == "internal" || p.Title == "" {
			t.Errorf("%T is described as %+v", err, p)
		}
		explained := explanations[p.Code].params
		if !maps.EqualFunc(p.Params, explained, func(any, string) bool { return true }) {
			t.Errorf("%T has the params %v, explained are %v", err, p.Params, explained)
		}
	}
}

// The document has each kind of event that the inbox has, and those of the stream itself.
func TestEventsAreInTheDocument(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../inbox/store.go")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"hello", "reset"}
	for _, m := range regexp.MustCompile(`Event +EventKind = "(\w+)"`).FindAllSubmatch(source, -1) {
		want = append(want, string(m[1]))
	}
	var got []string
	for _, k := range eventKinds {
		got = append(got, k.name)
		if k.doc == "" {
			t.Errorf("nothing explains %s", k.name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 6 || !slices.Equal(want, got) {
		t.Errorf("the document has the events %q, want %q", got, want)
	}
}
