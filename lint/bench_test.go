package lint_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/lint"
)

// typical is the request that a server of this kit sends for two fields.
const typical = `{"message":"Which connection do you want?","requestedSchema":{"type":"object","properties":{` +
	`"flight":{"type":"string","title":"Connecting flight","oneOf":[{"const":"LH1","title":"LH 1, 10:40"},{"const":"LH2","title":"LH 2, 12:15"}]},` +
	`"bags":{"type":"integer","title":"Bags","minimum":0,"maximum":3,"default":1},` +
	`"note":{"type":"string","title":"Note","description":"Anything that the crew should know","maxLength":200}},"required":["flight","bags"]}}`

// parse does what a client does before it can show a question.
func parse(tb testing.TB, request []byte) {
	var params struct {
		Message         string          `json:"message"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(request, &params); err != nil {
		tb.Fatal(err)
	}
	if _, err := form.Parse(params.RequestedSchema); err != nil {
		tb.Fatal(err)
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		parse(b, []byte(typical))
	}
}

func BenchmarkLint(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := lint.Lint([]byte(typical), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// Judging a request costs at most twenty times what parsing it does. Both are
// measured here, in turn, and the fastest turns count, so that neither the machine
// matters nor what else it does.
func TestCost(t *testing.T) { // not parallel: others would be measured too
	turn := func(fastest time.Duration, f func()) time.Duration {
		began := time.Now()
		for range 20 {
			f()
		}
		return min(fastest, time.Since(began))
	}
	parsing, linting := time.Hour, time.Hour
	for range 40 {
		parsing = turn(parsing, func() { parse(t, []byte(typical)) })
		linting = turn(linting, func() {
			if _, err := lint.Lint([]byte(typical), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	ratio := float64(linting) / float64(parsing)
	t.Logf("parsing %v, linting %v, ratio %.1f", parsing/20, linting/20, ratio)
	if ratio > 20 {
		t.Errorf("linting costs %.1f times parsing", ratio)
	}
}
