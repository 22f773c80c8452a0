package form

import (
	"fmt"
	"slices"
	"strings"
)

// A Revision of MCP that has form questions.
type Revision string

const (
	Rev20250618 Revision = "2025-06-18"
	Rev20251125 Revision = "2025-11-25"
	Rev20260728 Revision = "2026-07-28"
)

// A Severity says how bad a Problem is.
type Severity string

const (
	SeverityError   Severity = "error"   // outside the subset, or unanswerable
	SeverityWarning Severity = "warning" // some clients refuse it or read it differently
	SeverityNote    Severity = "note"    // worth knowing
)

// A Problem is something about a schema that the revision does not allow or
// that clients are known to trip over.
type Problem struct {
	Rule     string   `json:"rule"`
	Pointer  string   `json:"pointer"` // into the schema
	Offset   int      `json:"offset"`  // byte
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Clause   string   `json:"clause"` // what the rule rests on
}

// Problems judges the schema by the subset that the revision's schema.ts
// lists, in the order of the bytes. An unknown revision is judged as the
// newest. Whether a field asks for a secret is not judged here.
func (s *Schema) Problems(rev Revision) []Problem {
	switch rev {
	case Rev20250618, Rev20251125, Rev20260728:
	default:
		rev = Rev20260728
	}
	j := &judge{s: s, rev: rev}
	j.root()
	slices.SortStableFunc(j.out, func(a, b Problem) int { return a.Offset - b.Offset })
	return j.out
}

type judge struct {
	s   *Schema
	rev Revision
	out []Problem
}

// maxProblems bounds the list; a schema past it is hopeless anyway.
const maxProblems = 500

func (j *judge) add(sev Severity, rule, pointer string, off int, clause, text string) {
	if len(j.out) >= maxProblems {
		return
	}
	j.out = append(j.out, Problem{rule, pointer, off, sev, text, "MCP " + string(j.rev) + " schema.ts, " + clause})
}

func (j *judge) root() {
	const clause = "ElicitRequestFormParams.requestedSchema"
	clause2 := clause
	if j.rev == Rev20250618 {
		clause2 = "ElicitRequest.params.requestedSchema"
	}
	r := j.s.root
	if r == nil {
		j.add(SeverityError, "missing-requestedSchema", "", 0, clause2, "requestedSchema is missing")
		return
	}
	for _, m := range r.members {
		at := join(m.key)
		switch m.key {
		case "type", "properties", "required":
		case "$schema":
			if j.rev == Rev20250618 {
				j.add(SeverityWarning, "root-dialect", at, m.off, clause2, "$schema is not listed in this revision")
			}
		case "title":
			j.add(SeverityWarning, "root-title", at, m.off, clause2, "a title of the whole form is not listed; strict clients refuse the question")
		case "description":
			j.add(SeverityWarning, "root-description", at, m.off, clause2, "a description of the whole form is not listed; strict clients refuse the question")
		case "additionalProperties":
			j.add(SeverityWarning, "additionalProperties", at, m.off, clause2, "additionalProperties is not listed; strict clients refuse the question")
		case "$defs", "definitions":
			j.add(SeverityError, "defs", at, m.off, clause2, "definitions are not part of a form; write them in place")
		default:
			if strings.HasPrefix(m.key, "x-") {
				j.add(SeverityWarning, "x-extension", at, m.off, clause2, "a private keyword means nothing to other clients")
				continue
			}
			j.add(SeverityWarning, "root-unknown-keyword", at, m.off, clause2, fmt.Sprintf("%q is not listed", clip(m.key, 40)))
		}
	}
	if t := r.get("type"); t == nil {
		j.add(SeverityError, "root-missing-type", "", r.off, clause2, `the form lacks "type": "object"`)
	} else if t.kind != jString {
		j.add(SeverityError, "root-type", "/type", t.off, clause2, `the type of a form is "object"`)
	}
	props := r.get("properties")
	switch {
	case props == nil:
		j.add(SeverityError, "missing-properties", "", r.off, clause2, "the form lacks properties")
	case len(props.members) == 0:
		j.add(SeverityNote, "empty-properties", "/properties", props.off, clause2, "a form without fields only asks for consent; some clients show nothing")
	}
	if props != nil {
		for _, m := range props.members {
			j.property(join("properties", m.key), m)
		}
	}
	if req := r.get("required"); req != nil {
		seen := map[string]bool{}
		for i, n := range req.items {
			at := fmt.Sprintf("/required/%d", i)
			if props.get(n.str) == nil {
				j.add(SeverityError, "required-undeclared", at, n.off, clause2, fmt.Sprintf("%q is required and not among the properties: nobody can answer", clip(n.str, 40)))
			}
			if seen[n.str] {
				j.add(SeverityWarning, "required-twice", at, n.off, clause2, "a name is required twice")
			}
			seen[n.str] = true
		}
	}
}
