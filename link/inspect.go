package link

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	longURL = 2048 // characters; longer ones get a warning
	maxURL  = 8192 // bytes of the address, and of its href
)

// An inspection is one run of Inspect.
type inspection struct {
	*Report
	opts *Options
}

// add records a finding; params are pairs of name and value, and %{name} in text stands
// for a value.
func (in *inspection) add(v Verdict, code, text string, params ...string) {
	f := Finding{Code: code, Verdict: v, Text: text}
	if len(params) > 0 {
		f.Params = make(map[string]string, len(params)/2)
		pairs := make([]string, 0, len(params))
		for i := 0; i+1 < len(params); i += 2 {
			f.Params[params[i]] = params[i+1]
			pairs = append(pairs, "%{"+params[i]+"}", params[i+1])
		}
		f.Text = strings.NewReplacer(pairs...).Replace(text)
	}
	in.Findings = append(in.Findings, f)
}

// run follows the WHATWG URL parser as far as it and net/url agree, and refuses the
// address at the first point where they would not.
func (in *inspection) run() {
	raw := in.Raw
	switch {
	case len(raw) > maxURL:
		in.add(Refuse, "too_long", "The address is longer than %{max} bytes.", "max", strconv.Itoa(maxURL))
		return
	case !utf8.ValidString(raw):
		in.add(Refuse, "invalid_text", "The address is not valid text.")
		return
	case strings.ContainsFunc(raw, unicode.IsControl):
		// Browsers drop tabs and line breaks anywhere, and controls at the ends.
		in.add(Refuse, "control", "The address contains control characters.")
		return
	}
	scheme, rest, ok := cutScheme(raw)
	if !ok {
		if strings.TrimSpace(raw) != raw {
			in.add(Refuse, "space", "The address contains a space.")
			return
		}
		in.add(Refuse, "not_absolute", "This is not a complete web address.")
		return
	}
	in.Scheme = scheme
	if scheme != "https" && scheme != "http" {
		in.add(Refuse, "scheme", "Addresses that begin with %{scheme}: are not web pages and are never opened.", "scheme", clip(scheme, 40))
		return
	}
	if strings.ContainsFunc(raw, unicode.IsSpace) {
		in.add(Refuse, "space", "The address contains a space.")
		return
	}
	rest, ok = strings.CutPrefix(rest, "//")
	end := strings.IndexAny(rest, `/?#\`)
	if end < 0 {
		end = len(rest)
	}
	if !ok || end == 0 {
		// Browsers guess: "https:evil" and "https:///evil" open evil.
		in.add(Refuse, "authority_missing", "The address does not have the form %{scheme}://name.", "scheme", scheme)
		return
	}
	authority, tail := rest[:end], rest[end:]
	if strings.Contains(raw, `\`) {
		in.guess(authority)
		in.add(Refuse, "backslash", "The address contains a backslash, which programs read in different ways.")
		return
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		in.userinfo(authority[:at], authority[at+1:])
		return
	}
	if strings.Contains(authority, "%") && !strings.HasPrefix(authority, "[") {
		in.add(Refuse, "host_encoded", "The name of the site is written with percent codes, which hides what it is.")
		return
	}
	hostText, port, ok := cutPort(authority)
	if !ok {
		in.add(Refuse, "port_invalid", "The port of the address is not a number from 1 to 65535 in its usual form.")
		return
	}
	h, bad := parseHost(hostText)
	if h.ascii != "" {
		in.setHost(h)
	}
	if bad != nil {
		in.Findings = append(in.Findings, *bad)
		return
	}
	if badPercent(tail) {
		in.add(Refuse, "percent", "The address contains a percent sign that does not begin a percent code.")
		return
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != scheme || u.Host != authority || u.User != nil || u.Opaque != "" {
		in.add(Refuse, "parsers_differ", "Programs would read this address in different ways.")
		return
	}

	where := in.reach(h)
	in.transport(port, where)
	in.names(h, where)
	in.tail(tail)
	in.href(h, port, authority, tail)
	in.site(h)
}

// cutScheme splits raw at the colon after its scheme (RFC 3986, section 3.1), which it
// returns in lower case.
func cutScheme(raw string) (scheme, rest string, ok bool) {
	for i := range len(raw) {
		switch c := raw[i] | 0x20; {
		case 'a' <= c && c <= 'z':
		case i > 0 && (raw[i] >= '0' && raw[i] <= '9' || raw[i] == '+' || raw[i] == '-' || raw[i] == '.'):
		case i > 0 && raw[i] == ':':
			return strings.ToLower(raw[:i]), raw[i+1:], true
		default:
			return "", raw, false
		}
	}
	return "", raw, false
}

// cutPort splits an authority without userinfo into host and port. ok is false if the
// port is not what every parser reads alike.
func cutPort(authority string) (host, port string, ok bool) {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.LastIndexByte(authority, ']') > i {
		return authority, "", true
	}
	host, port = authority[:i], authority[i+1:]
	if port == "" {
		return host, "", true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return host, port, err == nil && n > 0 && strconv.FormatUint(n, 10) == port
}

// userinfo refuses an address with a user name, even an empty one: it is deprecated
// (RFC 3986, section 3.2.1) and its only use today is to look like a host.
func (in *inspection) userinfo(info, after string) {
	in.guess(after)
	shown, _, _ := strings.Cut(info, ":")
	if h, bad := parseHost(shown); bad == nil && strings.Contains(h.ascii, ".") && in.Host != "" {
		in.add(Refuse, "userinfo_host", "The address looks like it leads to %{shown}, but that is only a user name before an @ sign. It leads to %{host}.",
			"shown", h.ascii, "host", in.Host)
		return
	}
	in.add(Refuse, "userinfo", "The address contains a user name or password before an @ sign.")
}

// guess sets the host of an address that is refused, if a browser would find one.
func (in *inspection) guess(authority string) {
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	host, _, ok := cutPort(authority)
	if h, bad := parseHost(host); ok && bad == nil {
		in.setHost(h)
	}
}

func (in *inspection) setHost(h host) {
	in.Host, in.HostUnicode = h.ascii, h.unicode
	in.Domain, in.DomainUnicode = h.domain, h.domainUnicode()
}

// clip shortens ASCII text for a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}
