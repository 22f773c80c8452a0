package serve

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// crossOrigin reports whether a page of another origin sent r.
func (s *Server) crossOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin != "" && !sameOrigin(r, origin)
}

// share lets pages of the origins that embed the elements read answers (Fetch
// Standard, "CORS protocol"). No credentials are allowed with it: a token is sent by
// the page's script, a cookie would be sent by the browser.
func (s *Server) share(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/assets/") {
			// The elements are public, and pages elsewhere load them as a module.
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
			next.ServeHTTP(w, r)
			return
		}
		origin := r.Header.Get("Origin")
		if !strings.HasPrefix(r.URL.Path, "/v1/") || !slices.Contains(s.origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Allow-Origin", origin)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Last-Event-ID")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// readOrigin checks an origin of a configuration: scheme and host, and nothing else, as
// browsers write it (RFC 6454 6.1). They send it in small letters and without the port
// that the scheme has anyway, so one in another form would never match.
func readOrigin(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || text != u.Scheme+"://"+u.Host {
		return "", false
	}
	if text != strings.ToLower(text) || u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
		return "", false
	}
	return text, true
}

// sameOrigin reports whether origin is the one that r was sent to.
func sameOrigin(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}
