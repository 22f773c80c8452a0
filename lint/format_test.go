package lint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/lint"
)

var update = flag.Bool("update", false, "rewrite golden files and the generated parts of docs/lint.md")

// golden compares text with a file.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); go test -update rewrites it:\n%s", path, diff)
	}
}

func goldenInputs(t *testing.T) (files []lint.File) {
	t.Helper()
	for _, name := range []string{"schema.json", "request.json", "result.json", "tools.json", "session.jsonl", "clean.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", "golden", name))
		if err != nil {
			t.Fatal(err)
		}
		rep, err := lint.Lint(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, lint.File{Name: "testdata/golden/" + name, Report: rep})
	}
	return files
}

func TestFormats(t *testing.T) {
	t.Parallel()
	files := goldenInputs(t)
	for _, format := range []lint.Format{lint.Text, lint.JSON, lint.SARIF, lint.GitHub} {
		var b bytes.Buffer
		if err := lint.Write(&b, format, files); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", "golden", "all."+string(format)), b.Bytes())
	}
	if err := lint.Write(&bytes.Buffer{}, "xml", files); err == nil {
		t.Error("format xml was taken")
	}
}

// The six rules that public linters of forms have.
func TestSharedRules(t *testing.T) {
	t.Parallel()
	rep := goldenInputs(t)[0]
	want := []string{"nested-object", "bad-format", "null-type", "array-of-objects", "option-missing-title", "required-undeclared"}
	for _, code := range want {
		if !rep.Has(code) {
			t.Errorf("%s was not found", code)
		}
	}
	if n := rep.Count(lint.Error); n != len(want) {
		t.Errorf("%d errors: %v", n, codes(rep.Report))
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	files := goldenInputs(t)
	if rep := files[len(files)-1]; len(rep.Findings) != 0 {
		t.Errorf("found %v", codes(rep.Report))
	}
}

// What OASIS SARIF 2.1.0 demands of the parts that are written.
func TestSARIFShape(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := lint.Write(&b, lint.SARIF, goldenInputs(t)); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			ColumnKind string
			Tool       struct {
				Driver struct {
					Name  string
					Rules []struct {
						ID                   string
						ShortDescription     struct{ Text string }
						DefaultConfiguration struct{ Level string }
					}
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex *int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           *struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	dec := json.NewDecoder(&b)
	if err := dec.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || len(log.Runs) != 1 {
		t.Fatalf("version %q, schema %q, %d runs", log.Version, log.Schema, len(log.Runs))
	}
	run := log.Runs[0]
	levels := []string{"none", "note", "warning", "error"} // 3.27.10
	if run.Tool.Driver.Name == "" || !slices.Contains([]string{"utf16CodeUnits", "unicodeCodePoints"}, run.ColumnKind) {
		t.Errorf("driver %q, columnKind %q", run.Tool.Driver.Name, run.ColumnKind)
	}
	seen := map[string]bool{}
	for _, r := range run.Tool.Driver.Rules {
		if r.ID == "" || seen[r.ID] || r.ShortDescription.Text == "" || !slices.Contains(levels, r.DefaultConfiguration.Level) {
			t.Errorf("rule %+v", r)
		}
		seen[r.ID] = true
	}
	if len(run.Results) < 20 {
		t.Errorf("%d results", len(run.Results))
	}
	for _, r := range run.Results {
		switch {
		case r.Message.Text == "", !slices.Contains(levels, r.Level), len(r.Locations) != 1:
			t.Errorf("result %+v", r)
		case r.RuleIndex == nil || *r.RuleIndex >= len(run.Tool.Driver.Rules) || run.Tool.Driver.Rules[*r.RuleIndex].ID != r.RuleID:
			t.Errorf("%s has the wrong index", r.RuleID)
		}
		loc := r.Locations[0].PhysicalLocation
		if loc.ArtifactLocation.URI == "" || loc.Region == nil || loc.Region.StartLine < 1 || loc.Region.StartColumn < 1 {
			t.Errorf("%s: location %+v", r.RuleID, loc)
		}
	}
}

// A name or text of a stranger cannot become a command of the workflow, a
// second line or a clickable code.
func TestGitHubEscapes(t *testing.T) {
	t.Parallel()
	rep, err := lint.Lint([]byte(schema1(`{"type":"object","properties":{"a\n::error::b,c:d%":{"type":"objekt"}}}`)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := lint.Write(&b, lint.GitHub, []lint.File{{Name: "a,b:c\n::error::x.json", Report: rep}}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "::error file=a%2Cb%3Ac") && !strings.HasPrefix(line, "::warning file=a%2Cb%3Ac") && !strings.HasPrefix(line, "::notice file=a%2Cb%3Ac") {
			t.Errorf("line %q", line)
		}
	}
	if len(rep.Findings) == 0 || strings.Count(b.String(), "\n") != len(rep.Findings) {
		t.Errorf("%d findings in\n%s", len(rep.Findings), &b)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	rep := goldenInputs(t)[1]
	for _, f := range rep.Findings {
		// "größe" stands before it on the line: columns count letters, not bytes.
		if f.Code == "secret-in-form" && (f.Line != 5 || f.Column != 84 || f.Pointer != "/params/requestedSchema/properties/card") {
			t.Errorf("%+v", f)
		}
	}
	if !rep.Has("secret-in-form") {
		t.Error("no secret was found")
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		input string
		want  lint.Kind
	}{
		{`{"type":"object","properties":{}}`, lint.KindSchema},
		{`{}`, lint.KindSchema},
		{`{"properties":{"message":{"type":"string"}}}`, lint.KindSchema},
		{`{"message":"a","requestedSchema":{}}`, lint.KindParams},
		{`{"message":"a"}`, lint.KindParams},
		{`{"mode":"url","url":"https://pay.example/"}`, lint.KindParams},
		{`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`, lint.KindRequest},
		{`{"method":"elicitation/create"}`, lint.KindRequest},
		{`{"resultType":"input_required"}`, lint.KindResult},
		{`{"jsonrpc":"2.0","id":1,"result":{"inputRequests":{}}}`, lint.KindResult},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":{"elicitations":[]}}}`, lint.KindResult},
		{`{"tools":[]}`, lint.KindTools},
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, lint.KindTools},
		{`{"prompts":[]}`, lint.KindPrompts},
		{`{"t":"x","dir":"recv","msg":{"method":"ping"}}`, lint.KindSession},
		{"{\"method\":\"ping\"}\n{\"method\":\"ping\"}\n", lint.KindSession},
		{"\ufeff" + `{"type":"object"}`, lint.KindSchema},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, lint.KindUnknown},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m"}}`, lint.KindUnknown},
		{`[]`, lint.KindUnknown}, {`null`, lint.KindUnknown}, {`"a"`, lint.KindUnknown}, {`7`, lint.KindUnknown},
	} {
		rep, err := lint.Lint([]byte(c.input), nil)
		if err != nil {
			t.Errorf("%s: %v", c.input, err)
			continue
		}
		if rep.Kind != c.want {
			t.Errorf("%s is taken for %s, want %s", c.input, rep.Kind, c.want)
		}
		if (rep.Kind == lint.KindUnknown) != (rep.Count(lint.Error) == 1 && rep.Has("not-recognised")) {
			t.Errorf("%s: %v", c.input, codes(rep))
		}
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	for input, place := range map[string][2]int{
		``:                    {1, 1},
		`{"a":`:               {1, 5},
		"{\n  \"ä\": nope\n}": {2, 9},
		"not json":            {1, 2},
		"{\"a\":1}\x00":       {1, 8},
		`{"a":1} {"b":2}`:     {1, 9},
	} {
		_, err := lint.Lint([]byte(input), nil)
		var syntax *lint.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: %v", input, err)
			continue
		}
		if place[0] != syntax.Line {
			t.Errorf("%q: line %d, column %d, want %v", input, syntax.Line, syntax.Column, place)
		}
	}
	for name, input := range map[string]string{
		"large": strings.Repeat(" ", lint.MaxInput+1),
		"deep":  strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"many":  "[" + strings.Repeat("0,", 400_000) + "0]",
	} {
		if _, err := lint.Lint([]byte(input), nil); !errors.Is(err, lint.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRevisionOfASession(t *testing.T) {
	t.Parallel()
	rep := goldenInputs(t)[4]
	if rep.Revision != form.Rev20250618 || rep.Questions != 3 || !rep.Has("array-not-in-revision") {
		t.Errorf("revision %s, %d questions, %v", rep.Revision, rep.Questions, codes(rep.Report))
	}
	b, err := os.ReadFile("testdata/golden/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	asked, err := lint.Lint(b, &lint.Options{Revision: form.Rev20260728})
	if err != nil {
		t.Fatal(err)
	}
	if asked.Revision != form.Rev20260728 || asked.Has("array-not-in-revision") {
		t.Errorf("revision %s, %v", asked.Revision, codes(asked))
	}
}

func TestServerDomain(t *testing.T) {
	t.Parallel()
	const local = `{"mode":"url","message":"a","url":"http://localhost:8080/"}`
	for domain, refused := range map[string]bool{"": false, "localhost": false, "http://127.0.0.1:9000/mcp": false, "mcp.example": true} {
		rep, err := lint.Lint([]byte(local), &lint.Options{ServerDomain: domain})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Has("url-refused") != refused {
			t.Errorf("server %q: %v", domain, codes(rep))
		}
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, p := range lint.Profiles() {
		if p.Client == "" || p.Seen == "" || p.Effect == "" || len(p.Shapes) == 0 || !strings.HasPrefix(p.Source, "https://") {
			t.Errorf("%+v lacks something", p)
		}
	}
	shapes := map[string]string{
		"root-title": `{"type":"object","title":"T","properties":{"v":{"type":"string"}}}`, "root-description": `{"type":"object","description":"D","properties":{"v":{"type":"string"}}}`,
		"root-additionalProperties": `{"type":"object","additionalProperties":false,"properties":{"v":{"type":"string"}}}`, "no-fields": `{"type":"object","properties":{}}`,
		"integer": `{"type":"object","properties":{"v":{"type":"integer"}}}`, "number": `{"type":"object","properties":{"v":{"type":"number"}}}`,
		"array": `{"type":"object","properties":{"v":{"type":"array","items":{"type":"string","enum":["a"]}}}}`, "$ref": `{"type":"object","properties":{"v":{"$ref":"#/$defs/a"}}}`,
		"url-mode":           `{"mode":"url","message":"Pay.","url":"https://pay.example/"}`,
		"items-without-type": `{"type":"object","properties":{"v":{"type":"array","items":{"enum":["a"]}}}}`,
	}
	for _, p := range lint.Profiles() {
		for _, shape := range p.Shapes {
			schema, ok := shapes[shape]
			if !ok {
				t.Errorf("%s: shape %s has no example here", p.Client, shape)
				continue
			}
			rep, err := lint.Lint([]byte(schema), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(rep.Findings, func(f lint.Finding) bool {
				return f.Code == "client-profile" && f.Severity == lint.Note && strings.HasPrefix(f.Text, p.Client) && strings.Contains(f.Text, p.Source)
			}) {
				t.Errorf("%s with %s: %v", p.Client, shape, codes(rep))
			}
		}
	}
	rep, err := lint.Lint([]byte(shapes["root-title"]), &lint.Options{NoProfiles: true})
	if err != nil || rep.Has("client-profile") {
		t.Errorf("NoProfiles: %v, %v", codes(rep), err)
	}
}
