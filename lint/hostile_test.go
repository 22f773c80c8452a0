package lint_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/lint"
)

// Inputs that would make a careless judge work for minutes. The test's own
// time limit fails it; each takes well under a second.
func TestHostileSizes(t *testing.T) {
	t.Parallel()
	long := func(word string, n int) string { return strings.Repeat(word, n/len(word)) }
	for name, input := range map[string]string{
		"terms in a description": form1(`"v":{"type":"string","description":"` + long("token pin ", 60_000) + `"}`),
		"terms in a message":     `{"message":"` + long("enter the token and ", 4<<20) + `","requestedSchema":{"type":"object","properties":{"v":{"type":"string"}}}}`,
		"terms without spaces":   form1(`"v":{"type":"string","title":"` + long("密码的", 60_000) + `"}`),
		"compounds":              form1(`"v":{"type":"string","title":"` + long("passwort", 60_000) + `"}`),
		"marks":                  form1(`"v":{"type":"string","title":"` + long("a\u0301\u0301\u0301", 60_000) + `"}`),
		"markup":                 `{"message":"` + long("[a](b **", 4<<20) + `","requestedSchema":{"type":"object","properties":{}}}`,
		"choices":                form1(`"v":{"type":"string","enum":[` + long(`"a",`, 60_000) + `"b"]}`),
		"pattern":                form1(`"v":{"type":"string","pattern":"` + long("(a+", 1800) + long(")+", 1200) + `"}`),
		"keys":                   `{` + long(`"a":1,`, 1<<20) + `"message":"m"}`,
		"tools":                  `{"tools":[` + long(plainTool+",", 1<<20) + plainTool + `]}`,
		"questions":              long(`{"method":"elicitation/create","params":{"message":"m"}}`+"\n", 1<<20),
		"urls":                   `{"mode":"url","message":"m","url":"https://` + long("a.", 1<<20) + `"}`,
		"nested in a question":   form1(`"v":` + long(`{"a":`, 900) + `1` + long(`}`, 180)),
	} {
		rep, err := lint.Lint([]byte(input), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(rep.Findings) == 0 || len(rep.Findings) > 1000 {
			t.Errorf("%s: %d findings", name, len(rep.Findings))
		}
	}
}
