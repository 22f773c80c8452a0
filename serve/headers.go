package serve

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/parley-mcp/parley/web"
)

// bodyTime is how long the body of a request may take to come. Without a bound, one
// that never comes holds its connection for ever, also before anybody signed in.
const bodyTime = 30 * time.Second

// secured adds the headers that every answer carries, and refuses requests that
// another site made the browser send.
func (s *Server) secured(next http.Handler) http.Handler {
	// A state-changing request from another origin is refused before anything
	// looks at it: Sec-Fetch-Site, or Origin against Host (Go 1.25).
	deny := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, errCrossOrigin) })
	own, api := http.NewCrossOriginProtection(), http.NewCrossOriginProtection()
	own.SetDenyHandler(deny)
	api.SetDenyHandler(deny)
	for _, origin := range s.origins {
		// identifyAs takes nothing but an embed token from these.
		if err := api.AddTrustedOrigin(origin); err != nil {
			panic("serve: " + err.Error()) // readOrigin has looked at it
		}
	}
	ownNext, apiNext := own.Handler(next), api.Handler(next)
	inner := s.share(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			apiNext.ServeHTTP(w, r)
			return
		}
		// Sign-in and sign-out go by the cookie alone.
		ownNext.ServeHTTP(w, r)
	}))
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
		if r.ContentLength != 0 {
			// A writer without deadlines (a test's recorder) simply has none.
			body := &timedBody{ReadCloser: r.Body, ctl: http.NewResponseController(w)}
			if err := body.ctl.SetReadDeadline(time.Now().Add(s.bodyTime)); err == nil {
				r.Body = body
			}
		}
		inner.ServeHTTP(w, r)
	})
}

// A timedBody takes the read deadline away where the body ends: past it, the
// deadline would cancel the context of a handler that has something to wait for.
type timedBody struct {
	io.ReadCloser
	ctl *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		if derr := b.ctl.SetReadDeadline(time.Time{}); derr != nil {
			return n, derr
		}
	}
	return n, err
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
	if slices.Contains(s.hosts, host) {
		return true
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
