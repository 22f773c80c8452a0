package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The program builds where there is no flock: what lock.go declares is used there
// alone, or is in lock_other.go too.
func TestLocksOfAllSystems(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared, used := map[string][]string{}, map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				declared[name] = append(declared[name], fn.Name.Name)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = append(used[id.Name], name)
			}
			return true
		})
	}
	if len(declared["lock.go"]) < 3 {
		t.Fatalf("lock.go declares %q", declared["lock.go"])
	}
	for _, fn := range declared["lock.go"] {
		elsewhere := slices.ContainsFunc(used[fn], func(name string) bool { return name != "lock.go" })
		if elsewhere && !slices.Contains(declared["lock_other.go"], fn) {
			t.Errorf("%s is there on unix alone and used in %q", fn, used[fn])
		}
	}
}

// Of two hosts on one directory the second opens, reads and prints nothing.
func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	release, err := takeData(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var out, errs strings.Builder
	env := &environment{stdout: &out, stderr: &errs, lookup: func(string) (string, bool) { return "", false }}
	code := run(t.Context(), []string{"demo", "--data", dir, "--addr", "127.0.0.1:0", "--travel-addr", "127.0.0.1:0"}, env)
	if code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), dir+" is in use by another parley") {
		t.Errorf("exit %d\n%s%s", code, out.String(), errs.String())
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("in the directory: %v, %v", files, err)
	}
}
