package link

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/unicode/norm"
)

// A host is one that every parser reads alike.
type host struct {
	ascii   string     // A-label, dotted quad, or IPv6 in brackets; with its trailing dot
	unicode string     // U-label
	addr    netip.Addr // valid if the host is an address
	rewrote bool       // an IPv6 address was not in its canonical form

	suffix  string // public suffix, as A-label without trailing dot; empty for an address
	icann   bool   // suffix is run by its registry
	hosting bool   // suffix belongs to a company whose users have names below it
	domain  string // suffix and one label more, else the whole host without trailing dot
}

// name returns the host without a trailing dot.
func (h host) name() string { return strings.TrimSuffix(h.ascii, ".") }

// registered reports whether somebody registered h.domain below a public suffix.
func (h host) registered() bool { return h.suffix != "" && h.domain != h.suffix }

func (h host) domainUnicode() string {
	labels := strings.Split(strings.TrimSuffix(h.unicode, "."), ".")
	n := strings.Count(h.domain, ".") + 1
	if h.addr.IsValid() || n > len(labels) {
		return h.domain
	}
	return strings.Join(labels[len(labels)-n:], ".")
}

// toASCII is UTS 46 as browsers apply it (non-transitional, bidi and joiner rules), but
// strict about ASCII: letters, digits and hyphens only.
var toASCII = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.CheckHyphens(false), idna.BidiRule())

// parseHost reads the host of an address. On refusal the host is empty, unless it is
// clear what a browser would contact.
func parseHost(s string) (host, *Finding) {
	if strings.HasPrefix(s, "[") {
		return parseIPv6(s)
	}
	refuse := func(code, text string) *Finding {
		return &Finding{Code: code, Verdict: Refuse, Text: text}
	}
	for _, r := range s {
		if hidden(r) {
			return host{}, refuse("host_hidden", "The name of the site contains invisible characters.")
		}
	}
	if s == "" || len(s) > 1024 {
		return host{}, refuse("host_invalid", "The name of the site is not a valid host name.")
	}
	ascii, err := toASCII.ToASCII(s)
	if err != nil {
		if isASCII(s) && !strings.Contains(strings.ToLower(s), "xn--") {
			return host{}, refuse("host_invalid", "The name of the site is not a valid host name.")
		}
		return host{}, refuse("host_international", "The name of the site is not a valid international name.")
	}
	if !validName(ascii) {
		return host{}, refuse("host_invalid", "The name of the site is not a valid host name.")
	}
	u, err := toASCII.ToUnicode(ascii)
	if err != nil {
		return host{}, refuse("host_international", "The name of the site is not a valid international name.")
	}
	// The round trip is the law: whatever the mapping changed but case and composition,
	// a person would have read another name than the browser does.
	if sent := strings.ToLower(norm.NFC.String(s)); sent != ascii && sent != u || foldsToASCII(s) {
		return host{}, refuse("host_rewritten", "The name of the site contains characters that browsers replace by others.")
	}
	for label := range strings.SplitSeq(u, ".") {
		if !joinersFit(label) {
			return host{}, refuse("host_hidden", "The name of the site contains invisible characters.")
		}
		if strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return host{}, refuse("host_invalid", "The name of the site is not a valid host name.")
		}
	}
	h := host{ascii: ascii, unicode: u}
	name := h.name()
	if endsInNumber(name) {
		addr, err := netip.ParseAddr(ascii)
		if err != nil || !addr.Is4() {
			// WHATWG URL, "ends in a number checker": browsers read 2130706433, 0x7f.1
			// and 127.1 as 127.0.0.1.
			return host{}, refuse("ip_disguised", "The name of the site is a disguised network address.")
		}
		h.addr, h.domain = addr, ascii
		return h, nil
	}
	suffix, icann := publicsuffix.PublicSuffix(name)
	h.suffix, h.icann, h.domain = suffix, icann, name
	h.hosting = !icann && strings.Contains(suffix, ".") // without a dot it is an unknown top level
	if rest := strings.TrimSuffix(name, suffix); rest != "" {
		rest = strings.TrimSuffix(rest, ".")
		h.domain = rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix
	}
	return h, nil
}

func parseIPv6(s string) (host, *Finding) {
	refuse := func(code, text string) *Finding {
		return &Finding{Code: code, Verdict: Refuse, Text: text}
	}
	inner, ok := strings.CutSuffix(s[1:], "]")
	addr, err := netip.ParseAddr(inner)
	switch {
	case !ok || err != nil || !addr.Is6():
		return host{}, refuse("ip_invalid", "The network address is not valid.")
	case addr.Zone() != "":
		return host{}, refuse("ip_zone", "The network address names a network interface of one computer.")
	case addr.Is4In6():
		return host{}, refuse("ip_embedded", "The network address hides another one.")
	}
	h := host{ascii: "[" + addr.String() + "]", addr: addr}
	h.unicode, h.domain = h.ascii, h.ascii
	h.rewrote = !strings.EqualFold(h.ascii, s)
	return h, nil
}

// validName checks length and characters of an A-label host name (RFC 1123, section
// 2.1; RFC 1035, section 2.3.4). Browsers accept more.
func validName(ascii string) bool {
	name := strings.TrimSuffix(ascii, ".")
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return false
			}
		}
	}
	return true
}

// endsInNumber is the WHATWG URL "ends in a number checker".
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" {
		return false
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// joinersFit allows a joiner after a virama and, in Persian and its neighbours, between
// Arabic letters (RFC 5892, appendix A.1). Package idna also lets one end a run of
// joining letters, and engines differ on the letters of other scripts.
func joinersFit(label string) bool {
	rs := []rune(label)
	arabic := func(i, step int) bool {
		for i += step; i >= 0 && i < len(rs) && unicode.Is(unicode.Mn, rs[i]); {
			i += step
		}
		return i >= 0 && i < len(rs) && unicode.Is(unicode.Arabic, rs[i]) && unicode.Is(unicode.Lo, rs[i]) &&
			rs[i] != '\u0621' && rs[i] != '\u0674' // hamzas that never join
	}
	for i, r := range rs {
		if r != '\u200C' && r != '\u200D' || i > 0 && norm.NFC.PropertiesString(string(rs[i-1])).CCC() == 9 {
			continue
		}
		if !arabic(i, -1) || !arabic(i, 1) {
			return false
		}
	}
	return true
}

// foldsToASCII reports whether lower case or composition turns a character of s into
// ASCII, as it does with the Kelvin sign.
func foldsToASCII(s string) bool {
	for _, r := range s {
		if r < utf8.RuneSelf {
			continue
		}
		if unicode.ToLower(r) < utf8.RuneSelf || norm.NFC.String(string(r))[0] < utf8.RuneSelf {
			return true
		}
	}
	return false
}

// hidden reports whether r is invisible or changes the direction of text.
func hidden(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r == 0x200C || r == 0x200D:
		return false // joiners: the joiner rules of IDNA decide
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Variation_Selector, r):
		return true
	}
	return r >= 0xFFF0 && r <= 0xFFFB || r >= 0xE0000 && r <= 0xE0FFF
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
