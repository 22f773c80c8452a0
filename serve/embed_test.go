package serve_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
)

// An embedding is a host with two products that put its elements into their pages.
type embedding struct {
	*bench
	acme, other string // API keys
	keys        *inbox.Keys
}

func embed(t *testing.T) *embedding {
	t.Helper()
	local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	acme, acmeRow, err := serve.NewAPIKey("acme", "https://acme.example", []string{"eu", "us"}, []string{"https://app.acme.example"})
	if err != nil {
		t.Fatal(err)
	}
	other, otherRow, err := serve.NewAPIKey("other", "https://other.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := inbox.NewKeys()
	b := setupWith(t, &serve.Options{Local: local, APIKeys: []*serve.APIKey{acmeRow, otherRow}, Keys: keys})
	return &embedding{bench: b, acme: acme, other: other, keys: keys}
}

type embedToken struct{ ID, Token string }

// mint asks for a token as the back end with the key does.
func (e *embedding) mint(key string, in map[string]any) (out embedToken) {
	e.t.Helper()
	e.as(key).post("/v1/embed-tokens", in).want(http.StatusCreated).decode(&out)
	return out
}

// as is the same host, asked with another bearer.
func (e *embedding) as(token string) *bench {
	b := *e.bench
	b.token = token
	return &b
}

func person(subject, conversation string, scopes ...string) map[string]any {
	return map[string]any{"tenant": "eu", "subject": subject, "conversation": conversation, "scopes": scopes}
}

// A page with a token does what its scopes say, in its conversation, as its person.
func TestEmbedToken(t *testing.T) {
	t.Parallel()
	e := embed(t)
	page := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer", "call")).Token)
	c := page.run("seat", map[string]any{})
	if len(c.Questions) != 1 {
		t.Fatalf("%+v", c)
	}
	var row struct {
		Answer struct{ By, Via string }
	}
	page.post("/v1/questions/"+c.Questions[0]+"/answer", map[string]any{"action": "accept", "content": map[string]any{"seat": "a", "bags": 1}}).want(http.StatusOK).decode(&row)
	q, err := e.inbox.Question(t.Context(), inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "ann"}, inbox.QuestionID(c.Questions[0]))
	if err != nil || q.Answer.Assurance != "embed token" {
		t.Errorf("assurance of %+v, %v", q.Answer, err)
	}

	// Another conversation of the same person, another person, and nobody at all.
	elsewhere := e.as(e.mint(e.acme, person("ann", "v_2", "read", "answer", "call")).Token)
	bob := e.as(e.mint(e.acme, person("bob", "v_1", "read", "answer", "call")).Token)
	sameName := e.as(e.mint(e.acme, map[string]any{"tenant": "us", "subject": "ann", "conversation": "v_1", "scopes": []string{"read", "answer"}}).Token)
	unknown := page.get("/v1/questions/nobody-has-this").code(http.StatusNotFound, "not_found")
	for who, b := range map[string]*bench{"another conversation": elsewhere, "another person": bob, "another tenant": sameName, "the operator": e.bench} {
		for _, r := range []*reply{
			b.get("/v1/questions/" + c.Questions[0]), b.get("/v1/calls/" + c.ID),
			b.post("/v1/questions/"+c.Questions[0]+"/answer", map[string]any{"action": "decline"}),
			b.post("/v1/questions/"+c.Questions[0]+"/take-back", nil), b.post("/v1/calls/"+c.ID+"/stop", nil),
		} {
			r.code(http.StatusNotFound, "not_found")
			if string(r.body) != string(unknown.body) {
				t.Errorf("%s: %s is told from a row that is not there: %s", who, r.what, r.body)
			}
		}
		var list struct{ Questions, Conversations []json.RawMessage }
		b.get("/v1/questions").want(http.StatusOK).decode(&list)
		b.get("/v1/conversations").want(http.StatusOK).decode(&list)
		if len(list.Questions)+len(list.Conversations) > 0 {
			t.Errorf("%s sees %s", who, list.Questions)
		}
	}
	elsewhere.get("/v1/conversations/v_1").code(http.StatusNotFound, "not_found")
	page.post("/v1/calls", map[string]any{"conversation": "v_2", "server": "desk", "tool": "plain", "arguments": map[string]any{}}).
		code(http.StatusNotFound, "not_found")
}

// The stream of a page brings nothing of other conversations.
func TestEmbedEvents(t *testing.T) {
	t.Parallel()
	e := embed(t)
	one := e.as(e.mint(e.acme, person("ann", "v_1", "read", "call")).Token)
	two := e.as(e.mint(e.acme, map[string]any{"tenant": "eu", "subject": "ann", "conversation": "v_2", "scopes": []string{"read", "call"}}).Token)
	next, stop := two.stream(nil)
	defer stop()
	one.run("plain", map[string]any{"n": 1})
	var c call
	two.post("/v1/calls", map[string]any{"conversation": "v_2", "server": "desk", "tool": "plain", "arguments": map[string]any{"n": 2}}).want(http.StatusCreated).decode(&c)
	for {
		e := next()
		if e.event != "call" {
			continue
		}
		var row struct{ ID, State, Conversation string }
		(&reply{t: t, body: []byte(e.data)}).decode(&row)
		if row.Conversation != "v_2" {
			t.Fatalf("the stream of v_2 brought %+v", row)
		}
		if row.ID == c.ID && row.State == "done" {
			return
		}
	}
}

func TestEmbedScopes(t *testing.T) {
	t.Parallel()
	e := embed(t)
	full := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer", "call")).Token)
	c := full.run("seat", map[string]any{})
	read := e.as(e.mint(e.acme, person("ann", "v_1", "read")).Token)
	read.get("/v1/questions/" + c.Questions[0]).want(http.StatusOK)
	read.post("/v1/questions/"+c.Questions[0]+"/answer", map[string]any{"action": "decline"}).code(http.StatusForbidden, "scope")
	read.post("/v1/calls/"+c.ID+"/stop", nil).code(http.StatusForbidden, "scope")
	read.get("/v1/servers").code(http.StatusForbidden, "scope")
	answer := e.as(e.mint(e.acme, person("ann", "v_1", "answer")).Token)
	answer.get("/v1/questions/"+c.Questions[0]).code(http.StatusForbidden, "scope")
	answer.post("/v1/calls", map[string]any{"server": "desk", "tool": "plain", "arguments": map[string]any{}}).code(http.StatusForbidden, "scope")
}

// An API key names nobody outside of its issuer and tenants, and a token mints none.
func TestEmbedNamespace(t *testing.T) {
	t.Parallel()
	e := embed(t)
	for name, in := range map[string]map[string]any{
		"the local person":   {"issuer": "local", "subject": "operator", "conversation": "c", "scopes": []string{"read"}},
		"another product":    {"issuer": "https://other.example", "subject": "ann", "conversation": "c", "scopes": []string{"read"}},
		"another tenant":     {"tenant": "asia", "subject": "ann", "conversation": "c", "scopes": []string{"read"}},
		"no tenant":          {"subject": "ann", "conversation": "c", "scopes": []string{"read"}},
		"an issuer in case":  {"issuer": "https://ACME.example", "tenant": "eu", "subject": "ann", "conversation": "c", "scopes": []string{"read"}},
		"an issuer and more": {"issuer": "https://acme.example/", "tenant": "eu", "subject": "ann", "conversation": "c", "scopes": []string{"read"}},
	} {
		if r := e.as(e.acme).post("/v1/embed-tokens", in); r.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	for name, in := range map[string]map[string]any{
		"no subject":      {"tenant": "eu", "conversation": "c", "scopes": []string{"read"}},
		"no conversation": {"tenant": "eu", "subject": "ann", "scopes": []string{"read"}},
		"no scope":        {"tenant": "eu", "subject": "ann", "conversation": "c"},
		"an odd scope":    {"tenant": "eu", "subject": "ann", "conversation": "c", "scopes": []string{"ops"}},
		"much":            {"tenant": "eu", "subject": strings.Repeat("a", 5000), "conversation": "c", "scopes": []string{"read"}},
	} {
		if r := e.as(e.acme).post("/v1/embed-tokens", in); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	token := e.mint(e.acme, person("ann", "v_1", "read")).Token
	for name, key := range map[string]string{"a token": token, "the local bearer": e.token, "nothing": "", "half a key": e.acme[:len(e.acme)-1]} {
		if r := e.as(key).post("/v1/embed-tokens", person("ann", "v_1", "read")); r.status != http.StatusUnauthorized {
			t.Errorf("minting with %s: %d %s", name, r.status, r.body)
		}
	}
	e.as(e.acme).get("/v1/questions").code(http.StatusUnauthorized, "signed_out") // a key is no person
}

func TestEmbedRevoked(t *testing.T) {
	t.Parallel()
	e := embed(t)
	one := e.mint(e.acme, person("ann", "v_1", "read"))
	two := e.mint(e.acme, person("ann", "v_1", "read"))
	bob := e.mint(e.acme, person("bob", "v_1", "read"))
	revoke := func(key string, in map[string]any) *reply { return e.as(key).post("/v1/embed-tokens/revoke", in) }
	revoke(e.other, map[string]any{"issuer": "https://acme.example", "tenant": "eu", "subject": "ann"}).code(http.StatusForbidden, "namespace")
	revoke(e.acme, map[string]any{"tenant": "eu", "subject": "ann", "id": one.ID}).want(http.StatusNoContent)
	e.as(one.Token).get("/v1/questions").code(http.StatusUnauthorized, "signed_out")
	e.as(two.Token).get("/v1/questions").want(http.StatusOK)
	revoke(e.acme, map[string]any{"tenant": "eu", "subject": "ann"}).want(http.StatusNoContent)
	e.as(two.Token).get("/v1/questions").code(http.StatusUnauthorized, "signed_out")
	e.as(bob.Token).get("/v1/questions").want(http.StatusOK)
	e.as(e.mint(e.acme, person("ann", "v_1", "read")).Token).get("/v1/questions").want(http.StatusOK)
}

// Every byte of a token counts, and no other token of the host is one.
func TestEmbedTokenForged(t *testing.T) {
	t.Parallel()
	e := embed(t)
	token := e.mint(e.acme, person("ann", "v_1", "read")).Token
	for i := len("parley_embed_"); i < len(token); i++ {
		c := byte('A')
		if token[i] == c {
			c = 'B'
		}
		if i == len(token)-1 {
			continue // its last bits may be padding
		}
		if got := e.as(token[:i] + string(c) + token[i+1:]).try("/v1/questions"); got != http.StatusUnauthorized {
			t.Fatalf("byte %d changed: %d", i, got)
		}
	}
	for _, bad := range []string{"parley_embed_", token[:40], token + strings.Repeat("A", 8<<10)} {
		if got := e.as(bad).try("/v1/questions"); got != http.StatusUnauthorized {
			t.Errorf("%.40s: %d", bad, got)
		}
	}
}

// Pages of the origins in the file may read answers, with a token and with nothing else.
func TestEmbedOrigins(t *testing.T) {
	t.Parallel()
	e := embed(t)
	page := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer", "call")).Token)
	app := http.Header{"Origin": {"https://app.acme.example"}, "Sec-Fetch-Site": {"cross-site"}}
	body := map[string]any{"server": "desk", "tool": "plain", "arguments": map[string]any{"n": 1}}
	r := page.do(http.MethodPost, "/v1/calls", body, app).want(http.StatusCreated)
	if got := r.header.Get("Access-Control-Allow-Origin"); got != "https://app.acme.example" || r.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("headers %v", r.header)
	}
	asked := http.Header{"Origin": app["Origin"], "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"authorization"}}
	if r := e.as("").do(http.MethodOptions, "/v1/calls", nil, asked).want(http.StatusNoContent); !strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("preflight %v", r.header)
	}
	// The bearer of the page of this host is not taken from there.
	e.do(http.MethodGet, "/v1/questions", nil, app).code(http.StatusUnauthorized, "signed_out")

	evil := http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}
	page.do(http.MethodPost, "/v1/calls", body, evil).code(http.StatusForbidden, "cross_origin")
	r = page.do(http.MethodGet, "/v1/questions", nil, evil)
	if r.status != http.StatusUnauthorized || r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a stolen token on another site: %d %v", r.status, r.header)
	}
	if r := e.as("").do(http.MethodGet, "/assets/elements.js", nil, evil); r.status == http.StatusOK && r.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the elements cannot be loaded elsewhere: %v", r.header)
	}
}

func TestReadAPIKeys(t *testing.T) {
	t.Parallel()
	_, row, err := serve.NewAPIKey("acme", "https://acme.example", nil, []string{"https://app.acme.example"})
	if err != nil {
		t.Fatal(err)
	}
	good, err := json.Marshal(map[string]any{"keys": []any{row}})
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, with string) string { return strings.Replace(string(good), old, with, 1) }
	for name, test := range map[string]struct{ text, want string }{
		"good":            {string(good), ""},
		"twice":           {`{"keys":[` + strings.TrimSuffix(strings.TrimPrefix(string(good), `{"keys":[`), `]}`) + "," + strings.TrimPrefix(string(good), `{"keys":[`), "two keys"},
		"an unknown word": {replace(`"id"`, `"ID_"`), "unknown field"},
		"the local one":   {replace(`"https://acme.example"`, `"local"`), "belongs to this host"},
		"no digest":       {replace(row.SHA256, "abc"), "SHA-256"},
		"a path":          {replace(`https://app.acme.example`, `https://app.acme.example/`), "no origin"},
		"all origins":     {replace(`https://app.acme.example`, `*`), "no origin"},
		"null":            {`{"keys":[null]}`, "null"},
		"no JSON":         {`keys:`, "invalid character"},
	} {
		path := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := serve.ReadAPIKeys(path)
		switch {
		case test.want == "" && (err != nil || len(keys) != 1):
			t.Errorf("%s: %v, %v", name, keys, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
