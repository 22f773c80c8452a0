package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/internal/egress"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/vault"
)

// documents is a server and an authorization server made of text: {self} is its address.
type documents struct {
	challenge string
	at        map[string]string // path to document; a status alone: "302 LOCATION", "500"
	asked     []string
}

func (d *documents) start(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		self := "http://" + r.Host
		d.asked = append(d.asked, r.URL.Path)
		if r.URL.Path == "/mcp" {
			if d.challenge != "" {
				w.Header().Set("WWW-Authenticate", strings.ReplaceAll(d.challenge, "{self}", self))
			}
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		text, there := d.at[r.URL.Path]
		switch {
		case !there:
			http.NotFound(w, r)
		case strings.HasPrefix(text, "302 "):
			http.Redirect(w, r, strings.ReplaceAll(text[4:], "{self}", self), http.StatusFound)
		case text == "500":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			fmt.Fprint(w, strings.ReplaceAll(text, "{self}", self))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func asVault(t *testing.T) *vault.Vault {
	t.Helper()
	v, err := vault.New(vault.NewMemory(nil), seal.NewRing(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

const (
	prmPath = "/.well-known/oauth-protected-resource"
	asPath  = "/.well-known/oauth-authorization-server"
	goodPRM = `{"resource":"{self}/mcp","authorization_servers":["{self}"]}`
)

func metadata(change map[string]any) string {
	m := map[string]any{
		"issuer": "{self}", "authorization_endpoint": "{self}/authorize?x=1", "token_endpoint": "{self}/token",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
	}
	maps.Copy(m, change)
	text, _ := json.Marshal(m)
	return string(text)
}

// What is taken of documents that a server and its authorization server wrote.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	huge := `{"resource":"` + strings.Repeat("x", 300<<10) + `"}`
	for name, c := range map[string]struct {
		challenge string
		at        map[string]string
		wrong     string // in the sentence; empty: a page
		scope     string
		resource  string // without the address; default /mcp
	}{
		"by the path":              {at: map[string]string{prmPath + "/mcp": goodPRM, asPath: metadata(nil)}},
		"by the root":              {at: map[string]string{prmPath: `{"resource":"{self}","authorization_servers":["{self}"]}`, asPath: metadata(nil)}, resource: "-"},
		"by the challenge":         {challenge: `Bearer resource_metadata="{self}/elsewhere", scope="a b \"c"`, at: map[string]string{"/elsewhere": goodPRM, asPath: metadata(nil)}, scope: "a b"},
		"scopes that it supports":  {at: map[string]string{prmPath: `{"resource":"{self}/mcp","authorization_servers":["{self}"],"scopes_supported":["r","w"]}`, asPath: metadata(nil)}, scope: "r w"},
		"for a refresh token":      {at: map[string]string{prmPath: goodPRM, asPath: metadata(map[string]any{"scopes_supported": []string{"offline_access"}})}, scope: "offline_access"},
		"of 2025-03-26":            {at: map[string]string{asPath: metadata(nil)}},
		"OpenID Connect":           {at: map[string]string{prmPath: goodPRM, "/.well-known/openid-configuration": metadata(nil)}},
		"an issuer with a path":    {at: map[string]string{prmPath: `{"resource":"{self}/mcp","authorization_servers":["{self}/t1"]}`, asPath + "/t1": metadata(map[string]any{"issuer": "{self}/t1"})}},
		"appended":                 {at: map[string]string{prmPath: `{"resource":"{self}/mcp","authorization_servers":["{self}/t1"]}`, "/t1/.well-known/openid-configuration": metadata(map[string]any{"issuer": "{self}/t1"})}},
		"a slash at the root":      {at: map[string]string{prmPath: `{"resource":"{self}/mcp","authorization_servers":["{self}/"]}`, asPath: metadata(nil)}},
		"none at all":              {wrong: "has no description of itself"},
		"another resource":         {at: map[string]string{prmPath: `{"resource":"https://bank.example/mcp","authorization_servers":["{self}"]}`, asPath: metadata(nil)}, wrong: "describes itself as another server"},
		"a sibling":                {at: map[string]string{prmPath: `{"resource":"{self}/mc","authorization_servers":["{self}"]}`, asPath: metadata(nil)}, wrong: "describes itself as another server"},
		"no authorization server":  {at: map[string]string{prmPath: `{"resource":"{self}/mcp"}`}, wrong: "names no authorization server"},
		"bound tokens":             {at: map[string]string{prmPath: `{"resource":"{self}/mcp","authorization_servers":["{self}"],"dpop_bound_access_tokens_required":true}`}, wrong: "bound to a key"},
		"another issuer":           {at: map[string]string{prmPath: goodPRM, asPath: metadata(map[string]any{"issuer": "https://honest.example"})}, wrong: "describes itself as another one"},
		"another path's issuer":    {at: map[string]string{prmPath: `{"resource":"{self}/mcp","authorization_servers":["{self}/t1"]}`, asPath + "/t1": metadata(map[string]any{"issuer": "{self}/t1/"})}, wrong: "describes itself as another one"},
		"no S256":                  {at: map[string]string{prmPath: goodPRM, asPath: metadata(map[string]any{"code_challenge_methods_supported": []string{"plain"}})}, wrong: "does not protect codes"},
		"nothing of PKCE":          {at: map[string]string{prmPath: goodPRM, asPath: metadata(map[string]any{"code_challenge_methods_supported": nil})}, wrong: "does not protect codes"},
		"a script for a page":      {at: map[string]string{prmPath: goodPRM, asPath: metadata(map[string]any{"authorization_endpoint": "javascript:alert(1)"})}, wrong: "no page to sign in at"},
		"a token endpoint in http": {at: map[string]string{prmPath: goodPRM, asPath: metadata(map[string]any{"token_endpoint": "http://id.example/token"})}, wrong: "no token endpoint"},
		"a user in the address":    {at: map[string]string{prmPath: goodPRM, asPath: metadata(map[string]any{"token_endpoint": "https://a:b@id.example/token"})}, wrong: "no token endpoint"},
		"a private address":        {at: map[string]string{prmPath: `{"resource":"{self}/mcp","authorization_servers":["https://10.1.2.3"]}`}, wrong: "not the internet"},
		"a metadata service":       {challenge: `Bearer resource_metadata="https://169.254.169.254/latest"`, wrong: "not the internet"},
		"http elsewhere":           {challenge: `Bearer resource_metadata="http://id.example/x"`, wrong: "an address that is not used"},
		"a redirect":               {at: map[string]string{prmPath + "/mcp": "302 {self}/good", "/good": goodPRM, asPath: metadata(nil)}, wrong: "the answer was 302"},
		"a fault":                  {at: map[string]string{prmPath + "/mcp": "500", prmPath: goodPRM, asPath: metadata(nil)}, wrong: "the answer was 500"},
		"too much":                 {at: map[string]string{prmPath + "/mcp": huge}, wrong: "too large"},
		"no object":                {at: map[string]string{prmPath + "/mcp": `["resource"]`}, wrong: "not the JSON"},
		"deep":                     {at: map[string]string{prmPath + "/mcp": `{"a":` + strings.Repeat("[", 20_000)}, wrong: "not the JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &documents{challenge: c.challenge, at: c.at}
			self := d.start(t)
			s := &host.Server{ID: "shop", URL: self + "/mcp", OAuth: host.OAuth{ClientID: "by-hand"}}
			r := newRig(t, nil, &rigOptions{host: host.Options{Vault: asVault(t)}}, s)
			page, err := r.SignIn(t.Context(), ada, "shop", back)
			if c.wrong != "" {
				if e, ok := errors.AsType[*host.SignInError](err); !ok || !strings.Contains(e.Why, c.wrong) {
					t.Fatalf("%v, want …%s…", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			q := query(t, page.URL)
			resource := self + "/mcp"
			if c.resource == "-" {
				resource = self
			}
			if q.Get("resource") != resource || q.Get("scope") != c.scope || q.Get("client_id") != "by-hand" || q.Get("x") != "1" ||
				q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || len(q.Get("state")) != 43 {
				t.Errorf("%v", q)
			}
		})
	}
}

// A server on the internet does not send this host to an address of its own network.
func TestDiscoveryStaysOut(t *testing.T) {
	t.Parallel()
	reached := false
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer inside.Close()
	for _, at := range []string{inside.URL, strings.Replace(inside.URL, "http:", "https:", 1), "https://localhost/x", "https://[::1]/x", "https://192.168.1.1/x"} {
		transport := roundTrip(func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+at+`/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
			return w.Result(), nil
		})
		s := &host.Server{ID: "shop", URL: "https://mcp.example.com/mcp"}
		r := newRig(t, nil, &rigOptions{host: host.Options{Vault: asVault(t), Transport: transport}}, s)
		_, err := r.SignIn(t.Context(), ada, "shop", back)
		var refused *host.SignInError
		var by *egress.AddressError
		if !errors.As(err, &refused) || strings.HasPrefix(at, "https") && !errors.As(err, &by) {
			t.Errorf("%s: %v", at, err)
		}
	}
	if reached {
		t.Error("a request came")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The ways to be known to an authorization server, in their order.
func TestClients(t *testing.T) {
	t.Parallel()
	const document = "https://parley.example.com/sign-in/servers/client.json"
	register := map[string]any{"registration_endpoint": "{self}/register"}
	both := map[string]any{"registration_endpoint": "{self}/register", "client_id_metadata_document_supported": true}
	for name, c := range map[string]struct {
		oauth    host.OAuth
		document string
		meta     map[string]any
		register string
		want     string // client_id
		wrong    string
	}{
		"by hand":                      {oauth: host.OAuth{ClientID: "by-hand"}, document: document, meta: both, want: "by-hand"},
		"a document":                   {document: document, meta: both, want: document},
		"a document nobody knows":      {document: document, meta: register, register: `{"client_id":"dyn"}`, want: "dyn"},
		"no document":                  {meta: both, register: `{"client_id":"dyn","client_secret":"s"}`, want: "dyn"},
		"none":                         {wrong: "registers nobody by itself"},
		"refused":                      {meta: register, register: "500", wrong: "did not register this host"},
		"without an id":                {meta: register, register: `{}`, wrong: "did not register this host"},
		"another issuer than the file": {oauth: host.OAuth{ClientID: "x", ClientSecret: host.NewSecret("s"), Issuer: "https://id.example"}, wrong: "another authorization server than the servers file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &documents{at: map[string]string{prmPath: goodPRM, asPath: metadata(c.meta), "/register": c.register}}
			self := d.start(t)
			s := &host.Server{ID: "shop", URL: self + "/mcp", OAuth: c.oauth}
			r := newRig(t, nil, &rigOptions{host: host.Options{Vault: asVault(t), ClientMetadataURL: c.document}}, s)
			for range 2 {
				page, err := r.SignIn(t.Context(), ada, "shop", back)
				if c.wrong != "" {
					if err == nil || !strings.Contains(err.Error(), c.wrong) {
						t.Fatalf("%v, want …%s…", err, c.wrong)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := query(t, page.URL).Get("client_id"); got != c.want {
					t.Errorf("client_id %q, want %q", got, c.want)
				}
			}
			if n := len(slices.DeleteFunc(d.asked, func(path string) bool { return path != "/register" })); n > 1 {
				t.Errorf("%d registrations", n)
			}
		})
	}
}

func TestOAuthOfTheServersFile(t *testing.T) {
	t.Parallel()
	parse := func(oauth string) (*host.ServersFile, error) {
		file := `{"mcpServers":{"shop":{"url":"https://mcp.example.com/mcp","parley":{"oauth":` + oauth + `}}}}`
		return host.ParseServers([]byte(file), "mcp.json", func(name string) (string, bool) { return "sentinel", name == "SECRET" })
	}
	f, err := parse(`{"clientId":"c","clientSecret":"${SECRET}","issuer":"https://id.example","scopes":["a","b"],"allow":["10.0.0.0/8"],"more":1}`)
	if err != nil {
		t.Fatal(err)
	}
	o := f.Servers[0].OAuth
	if o.ClientID != "c" || o.ClientSecret.Reveal() != "sentinel" || o.Issuer != "https://id.example" || !slices.Equal(o.Scopes, []string{"a", "b"}) || len(f.Notes) != 1 {
		t.Errorf("%+v, %q", o, f.Notes)
	}
	if text := fmt.Sprintf("%+v %#v", f.Servers[0], o); strings.Contains(text, "sentinel") {
		t.Errorf("%s", text)
	}
	for oauth, wrong := range map[string]string{
		`{"clientSecret":"${SECRET}"}`:                                      "needs a clientId",
		`{"clientId":"c","clientSecret":"${SECRET}"}`:                       "needs the issuer",
		`{"clientId":"c","clientSecret":"${SECRET}","issuer":"id.example"}`: "no address of an authorization server",
		`{"clientId":7}`:             "parley.oauth.clientId must be a string",
		`{"clientId":"${MISSING}"}`:  "parley.oauth.clientId",
		`{"scopes":"a b"}`:           "must be a list",
		`{"scopes":["a b"]}`:         "no scope",
		`{"allow":["10.0.0.0/8/9"]}`: "allow holds something",
		`[]`:                         "must be an object",
	} {
		if _, err := parse(oauth); err == nil || !strings.Contains(err.Error(), wrong) || strings.Contains(err.Error(), "sentinel") {
			t.Errorf("%s: %v, want …%s…", oauth, err, wrong)
		}
	}
}
