package link

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed known.txt
var knownText string

//go:embed confusables.txt
var confusablesText string

// A names set holds domains that others imitate.
type names struct {
	domains  map[string]bool
	skeleton map[string][]string // skeleton of the first label -> domains
}

func (n *names) add(domain string) {
	if n.domains[domain] {
		return
	}
	n.domains[domain] = true
	first, _, _ := strings.Cut(domain, ".")
	s := skeleton(unicodeLabel(first))
	n.skeleton[s] = append(n.skeleton[s], domain)
}

func newNames() *names {
	return &names{domains: map[string]bool{}, skeleton: map[string][]string{}}
}

// builtIn is never changed after it was made.
var builtIn = sync.OnceValue(func() *names {
	n := newNames()
	for line := range strings.Lines(knownText) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			n.add(line)
		}
	}
	return n
})

// A knownNames is the built-in set with those of the caller.
type knownNames []*names

func (in *inspection) known() knownNames {
	ks := knownNames{builtIn()}
	extra := in.opts.Known
	if server := in.server(); server.registered() {
		// MCP: the server that asks is the first whose name a page would imitate.
		extra = append(slices.Clip(extra), server.domain)
	}
	if len(extra) == 0 {
		return ks
	}
	own := newNames()
	for _, d := range extra {
		if h, bad := parseHost(strings.TrimSpace(d)); bad == nil && !h.addr.IsValid() {
			own.add(h.name())
		}
	}
	return append(ks, own)
}

func (ks knownNames) has(domain string) bool {
	return slices.ContainsFunc(ks, func(n *names) bool { return n.domains[domain] })
}

// like returns the known domains whose first label has the given skeleton.
func (ks knownNames) like(skeleton string) (domains []string) {
	for _, n := range ks {
		domains = append(domains, n.skeleton[skeleton]...)
	}
	return domains
}

// confusables maps a character to the ASCII that it looks like.
type confusables struct{ strict, loose map[rune]string }

var lookalikes = sync.OnceValue(func() confusables {
	c := confusables{strict: map[rune]string{}, loose: map[rune]string{}}
	for line := range strings.Lines(confusablesText) {
		target, chars, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || target == "#" {
			continue
		}
		table := c.strict
		if rest, loose := strings.CutPrefix(target, "~"); loose {
			target, table = rest, c.loose
		}
		for _, r := range chars {
			table[r] = target
		}
	}
	return c
})

// latin returns the ASCII letters and digits that every character of s looks like to
// the letter (UTS 39, section 4), or false.
func latin(s string) (string, bool) {
	table := lookalikes().strict
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r < unicode.MaxASCII:
			b.WriteRune(r)
		case table[r] != "":
			b.WriteString(table[r])
		default:
			return "", false
		}
	}
	return b.String(), true
}

// pairs are letters that run together, and letters that only a typeface tells apart.
var pairs = strings.NewReplacer("rn", "m", "vv", "w", "cl", "d", "1", "l", "i", "l", "0", "o")

// skeleton returns a string that is equal for labels that people take for each other.
func skeleton(label string) string {
	c := lookalikes()
	var b strings.Builder
	for _, r := range norm.NFD.String(label) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r < unicode.MaxASCII:
			b.WriteRune(r)
		case c.strict[r] != "":
			b.WriteString(c.strict[r])
		case c.loose[r] != "":
			b.WriteString(c.loose[r])
		default:
			b.WriteRune(r)
		}
	}
	return pairs.Replace(b.String())
}

func unicodeLabel(label string) string {
	if u, err := toASCII.ToUnicode(label); err == nil {
		return u
	}
	return label
}

// imitation looks for a known name in a host that is not its own.
func (in *inspection) imitation(h host) {
	ks := in.known()
	if !h.registered() || ks.has(h.domain) {
		return
	}
	labels := strings.Split(strings.TrimSuffix(h.unicode, "."), ".")
	at := len(labels) - strings.Count(h.domain, ".") - 1 // the label that was registered
	if at < 0 {
		return
	}
	own := labels[at]
	for _, k := range ks.like(skeleton(own)) {
		first, suffix, _ := strings.Cut(k, ".")
		// Short names look alike by chance; there the suffix has to match too.
		if first == own || len(first) < 5 && suffix != h.suffix {
			continue
		}
		in.add(Warn, "lookalike", "%{domain} looks like %{known}, but it is another site.", "domain", h.domain, "known", k)
		return
	}
	if k := ks.inside(labels[:at], own); k != "" {
		in.add(Warn, "known_subdomain", "The address mentions %{known}, but it belongs to %{domain}.", "known", k, "domain", h.domain)
		return
	}
	for part := range strings.SplitSeq(own, "-") {
		for _, k := range ks.like(skeleton(part)) {
			first, _, _ := strings.Cut(k, ".")
			if part != own && len(first) >= 6 {
				in.add(Note, "known_part", "The name contains that of %{known}, but it belongs to %{domain}.", "known", k, "domain", h.domain)
				return
			}
		}
	}
}

// inside returns the known domain that the labels below a registered one spell, also
// with hyphens for dots: "paypal.com.evil.example", "login.paypal.com-secure.example".
func (ks knownNames) inside(sub []string, own string) string {
	var words []string
	for _, label := range sub {
		words = append(words, strings.Split(label, "-")...)
	}
	starts := len(words) // words that begin in sub, or before a hyphen in own
	if parts := strings.Split(own, "-"); len(parts) > 1 {
		starts += len(parts) - 1
		words = append(words, parts...)
	} else {
		words = append(words, own)
	}
	for i := range starts {
		for _, k := range ks.like(skeleton(words[i])) {
			_, suffix, _ := strings.Cut(k, ".")
			n := strings.Count(suffix, ".") + 1
			if i+1+n <= len(words) && strings.Join(words[i+1:i+1+n], ".") == suffix {
				return k
			}
		}
		// "deutsche-bank.de": a known name may have a hyphen itself.
		if i+2 < len(words) {
			for _, k := range ks.like(skeleton(words[i] + "-" + words[i+1])) {
				if _, suffix, _ := strings.Cut(k, "."); words[i+2] == suffix {
					return k
				}
			}
		}
	}
	return ""
}
