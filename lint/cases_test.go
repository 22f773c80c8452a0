package lint_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/parley-mcp/parley/lint"
)

// A realRequest is the params of a question found in a public repository, with
// a verdict for revision 2026-07-28 and the rules it breaks.
type realRequest struct {
	ID         string
	Source     string
	Validity   string // in-subset, borderline, out-of-subset
	Violations []string
	Params     json.RawMessage
}

func realRequests(t testing.TB) []realRequest {
	t.Helper()
	b, err := os.ReadFile("testdata/requests.json")
	if err != nil {
		t.Fatal(err)
	}
	var reqs []realRequest
	if err := json.Unmarshal(b, &reqs); err != nil {
		t.Fatal(err)
	}
	if len(reqs) != 215 {
		t.Fatalf("%d requests", len(reqs))
	}
	return reqs
}

// judgedOtherwise lists where the verdict of a request is not ours, and why.
var judgedOtherwise = map[string]string{}

// otherName are rules that bear another name here.
var otherName = map[string][]string{}

func TestRealRequests(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, r := range realRequests(t) {
		rep, err := lint.Lint(r.Params, nil)
		if err != nil {
			t.Errorf("%s: %v", r.ID, err)
			continue
		}
		if rep.Kind != lint.KindParams || rep.Questions != 1 {
			t.Errorf("%s: taken for %s with %d questions", r.ID, rep.Kind, rep.Questions)
		}
		for _, v := range r.Violations {
			if !rep.Has(v) && !slices.ContainsFunc(otherName[v], rep.Has) {
				t.Errorf("%s: rule %s not found, have %v", r.ID, v, codes(rep))
			}
		}
		errs := rep.Count(lint.Error)
		wrong := r.Validity == "in-subset" && errs > 0 || r.Validity == "out-of-subset" && errs == 0
		switch reason, listed := judgedOtherwise[r.ID]; {
		case wrong && !listed:
			t.Errorf("%s is %s, found %v", r.ID, r.Validity, codes(rep))
		case wrong && reason == "":
			t.Errorf("%s: no reason is given", r.ID)
		case wrong:
			used[r.ID] = true
		}
		for _, f := range rep.Findings {
			if f.Text == "" || f.Advice == "" || f.Clause == "" || f.Line < 1 || f.Column < 1 {
				t.Errorf("%s: finding %+v lacks something", r.ID, f)
			}
		}
	}
	for id := range judgedOtherwise {
		if !used[id] {
			t.Errorf("%s is listed as judged otherwise, and is not", id)
		}
	}
}

func codes(r *lint.Report) (out []string) {
	for _, f := range r.Findings {
		out = append(out, string(f.Severity)+" "+f.Code+" "+f.Pointer)
	}
	return out
}
