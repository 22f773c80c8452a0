package lint_test

import (
	"fmt"

	"github.com/parley-mcp/parley/lint"
)

func Example() {
	question := `{"message": "Sign in, please.", "requestedSchema": {
  "type": "object",
  "properties": {
    "mail":     {"type": "string", "title": "E-mail", "format": "email"},
    "password": {"type": "string", "title": "Password", "description": "Of your account"}
  }
}}`
	report, err := lint.Lint([]byte(question), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Kind, report.Revision)
	for _, f := range report.Findings {
		fmt.Printf("%d:%d %s %s: %s\n", f.Line, f.Column, f.Severity, f.Code, f.Text)
	}
	// Output:
	// params 2026-07-28
	// 5:17 error secret-in-form: "password" asks for a secret (password)
}
