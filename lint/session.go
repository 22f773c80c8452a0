package lint

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/parley-mcp/parley/form"
)

// session judges a recorded session: JSON lines, each {"t","dir","msg"} or a
// bare JSON-RPC message. Questions come from the server in both eras, as
// requests or inside results, so the direction need not be trusted.
func (l *linter) session(b []byte, base int) error {
	l.report.Kind = KindSession
	for off := 0; off < len(b); {
		line := b[off:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		start := base + off
		off += len(line) + 1
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		n, err := readTree(line, start)
		switch {
		case errors.Is(err, errDeep), errors.Is(err, errMany):
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		case err != nil:
			l.add("malformed-line", "", start, "the line is not JSON; what follows may depend on it")
			continue
		case !n.is(objectNode):
			l.add("malformed-line", "", start, "the line is no JSON object")
			continue
		}
		l.line(n)
		l.duplicates("", n)
	}
	return nil
}

// line judges one line. Pointers point into the message.
func (l *linter) line(n *node) {
	msg := n
	if n.get("dir") != nil || n.get("msg") != nil {
		if msg = n.get("msg"); !msg.is(objectNode) {
			l.add("malformed-line", "/msg", n.off, "the line has no message")
			return
		}
	}
	l.learn(msg)
	l.message("", msg)
}

// learn takes the revision from the messages, unless one was demanded: from
// the answer to initialize, or from the requests of a modern client (MCP
// 2026-07-28, "io.modelcontextprotocol/protocolVersion").
func (l *linter) learn(msg *node) {
	if l.opts.Revision != "" {
		return
	}
	version := msg.get("result").get("protocolVersion").text()
	if version == "" {
		version = msg.get("params").get("_meta").get("io.modelcontextprotocol/protocolVersion").text()
	}
	switch rev := form.Revision(version); rev {
	case form.Rev20250618, form.Rev20251125, form.Rev20260728:
		l.rev = rev
	}
}
