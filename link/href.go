package link

import (
	"strings"
	"unicode/utf8"
)

// Percent-encode sets of the WHATWG URL standard for special schemes, as the ASCII
// characters that they hold beside controls; all have what is not ASCII too.
const (
	fragmentSet = " \"<>`"
	querySet    = " \"#<>'"
	pathSet     = " \"#<>?`{}^|"
)

// href computes the address as a browser would write it, and says what changed.
func (in *inspection) href(h host, port, authority, tail string) {
	var b strings.Builder
	b.WriteString(in.Scheme + "://" + h.ascii)
	switch {
	case port == "" && strings.HasSuffix(authority, ":"),
		port == "443" && in.Scheme == "https", port == "80" && in.Scheme == "http":
		in.add(Note, "normalised", "Browsers write this address in another way; the form shown is the one that is opened.")
	case port != "":
		in.Port = port
		b.WriteString(":" + port)
	}
	path, query, fragment := cutTail(tail)
	clean := cleanPath(path)
	ePath, eQuery, eFragment := encode(clean, pathSet), encode(query, querySet), encode(fragment, fragmentSet)
	if (clean != path && path != "" || h.rewrote) && !in.Has("normalised") {
		in.add(Note, "normalised", "Browsers write this address in another way; the form shown is the one that is opened.")
	}
	if ePath != clean || eQuery != query || eFragment != fragment {
		in.add(OK, "encoded", "Some characters of the address are shown as percent codes.")
	}
	b.WriteString(ePath + eQuery + eFragment)
	in.Href = b.String()
	if len(in.Href) > maxURL {
		in.add(Refuse, "too_long", "The address is longer than %{max} bytes.", "max", "8192")
	} else if len(in.Href) > longURL {
		in.add(Warn, "long", "The address is unusually long.")
	}
}

// cutTail splits what follows the authority. Query and fragment keep their first
// character.
func cutTail(tail string) (path, query, fragment string) {
	if i := strings.IndexByte(tail, '#'); i >= 0 {
		tail, fragment = tail[:i], tail[i:]
	}
	if i := strings.IndexByte(tail, '?'); i >= 0 {
		tail, query = tail[:i], tail[i:]
	}
	return tail, query, fragment
}

// cleanPath removes dot segments as the WHATWG URL parser does: also encoded ones, and
// without merging slashes.
func cleanPath(path string) string {
	if path == "" {
		return "/"
	}
	segments := strings.Split(path[1:], "/")
	out := segments[:0:0]
	for i, s := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(s), "%2e", ".") {
		case ".":
			if last {
				out = append(out, "")
			}
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, s)
		}
	}
	return "/" + strings.Join(out, "/")
}

// encode writes the characters of set, and all outside ASCII, as percent codes. The
// first character of a query or fragment is no part of it.
func encode(s, set string) string {
	if s == "" {
		return ""
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteByte(s[0])
	for i := 1; i < len(s); i++ {
		c := s[i]
		if c < 0x20 || c >= 0x7F || strings.IndexByte(set, c) >= 0 {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// badPercent reports whether s has a percent sign without two hexadecimal digits.
func badPercent(s string) bool {
	for i := range len(s) {
		if s[i] == '%' && (i+2 >= len(s) || unhex(s[i+1]) < 0 || unhex(s[i+2]) < 0) {
			return true
		}
	}
	return false
}

// decode undoes percent codes. What is not UTF-8 then becomes U+FFFD.
func decode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := unhex(s[i+1]), unhex(s[i+2]); hi >= 0 && lo >= 0 {
				b = append(b, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	if !utf8.Valid(b) {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	return string(b)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
