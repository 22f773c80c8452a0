package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// special are ranges of IPv4 that no public server has.
var special = prefixes(`
	0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12
	192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
	224.0.0.0/4 240.0.0.0/4
	168.63.129.16/32`) // a public number that is Azure's metadata service

// global is the only part of IPv6 that is given out for use on the internet (RFC
// 4291, section 2.4 and IANA's registry): everything outside of it is local,
// embedded, multicast or nothing. notGlobal are the exceptions within it:
// protocol assignments with Teredo and documentation, 6to4, documentation.
var (
	global    = netip.MustParsePrefix("2000::/3")
	notGlobal = prefixes(`2001::/23 2001:db8::/32 2002::/16 3fff::/20`)
)

func prefixes(list string) (ps []netip.Prefix) {
	for field := range strings.FieldsSeq(list) {
		ps = append(ps, netip.MustParsePrefix(field))
	}
	return ps
}

func contains(ps []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(ps, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Public reports whether the address is one of the internet.
func Public(addr netip.Addr) bool {
	switch {
	case !addr.IsValid() || addr.Zone() != "":
		return false
	case addr.Is4():
		return !contains(special, addr)
	}
	return global.Contains(addr) && !contains(notGlobal, addr) // a mapped address is outside
}
