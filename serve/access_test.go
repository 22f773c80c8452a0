package serve_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/web"
)

// routes are all that need a sign-in, with an id that nobody has.
var routes = []string{
	"GET /v1/session", "GET /v1/servers", "GET /v1/servers/x/tools",
	"GET /v1/conversations", "GET /v1/conversations/x",
	"POST /v1/calls", "GET /v1/calls/x", "POST /v1/calls/x/stop", "POST /v1/calls/x/resolve",
	"POST /v1/calls/x/run-again", "POST /v1/calls/x/decline-rest",
	"GET /v1/questions", "GET /v1/questions/x", "POST /v1/questions/x/check", "POST /v1/questions/x/answer",
	"POST /v1/questions/x/take-back", "POST /v1/questions/x/open",
	"GET /v1/events", "POST /v1/sign-in/addresses",
}

func TestEveryRouteWantsASignIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bearer := b.token
	for _, header := range []http.Header{
		nil,
		{"Authorization": {"Bearer " + strings.ToUpper(bearer)}},
		{"Authorization": {"Basic " + bearer}},
		{"Authorization": {"Bearer"}},
		{"Cookie": {"parley.token=" + bearer}},
	} {
		b.token = ""
		for _, route := range routes {
			method, path, _ := strings.Cut(route, " ")
			b.do(method, path, "{}", header).code(http.StatusUnauthorized, "signed_out")
		}
	}
}

func TestForeignIDsAreUnknownIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bodies := map[string]string{
		"resolve": `{"how":"give_up"}`, "answer": `{"action":"decline"}`, "check": `{"input":{}}`, "open": `{"url_sha256":"00"}`,
	}
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		if !strings.Contains(path, "/x") || strings.HasPrefix(path, "/v1/conversations") || strings.HasPrefix(path, "/v1/servers") {
			continue
		}
		body := bodies[path[strings.LastIndex(path, "/")+1:]]
		b.do(method, path, body, nil).code(http.StatusNotFound, "not_found")
	}
	b.get("/v1/nothing").code(http.StatusNotFound, "not_found")
}

func TestOneTimeTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bearer := b.token
	once := b.local.OneTime()
	if strings.Contains(serve.Address("http://h", once), bearer) {
		t.Fatal("an address holds the bearer")
	}
	b.token = ""
	b.post("/v1/sign-in", map[string]string{"token": once}).want(http.StatusOK)
	b.post("/v1/sign-in", map[string]string{"token": once}).code(http.StatusUnauthorized, "token_used")
	b.post("/v1/sign-in", map[string]string{"token": bearer}).code(http.StatusUnauthorized, "token_used")
	b.post("/v1/sign-in", map[string]string{"token": ""}).code(http.StatusUnauthorized, "token_used")
	b.post("/v1/sign-in", "no json").code(http.StatusBadRequest, "bad_request")

	b.token = bearer
	var fresh struct{ Token string }
	b.post("/v1/sign-in/addresses", nil).want(http.StatusCreated).decode(&fresh)
	b.post("/v1/sign-in", map[string]string{"token": fresh.Token}).want(http.StatusOK)
}

// An address that nobody opened in time signs in nobody, with the same words as one
// that was used.
func TestOneTimeTokensEnd(t *testing.T) {
	t.Parallel()
	var after atomic.Int64 // how far the clock has moved
	local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	local.SetNow(func() time.Time { return start.Add(time.Duration(after.Load())) })
	b := setupWith(t, &serve.Options{Local: local})
	bearer := b.token
	fresh := func() string {
		t.Helper()
		b.token = bearer
		var out struct {
			Token     string
			ExpiresIn int `json:"expires_in"`
		}
		b.post("/v1/sign-in/addresses", nil).want(http.StatusCreated).decode(&out)
		if got := time.Duration(out.ExpiresIn) * time.Second; got != serve.FreshLife {
			t.Errorf("an address is said to last %v", got)
		}
		b.token = ""
		return out.Token
	}
	for _, kind := range []struct {
		name string
		life time.Duration
		make func() string
	}{
		{"printed", time.Hour, local.OneTime},
		{"asked for", 15 * time.Minute, fresh},
	} {
		after.Store(0)
		early, late := kind.make(), kind.make()
		b.token = ""
		after.Store(int64(kind.life - time.Second))
		b.post("/v1/sign-in", map[string]string{"token": early}).want(http.StatusOK)
		after.Store(int64(kind.life))
		used := b.post("/v1/sign-in", map[string]string{"token": early}).code(http.StatusUnauthorized, "token_used")
		old := b.post("/v1/sign-in", map[string]string{"token": late}).code(http.StatusUnauthorized, "token_used")
		if string(used.body) != string(old.body) {
			t.Errorf("%s: %s, used before: %s", kind.name, old.body, used.body)
		}
	}
}

func TestOtherMethods(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for route, allow := range map[string]string{
		"DELETE /v1/session":        "GET, HEAD",
		"PUT /v1/calls":             "POST",
		"GET /v1/calls/x/stop":      "POST",
		"POST /v1/conversations/x":  "GET, HEAD",
		"GET /v1/sign-in":           "POST",
		"GET /v1/sign-in/addresses": "POST",
	} {
		method, path, _ := strings.Cut(route, " ")
		r := b.do(method, path, nil, nil).code(http.StatusMethodNotAllowed, "method_not_allowed")
		if got := r.header.Get("Allow"); got != allow {
			t.Errorf("%s: Allow: %s, want %s", route, got, allow)
		}
	}
	b.do(http.MethodDelete, "/v1/nothing", nil, nil).code(http.StatusNotFound, "not_found")
	b.do(http.MethodHead, "/v1/session", nil, nil).want(http.StatusOK)
}

func TestBearerFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	if _, err := serve.OpenLocal(path); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := serve.OpenLocal(path); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(path)
	if err != nil || string(again) != string(made) {
		t.Errorf("the bearer changed over a restart (%v)", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.OpenLocal(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a bearer that others can read: %v", err)
	}
	for name, content := range map[string]string{"empty": "", "short": "YWJj", "long": strings.Repeat("a", 1000), "words": "not a token at all, by no means"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := serve.OpenLocal(path)
		if err == nil || !strings.Contains(err.Error(), path) || content != "" && strings.Contains(err.Error(), content) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".token-*")); err != nil || len(left) > 0 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
}

func TestOtherSites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := map[string]any{"conversation": "v_1", "server": "desk", "tool": "plain", "arguments": map[string]any{"n": 1}}
	for _, header := range []http.Header{
		{"Origin": {"https://evil.example"}},
		{"Sec-Fetch-Site": {"cross-site"}},
		{"Origin": {"null"}},
	} {
		b.do(http.MethodPost, "/v1/calls", body, header).code(http.StatusForbidden, "cross_origin")
	}
	for _, name := range []string{"evil.example", "evil.example:8420", "127.0.0.1.evil.example", "10.0.0.1", "[::2]:80"} {
		b.do(http.MethodGet, "/v1/session", nil, http.Header{"Host": {name}}).code(http.StatusMisdirectedRequest, "wrong_host")
	}
	for _, name := range []string{"localhost", "LOCALHOST:8420", "127.0.0.1", "[::1]:8420"} {
		b.do(http.MethodGet, "/v1/session", nil, http.Header{"Host": {name}}).want(http.StatusOK)
	}
}

func TestThePage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.get("/").want(http.StatusOK)
	b.token = ""
	r := b.get("/").want(http.StatusUnauthorized)
	if !strings.Contains(string(r.body), "<script") {
		t.Error("a reload could not sign in: the shell is missing from the 401")
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": web.CSP, "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if cookies := r.header.Values("Set-Cookie"); len(cookies) > 0 {
		t.Errorf("a cookie was set: %q", cookies)
	}
	b.get(web.AssetPath("page.js")).want(http.StatusOK)
	b.get("/nothing").want(http.StatusNotFound)
}

func TestBounds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post("/v1/calls", `{"conversation":"`+strings.Repeat("x", 2<<20)+`"}`).code(http.StatusRequestEntityTooLarge, "too_large")
	for _, body := range []string{``, `{`, `[]`, `{} {}`, `{"conversation":""}`, `{"conversation":"v"}`, `{"conversation":"v","input":{},"arguments":{}}`} {
		b.post("/v1/calls", body).code(http.StatusBadRequest, "bad_request")
	}
	for _, body := range []string{
		`{"conversation":"a\u0000b","server":"desk","tool":"plain","arguments":{}}`,
		`{"conversation":"v","server":"desk","tool":"plain","arguments":null}`,
		`{"conversation":"v","server":"desk","tool":"plain","arguments":[1]}`,
	} {
		var p struct{ Detail string }
		b.post("/v1/calls", body).code(http.StatusBadRequest, "bad_request").decode(&p)
		if p.Detail == "" {
			t.Errorf("%s: nobody is told what is wrong", body)
		}
	}
	b.get("/v1/calls/x?since=-1").code(http.StatusBadRequest, "bad_request")
	b.get("/v1/calls/x?since=1&wait=NaN").code(http.StatusBadRequest, "bad_request")
	b.get("/v1/events?after=-1").code(http.StatusBadRequest, "bad_request")
	b.get("/v1/events?after=x").code(http.StatusBadRequest, "bad_request")
}
