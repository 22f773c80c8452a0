package fakeprovider

import (
	"net/http"
	"strings"
)

// Protect is a resource that wants this server's tokens (RFC 6750, section 3) and
// says whose they are (RFC 9728, section 5.1). issuer is the address of s.
func (s *Server) Protect(issuer string, next http.Handler) http.Handler {
	const wellKnown = "/.well-known/oauth-protected-resource"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme := "http://"
		if r.TLS != nil {
			scheme = "https://"
		}
		if path, is := strings.CutPrefix(r.URL.Path, wellKnown); is {
			writeJSON(w, http.StatusOK, map[string]any{"resource": scheme + r.Host + path, "authorization_servers": []string{issuer}})
			return
		}
		token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, valid := s.Valid(token); !is || !valid {
			challenge := `Bearer resource_metadata="` + scheme + r.Host + wellKnown + r.URL.Path + `"`
			if is {
				challenge += `, error="invalid_token"`
			}
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
