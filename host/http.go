package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/parley-mcp/parley/vault"
)

// headers is the outermost round tripper of one HTTP connection: it adds the
// server's headers, keeps them from other origins, and remembers a request to
// sign in that came outside of any call.
type headers struct {
	base   http.RoundTripper // the wiretap's
	server *Server
	origin string
	bearer *bearer // nil: no token of the vault goes to this server

	mu     sync.Mutex
	signIn *signInError // last 401 or 403 with a challenge, until a request succeeds
}

// A signInError says that the server wants the connection to be authorized.
type signInError struct {
	status    int
	challenge string
	with      vault.Token // what the request was authorized with; zero: nothing
}

func (e *signInError) Error() string {
	return fmt.Sprintf("the server answered %d %s", e.status, http.StatusText(e.status))
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != h.origin { // after a redirect; see sameOrigin
		return nil, errElsewhere
	}
	req = req.Clone(req.Context())
	for name, value := range h.server.Headers {
		req.Header.Set(name, value.Reveal())
	}
	if err := h.authorize(req); err != nil {
		return nil, err
	}
	resp, err := roundTrip(h.base, req, streamWait)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	switch {
	case wantsSignIn(resp.StatusCode, resp.Header.Get("WWW-Authenticate")):
		h.signIn = &signInError{status: resp.StatusCode, challenge: resp.Header.Get("WWW-Authenticate")}
		if h.bearer != nil {
			h.signIn.with = h.bearer.held()
		}
		if note, ok := req.Context().Value(refusalKey{}).(*refusalNote); ok {
			note.refusal = h.signIn
		}
	case resp.StatusCode < 400 && req.Method == http.MethodPost:
		h.signIn = nil // the end of a session, or its stream, is granted to anybody
	}
	h.mu.Unlock()
	gone := resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != ""
	if resp.StatusCode >= 400 && !gone && spares(req) {
		// The SDK gives up the whole session for most error statuses, and with
		// it the calls of others on it. It takes 503 for a fault of this one
		// request; the true status is in the wiretap's outcome.
		resp.StatusCode, resp.Status = http.StatusServiceUnavailable, "503 Service Unavailable"
	}
	keepOpen(h.base, req, resp, firstPause)
	if c := captureOf(req.Context()); c != nil {
		resp.Body = &captureBody{ReadCloser: resp.Body, to: c}
	}
	return resp, nil
}

// authorize adds the token of the vault (RFC 6750 2.1). It comes after the test of the
// origin, and a redirect makes a request anew: the token goes nowhere else.
func (h *headers) authorize(req *http.Request) error {
	if h.bearer == nil {
		return nil
	}
	r, call := req.Context().Value(requestKey{}).(*request)
	token, err := h.bearer.header(req.Context(), call && r != nil)
	if err != nil {
		return err
	}
	if !token.IsZero() {
		req.Header.Set("Authorization", token.Reveal())
	}
	return nil
}

// spares reports whether an error status to this request says nothing about
// the session: it carries a call, an answer or a notification. A 404 to a
// session id says that the session is gone (MCP 2025-11-25 basic/transports,
// "Session Management").
func spares(req *http.Request) bool {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return false
	}
	if _, call := req.Context().Value(requestKey{}).(*request); call {
		return true
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	return json.NewDecoder(body).Decode(&msg) == nil && (msg.Method == "" || len(msg.ID) == 0)
}

func (h *headers) wanted() *signInError {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.signIn
}

// A refusalNote in a context keeps how the server refused a request of that context,
// whatever becomes of others that are on their way.
type refusalNote struct{ refusal *signInError }

type refusalKey struct{}

// forgive forgets a refusal that a sign-in on another machine has answered.
func (h *headers) forgive(refusal *signInError) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.signIn == refusal {
		h.signIn = nil
	}
}

// refused is why the connection is not authorized, if that is known.
func (h *headers) refused() error {
	if h.bearer != nil {
		if err := h.bearer.trouble(); err != nil {
			return err
		}
	}
	if want := h.wanted(); want != nil { // a nil *signInError is no nil error
		return want
	}
	return nil
}

// wantsSignIn reports whether a response asks for authorization: 401, or 403
// with a challenge (RFC 9110 11.6.1, RFC 6750 3.1 insufficient_scope). A bare
// 403 is the server's last word.
func wantsSignIn(status int, challenge string) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden && challenge != ""
}

var errElsewhere = errors.New("the server redirects to another address")

// sameOrigin follows redirects within one origin. Anywhere else would get the
// person's arguments and answers, and perhaps the headers: net/http sends the
// body again on 307 and 308.
func sameOrigin(req *http.Request, via []*http.Request) error {
	if len(via) > 3 {
		return errors.New("the server redirects in a circle")
	}
	if origin(req.URL) != origin(via[0].URL) {
		return errElsewhere
	}
	return nil
}
