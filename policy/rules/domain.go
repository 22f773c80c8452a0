package rules

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/parley-mcp/parley/link"
)

// A domainPattern is a compiled pattern for the host of an address: a name stands for
// itself and all below it, "*.name" for what is below it only. An IP address
// stands for itself.
type domainPattern struct {
	name    string // as link.Report.Host has it, without a trailing dot
	below   bool   // not the name itself
	address bool
}

func compileDomain(pattern string) (domainPattern, error) {
	name, below := strings.CutPrefix(pattern, "*.")
	if strings.ContainsAny(name, "*?:/@[]") {
		return domainPattern{}, errors.New(`a domain is a name such as example.com, or *.example.com for what is below it, without scheme, port and path`)
	}
	// The name is read the way the host of an address is: an international one
	// becomes its A-label, and what no browser would keep is refused.
	report := link.Inspect("https://"+name+"/", &link.Options{ServerLocal: true, AllowPrivate: []string{"0.0.0.0/0", name}})
	host := strings.TrimSuffix(report.Host, ".")
	for _, f := range report.Findings {
		switch f.Code {
		case "top_level", "local", "private_network", "link_local": // rules may be about these as well
		default:
			if f.Verdict == link.Refuse {
				return domainPattern{}, errors.New("that is no domain: " + f.Text)
			}
		}
	}
	if host == "" {
		return domainPattern{}, errors.New("that is no domain")
	}
	_, err := netip.ParseAddr(host)
	if err == nil && below {
		return domainPattern{}, errors.New("nothing is below an IP address")
	}
	return domainPattern{name: host, below: below, address: err == nil}, nil
}

// match compares whole labels: "ample.com" is no suffix of "example.com".
func (d domainPattern) match(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == d.name {
		return !d.below
	}
	return !d.address && strings.HasSuffix(host, "."+d.name)
}
