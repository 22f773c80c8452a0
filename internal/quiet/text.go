package quiet

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/parley-mcp/parley/internal/plain"
)

var (
	address = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]*`)
	// What an authority may be once its user name is gone: a name or a bracketed
	// number, and a port.
	plainAuthority = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+(%[^\]]*)?\]|[^:\[\]]*)(:[0-9]*)?$`)

	bearer = regexp.MustCompile(`(?i)\b(bearer|basic)[ \t]+[A-Za-z0-9._~+/=-]{6,}`)
	pair   = regexp.MustCompile(`(?i)\b((?:[a-z]+[_-])?(?:token|secret|password|passwd|api[_-]?key|code|state))=[^\s&"']+`)
)

// text returns s without what is private in it, safe to show and bounded.
func text(s string) string {
	if limit := 16 * maxText; len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit]
		// What is cut in the middle could not be recognised any more.
		if i := strings.LastIndexAny(s, " \t\n"); i >= 0 {
			s = s[:i]
		} else {
			s = withheld
		}
		s += "…"
	}
	if strings.Contains(s, "://") {
		s = address.ReplaceAllStringFunc(s, strip)
	}
	s = secrets(s)
	s = bearer.ReplaceAllString(s, "$1 "+withheld)
	if strings.Contains(s, "=") {
		s = pair.ReplaceAllString(s, "$1="+withheld)
	}
	return plain.Line(s, maxText)
}

// strip returns a URL without user name, query and fragment. An authority that
// is still strange may be a password in disguise; nothing of it is kept.
func strip(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	end := strings.IndexAny(rest, "/?#\\")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	if !plainAuthority.MatchString(authority) {
		return scheme + "://" + withheld
	}
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i] + path[i:i+1] + withheld
	}
	return scheme + "://" + authority + path
}
