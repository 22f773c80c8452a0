package link

import (
	"net/netip"
	"slices"
	"strings"
)

// reach judges where the host is: on this computer, in a private network, or on the
// internet.
func (in *inspection) reach(h host) place {
	name := h.name()
	where := placeOf(h)
	switch where {
	case placeLoopback:
		if in.opts.ServerLocal {
			in.add(Note, "local_allowed", "This page is on this computer.")
		} else {
			in.add(Refuse, "local", "The address leads to your own computer, and the server that asks is not on it.")
		}
	case placeForbidden:
		in.add(Refuse, "link_local", "The address leads to a part of the network that is never a web page for people.")
	case placeEmbedded:
		in.add(Refuse, "ip_embedded", "The network address hides another one.")
	case placePrivate:
		if in.allowed(h) {
			in.add(Note, "private_allowed", "%{host} is in a private network that your administrator allows.", "host", name)
		} else {
			in.add(Refuse, "private_network", "%{host} is in a private network.", "host", name)
		}
	default:
		if h.addr.IsValid() {
			in.add(Warn, "ip_address", "The address has a number instead of a name, so nobody can tell whose it is.")
		}
	}
	return where
}

// A place is where an address leads.
type place int

const (
	placePublic    place = iota
	placePrivate         // private networks; an administrator can allow them
	placeLoopback        // this computer
	placeEmbedded        // IPv6 that carries an IPv4 address
	placeForbidden       // link-local, metadata services, multicast, reserved
)

func prefixes(s string) (ps []netip.Prefix) {
	for f := range strings.FieldsSeq(s) {
		ps = append(ps, netip.MustParsePrefix(f))
	}
	return ps
}

// The special-purpose registries of IANA (RFC 6890), and the fixed addresses of cloud
// metadata services. The tests of netip miss many of them.
var (
	forbiddenNets = prefixes(`0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.88.99.0/24 224.0.0.0/4 240.0.0.0/4 100.100.100.200/32
		::/128 100::/64 fe80::/10 fec0::/10 ff00::/8 fd00:ec2::/32 fd20:ce::254/128`)
	embeddedNets = prefixes(`::/96 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2002::/16`)
	privateNets  = prefixes(`10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16 198.18.0.0/15 fc00::/7`)
	loopbackNets = prefixes(`127.0.0.0/8 ::1/128`)

	// privateNames end names that only exist inside a network: RFC 6762 and its
	// appendix G, RFC 8375, and .internal, which ICANN keeps for this use.
	privateNames = strings.Fields("local internal intranet private corp home lan localdomain home.arpa")
	// metadataNames are those of cloud metadata services.
	metadataNames = strings.Fields("metadata.google.internal instance-data.ec2.internal metadata.azure.internal")
)

func placeOf(h host) place {
	name := h.name()
	if !h.addr.IsValid() {
		switch {
		case under(name, "localhost"): // RFC 6761, section 6.3
			return placeLoopback
		case slices.Contains(metadataNames, name):
			return placeForbidden
		case !strings.Contains(name, ".") && !h.icann:
			return placePrivate
		case slices.ContainsFunc(privateNames, func(s string) bool { return under(name, s) }):
			return placePrivate
		}
		return placePublic
	}
	in := func(ps []netip.Prefix) bool {
		return slices.ContainsFunc(ps, func(p netip.Prefix) bool { return p.Contains(h.addr) })
	}
	switch {
	case in(loopbackNets):
		return placeLoopback
	case in(forbiddenNets):
		return placeForbidden
	case in(embeddedNets):
		return placeEmbedded
	case in(privateNets):
		return placePrivate
	}
	return placePublic
}

func under(name, parent string) bool {
	return name == parent || strings.HasSuffix(name, "."+parent)
}

// allowed reports whether the administrator's list holds h.
func (in *inspection) allowed(h host) bool {
	return slices.ContainsFunc(in.opts.AllowPrivate, func(entry string) bool {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if h.addr.IsValid() {
			if p, err := netip.ParsePrefix(entry); err == nil {
				return p.Contains(h.addr)
			}
			a, err := netip.ParseAddr(strings.Trim(entry, "[]"))
			return err == nil && a == h.addr
		}
		if suffix, ok := strings.CutPrefix(entry, "."); ok && suffix != "" {
			return under(h.name(), suffix)
		}
		return h.name() == entry
	})
}
