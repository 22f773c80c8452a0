package host

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// notForServers are limits of package inbox that no server's question runs into.
var notForServers = map[string]string{
	"ReasonTooManyResends":  "a person's wish to send again",
	"ReasonTooLateToResend": "what this host sends again by itself",
}

// TestEveryRefusalHasARow: the table of what servers get is complete, has no
// rows that nobody uses, and is the only place that makes such errors. Limits
// are found where package inbox and this one make them.
func TestEveryRefusalHasARow(t *testing.T) {
	t.Parallel()
	declared := map[string]string{} // constants of the type refusal: value by name
	reasons := map[string]string{}  // constants of package inbox
	used := map[string]bool{}
	limits := map[string]bool{} // names of the reasons of limits
	limit := func(value ast.Expr) {
		if name := strings.TrimPrefix(typeName(value), "inbox."); strings.HasPrefix(name, "Reason") {
			limits[name] = true
		}
	}
	here, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	there, err := filepath.Glob("../inbox/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(here, there...) {
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
				switch typeName(n.Type) {
				case "jsonrpc.Error":
					if path != "rpcerror.go" {
						t.Errorf("%s makes a JSON-RPC error that is not in the table of rpcerror.go", path)
					}
				case "LimitError", "inbox.LimitError":
					for _, element := range n.Elts {
						if kv, ok := element.(*ast.KeyValueExpr); ok && typeName(kv.Key) == "Reason" {
							limit(kv.Value)
						}
					}
				}
			case *ast.CallExpr:
				if name := typeName(n.Fun); name == "refuse" || name == "refuseWith" {
					used[typeName(n.Args[0])] = true
					limit(n.Args[0]) // the inbox's
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i >= len(n.Values) {
						break
					}
					value, ok := n.Values[i].(*ast.BasicLit)
					if !ok {
						continue
					}
					switch {
					case typeName(n.Type) == "refusal":
						declared[name.Name] = strings.Trim(value.Value, `"`)
					case strings.HasPrefix(name.Name, "Reason"):
						reasons[name.Name] = strings.Trim(value.Value, `"`)
					}
				}
			}
			return true
		})
	}
	if len(declared) < 8 || len(limits) < 4 {
		t.Fatalf("%d refusals, %d limits: the test looks at the wrong place", len(declared), len(limits))
	}

	values := map[refusal]bool{}
	for name, value := range declared {
		values[refusal(value)] = true
		if refusals[refusal(value)].code == 0 {
			t.Errorf("%s has no row", name)
		}
		if !used[name] {
			t.Errorf("nothing refuses with %s", name)
		}
	}
	for name := range limits {
		if notForServers[name] != "" {
			continue
		}
		value := reasons[name]
		values[refusal(value)] = true
		if row := refusals[refusal(value)]; value == "" || row.code != codeServerError || row.reason != value {
			t.Errorf("the limit %s (%q) has the row %+v", name, value, row)
		}
	}
	for value, row := range refusals {
		if !values[value] {
			t.Errorf("the row %q belongs to nothing", value)
		}
		if row.code >= 0 || row.sentence == "" || strings.ContainsAny(row.reason, `"\ `) {
			t.Errorf("the row %q is %+v", value, row)
		}
		if row.code == codeServerError && row.reason == "" {
			t.Errorf("the row %q has no reason: its code alone says nothing", value)
		}
	}
}

// typeName is the text of a name, with its package if it has one.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return typeName(x.X) + "." + x.Sel.Name
	}
	return ""
}
