package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
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
	// Identify says who sends a request. With an error nobody is let in, and its text is
	// not shown. One that is or wraps [ErrSignedOut], and a nil session, is answered 401:
	// pages take that for the end of the session, and send the person to sign in. One that
	// wraps [inbox.ErrDisabled] is answered 403. Any other error means that Identify could
	// not find out, as when its store is away: it is logged, without what looks like a
	// secret, and answered 503, and pages and clients try again.
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
	// TrustedProxies are the networks of the proxies in front of this host: of requests
	// that come from one, what it adds to X-Forwarded-For says who asked, as far back as
	// trusted proxies go. The audit log has that address, and Identify and SignIn see it as
	// RemoteAddr. Default: none, and the header is not looked at.
	TrustedProxies []netip.Prefix
	// Streams is how many event streams one principal has open at once, together with
	// requests that wait for a call. A further one is answered 429. Of this bound, and of
	// each of those below, a quarter is for streams alone: programs that wait for a
	// person's answer leave room for the page on which it is given. Default: 32.
	Streams int
	// IssuerStreams is how many all people of one issuer have, such as those that an API
	// key names, and AllStreams how many everybody has together, of this process.
	// Default: 2,000 and 5,000.
	IssuerStreams, AllStreams int
	// Limited is told of each answer 429, by its reason. It is for counting, and quick.
	Limited func(reason string)
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
	limited   func(reason string) // or nil
	embed     *embedder
	origins   []string // of pages elsewhere that may use the API with a token
	hosts     []string
	proxies   []netip.Prefix
	log       *slog.Logger
	version   string
	bodyTime  time.Duration
	// keepAlive is how often an event stream gets something, and how long one that
	// nothing happens on outlives its session.
	keepAlive time.Duration
	// assignedPace is the shortest time between two looks of a stream at what is assigned to groups.
	assignedPace time.Duration
	streams      streamCount
	reading      chan struct{} // a place for each call that is being read
	names        callNames
	pinging      chan struct{} // a place for the probe that asks the store
}

// New returns a server for h and in. It panics if opts names no way to tell who is
// asking: such a server would answer everybody.
func New(h *host.Host, in *inbox.Inbox, opts *Options) *Server {
	if opts == nil || (opts.Local == nil) == (opts.Identify == nil) {
		panic("serve: exactly one of Options.Local and Options.Identify must be set")
	}
	s := &Server{host: h, inbox: in, local: opts.Local, identify: opts.Identify, signing: opts.SignIn, webhooks: opts.Webhooks, limited: opts.Limited, log: opts.Log, version: opts.Version, bodyTime: bodyTime, keepAlive: keepAlive, assignedPace: lookPace, reading: make(chan struct{}, readers), pinging: make(chan struct{}, 1)}
	s.streams.most = opts.Streams
	if s.streams.most <= 0 {
		s.streams.most = defaultStreams
	}
	s.streams.mostOfIssuer, s.streams.mostOfAll = opts.IssuerStreams, opts.AllStreams
	if s.streams.mostOfIssuer <= 0 {
		s.streams.mostOfIssuer = defaultIssuerStreams
	}
	if s.streams.mostOfAll <= 0 {
		s.streams.mostOfAll = defaultAllStreams
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
	s.publicURL, s.proxies = readPublicURL(opts.PublicURL), opts.TrustedProxies
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
	return behind(s.proxies, s.health(s.secured(mux)))
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

// page answers with the shell of the page; a person who is disabled gets a plain one that
// says so. Without a session the status is 401, but
// the shell is there: after a reload only the page's script can read the bearer from
// its own storage. Where nobody can tell it is 503, and the script tries again.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	_, err := s.asking(r)
	signedOut := errors.Is(err, ErrSignedOut)
	if signedOut && s.signing != nil {
		http.Redirect(w, r, "/sign-in?return="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch {
	case errors.Is(err, inbox.ErrDisabled):
		// A sign-in would succeed and come back here, round and round.
		w.WriteHeader(http.StatusForbidden)
		w.Write(web.DisabledPage(s.signing != nil))
		return
	case signedOut:
		w.Header().Set("WWW-Authenticate", `Bearer realm="parley"`)
		w.WriteHeader(http.StatusUnauthorized)
	case err != nil:
		s.logUnchecked(r.Context(), r.Pattern, err)
		w.Header().Set("Retry-After", retryAfter)
		w.WriteHeader(http.StatusServiceUnavailable)
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
		Principal: client.Principal(r.principal), Name: r.name(), Scopes: r.scopes(), Conversation: r.Conversation, Approval: r.Approval, Operator: r.may(scopeOperator),
		Actor:   r.actor(),
		SignOut: s.signing != nil, Product: "Parley", Version: s.version,
	})
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
