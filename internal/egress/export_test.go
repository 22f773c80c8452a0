package egress

import "net"

// SetResolver makes the client ask the test's own name server.
func SetResolver(o *Options, r *net.Resolver) { o.resolver = r }
