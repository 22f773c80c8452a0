package form

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// A request is one real request found in public repositories.
type request struct {
	ID         string
	Source     string
	Mode       string
	Schema     json.RawMessage `json:"requestedSchema"`
	Validity   string
	Violations []string
}

func readRequests(t testing.TB) []request {
	t.Helper()
	b, err := os.ReadFile("testdata/requests.json")
	if err != nil {
		t.Fatal(err)
	}
	var reqs []request
	if err := json.Unmarshal(b, &reqs); err != nil {
		t.Fatal(err)
	}
	return reqs
}

// elsewhereRules are violations that package lint finds, since they are about
// secrets, addresses, messages or the parameters around the schema.
var elsewhereRules = []string{
	"secret-in-form", "secret-out-of-band-clipboard", "url-missing", "url-relative", "url-scheme", "url-no-host",
	"url-not-https", "url-in-form-message", "message-missing", "wrong-param-name", "extra-params",
}

// adviceRules do not put a request outside the subset by themselves.
var adviceRules = []string{"root-title", "root-description", "enumNames-legacy", "pattern", "additionalProperties"}

func TestRequests(t *testing.T) {
	t.Parallel()
	reqs := readRequests(t)
	if len(reqs) != 215 {
		t.Fatalf("%d requests", len(reqs))
	}
	for _, r := range reqs {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			if r.Mode != "form" {
				return
			}
			s, err := Parse(r.Schema)
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if string(s.Bytes()) != string(r.Schema) {
				t.Error("Bytes differ from what was parsed")
			}
			var rules []string
			errors := 0
			for _, p := range s.Problems(Rev20260728) {
				rules = append(rules, p.Rule)
				if p.Severity == SeverityError {
					errors++
				}
				if p.Clause == "" || p.Text == "" {
					t.Errorf("%s lacks its text or clause", p.Rule)
				}
			}
			ours := 0
			for _, v := range r.Violations {
				if slices.Contains(elsewhereRules, v) {
					continue
				}
				if !slices.Contains(adviceRules, v) {
					ours++
				}
				if !slices.Contains(rules, v) {
					t.Errorf("rule %s not found, have %v", v, rules)
				}
			}
			switch {
			case r.Validity == "in-subset" && errors > 0:
				t.Errorf("in the subset, found %v", rules)
			case r.Validity == "out-of-subset" && ours > 0 && errors == 0:
				t.Errorf("out of the subset, found no error: %v", rules)
			}
		})
	}
}
