package serve

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Bounds on what is read of X-Forwarded-For, from its right end.
const (
	maxHops      = 32 // elements, empty ones included
	maxHopLength = 64 // bytes of one
)

// behind gives the requests of trusted proxies the address of whoever asked the first of
// them, so that everything that looks at RemoteAddr sees it. Without such proxies it
// changes nothing: anybody can send the header.
func behind(proxies []netip.Prefix, next http.Handler) http.Handler {
	if len(proxies) == 0 {
		return next
	}
	trusted := make([]netip.Prefix, 0, len(proxies))
	for _, p := range proxies {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		trusted = append(trusted, p.Masked())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from := clientOf(trusted, r); from.IsValid() {
			r = r.WithContext(r.Context()) // the caller's stays as it is
			r.RemoteAddr = netip.AddrPortFrom(from, 0).String()
		}
		next.ServeHTTP(w, r)
	})
}

// clientOf is where a request comes from: the peer; if that is a trusted proxy, what the
// proxy has put at the right end of the list, and so on. What is further left may be the
// client's own invention. Where an element is no address, the last proxy that is known
// stands for whoever is behind it. Zero: the peer, as it is.
func clientOf(trusted []netip.Prefix, r *http.Request) netip.Addr {
	at := hop(r.RemoteAddr)
	isTrusted := func() bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(at) })
	}
	if !at.IsValid() || !isTrusted() {
		return netip.Addr{}
	}
	// RFC 9110 5.3: several lines are one list, in their order.
	seen := 0
	for _, line := range slices.Backward(r.Header["X-Forwarded-For"]) {
		for more := true; more; {
			if seen++; seen > maxHops {
				return at
			}
			element := line
			comma := strings.LastIndexByte(line, ',')
			if more = comma >= 0; more {
				line, element = line[:comma], line[comma+1:]
			}
			if element = strings.Trim(element, " \t"); element == "" { // RFC 9110 5.6.1.2
				continue
			}
			next := hop(element)
			if !next.IsValid() {
				return at
			}
			if at = next; !isTrusted() {
				return at
			}
		}
	}
	return at
}

// hop reads an address, with or without a port; IPv6 in brackets or not. A zone is of
// another machine, and any text at all.
func hop(text string) netip.Addr {
	if len(text) > maxHopLength {
		return netip.Addr{}
	}
	at, err := netip.ParseAddr(text)
	if err != nil {
		var full netip.AddrPort
		full, err = netip.ParseAddrPort(text)
		at = full.Addr()
	}
	if bare, ok := strings.CutPrefix(text, "["); err != nil && ok {
		if bare, ok = strings.CutSuffix(bare, "]"); ok {
			at, err = netip.ParseAddr(bare)
		}
	}
	if err != nil {
		return netip.Addr{}
	}
	return at.WithZone("").Unmap()
}
