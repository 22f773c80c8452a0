package settings_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/internal/settings"
)

func TestReadJSON(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"as it should be":  {`{"a": "x"}` + "\n", ""},
		"nothing":          {"", "EOF"},
		"another kind":     {`[]`, "cannot unmarshal"},
		"a slip":           {`{"b": 1}`, `unknown field "b"`},
		"two values":       {`{"a": "x"} {}`, "goes on after its JSON value"},
		"text behind":      {`{"a": "x"} x`, "goes on after its JSON value"},
		"as large as fits": {`{"a": "x"}` + strings.Repeat(" ", settings.Most-10), ""},
		"too large":        {`{"a": "x"}` + strings.Repeat(" ", settings.Most-9), "is larger than 1048576 bytes"},
	} {
		path := filepath.Join(t.TempDir(), "f.json")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got struct{ A string }
		err := settings.ReadJSON(path, &got)
		switch {
		case test.want == "" && (err != nil || got.A != "x"):
			t.Errorf("%s: %+v, %v", name, got, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path)):
			t.Errorf("%s: %v, want %q and the file's name", name, err, test.want)
		}
	}
	if err := settings.ReadJSON(filepath.Join(t.TempDir(), "none"), &struct{}{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"A": "1", "EMPTY": "", "NEST": "${A}"}[name]
		return value, ok
	}
	for text, want := range map[string]string{
		"": "", "plain $ $$A": "plain $ $$A", "${A}${A}-${A}": "11-1", "${NEST}": "${A}", "${EMPTY}": "", "${EMPTY:-x}": "x", "${NO:-}": "", "${NO:-a b}": "a b",
	} {
		if got, err := settings.Expand(text, lookup); got != want || err != nil {
			t.Errorf("%q became %q, %v, want %q", text, got, err, want)
		}
	}
	for text, name := range map[string]string{"${NO}": "NO", "${": "", "${}": "", "${1A}": "", "${A B}": "", "x ${A": ""} {
		got, err := settings.Expand(text, lookup)
		if v := (*settings.VariableError)(nil); !errors.As(err, &v) || v.Name != name || got != "" {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}
