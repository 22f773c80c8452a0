package link

import (
	"fmt"
	"slices"
	"strings"
)

// A Verdict says what a surface may do with an address. Verdicts are ordered: a
// greater one is stricter.
type Verdict int

const (
	OK     Verdict = iota // show it and offer to open it
	Note                  // the same, with a line of explanation
	Warn                  // offer it only after a second, explicit confirmation
	Refuse                // never offer it; there is no Href
)

var verdictNames = [...]string{"ok", "note", "warn", "refuse"}

// String returns "ok", "note", "warn" or "refuse".
func (v Verdict) String() string {
	if v < 0 || int(v) >= len(verdictNames) {
		return fmt.Sprintf("Verdict(%d)", int(v))
	}
	return verdictNames[v]
}

// MarshalText writes the verdict as [Verdict.String] does.
func (v Verdict) MarshalText() ([]byte, error) {
	if v < 0 || int(v) >= len(verdictNames) {
		return nil, fmt.Errorf("link: no such verdict: %d", int(v))
	}
	return []byte(verdictNames[v]), nil
}

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(text []byte) error {
	i := slices.Index(verdictNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("link: no such verdict: %q", text)
	}
	*v = Verdict(i)
	return nil
}

// A Report says what an address really is. All its fields are safe to show, but Raw.
type Report struct {
	// Verdict is the strictest verdict of Findings, or OK.
	Verdict Verdict `json:"verdict"`
	// Scheme is in lower case, empty if the address has none.
	Scheme string `json:"scheme,omitempty"`
	// Host is what a browser would contact: a name as an A-label (punycode), or an IP
	// address, in brackets if it is IPv6. Port is empty where it is the scheme's own.
	// After a refusal they are what a browser would most likely make of the address,
	// and empty where that is unclear.
	Host string `json:"host,omitempty"`
	Port string `json:"port,omitempty"`
	// HostUnicode is Host in the script its owner uses. Show Host first if the verdict
	// is Warn: the letters of HostUnicode may look like other letters.
	HostUnicode string `json:"host_unicode,omitempty"`
	// Domain is the part of Host that somebody registered (one label more than the
	// public suffix); all of Host where there is no such part.
	Domain        string `json:"domain,omitempty"`
	DomainUnicode string `json:"domain_unicode,omitempty"`
	// Href is the only form to show and to open. It is, byte for byte, what
	// new URL(Raw).href gives in a browser; ASCII only; empty if Verdict is Refuse.
	Href string `json:"href,omitempty"`
	// Raw is the address as it was received. It may hold anything.
	Raw string `json:"raw"`
	// Findings are in order of their verdicts, the strictest first.
	Findings []Finding `json:"findings,omitempty"`
}

// A Finding is one thing that a person should know about an address.
type Finding struct {
	// Code is stable; the package documentation lists the codes.
	Code    string  `json:"code"`
	Verdict Verdict `json:"verdict"`
	// Text is a plain sentence in English, made from Code and Params. Neither holds
	// any part of the query or fragment but names of parameters and of other sites.
	Text   string            `json:"text"`
	Params map[string]string `json:"params,omitempty"`
}

// Options tell Inspect who asks and what is expected. The zero value and nil mean: an
// unknown remote server, and no exceptions.
type Options struct {
	// ServerDomain is the host, or any URL, of the server that asks.
	ServerDomain string
	// ServerLocal says that the asking server runs on the person's own computer (its
	// endpoint is on loopback, or it is a stdio program), so it may point there.
	ServerLocal bool
	// AllowPrivate lists what may be opened in private networks: host names,
	// ".suffixes", IP addresses and CIDR prefixes. Link-local and metadata addresses
	// stay refused.
	AllowPrivate []string
	// RequireTLS refuses http, except on this computer.
	RequireTLS bool
	// Known holds domains beside the built-in list that others may try to imitate.
	Known []string
}

// Inspect says what the address raw really is. It never fails: what cannot be
// understood is refused. It does no I/O, and is safe for concurrent use.
func Inspect(raw string, opts *Options) *Report {
	if opts == nil {
		opts = &Options{}
	}
	in := inspection{opts: opts, Report: &Report{Raw: raw}}
	in.run()
	r := in.Report
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return int(b.Verdict) - int(a.Verdict) })
	if len(r.Findings) > 0 {
		r.Verdict = r.Findings[0].Verdict
	}
	if r.Verdict == Refuse {
		r.Href = ""
	}
	return r
}

// Has reports whether the report holds a finding with the given code.
func (r *Report) Has(code string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == code })
}

// Defang returns an address in a form that no terminal or mail program turns into a
// link, such as "hxxps://evil[.]example/". Use it to print a refused address, after
// control characters are removed.
func Defang(address string) string {
	scheme, rest, ok := strings.Cut(address, ":")
	if !ok {
		return strings.ReplaceAll(address, ".", "[.]")
	}
	scheme = strings.NewReplacer("t", "x", "T", "X").Replace(scheme)
	end := strings.IndexAny(strings.TrimLeft(rest, "/"), "/?#")
	if end < 0 {
		return scheme + ":" + strings.ReplaceAll(rest, ".", "[.]")
	}
	end += len(rest) - len(strings.TrimLeft(rest, "/"))
	return scheme + ":" + strings.ReplaceAll(rest[:end], ".", "[.]") + rest[end:]
}
