package lint

import (
	"fmt"
	"strings"
)

// hostParams are the members of a question's params that hosts go by, in all revisions.
// A test holds them against the host's own reader.
var hostParams = [...]string{"mode", "message", "url", "requestedSchema", "elicitationId", "_meta"}

// twoWays finds the members of a question's params for which hosts refuse it, since
// two programs would see two questions: one that is there twice (RFC 8259, 4), or one
// under a name that differs from one of the protocol's in nothing but case, which some
// decoders take for it. It goes by the names as they are read, so an escaped spelling
// changes nothing.
func (l *linter) twoWays(ptr string, n *node) {
	n.namesJudged = true
	const refused = ": hosts refuse a question that can be read in two ways"
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		if seen[m.key] {
			l.add("ambiguous-params", at(ptr, m.key), m.off, "the member "+quote(m.key)+" is there twice"+refused)
			continue
		}
		seen[m.key] = true
		if name := caseOf(m.key); name != "" {
			l.add("ambiguous-params", at(ptr, m.key), m.off, fmt.Sprintf("the member %s differs from %q in nothing but case%s", quote(m.key), name, refused))
		}
	}
}

// caseOf is the member that hosts go by and some programs take name for; "": none.
func caseOf(name string) string {
	for _, known := range hostParams {
		if name != known && strings.EqualFold(name, known) {
			return known
		}
	}
	return ""
}
