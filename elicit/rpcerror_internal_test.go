package elicit

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// inside are sentinels that no client hears of as such.
var inside = map[string]string{
	"ErrGuardFull":   "a record that cannot be made is refuseUnrecorded, whatever the guard says",
	"ErrUnavailable": "is of Options.Principal, and such a request is refused with refuseLookup",
	"ErrFenced":      "is logged: the outcome belongs to who took the record",
}

// TestEveryRefusalHasARow: the table of what clients get is complete, has no
// rows that nobody uses, and is the only place that makes such errors.
func TestEveryRefusalHasARow(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]string{}  // constants of the type refusal: value by name
	outcomes := map[string]Outcome{} // of the type Outcome
	used := map[string]int{}
	var sentinels []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Error" && isName(s.X, "jsonrpc") && path != "rpcerror.go" {
					t.Errorf("%s makes a JSON-RPC error that is not in the table of rpcerror.go", path)
				}
			case *ast.CallExpr:
				if isName(n.Fun, "refuse") || isName(n.Fun, "refuseWith") {
					if name, ok := n.Args[0].(*ast.Ident); ok {
						used[name.Name]++
					}
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					switch {
					case isName(n.Type, "refusal"):
						declared[name.Name] = literal(n.Values[i])
					case isName(n.Type, "Outcome") && i < len(n.Values):
						outcomes[name.Name] = Outcome(literal(n.Values[i]))
					case strings.HasPrefix(name.Name, "Err"):
						sentinels = append(sentinels, name.Name)
					}
				}
			}
			return true
		})
	}
	if len(declared) < 15 || len(outcomes) != 7 || len(sentinels) < 8 {
		t.Fatalf("%d refusals, %d outcomes, %d sentinels: the test looks at the wrong place", len(declared), len(outcomes), len(sentinels))
	}

	values := map[refusal]bool{}
	for name, value := range declared {
		values[refusal(value)] = true
		if refusals[refusal(value)].code == 0 {
			t.Errorf("%s has no row", name)
		}
		if used[name] == 0 {
			t.Errorf("nothing refuses with %s", name)
		}
	}
	answered := map[string]bool{}
	for name, outcome := range outcomes {
		if outcome == Accepted {
			continue
		}
		values[refusal(outcome)] = true
		if got := errOutcome(&Unanswered{Outcome: outcome}); got.Code != codeServerError || string(got.Data) != `{"reason":"`+string(outcome)+`"}` || got.Message == "" {
			t.Errorf("the outcome %s is answered with %+v", name, got)
		}
		if !errors.Is(&Unanswered{Outcome: outcome}, sentinelOf[name]) {
			t.Errorf("the outcome %s does not match Err%s", name, name)
		}
		answered["Err"+name] = true
	}
	for _, name := range sentinels {
		if answered[name] == (inside[name] != "") {
			t.Errorf("%s: in the table %v, known to stay inside %q; it must be one of the two", name, answered[name], inside[name])
		}
	}
	for value, row := range refusals {
		if !values[value] {
			t.Errorf("the row %q belongs to nothing", value)
		}
		if row.code >= 0 || row.sentence == "" || strings.ContainsAny(row.reason, `"\ `) {
			t.Errorf("the row %q is %+v", value, row)
		}
	}
}

var sentinelOf = map[string]error{
	"Pending": ErrPending, "Declined": ErrDeclined, "Cancelled": ErrCancelled,
	"Expired": ErrExpired, "Unanswerable": ErrUnanswerable, "Invalid": ErrInvalid,
}

func isName(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// literal is the text of a string literal.
func literal(x ast.Expr) string {
	if l, ok := x.(*ast.BasicLit); ok {
		return strings.Trim(l.Value, `"`)
	}
	return ""
}
