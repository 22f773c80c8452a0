package form

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// asserted is true for the formats that formatCode looks at.
func asserted(format string) bool {
	switch format {
	case "email", "uri", "date", "date-time":
		return true
	}
	return false
}

// formatCode checks the four formats of MCP (StringSchema.format in every
// schema.ts). Any other format is an annotation and passes. It gives the code
// of the error, or "".
func formatCode(format, s string) string {
	ok := true
	switch format {
	case "email":
		ok = isEmail(s)
	case "uri":
		ok = isURI(s)
	case "date":
		ok = isDate(s)
	case "date-time":
		ok = isDateTime(s)
	}
	if ok {
		return ""
	}
	return "format_" + strings.ReplaceAll(format, "-", "_")
}

// isDate: RFC 3339 5.6 full-date, on the real calendar.
func isDate(s string) bool {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	y, ok1 := digits(s[:4])
	m, ok2 := digits(s[5:7])
	d, ok3 := digits(s[8:])
	if !ok1 || !ok2 || !ok3 || m < 1 || m > 12 || d < 1 {
		return false
	}
	return d <= time.Date(y, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func digits(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s != ""
}

// isDateTime: RFC 3339 5.6 date-time. A leap second is taken only where one
// can be: at 23:59:60 UTC.
func isDateTime(s string) bool {
	if len(s) < 20 || !isDate(s[:10]) || s[10] != 'T' && s[10] != 't' {
		return false
	}
	if s[13] != ':' || s[16] != ':' {
		return false
	}
	h, ok1 := digits(s[11:13])
	m, ok2 := digits(s[14:16])
	sec, ok3 := digits(s[17:19])
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || sec > 60 {
		return false
	}
	rest := s[19:]
	if rest[0] == '.' {
		n := 1
		for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
			n++
		}
		if n == 1 {
			return false
		}
		rest = rest[n:]
	}
	offset := 0 // minutes east of UTC
	switch {
	case rest == "Z" || rest == "z":
	case len(rest) == 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':':
		oh, ok1 := digits(rest[1:3])
		om, ok2 := digits(rest[4:])
		if !ok1 || !ok2 || oh > 23 || om > 59 {
			return false
		}
		offset = oh*60 + om
		if rest[0] == '-' {
			offset = -offset
		}
	default:
		return false
	}
	if sec == 60 {
		utc := ((h*60+m-offset)%1440 + 1440) % 1440
		return utc == 23*60+59
	}
	return true
}

// isURI: RFC 3986 3, with a scheme. http and https also need a domain.
func isURI(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || scheme == "" || !isAlpha(scheme[0]) {
		return false
	}
	for i := 1; i < len(scheme); i++ {
		if c := scheme[i]; !isAlpha(c) && !isDigit(c) && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	if hasFragment && !uriChars(fragment, "/?") {
		return false
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	if hasQuery && !uriChars(query, "/?") {
		return false
	}
	web := strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		authority, path := after, ""
		if i := strings.IndexByte(after, '/'); i >= 0 {
			authority, path = after[:i], after[i:]
		}
		return isAuthority(authority, web) && uriChars(path, "/")
	}
	if web {
		return false
	}
	return uriChars(rest, "/")
}

func isAuthority(s string, needHost bool) bool {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		if strings.Contains(s[:i], "@") || !uriChars(s[:i], "") {
			return false
		}
		s = s[i+1:]
	}
	var host, port string
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return false
		}
		a, err := netip.ParseAddr(s[1:end])
		if err != nil || !a.Is6() || a.Zone() != "" {
			return false
		}
		host = s[:end+1]
		port = s[end+1:]
		if port != "" && port[0] != ':' {
			return false
		}
		port = strings.TrimPrefix(port, ":")
	} else {
		host, port, _ = strings.Cut(s, ":")
		if !uriChars(host, "") || strings.ContainsAny(host, ":@") {
			return false
		}
	}
	if port != "" {
		p, ok := digits(port)
		if !ok || len(port) > 5 || p > 65535 {
			return false
		}
	}
	return host != "" || !needHost
}

// uriChars: pchar of RFC 3986 3.3 and the extra ones.
func uriChars(s, extra string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isAlpha(c) || isDigit(c) || strings.IndexByte("-._~!$&'()*+,;=:@", c) >= 0 || strings.IndexByte(extra, c) >= 0:
		case c == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
			i += 2
		default:
			return false
		}
	}
	return true
}

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// isEmail: RFC 5321 4.1.2 Mailbox, which is what JSON Schema 2020-12 7.3.2
// names. It is ASCII; a domain with other letters is written in its xn-- form.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || len(s) > 254 {
		return false
	}
	local, domain := s[:at], s[at+1:]
	return len(local) <= 64 && isLocalPart(local) && isMailDomain(domain)
}

func isLocalPart(s string) bool {
	if s[0] == '"' { // Quoted-string
		if len(s) < 3 || s[len(s)-1] != '"' {
			return false
		}
		q := s[1 : len(s)-1]
		for i := 0; i < len(q); i++ {
			switch c := q[i]; {
			case c == '\\':
				i++
				if i >= len(q) || q[i] < ' ' || q[i] > '~' {
					return false
				}
			case c < ' ' || c > '~' || c == '"':
				return false
			}
		}
		return true
	}
	for atom := range strings.SplitSeq(s, ".") {
		if atom == "" {
			return false
		}
		for i := range len(atom) {
			c := atom[i]
			if !isAlpha(c) && !isDigit(c) && strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) < 0 {
				return false
			}
		}
	}
	return true
}

func isMailDomain(s string) bool {
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		lit := s[1 : len(s)-1]
		if v6, ok := cutPrefixFold(lit, "IPv6:"); ok {
			a, err := netip.ParseAddr(v6)
			return err == nil && a.Is6() && a.Zone() == ""
		}
		a, err := netip.ParseAddr(lit)
		return err == nil && a.Is4()
	}
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !isAlpha(c) && !isDigit(c) && c != '-' {
				return false
			}
		}
	}
	return true
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// length counts code points: JSON Schema 2020-12 6.3.1 counts characters as
// RFC 8259 does.
func length(b []byte) int { return utf8.RuneCount(b) }

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}
