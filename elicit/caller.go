package elicit

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addressKey is the context key of the netip.Addr that an HTTP request came from;
// zero if it came from no network.
type addressKey struct{}

// withAddress returns the request with a context that says where it came from:
// whoever put another RemoteAddr there, such as a middleware that knows its
// proxy, has decided.
func withAddress(req *http.Request) *http.Request {
	var from netip.Addr
	if full, err := netip.ParseAddrPort(req.RemoteAddr); err == nil {
		from = full.Addr()
	} else if bare, err := netip.ParseAddr(req.RemoteAddr); err == nil {
		from = bare // middleware likes to leave the port out
	}
	return req.WithContext(context.WithValue(req.Context(), addressKey{}, from.Unmap()))
}

// callerOf names whose questions are counted together: the principal; of
// anonymous callers over HTTP the address, in IPv6 the network of 64 bits that
// one customer has; else the connection. It is nil for loopback and sockets of
// this machine, which are its own person or a proxy in front of everybody.
func callerOf(ctx context.Context, p Principal, session *mcp.ServerSession) any {
	if !p.IsZero() {
		return p
	}
	from, known := ctx.Value(addressKey{}).(netip.Addr)
	switch {
	case !known:
		return session
	case !from.IsValid(), from.IsLoopback():
		return nil
	case from.Is4():
		return from
	}
	network, err := from.WithZone("").Prefix(64)
	if err != nil {
		return from
	}
	return network
}
