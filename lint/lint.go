package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-mcp/parley/form"
)

// ErrTooLarge is returned for an input larger than MaxInput, or with more
// values or deeper nesting than anybody sends.
var ErrTooLarge = errors.New("input is too large")

// Lint says what is wrong or unwise in the input: a schema, an elicitation
// request or its params, a result that asks for input, the result of
// tools/list or prompts/list, or a recorded session. It recognises which from
// the content, and says so in the report.
//
// It errs only on what it cannot read: with a *SyntaxError on what is no JSON,
// with ErrTooLarge past a bound. Anything that is JSON gets a report. It does
// no I/O and is safe for concurrent use.
func Lint(input []byte, opts *Options) (*Report, error) {
	if opts == nil {
		opts = &Options{}
	}
	if len(input) > MaxInput {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(input), MaxInput)
	}
	l := &linter{doc: input, opts: opts, rev: opts.Revision}
	input = bytes.TrimPrefix(input, []byte("\ufeff"))
	base := len(l.doc) - len(input)
	n, err := readTree(input, base)
	switch {
	case errors.Is(err, errDeep), errors.Is(err, errMany):
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	case err != nil && startsWithObject(input):
		if err := l.session(input, base); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, l.syntax(err, base)
	default:
		l.report.Kind = recognise(n)
		l.document(n, l.report.Kind)
	}
	l.finish()
	return &l.report, nil
}

type linter struct {
	doc    []byte
	opts   *Options
	rev    form.Revision // what is judged by; empty until something says it
	report Report
}

func (l *linter) revision() form.Revision {
	if l.rev == "" {
		return form.Rev20260728
	}
	return l.rev
}

// add records a finding with the severity of its rule.
func (l *linter) add(code, pointer string, off int, text string) {
	l.addAs(ruleIndex[code].Severity, code, pointer, off, text)
}

func (l *linter) addAs(sev Severity, code, pointer string, off int, text string) {
	if len(l.report.Findings) >= maxFindings {
		return
	}
	r := ruleIndex[code]
	l.report.Findings = append(l.report.Findings, Finding{
		Code: code, Severity: sev, Pointer: pointer, Text: text, Advice: r.Advice, Clause: r.Clause, offset: off,
	})
}

func (l *linter) finish() {
	l.report.Revision = l.revision()
	l.report.sort()
	where := newLines(l.doc)
	for i := range l.report.Findings {
		f := &l.report.Findings[i]
		f.Line, f.Column = where.place(f.offset)
	}
	if l.report.Findings == nil {
		l.report.Findings = []Finding{} // "findings": [] for those who read the JSON
	}
}

func (l *linter) syntax(err error, base int) error {
	off := base
	reason := "unexpected end"
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		off += int(max(s.Offset-1, 0))
		reason = s.Error()
	}
	line, column := newLines(l.doc).place(off)
	return &SyntaxError{Line: line, Column: column, Reason: reason}
}

// startsWithObject is true for text whose first line is a whole JSON object:
// then it is a list of messages, not a broken document.
func startsWithObject(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	return len(bytes.TrimSpace(rest)) > 0 && bytes.HasPrefix(first, []byte("{")) && json.Valid(first)
}

// recognise says what a document is, by the keys that only it has.
func recognise(n *node) Kind {
	if !n.is(objectNode) {
		return KindUnknown
	}
	has := func(keys ...string) bool {
		for _, k := range keys {
			if n.get(k) == nil {
				return false
			}
		}
		return true
	}
	switch {
	case has("dir", "msg"):
		return KindSession
	case n.get("method").text() == "elicitation/create":
		return KindRequest
	case has("method"):
		return KindUnknown
	case has("result"):
		return recogniseResult(n.get("result"))
	case n.get("error").get("code") != nil:
		if n.get("error").get("code").str == urlRequired {
			return KindResult
		}
		return KindUnknown
	}
	if k := recogniseResult(n); k != KindUnknown {
		return k
	}
	switch {
	case has("requestedSchema"), has("message") && !n.get("type").is(stringNode), has("mode", "url"):
		return KindParams
	case has("type"), has("properties"), has("$schema"), has("required"), has("$defs"), len(n.members) == 0:
		return KindSchema
	}
	return KindUnknown
}

// urlRequired is the error that asks in URL mode (MCP 2025-11-25 elicitation,
// "URL Elicitation Required Error"; reserved for it since).
const urlRequired = "-32042"

func recogniseResult(n *node) Kind {
	switch {
	case n.get("resultType").text() == "input_required", n.get("inputRequests") != nil:
		return KindResult
	case n.get("tools").is(arrayNode):
		return KindTools
	case n.get("prompts").is(arrayNode):
		return KindPrompts
	}
	return KindUnknown
}

// document judges a recognised document.
func (l *linter) document(n *node, kind Kind) {
	switch kind {
	case KindSession:
		l.line(n)
	case KindSchema:
		l.report.Questions++
		l.schema("", n, nil)
	case KindParams:
		l.params("", n)
	default:
		if !l.message("", n) {
			l.add("not-recognised", "", n.off, "this is JSON, but nothing that asks a person or declares tools")
		}
	}
	if kind != KindSchema { // package form judges its own
		l.duplicates("", n)
	}
}

// message judges a JSON-RPC message, or the bare result of one. It is false
// for a message that says nothing to people.
func (l *linter) message(ptr string, n *node) bool {
	switch method := n.get("method").text(); {
	case method == "elicitation/create":
		l.request(ptr, n)
		return true
	case method != "":
		return false
	}
	if r := n.get("result"); r.is(objectNode) {
		ptr, n = at(ptr, "result"), r
	} else if e := n.get("error"); e.get("code") != nil {
		if e.get("code").str != urlRequired {
			return false
		}
		for i, q := range e.get("data").get("elicitations").list() {
			l.params(atIndex(at(ptr, "error", "data", "elicitations"), i), q)
		}
		return true
	}
	switch recogniseResult(n) {
	case KindResult:
		l.result(ptr, n)
	case KindTools:
		l.tools(at(ptr, "tools"), n.get("tools"))
	case KindPrompts:
		l.prompts(at(ptr, "prompts"), n.get("prompts"))
	default:
		return false
	}
	return true
}

func (n *node) list() []*node {
	if n.is(arrayNode) {
		return n.items
	}
	return nil
}

func (l *linter) request(ptr string, n *node) {
	p := n.get("params")
	if !p.is(objectNode) {
		l.report.Questions++
		l.add("params-missing", ptr, n.off, "elicitation/create has no params object")
		return
	}
	l.params(at(ptr, "params"), p)
}

// result judges an InputRequiredResult (MCP 2026-07-28, multi round-trip
// requests): "At least one of inputRequests or requestState MUST be present".
func (l *linter) result(ptr string, n *node) {
	asks := n.get("inputRequests")
	if len(asks.pairs()) == 0 {
		if n.get("requestState") == nil {
			l.add("nothing-to-ask", ptr, n.off, "the result is input_required and asks for nothing")
		} else {
			l.add("empty-round", ptr, n.off, "the result carries request state and no questions")
		}
		return
	}
	for _, m := range asks.pairs() {
		p := at(ptr, "inputRequests", m.key)
		if m.val.get("method").text() != "elicitation/create" {
			l.add("foreign-input-request", p, m.val.off, fmt.Sprintf("input request %s is no elicitation", quote(m.key)))
			continue
		}
		l.request(p, m.val)
	}
}

func (n *node) pairs() []member {
	if n.is(objectNode) {
		return n.members
	}
	return nil
}

// duplicates finds keys that are given twice. It comes last: schemas are left to
// package form, which refuses them, and the params of questions to twoWays.
func (l *linter) duplicates(ptr string, n *node) {
	switch n.kind {
	case arrayNode:
		for i, v := range n.items {
			if v.kind >= arrayNode {
				l.duplicates(atIndex(ptr, i), v)
			}
		}
	case objectNode:
		var seen map[string]bool
		if len(n.members) > 8 {
			seen = make(map[string]bool, len(n.members))
		}
		for i, m := range n.members {
			twice := seen[m.key]
			if seen != nil {
				seen[m.key] = true
			} else {
				for _, before := range n.members[:i] {
					twice = twice || before.key == m.key
				}
			}
			if twice && !n.namesJudged {
				l.add("duplicate-key", at(ptr, m.key), m.off, fmt.Sprintf("the key %s is there twice", quote(m.key)))
			}
			if m.val.kind >= arrayNode && m.key != "requestedSchema" {
				l.duplicates(at(ptr, m.key), m.val)
			}
		}
	}
}
