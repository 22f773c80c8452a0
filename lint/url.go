package lint

import (
	"strings"

	"github.com/parley-mcp/parley/link"
)

// urlParams judges a question in URL mode.
func (l *linter) urlParams(ptr string, n *node) {
	if m := n.get("message"); m.is(stringNode) {
		l.words(at(ptr, "message"), m, "the message")
	}
	l.profiles(map[string]spot{"url-mode": {ptr, n.off}})
	u := n.get("url")
	if u.text() == "" {
		off := n.off
		if u != nil {
			off = u.off
		}
		l.add("url-missing", at(ptr, "url"), off, "the question has no url")
		return
	}
	ptr = at(ptr, "url")
	opts := &link.Options{ServerDomain: l.opts.ServerDomain}
	opts.ServerLocal = opts.ServerDomain == "" || link.Inspect(asURL(opts.ServerDomain), nil).Has("local")
	r := link.Inspect(u.str, opts)
	local := r.Has("local_allowed")
	for _, f := range r.Findings {
		code, sev := "url-note", Note
		switch f.Verdict {
		case link.Refuse:
			code, sev = "url-refused", Error
		case link.Warn:
			code, sev = "url-suspicious", Warning
		}
		switch f.Code {
		case "not_absolute":
			code = "url-relative"
		case "scheme":
			code = "url-scheme"
		case "authority_missing":
			code = "url-no-host"
		case "not_encrypted":
			code = "url-not-https"
		case "pre_authenticated":
			code = "url-pre-authenticated"
		}
		l.addAs(sev, code, ptr, u.off, strings.TrimSuffix(f.Text, ".")+" ["+f.Code+"]")
	}
	if local && r.Scheme == "http" && !r.Has("not_encrypted") {
		// "SHOULD use HTTPS URLs for non-development environments"
		l.addAs(Note, "url-not-https", ptr, u.off, "the page is on the person's own computer and not encrypted")
	}
}

func asURL(s string) string {
	if strings.Contains(s, "://") {
		return s
	}
	return "https://" + s + "/"
}
