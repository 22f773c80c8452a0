package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Each reason of an answer 429, which is what [inbox.LimitError] becomes, has a label of
// its own: "other" tells an operator nothing.
func TestLimitsHaveLabels(t *testing.T) {
	t.Parallel()
	values, used := map[string]string{}, map[string]string{} // by the constant's name
	for _, dir := range []string{"../../inbox", "../../host", ".."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			reasonValues(file, values)
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok {
					for _, name := range limitReasons(f) {
						used[name] = path
					}
				}
			}
		}
	}
	if len(used) < 7 {
		t.Errorf("found only %v", used)
	}
	for name, path := range used {
		value := values[name]
		if value == "" || one(requestLimits, value) == other {
			t.Errorf("%s: %s (%q) has no label", path, name, value)
		}
	}
}

// reasonValues collects the constants that are named Reason…, and their texts.
func reasonValues(file *ast.File, values map[string]string) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if i >= len(spec.Values) || !strings.HasPrefix(name.Name, "Reason") {
				continue
			}
			if text, ok := spec.Values[i].(*ast.BasicLit); ok && text.Kind == token.STRING {
				values[name.Name], _ = strconv.Unquote(text.Value)
			}
		}
		return true
	})
}

// limitReasons lists the reasons of the limit errors that a function makes. One that is
// in a variable may be any that the function names.
func limitReasons(f *ast.FuncDecl) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		made, ok := n.(*ast.CompositeLit)
		if !ok || made.Type == nil || last(made.Type) != "LimitError" {
			return true
		}
		for _, e := range made.Elts {
			field, ok := e.(*ast.KeyValueExpr)
			if !ok || last(field.Key) != "Reason" {
				continue
			}
			if name := last(field.Value); strings.HasPrefix(name, "Reason") {
				names = append(names, name)
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && strings.HasPrefix(id.Name, "Reason") && id.Name != "Reason" {
					names = append(names, id.Name)
				}
				return true
			})
		}
		return true
	})
	return names
}

// last is the last word of a name.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
