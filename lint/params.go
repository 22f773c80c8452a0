package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/internal/plain"
)

// longMessage is where surfaces begin to fold a message, in code points.
const longMessage = 2000

// quote shows a stranger's name in a finding.
func quote(s string) string { return `"` + plain.Line(s, 60) + `"` }

// params judges the params of elicitation/create.
func (l *linter) params(ptr string, n *node) {
	l.report.Questions++
	if !n.is(objectNode) {
		l.add("params-missing", ptr, n.off, "the params are no object")
		return
	}
	l.twoWays(ptr, n)
	mode, isURL := n.get("mode"), false
	switch {
	case mode == nil || mode.text() == "form":
	case mode.text() == "url":
		isURL = true
		if l.revision() == form.Rev20250618 {
			l.add("mode-not-in-revision", at(ptr, "mode"), mode.off, "revision 2025-06-18 has forms only")
		}
	default:
		l.add("bad-mode", at(ptr, "mode"), mode.off, `the mode is "form" or "url"`)
		isURL = n.get("url") != nil && n.get("requestedSchema") == nil
	}
	l.questionMessage(ptr, n)
	l.extraParams(ptr, n, isURL)
	if isURL {
		l.urlParams(ptr, n)
		return
	}
	s := n.get("requestedSchema")
	if s == nil {
		for _, m := range n.members {
			if k := fold(m.key); m.val.is(objectNode) && (k == "schema" || k == "requested_schema" || k == "inputschema" || k == "responseschema" || k == "requestedschema" || k == "jsonschema") {
				l.add("wrong-param-name", at(ptr, m.key), m.off, fmt.Sprintf("the schema is under %s; clients look for requestedSchema", quote(m.key)))
			}
		}
		l.add("missing-requestedSchema", ptr, n.off, "the form has no requestedSchema")
		l.messageText(ptr, n, nil)
		return
	}
	l.messageText(ptr, n, s)
	l.schema(at(ptr, "requestedSchema"), s, n.get("message"))
}

func (l *linter) questionMessage(ptr string, n *node) {
	m := n.get("message")
	switch {
	case !m.is(stringNode):
		off, p := n.off, ptr
		if m != nil {
			off, p = m.off, at(ptr, "message")
		}
		l.add("message-missing", p, off, "the question has no message")
	case strings.TrimSpace(m.str) == "":
		l.add("message-empty", at(ptr, "message"), m.off, "the message is empty, so nobody knows why they are asked")
	case utf8.RuneCountInString(m.str) > longMessage:
		l.add("message-long", at(ptr, "message"), m.off, fmt.Sprintf("the message has more than %d characters", longMessage))
	}
}

// extraParams finds params that no interface of schema.ts lists.
func (l *linter) extraParams(ptr string, n *node, isURL bool) {
	listed := []string{"mode", "message", "requestedSchema", "_meta"}
	if isURL {
		listed = []string{"mode", "message", "url", "_meta"}
	}
	for _, m := range n.members {
		if slices.Contains(listed, m.key) || caseOf(m.key) != "" { // twoWays says more of the latter
			continue
		}
		sev, text := Warning, fmt.Sprintf("%s is not among the params of this mode", quote(m.key))
		// Both belong to 2025-11-25 and are harmless elsewhere.
		if m.key == "task" || m.key == "elicitationId" && isURL {
			if l.revision() == form.Rev20251125 {
				continue
			}
			sev, text = Note, m.key+" belongs to revision 2025-11-25"
		}
		l.addAs(sev, "extra-params", at(ptr, m.key), m.off, text)
	}
	if isURL && l.revision() == form.Rev20251125 && n.get("elicitationId").text() == "" {
		l.add("elicitationId-missing", ptr, n.off, "the question has no elicitationId")
	}
}

// messageText judges the words of a form's message.
func (l *linter) messageText(ptr string, n, schema *node) {
	m := n.get("message")
	if !m.is(stringNode) {
		return
	}
	p := at(ptr, "message")
	l.words(p, m, "the message")
	if hasURL(m.str) {
		l.add("url-in-form-message", p, m.off, "the message of a form has an address to open")
	}
	if secret, ok := secretByClipboard(m.str); ok && !takesText(schema) {
		l.add("secret-out-of-band-clipboard", p, m.off, fmt.Sprintf("the message has the person copy a secret (%s) for the server to take", secret))
	}
}
