package rules

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/parley-mcp/parley/internal/plain"
)

// Bounds of expressions. Costs are CEL's own units, of which one is about a
// comparison. They bound memory too: whatever makes a value is charged for its
// size.
const (
	maxExpr      = 4096    // characters
	maxExprNodes = 2000    // after macros are expanded
	maxExprDepth = 32      // of the parser
	maxNesting   = 2       // of all, exists, map and the like
	maxRegex     = 1000    // instructions of a compiled pattern
	maxCost      = 50_000  // of one evaluation
	maxAllCost   = 200_000 // of all evaluations of one decision
	perUnit      = 50      // bytes of a text that are read or copied for one unit of cost
)

// argumentsVar is the variable that holds the call's arguments.
const argumentsVar = "arguments"

// environments returns the variables that expressions of rules about calls and
// about questions see. They are costly to make.
var environments = sync.OnceValues(func() (envs struct{ call, question *cel.Env }, err error) {
	envs.call, err = cel.NewEnv(
		cel.Variable("actor", cel.StringType),
		cel.Variable("principal.issuer", cel.StringType),
		cel.Variable("principal.tenant", cel.StringType),
		cel.Variable("principal.subject", cel.StringType),
		cel.Variable("groups", cel.ListType(cel.StringType)),
		cel.Variable("conversation", cel.StringType),
		cel.Variable("server", cel.StringType),
		cel.Variable("trusted", cel.BoolType),
		cel.Variable("method", cel.StringType),
		cel.Variable("name", cel.StringType),
		cel.Variable("annotations.readOnly", cel.BoolType),
		cel.Variable("annotations.destructive", cel.BoolType),
		cel.Variable("annotations.idempotent", cel.BoolType),
		cel.Variable("annotations.openWorld", cel.BoolType),
		cel.Variable("phase", cel.StringType),
		cel.Variable(argumentsVar, cel.MapType(cel.StringType, cel.DynType)),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxExpr),
		cel.ParserRecursionLimit(maxExprDepth),
		cel.ParserErrorRecoveryLimit(4),
		cel.ExpressionNodeLimit(maxExprNodes),
		cel.RegexProgramSizeLimit(maxRegex),
		cel.ASTValidators(
			cel.ValidateRegexLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateDurationLiterals(),
			cel.ValidateComprehensionNestingLimit(maxNesting),
		),
	)
	if err != nil {
		return envs, err
	}
	envs.question, err = envs.call.Extend(
		cel.Variable("mode", cel.StringType),
		cel.Variable("domain", cel.StringType),
	)
	return envs, err
})

// An expr is the compiled condition of a rule.
type expr struct {
	program cel.Program
	reads   bool // it looks at the arguments
}

// An exprError is a mistake in an expression: where, and what.
type exprError struct {
	line, column int // within the expression, from 1
	text         string
}

func (e *exprError) Error() string { return e.text }

// compiling is held while an expression is compiled: an environment's checker
// collects, on the first unknown name, what names there are, beside others that
// read what it writes (cel-go 0.33).
var compiling sync.Mutex

func compileExpr(env *cel.Env, source string) (*expr, error) {
	compiling.Lock()
	defer compiling.Unlock()
	checked, issues := env.Compile(source)
	if issues.Err() != nil {
		for _, e := range issues.Errors() {
			return nil, &exprError{max(e.Location.Line(), 1), max(e.Location.Column()+1, 1), firstLine(e.Message)}
		}
		return nil, &exprError{1, 1, firstLine(issues.Err().Error())}
	}
	if t := checked.OutputType(); !t.IsExactType(types.BoolType) && !t.IsExactType(types.DynType) {
		return nil, &exprError{1, 1, fmt.Sprintf("the expression is of type %s, and has to be true or false", t)}
	}
	x := &expr{}
	var bad error
	native := checked.NativeRep()
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		place := func(text string) {
			if bad == nil {
				at := native.SourceInfo().GetStartLocation(e.ID())
				bad = &exprError{max(at.Line(), 1), max(at.Column()+1, 1), text}
			}
		}
		switch e.Kind() {
		case ast.IdentKind:
			x.reads = x.reads || e.AsIdent() == argumentsVar
		case ast.LiteralKind:
			// CEL compares a whole number with a double by rounding it. Below 2^53
			// nothing is lost; above it, the integer can be written as one.
			if f, ok := e.AsLiteral().Value().(float64); ok && math.Abs(f) >= 1<<53 {
				place("a number of this size is exact only without point and exponent: write it as an integer")
			}
		case ast.CallKind:
			call := e.AsCall()
			if name := call.FunctionName(); name == overloads.Matches {
				pattern := call.Args()[len(call.Args())-1]
				if pattern.Kind() != ast.LiteralKind {
					place("the pattern of matches has to be written out: nobody else may choose it")
				}
			} else if name == operators.OptSelect || name == operators.OptIndex {
				place("optional fields are not supported: write has(arguments.x) && ...")
			}
		}
	}))
	if bad != nil {
		return nil, bad
	}
	program, err := env.Program(checked,
		cel.EvalOptions(cel.OptOptimize), cel.CostTracking(costs{}), cel.CostLimit(maxCost))
	if err != nil {
		return nil, &exprError{1, 1, firstLine(err.Error())}
	}
	x.program = program
	return x, nil
}

var (
	errNotBool = errors.New("it is neither true nor false")
	errCost    = errors.New("it takes too much work with these arguments")
)

// eval returns whether the expression holds. On an error it is unknown.
func (x *expr) eval(vars map[string]any) (holds bool, cost uint64, err error) {
	value, details, err := x.program.Eval(vars)
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	if err != nil {
		if _, cancelled := errors.AsType[interpreter.EvalCancelledError](err); cancelled {
			return false, maxCost, errCost
		}
		return false, cost, errors.New(plain.Line(firstLine(err.Error()), maxText))
	}
	b, ok := value.(types.Bool)
	if !ok {
		return false, cost, errNotBool
	}
	return bool(b), cost, nil
}

// costs charges for calls whose overload is known only when they are made, since
// the arguments' types are: cel-go takes those for work of one unit, however
// long a text is.
type costs struct{}

// CallCost returns nil where cel-go's own model holds.
func (costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	cost := uint64(1)
	switch function {
	case operators.Equals, operators.NotEquals, overloads.Contains, overloads.Matches, overloads.StartsWith, overloads.EndsWith:
		return nil // one overload each: always known
	case operators.In:
		if list, ok := args[1].(traits.Lister); ok {
			n, _ := list.Size().(types.Int)
			cost += uint64(n) * (1 + length(args[0])/perUnit)
		}
	default:
		for _, arg := range args {
			cost += length(arg) / perUnit
		}
		cost += length(result) / perUnit
	}
	return &cost
}

// length is the length of a text in bytes; 0 for what is none.
func length(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	}
	return 0
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
