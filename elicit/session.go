package elicit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const sessionHeader = "Mcp-Session-Id"

// sessions ties the id of a legacy session to its principal: what the client
// gets is the SDK's id and a code that only this principal can present. The
// SDK compares the token's user id, which says nothing about issuer and tenant.
//
// MCP elicitation, "Security Considerations": servers MUST bind elicitation
// requests to the client and user identity. MCP security best practices,
// "Session Hijacking": bind session ids to user-specific information.
type sessions struct{ key []byte }

// newSessions makes a key that lives as long as the sessions: in this process.
func newSessions() sessions {
	key := make([]byte, 32)
	rand.Read(key)
	return sessions{key}
}

func (s sessions) code(id string, p Principal) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(digest([]byte(id), []byte(p.Issuer), []byte(p.Tenant), []byte(p.Subject))))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

func (s sessions) outer(id string, p Principal) string { return id + "." + s.code(id, p) }

// inner returns the SDK's id, if the principal is the one that it was given to.
func (s sessions) inner(outer string, p Principal) (string, bool) {
	cut := strings.LastIndexByte(outer, '.')
	if cut < 0 {
		return "", false
	}
	id, code := outer[:cut], outer[cut+1:]
	return id, hmac.Equal([]byte(code), []byte(s.code(id, p)))
}

// admit prepares a legacy request and its response, or answers it.
func (h *handler) admit(w http.ResponseWriter, req *http.Request) (http.ResponseWriter, bool) {
	principal, err := h.server.identify(req.Context(), &mcp.RequestExtra{
		TokenInfo: auth.TokenInfoFromContext(req.Context()), Header: req.Header,
	})
	if errors.Is(err, ErrUnavailable) {
		h.server.log.Warn("no principal for a request", "error", err)
		w.Header().Set("Retry-After", "2")
		http.Error(w, "the person behind this request cannot be found out at the moment", http.StatusServiceUnavailable)
		return nil, false
	}
	if err != nil {
		h.server.log.Warn("no principal for a request", "error", err)
		http.Error(w, "the person behind this request could not be verified", http.StatusForbidden)
		return nil, false
	}
	outer := req.Header.Get(sessionHeader)
	if outer == "" {
		return &sessionWriter{ResponseWriter: w, rename: func(id string) string { return h.sessions.outer(id, principal) }}, true
	}
	id, ok := h.sessions.inner(outer, principal)
	if !ok {
		// The same words as for a session that is not there.
		http.Error(w, "session not found", http.StatusNotFound)
		return nil, false
	}
	req.Header.Set(sessionHeader, id)
	return w, true
}

// sessionWriter renames the session id in the headers of a response.
type sessionWriter struct {
	http.ResponseWriter
	rename func(id string) string
	done   bool
}

func (w *sessionWriter) start() {
	if id := w.Header().Get(sessionHeader); id != "" && !w.done {
		w.Header().Set(sessionHeader, w.rename(id))
	}
	w.done = true
}

func (w *sessionWriter) WriteHeader(status int) {
	w.start()
	w.ResponseWriter.WriteHeader(status)
}

func (w *sessionWriter) Write(p []byte) (int, error) {
	w.start()
	return w.ResponseWriter.Write(p)
}

func (w *sessionWriter) Flush() {
	w.start()
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
