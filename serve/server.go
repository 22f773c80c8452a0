package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/web"
	"github.com/parley-mcp/parley/webhook"

	"github.com/parley-mcp/parley/serve/client"
)

// maxBody bounds the body of a request, in bytes. The largest legal one is a
// tool's arguments.
const maxBody = 1 << 20

// Options are the choices of a [Server]. Exactly one of Local and Identify is set.
type Options struct {
	// Local signs in the one person of this machine.
	Local *Local
	// Identify says who sends a request. Its error is answered 401, its text is not shown.
	Identify func(*http.Request) (*Session, error)
	// SignIn answers GET /sign-in, /sign-in/callback and POST /sign-out for pages, as
	// package serve/oidc does; a person without a session is sent there. Beside Identify.
	SignIn http.Handler
	// Webhooks are what operators look at under /v1/ops/webhooks. Nil: there are none.
	Webhooks *webhook.Sender
	// APIKeys let back ends of products mint tokens for their pages, beside Local or
	// Identify; Keys seal the tokens, and are the same on all machines.
	APIKeys []*APIKey
	Keys    *inbox.Keys
	// PublicURL is the address by which browsers reach this host, such as
	// https://parley.example.com. People who sign in to servers come back to it. Empty:
	// the loopback address that they use.
	PublicURL string
	// Hosts are further names by which this host is reached, without ports.
	// Loopback names always count.
	Hosts []string
	// Streams is how many event streams one principal has open at once. A further one
	// is answered 429. Default: 32.
	Streams int
	// Log gets what went wrong inside. Default: slog.Default().
	Log *slog.Logger
	// Version is shown in the page.
	Version string
}

// A Server is the HTTP side of a host. It is safe for concurrent use.
type Server struct {
	host      *host.Host
	inbox     *inbox.Inbox
	local     *Local
	identify  func(*http.Request) (*Session, error)
	signing   http.Handler // nil: pages do not sign in here
	publicURL string
	webhooks  *webhook.Sender
	embed     *embedder
	origins   []string // of pages elsewhere that may use the API with a token
	hosts     []string
	log       *slog.Logger
	version   string
	bodyTime  time.Duration
	// keepAlive is how often an event stream gets something, and how long one that
	// nothing happens on outlives its session.
	keepAlive time.Duration
	streams   streamCount
	reading   chan struct{} // a place for each call that is being read
	names     callNames
	pinging   chan struct{} // a place for the probe that asks the store
}

// New returns a server for h and in. It panics if opts names no way to tell who is
// asking: such a server would answer everybody.
func New(h *host.Host, in *inbox.Inbox, opts *Options) *Server {
	if opts == nil || (opts.Local == nil) == (opts.Identify == nil) {
		panic("serve: exactly one of Options.Local and Options.Identify must be set")
	}
	s := &Server{host: h, inbox: in, local: opts.Local, identify: opts.Identify, signing: opts.SignIn, webhooks: opts.Webhooks, log: opts.Log, version: opts.Version, bodyTime: bodyTime, keepAlive: keepAlive, reading: make(chan struct{}, readers), pinging: make(chan struct{}, 1)}
	s.streams.most = opts.Streams
	if s.streams.most <= 0 {
		s.streams.most = defaultStreams
	}
	if s.local != nil {
		s.identify = s.local.Identify
	}
	if len(opts.APIKeys) > 0 {
		if opts.Keys == nil {
			panic("serve: Options.APIKeys need Options.Keys")
		}
		s.embed = newEmbedder(in, opts.Keys, opts.APIKeys)
		s.origins = s.embed.origins()
	}
	for _, name := range opts.Hosts {
		s.hosts = append(s.hosts, strings.ToLower(name))
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.publicURL = readPublicURL(opts.PublicURL)
	return s
}

// Address is what a person opens to sign in: the page at base, with a one-time
// token in the fragment, which browsers do not send to any server.
func Address(base, token string) string { return base + "/#token=" + token }

// Handler returns the routes: the page, its assets, and the API under /v1.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{} // of each path
	handle := func(pattern string, h http.Handler) {
		mux.Handle(pattern, h)
		method, path, _ := strings.Cut(pattern, " ")
		methods[path] = append(methods[path], method)
	}
	for _, route := range routes {
		handle(route.pattern, s.serve(route))
	}
	if s.local != nil {
		handle("POST /v1/sign-in/addresses", s.serve(freshAddressRoute))
		handle("POST /v1/sign-in", http.HandlerFunc(s.signIn))
	}
	if s.signing != nil {
		handle("GET /sign-in", s.signing)
		handle("GET /sign-in/callback", s.signing)
		handle("POST /sign-out", s.signing)
	}
	if s.embed != nil {
		handle("POST /v1/embed-tokens", http.HandlerFunc(s.mintToken))
		handle("POST /v1/embed-tokens/revoke", http.HandlerFunc(s.revokeTokens))
	}
	handle("GET "+serverCallback, http.HandlerFunc(s.callbackPage))
	if strings.HasPrefix(s.publicURL, "https://") {
		handle("GET "+ClientMetadataPath, http.HandlerFunc(s.clientMetadata))
	}
	handle("GET /v1/openapi.json", http.HandlerFunc(s.openAPI))
	for path, allowed := range methods {
		mux.Handle(path, s.otherMethod(allowed))
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, inbox.ErrNotFound) })
	mux.Handle("GET /assets/", web.Assets())
	mux.HandleFunc("GET /{$}", s.page)
	return s.health(s.secured(mux))
}

// otherMethod answers a path by a method that it does not have (RFC 9110 15.5.6).
// The mux would do so itself, but for the pattern /v1/, which takes all methods.
func (s *Server) otherMethod(allowed []string) http.Handler {
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	allow := strings.Join(allowed, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		s.fail(w, r, errMethod)
	})
}

// page answers with the shell of the page. Without a session the status is 401, but
// the shell is there: after a reload only the page's script can read the bearer from
// its own storage.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	_, err := s.identifyAs(r)
	disabled := errors.Is(err, inbox.ErrDisabled)
	if err != nil && !disabled && s.signing != nil {
		http.Redirect(w, r, "/sign-in?return="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch {
	case disabled:
		// A sign-in would succeed and come back here, round and round.
		w.WriteHeader(http.StatusForbidden)
	case err != nil:
		w.Header().Set("WWW-Authenticate", `Bearer realm="parley"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
	w.Write(web.Shell())
}

// signIn exchanges a one-time token for the bearer.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	var in client.OneTimeToken
	err := readJSON(r, &in)
	var bearer secret
	if err == nil {
		bearer, err = s.local.exchange(in.Token)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	err = writeJSON(w, http.StatusOK, client.SignedIn{Token: bearer(), Principal: client.Principal(LocalPrincipal)})
	if err != nil {
		s.fail(w, r, err)
	}
}

// freshAddress makes another one-time token, for `parley address`.
func (s *Server) freshAddress(w http.ResponseWriter, _ *asker) error {
	return writeJSON(w, http.StatusCreated, client.FreshToken{Token: s.local.oneTime(freshLife), ExpiresIn: int(freshLife / time.Second)})
}

func (s *Server) session(w http.ResponseWriter, r *asker) error {
	return writeJSON(w, http.StatusOK, client.Session{
		Principal: client.Principal(r.principal), Name: r.name(), Scopes: r.scopes(), Conversation: r.Conversation, Operator: r.Operator,
		SignOut: s.signing != nil, Product: "Parley", Version: s.version,
	})
}

// readJSON reads one JSON value and refuses what follows it.
func readJSON(r *http.Request, v any) error {
	dec := json.NewDecoder(r.Body)
	if err := dec.Decode(v); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return err
		}
		return &badRequest{why: "the body is not the JSON that this route takes" + whereOdd(err)}
	}
	if _, err := dec.Token(); err != io.EOF {
		return &badRequest{why: "the body goes on after its JSON value"}
	}
	return nil
}

// whereOdd says where a body is not what it should be. The errors' own texts may hold
// parts of the body.
func whereOdd(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf(": it is no JSON at byte %d", syntax.Offset)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf(": another kind of value is wanted at byte %d", kind.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ": it ends too early"
	}
	return ""
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a row: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(b, '\n')) // the reader is gone: nobody to tell
	return nil
}
