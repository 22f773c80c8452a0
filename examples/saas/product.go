package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"html/template"
	"log"
	"net/http"
	"sync"

	"github.com/parley-mcp/parley/serve/client"
)

// demoPassword is everybody's. A product has its own sign-in here.
const demoPassword = "demo"

//go:embed page
var page embed.FS

var templates = template.Must(template.ParseFS(page, "page/*.html"))

// A product has users, sessions and pages, and asks a Parley host with its API key.
type product struct {
	host   string // its address
	tokens *client.Client

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]string // digest of a cookie -> user
}

var users = []string{"ada", "bob"}

func newProduct(host, apiKey string) *product {
	return &product{
		host: host, tokens: client.New(host, client.Bearer(apiKey)),
		sessions: map[[sha256.Size]byte]string{},
	}
}

func (p *product) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.home)
	mux.HandleFunc("GET /app.js", p.script)
	mux.HandleFunc("POST /sign-in", p.signIn)
	mux.HandleFunc("POST /sign-out", p.signOut)
	mux.HandleFunc("POST /parley-token", p.signedIn(p.token))
	mux.HandleFunc("POST /desk", p.signedIn(p.desk))
	// Requests that change something come from these pages only.
	return http.NewCrossOriginProtection().Handler(mux)
}

// home shows the page of whoever is signed in, or the sign-in.
func (p *product) home(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	// The elements are the only thing that comes from elsewhere.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self' "+p.host+"; connect-src 'self' "+p.host+
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	user, ok := p.user(r)
	name := "sign-in.html"
	if ok {
		name = "home.html"
	}
	if err := templates.ExecuteTemplate(w, name, map[string]any{"User": user, "Host": p.host, "Conversation": conversation(user)}); err != nil {
		log.Print(err)
	}
}

func (p *product) script(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, page, "page/app.js")
}

// conversation is where the calls of a user's page belong. A product with several
// chats has several.
func conversation(user string) string { return "desk-" + user }

// token mints what the page shows to the host: who the person is, and what they may do
// in which conversation. The page asks again when it ends.
func (p *product) token(w http.ResponseWriter, r *http.Request, user string) error {
	token, err := p.mint(r.Context(), user, client.ScopeRead, client.ScopeAnswer)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(w).Encode(map[string]string{"token": token.Token})
}

func (p *product) mint(ctx context.Context, user string, scopes ...client.Scope) (*client.EmbedToken, error) {
	return p.tokens.MintToken(ctx, client.TokenRequest{Subject: user, Name: user, Conversation: conversation(user), Scopes: scopes})
}

// desk calls the tool for the user. The page shows what the server then asks.
func (p *product) desk(w http.ResponseWriter, r *http.Request, user string) error {
	token, err := p.mint(r.Context(), user, client.ScopeCall)
	if err != nil {
		return err
	}
	_, err = client.New(p.host, client.Bearer(token.Token)).Compose(r.Context(), client.NewCall{
		Server: "desks", Tool: "reserve_desk", Arguments: json.RawMessage(`{"office":"Hamburg"}`),
	}, "")
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

const cookieName = "acme"

func (p *product) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	user := r.PostFormValue("user")
	known := false
	for _, u := range users {
		known = known || u == user
	}
	if !known || subtle.ConstantTimeCompare([]byte(r.PostFormValue("password")), []byte(demoPassword)) != 1 {
		http.Error(w, "Wrong name or password.", http.StatusForbidden)
		return
	}
	value := rand.Text()
	p.mu.Lock()
	p.sessions[sha256.Sum256([]byte(value))] = user
	p.mu.Unlock()
	//nolint:gosec // on loopback there is no TLS; a product sets Secure
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (p *product) signOut(w http.ResponseWriter, r *http.Request) {
	user, ok := p.user(r)
	if c, err := r.Cookie(cookieName); err == nil {
		p.mu.Lock()
		delete(p.sessions, sha256.Sum256([]byte(c.Value)))
		p.mu.Unlock()
	}
	if ok { // the tokens of pages that are still open end, too
		if err := p.tokens.RevokeTokens(r.Context(), client.Revocation{Subject: user}); err != nil {
			log.Print(err)
		}
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (p *product) user(r *http.Request) (string, bool) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	user, ok := p.sessions[sha256.Sum256([]byte(c.Value))]
	return user, ok
}

// signedIn runs a handler for a user of the product.
func (p *product) signedIn(handle func(http.ResponseWriter, *http.Request, string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, ok := p.user(r)
		if !ok {
			http.Error(w, "You are not signed in.", http.StatusUnauthorized)
			return
		}
		if err := handle(w, r, user); err != nil {
			log.Print(err)
			http.Error(w, "The questions are not available at the moment.", http.StatusBadGateway)
		}
	}
}
