package vault_test

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

var (
	statement = regexp.MustCompile(`(?s)^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b`)
	// Reads and deletes name the principal first in their condition; what adds
	// a row does so where it meets one that is there.
	named = regexp.MustCompile(`WHERE (old\.)?principal = (\$1|\?|excluded\.principal)`)
	// sweeping are the statements of Due, Stale and Counts, which are not for a
	// person and return no sealed text, and those that read no row.
	sweeping = map[string]bool{"dueQuery": true, "staleQuery": true, "countsQuery": true, "due": true, "stale": true, "counts": true}
)

// TestEveryStatementNamesThePrincipal reads the source of every driver: no rule
// above it can forget what stands in each statement.
func TestEveryStatementNamesThePrincipal(t *testing.T) {
	t.Parallel()
	drivers := 0
	for _, driver := range []string{"sqlitevault", "pgvault"} {
		files, err := filepath.Glob(filepath.Join(driver, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		statements := 0
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range statementsOf(file) {
				if !strings.Contains(text, "kind") { // it touches no row of the vault: locks, settings, migrations
					continue
				}
				statements++
				if sweeping[name] {
					if strings.Contains(text, "content") || strings.Contains(text, "detail") {
						t.Errorf("%s: %s crosses principals and reads what is sealed:\n%s", path, name, text)
					}
					continue
				}
				if !named.MatchString(text) {
					t.Errorf("%s: %s does not name the principal in its condition:\n%s", path, name, text)
				}
			}
		}
		if statements < 6 {
			t.Errorf("%s has %d statements: the test does not find them", driver, statements)
		}
		drivers++
	}
	if drivers != 2 {
		t.Error("not every driver was read")
	}
}

// statementsOf joins the texts of each statement: those of one value, or of one
// function that writes it piece by piece.
func statementsOf(file *ast.File) map[string]string {
	found := map[string]string{}
	add := func(name string, node ast.Node) {
		var pieces []string
		ast.Inspect(node, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok && n != node {
				if _, ok := pair.Key.(*ast.Ident); ok {
					return false // a value of its own
				}
			}
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					pieces = append(pieces, text)
				}
			}
			return true
		})
		for i, piece := range pieces {
			if statement.MatchString(piece) {
				found[name] = strings.Join(pieces[i:], " ")
				return
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, value := range n.Values {
				add(n.Names[i].Name, value)
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				add(key.Name, n.Value)
			}
		case *ast.FuncDecl:
			add(n.Name.Name, n.Body)
		}
		return true
	})
	return found
}
