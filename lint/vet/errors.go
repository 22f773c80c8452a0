package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// checkError reports call, where cur stands, if its error is dropped: not
// taken, assigned to the blank name, or looked at only to go on or to return
// nil.
func checkError(pass *analysis.Pass, cur inspector.Cursor, call *ast.CallExpr, name string) {
	report := func(code, text string) {
		pass.Report(analysis.Diagnostic{Pos: call.Pos(), End: call.End(), Category: code, Message: text + " (" + code + ")"})
	}
	up := cur.Parent()
	for {
		if _, ok := up.Node().(*ast.ParenExpr); !ok {
			break
		}
		up = up.Parent()
	}
	switch parent := up.Node().(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		report("swallowed-error", "the error of elicit."+name+" is dropped")
	case *ast.AssignStmt:
		if len(parent.Rhs) != 1 {
			return
		}
		if id, ok := parent.Lhs[0].(*ast.Ident); ok && name == "Confirm" && id.Name == "_" && len(parent.Lhs) == 2 {
			report("consent-ignored", "the consent of elicit.Confirm is dropped: a no looks like a yes")
		}
		id, ok := parent.Lhs[len(parent.Lhs)-1].(*ast.Ident)
		switch {
		case !ok:
			return // kept in a field or an element: somebody else's to judge
		case id.Name == "_":
			report("swallowed-error", "the error of elicit."+name+" is dropped")
		case dropped(pass, up, id):
			report("swallowed-error", "the error of elicit."+name+" is looked at and then dropped")
		}
	}
}

// dropped follows an error variable to the check of it against nil, right after
// the assignment or in the head of the same if statement.
func dropped(pass *analysis.Pass, assign inspector.Cursor, id *ast.Ident) bool {
	obj := pass.TypesInfo.ObjectOf(id)
	if obj == nil {
		return false
	}
	check, ok := assign.Parent().Node().(*ast.IfStmt)
	if !ok {
		next, found := assign.NextSibling()
		if !found {
			return false
		}
		if check, ok = next.Node().(*ast.IfStmt); !ok {
			return false
		}
	}
	cond, ok := ast.Unparen(check.Cond).(*ast.BinaryExpr)
	if !ok || !isObj(pass, cond.X, obj) || !isNil(pass, cond.Y) {
		return false
	}
	switch cond.Op {
	case token.NEQ:
		if uses(pass, check.Body, obj) || failsOtherwise(pass, check.Body) || check.Else != nil && uses(pass, check.Else, obj) {
			return false
		}
		// A branch that does not end the run may leave the error to what follows.
		return returns(check.Body) || !usesAfter(pass, enclosing(assign), obj, check.End())
	case token.EQL:
		// if err == nil { ... }: dropped unless the rest of the function, or the
		// else branch, looks at it again.
		if check.Else != nil && uses(pass, check.Else, obj) {
			return false
		}
		return !usesAfter(pass, enclosing(assign), obj, check.End()) && !uses(pass, check.Body, obj)
	}
	return false
}

// enclosing is the body of the function around a statement.
func enclosing(cur inspector.Cursor) ast.Node {
	for up := range cur.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		switch f := up.Node().(type) {
		case *ast.FuncDecl:
			return f.Body
		case *ast.FuncLit:
			return f.Body
		}
	}
	return &ast.BlockStmt{} // calls at the top of a file are in no assignment
}

// returns is true for a branch that ends in a return.
func returns(body *ast.BlockStmt) bool {
	if len(body.List) == 0 {
		return false
	}
	_, ok := body.List[len(body.List)-1].(*ast.ReturnStmt)
	return ok
}

// failsOtherwise is true for a branch that ends the run with an error of its
// own, or with a panic: that hides the reason, and goes on with nothing.
func failsOtherwise(pass *analysis.Pass, body *ast.BlockStmt) bool {
	if len(body.List) == 0 {
		return false
	}
	switch last := body.List[len(body.List)-1].(type) {
	case *ast.ReturnStmt:
		if len(last.Results) == 0 {
			return true // named results; not followed
		}
		err := last.Results[len(last.Results)-1]
		return !isNil(pass, err) && isError(pass.TypesInfo.TypeOf(err))
	case *ast.ExprStmt:
		call, ok := last.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		switch fun := ast.Unparen(call.Fun).(type) {
		case *ast.Ident:
			return fun.Name == "panic"
		case *ast.SelectorExpr:
			return fun.Sel.Name == "Fatal" || fun.Sel.Name == "Fatalf" || fun.Sel.Name == "Exit" || fun.Sel.Name == "FailNow"
		}
	}
	return false
}

var errorInterface, _ = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

func isError(t types.Type) bool { return t != nil && types.Implements(t, errorInterface) }

func isNil(pass *analysis.Pass, e ast.Expr) bool { return pass.TypesInfo.Types[e].IsNil() }

func isObj(pass *analysis.Pass, e ast.Expr, obj types.Object) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && pass.TypesInfo.Uses[id] == obj
}

func uses(pass *analysis.Pass, n ast.Node, obj types.Object) bool {
	return usesAfter(pass, n, obj, token.NoPos)
}

func usesAfter(pass *analysis.Pass, n ast.Node, obj types.Object, after token.Pos) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Pos() >= after && pass.TypesInfo.Uses[id] == obj {
			found = true
		}
		return !found
	})
	return found
}
