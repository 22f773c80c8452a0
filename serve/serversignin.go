package serve

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/link"
	"github.com/parley-mcp/parley/web"

	"github.com/parley-mcp/parley/serve/client"
)

// Paths of signing in to servers, below this host's own address.
const (
	serverCallback = "/sign-in/servers/callback"
	// ClientMetadataPath is where the client ID metadata document of this host stands,
	// if Options.PublicURL is https.
	ClientMetadataPath = "/sign-in/servers/client.json"
)

// maxCallback bounds the query of a callback, in bytes.
const maxCallback = 16 << 10

// base is the address of this host as the browser knows it. Without a public one only
// loopback is left, where there is no proxy: the way back has to be the origin whose
// storage has the bearer.
func (s *Server) base(r *http.Request) string {
	if s.publicURL != "" {
		return s.publicURL
	}
	return "http://" + r.Host // knownHost has looked at it; host.SignIn refuses all but loopback
}

// ownPerson refuses sessions of products' pages: the way back comes to this host's own
// page, where nobody is signed in with such a token.
func (s *Server) ownPerson(r *asker) error {
	if s.embed != nil && isEmbedToken(bearer(r.Request)) {
		return errScope
	}
	return nil
}

// serverSignIn begins a sign-in to a server.
func (s *Server) serverSignIn(w http.ResponseWriter, r *asker) error {
	if err := s.ownPerson(r); err != nil {
		return err
	}
	id := r.PathValue("id")
	page, err := s.host.SignIn(r.Context(), r.principal, id, s.base(r.Request)+serverCallback)
	if err != nil {
		return err
	}
	at := s.place(r.principal, id)
	report := link.Inspect(page.URL, &link.Options{ServerDomain: at.Domain, ServerLocal: at.Local})
	if report.Verdict == link.Refuse {
		return &host.SignInError{Server: id, Why: "its authorization server has an address that nobody should be sent to"}
	}
	return writeJSON(w, http.StatusOK, client.SignInPage{URL: report.Href, Link: report, Issuer: page.Issuer, Scopes: orEmpty(page.Scopes)})
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// serverSignedIn finishes what serverSignIn began. The page of the callback sends it, so
// that whoever is signed in is known before the state is taken, in whichever way.
func (s *Server) serverSignedIn(w http.ResponseWriter, r *asker) error {
	if err := s.ownPerson(r); err != nil {
		return err
	}
	var in client.SignInReply
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	got, err := s.host.SignedIn(r.Context(), r.principal, host.SignInReply{
		State: host.NewSecret(in.State), Code: host.NewSecret(in.Code), Issuer: in.Issuer, Error: in.Error,
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, drawSignIn(got))
}

// serverAccount carries out what the person decided about another account.
func (s *Server) serverAccount(w http.ResponseWriter, r *asker) error {
	if err := s.ownPerson(r); err != nil {
		return err
	}
	var in client.AccountChoice
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	got, err := s.host.ChooseAccount(r.Context(), r.principal, r.PathValue("id"), host.NewSecret(in.Decision), in.Replace)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, drawSignIn(got))
}

func drawSignIn(got *host.SignInResult) client.SignInResult {
	return client.SignInResult{
		Server: got.Server, Outcome: string(got.Outcome), Account: got.Account, Before: got.Before,
		Decision: got.Decision.Reveal(), Missing: orEmpty(got.Missing), Resumed: got.Resumed,
	}
}

// serverSignOut ends what the person was given for a server.
func (s *Server) serverSignOut(w http.ResponseWriter, r *asker) error {
	if err := s.ownPerson(r); err != nil {
		return err
	}
	id := r.PathValue("id")
	revoked, err := s.host.SignOut(r.Context(), r.principal, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.SignOutResult{Server: id, Revoked: string(revoked)})
}

// callbackPage answers the browser that comes back from an authorization server. It
// changes nothing, so a prefetched or repeated one does not matter: its script sends
// what the address holds to serverSignedIn. A parameter that comes twice is read in two
// ways by two readers, and is refused (RFC 6749 3.1).
func (s *Server) callbackPage(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	bad := err != nil || len(r.URL.RawQuery) > maxCallback
	for _, name := range []string{"state", "code", "iss", "error"} {
		bad = bad || len(query[name]) > 1
	}
	if bad {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusBadRequest)
		w.Write([]byte("This address cannot be read. Nothing was done. Go back to Parley and sign in once more.\n"))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(web.SignInShell())
}

// clientMetadata is the client ID metadata document of this host (MCP 2026-07-28
// basic/authorization/client-registration). It is public, and the same for everybody.
func (s *Server) clientMetadata(w http.ResponseWriter, _ *http.Request) {
	b, err := json.Marshal(map[string]any{
		"client_id": s.publicURL + ClientMetadataPath, "client_name": "Parley", "client_uri": s.publicURL,
		"redirect_uris": []string{s.publicURL + serverCallback}, "application_type": "web",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none",
	})
	if err != nil { // texts alone
		http.Error(w, "internal", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Write(append(b, '\n')) // the reader is gone: nobody to tell
}

// readPublicURL checks Options.PublicURL: an origin, perhaps with a slash.
func readPublicURL(text string) string {
	if text == "" {
		return ""
	}
	origin, ok := readOrigin(strings.TrimSuffix(text, "/"))
	if !ok {
		panic("serve: Options.PublicURL must be an address such as https://parley.example.com")
	}
	return origin
}
