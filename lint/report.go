package lint

import (
	"slices"
	"strings"

	"github.com/parley-mcp/parley/form"
)

// A Severity says how bad a finding is.
type Severity string

const (
	Error   Severity = "error"   // the revision forbids it, or nobody can answer
	Warning Severity = "warning" // some people or clients will be misled or stuck
	Note    Severity = "note"    // worth knowing
)

// rank orders severities, the worst first.
func (s Severity) rank() int { return slices.Index([]Severity{Error, Warning, Note}, s) }

// A Kind says what an input was taken for.
type Kind string

const (
	KindSchema  Kind = "schema"                // a requestedSchema
	KindParams  Kind = "params"                // the params of elicitation/create
	KindRequest Kind = "request"               // an elicitation/create request
	KindResult  Kind = "input-required result" // with inputRequests, or the error -32042
	KindTools   Kind = "tools"                 // the result of tools/list
	KindPrompts Kind = "prompts"               // the result of prompts/list
	KindSession Kind = "session"               // a recorded JSON-RPC session, a message a line
	KindSource  Kind = "source"                // Go packages; see lint/vet
	KindUnknown Kind = "unknown"               // JSON, and none of these
)

// A Finding is one thing that is wrong or unwise.
type Finding struct {
	// Code is stable; Rules lists the codes.
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	// Pointer is the JSON Pointer (RFC 6901) of the place; in a session it
	// points into the message of the line.
	Pointer string `json:"pointer"`
	// Line and Column are where that stands in the input, from 1. Columns
	// count code points. Both are 0 where there is no text to point into.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Text says what is wrong and Advice what to do about it. Text may quote
	// names of fields and clients, cleaned, but no values.
	Text   string `json:"text"`
	Advice string `json:"advice"`
	// Clause is what the rule rests on.
	Clause string `json:"clause"`

	offset int
}

// A Report is what Lint found in one input.
type Report struct {
	Kind     Kind          `json:"kind"`
	Revision form.Revision `json:"revision"`
	// Questions is how many elicitations were looked at.
	Questions int `json:"questions"`
	// Findings are in the order of the input.
	Findings []Finding `json:"findings"`
}

// Has reports whether there is a finding with the code.
func (r *Report) Has(code string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == code })
}

// Count is how many findings have the severity.
func (r *Report) Count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// sort puts findings in the order of the input, the worst first at one place,
// and drops what is there twice.
func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if a.offset != b.offset {
			return a.offset - b.offset
		}
		if a.Severity != b.Severity {
			return a.Severity.rank() - b.Severity.rank()
		}
		return strings.Compare(a.Code, b.Code)
	})
	r.Findings = slices.CompactFunc(r.Findings, func(a, b Finding) bool { return a == b })
}

// Options tell Lint what the input is for. The zero value and nil mean: the
// newest revision, for an unknown server.
type Options struct {
	// Revision of MCP to judge by. Empty means the one that a recorded session
	// speaks, and 2026-07-28 everywhere else.
	Revision form.Revision
	// ServerDomain is the host, or any URL, of the server that asks. Without
	// one, addresses on the person's own computer are allowed: the server may
	// be a program there.
	ServerDomain string
	// NoProfiles leaves out the notes about single clients.
	NoProfiles bool
}

// NewSourceFinding makes a finding of a diagnostic of lint/vet, whose category
// is the code. An unknown code becomes a warning without advice.
func NewSourceFinding(code string, line, column int, text string) Finding {
	r := ruleOf(code)
	return Finding{Code: code, Severity: r.Severity, Line: line, Column: column, Text: strings.TrimSuffix(text, " ("+code+")"), Advice: r.Advice, Clause: r.Clause}
}
