package serve

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/parley-mcp/parley/web"
)

// secured adds the headers that every answer carries, and refuses requests that
// another site made the browser send.
func (s *Server) secured(next http.Handler) http.Handler {
	// A state-changing request from another origin is refused before anything
	// looks at it: Sec-Fetch-Site, or Origin against Host (Go 1.25).
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, errCrossOrigin)
	}))
	inner := guard.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", web.CSP)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !s.knownHost(r.Host) {
			s.fail(w, r, errWrongHost)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// knownHost stops DNS rebinding: a page of another name that resolves to this
// machine would otherwise be of the same origin as the host's own page. Without
// Options.Hosts only loopback addresses and localhost are names of this host.
func (s *Server) knownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(strings.ToLower(host), "[]")
	for _, h := range s.hosts {
		if host == h {
			return true
		}
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
