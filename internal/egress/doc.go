// Package egress makes HTTP clients for addresses that others choose: token
// endpoints, metadata documents, whatever a server, a tenant's name or a response
// says. Such a client reaches the internet and nothing else.
//
// The address is checked when it is dialled, after the name was looked up, so a
// name that changes its address between a check and its use (DNS rebinding)
// gains nothing. Refused are private, loopback, link-local, shared, multicast,
// documentation, benchmarking and reserved ranges (IANA's special-purpose
// registries, RFC 6890), the addresses of cloud metadata services, and all of
// IPv6 that carries an IPv4 address (mapped, NAT64, 6to4, Teredo). A network
// that reaches the internet only by NAT64 has to allow 64:ff9b::/96.
//
// Further: https, except to what is allowed; no redirects; no proxy, whatever
// the environment says, since the guard would see the proxy's address only; no
// cookies; no connection is kept; limits on the head, the body and the time.
// HTTP/1.1 only.
package egress
