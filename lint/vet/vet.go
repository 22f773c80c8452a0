// Package vet finds in Go source what package lint finds in a question: forms
// that are wrong before they are ever sent, and errors of questions that are
// dropped.
//
// Analyzer looks at every type that elicit.Ask or elicit.NewQuestion is
// instantiated with, reads its tags as the kit does, and has package lint judge
// the schema; findings stand at the field. It also looks at what becomes of the
// error of Ask, AskAll, Choose, ChooseSeveral, Confirm, Memo and Visit: a handler that drops
// it goes on without an answer.
//
// Run it as
//
//	parley lint ./...
//	go vet -vettool=$(which parley-vet) ./...
//
// What is only known at run time (choices from elicit.Choices, defaults from
// elicit.Default, messages) is not judged; record a session, or lint the
// question, for that.
package vet

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/parley-mcp/parley/lint"
)

// Analyzer is the check. The category of a diagnostic is the code of a rule of
// package lint.
var Analyzer = &analysis.Analyzer{
	Name:     "parley",
	Doc:      "check questions of the elicit package: forms, and errors that are dropped",
	URL:      "https://github.com/parley-mcp/parley/blob/main/docs/lint.md",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      run,
}

const elicitPath = "github.com/parley-mcp/parley/elicit"

func run(pass *analysis.Pass) (any, error) {
	if pass.Pkg.Path() == elicitPath || !slices.ContainsFunc(pass.Pkg.Imports(), func(p *types.Package) bool { return p.Path() == elicitPath }) {
		return nil, nil
	}
	in, ok := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	if !ok {
		return nil, errors.New("the inspect analyzer has not run")
	}
	forms := &formCheck{pass: pass, seen: map[string]bool{}}
	for cur := range in.Root().Preorder((*ast.CallExpr)(nil)) {
		call, ok := cur.Node().(*ast.CallExpr)
		if !ok {
			continue
		}
		switch name := elicitFunc(pass, call); name {
		case "Ask", "NewQuestion":
			forms.call(call)
			if name == "Ask" {
				checkError(pass, cur, call, name)
			}
		case "AskAll", "Choose", "ChooseSeveral", "Confirm", "Memo", "Visit":
			checkError(pass, cur, call, name)
		}
	}
	return nil, nil
}

// elicitFunc names the function of package elicit that is called, or "".
func elicitFunc(pass *analysis.Pass, call *ast.CallExpr) string {
	if fn, ok := pass.TypesInfo.Uses[funcIdent(call)].(*types.Func); ok && fn.Pkg() != nil && fn.Pkg().Path() == elicitPath && fn.Signature().Recv() == nil {
		return fn.Name()
	}
	return ""
}

// funcIdent is the name of what is called, without package and type arguments.
func funcIdent(call *ast.CallExpr) *ast.Ident {
	fun := ast.Unparen(call.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	switch f := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}

type formCheck struct {
	pass *analysis.Pass
	seen map[string]bool // what is reported: a struct may be asked in many places
}

func (c *formCheck) report(pos token.Pos, code, text string) {
	key := c.pass.Fset.Position(pos).String() + code + text
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	c.pass.Report(analysis.Diagnostic{Pos: pos, Category: code, Message: text + " (" + code + ")"})
}

func (c *formCheck) call(call *ast.CallExpr) {
	inst, ok := c.pass.TypesInfo.Instances[funcIdent(call)]
	if !ok || inst.TypeArgs.Len() == 0 {
		return
	}
	t := inst.TypeArgs.At(0)
	if _, generic := t.(*types.TypeParam); generic {
		return // judged where it is known
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || isNamed(t, "time", "Time") {
		s = c.bare(call, t)
	}
	schema, positions, bad := readStruct(s, c.chosenAtRunTime(call))
	here := func(pos token.Pos) token.Pos { // another package's fields have no place in this report
		if f := c.pass.Fset.File(pos); f != nil && slices.ContainsFunc(c.pass.Files, func(a *ast.File) bool { return a.FileStart <= pos && pos < a.FileEnd }) {
			return pos
		}
		return call.Pos()
	}
	for _, b := range bad {
		c.report(here(b.pos), b.code, b.text)
	}
	rep, err := lint.Lint(schema, &lint.Options{NoProfiles: true})
	if err != nil {
		return // written here, so it is JSON; too large at most
	}
	for _, f := range rep.Findings {
		if f.Severity == lint.Note {
			continue
		}
		pos := call.Pos()
		if rest, ok := strings.CutPrefix(f.Pointer, "/properties/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
			if p, ok := positions[name]; ok {
				if p.notSecret && f.Code == "secret-in-form" {
					continue
				}
				pos = here(p.pos)
			}
		}
		c.report(pos, f.Code, f.Text)
	}
}

// bare is the form of a type that is no struct: one field, named by the key.
func (c *formCheck) bare(call *ast.CallExpr, t types.Type) *types.Struct {
	at := 0 // of NewQuestion
	if elicitFunc(c.pass, call) == "Ask" {
		at = 2
	}
	key := "value"
	if at < len(call.Args) {
		if v := c.pass.TypesInfo.Types[call.Args[at]].Value; v != nil && v.Kind() == constant.String {
			key = constant.StringVal(v)
		}
	}
	field := types.NewField(call.Pos(), c.pass.Pkg, "Value", t, false)
	return types.NewStruct([]*types.Var{field}, []string{"json:" + strconv.Quote(key)})
}

// chosenAtRunTime names the fields that elicit.Choices turns into choices.
func (c *formCheck) chosenAtRunTime(call *ast.CallExpr) map[string]bool {
	names := map[string]bool{}
	for _, arg := range call.Args {
		option, ok := ast.Unparen(arg).(*ast.CallExpr)
		if !ok || elicitFunc(c.pass, option) != "Choices" || len(option.Args) == 0 {
			continue
		}
		if v := c.pass.TypesInfo.Types[option.Args[0]].Value; v != nil && v.Kind() == constant.String {
			names[constant.StringVal(v)] = true
		}
	}
	return names
}
