package parley_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// verbs begin the statements that read or change rows.
var verbs = regexp.MustCompile(`(?is)^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s`)

// whose is how a statement says whose rows it means: the column, or the principal's own row.
var whose = regexp.MustCompile(`(?i)\bprincipal\b|\b(inbox_)?principals\b`)

// TestStatementsNameThePrincipal: what a transaction of one person reads or writes is
// theirs by each statement, not by what called it. A statement that is put together has
// the condition among its parts, which stand in the same function. The few look-ups
// over everybody (which rows are due, ready, assigned) are methods of Store and return
// references.
func TestStatementsNameThePrincipal(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"store/sqlitestore", "store/pgstore"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && receiver(f) == "tx" {
					seen += judge(t, fset, f)
				}
			}
		}
		if seen < 20 {
			t.Errorf("%s: %d statements: the test looks at the wrong place", dir, seen)
		}
	}
}

// judge looks at the statements of a function and returns how many there are.
func judge(t *testing.T, fset *token.FileSet, f *ast.FuncDecl) (statements int) {
	t.Helper()
	parts := false // something in the function names the principal
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			parts = parts || n.Kind == token.STRING && whose.MatchString(n.Value)
		case *ast.SelectorExpr:
			parts = parts || n.Sel.Name == "principals"
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, sum, ok := literals(e)
		if !ok {
			return true
		}
		if verbs.MatchString(text) {
			statements++
			if !whose.MatchString(text) && !(sum && parts) {
				t.Errorf("%s: a statement of one person's transaction does not name the principal: %.200s", fset.Position(e.Pos()), text)
			}
		}
		return false
	})
	return statements
}

// literals joins the texts of a string or of a sum with strings; ok is false if e is
// neither.
func literals(e ast.Expr) (text string, sum, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, false, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false, false
		}
		x, _, okX := literals(e.X)
		y, _, okY := literals(e.Y)
		return x + y, true, okX || okY
	}
	return "", false, false
}

// receiver is the type that f is a method of.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	e := f.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
