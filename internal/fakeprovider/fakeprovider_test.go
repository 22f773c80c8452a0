package fakeprovider_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/internal/servicetest"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

// client follows no redirects and keeps no connections.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func send(t *testing.T, method, address, contentType, body string) (*http.Response, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	_ = json.Unmarshal(text, &fields) // not every answer is JSON
	return response, fields
}

// post sends a form as a public client.
func post(t *testing.T, address string, pairs ...string) (int, map[string]any) {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	response, fields := send(t, http.MethodPost, address, "application/x-www-form-urlencoded", form.Encode())
	return response.StatusCode, fields
}

// TestSignIn goes the whole way with a client of somebody else.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s, issuer := fakeprovider.Start(t, nil)
	const back = "http://127.0.0.1:9/callback"
	_, metadata := send(t, http.MethodGet, issuer+"/.well-known/oauth-authorization-server", "", "")
	if metadata["issuer"] != issuer || metadata["authorization_response_iss_parameter_supported"] != true {
		t.Fatalf("metadata %v", metadata)
	}
	response, registered := send(t, http.MethodPost, metadata["registration_endpoint"].(string), "application/json", `{"redirect_uris":["`+back+`"],"client_name":"test"}`)
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("registration: %d %v", response.StatusCode, registered)
	}
	config := oauth2.Config{
		ClientID: registered["client_id"].(string), ClientSecret: registered["client_secret"].(string), RedirectURL: back, Scopes: []string{"read", "write"},
		Endpoint: oauth2.Endpoint{
			AuthURL: metadata["authorization_endpoint"].(string), TokenURL: metadata["token_endpoint"].(string), AuthStyle: oauth2.AuthStyleInHeader,
		},
	}
	verifier := oauth2.GenerateVerifier()
	response, _ = send(t, http.MethodGet, config.AuthCodeURL("the-state", oauth2.S256ChallengeOption(verifier)), "", "")
	location, err := response.Location()
	if err != nil {
		t.Fatal(err)
	}
	q := location.Query()
	if q.Get("state") != "the-state" || q.Get("iss") != issuer || q.Get("code") == "" || !strings.HasPrefix(location.String(), back) {
		t.Fatalf("redirect to %s", location)
	}
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, client)
	token, err := config.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	resource := httptest.NewServer(s.Protect(issuer, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ok":true}`) })))
	t.Cleanup(resource.Close)
	response, _ = send(t, http.MethodGet, resource.URL+"/mcp", "", "")
	challenge := response.Header.Get("WWW-Authenticate")
	_, described := send(t, http.MethodGet, strings.Trim(strings.TrimPrefix(challenge, "Bearer resource_metadata="), `"`), "", "")
	if response.StatusCode != http.StatusUnauthorized || described["resource"] != resource.URL+"/mcp" || fmt.Sprint(described["authorization_servers"]) != "["+issuer+"]" {
		t.Errorf("%d %q %v", response.StatusCode, challenge, described)
	}
	if got, err := config.Client(ctx, token).Get(resource.URL + "/mcp"); err != nil || got.StatusCode != http.StatusOK {
		t.Errorf("with the token: %v %v", got, err)
	} else {
		got.Body.Close()
	}
	if subject, ok := s.Valid(token.AccessToken); subject != "ada" || !ok {
		t.Errorf("whose: %q, %t", subject, ok)
	}

	next, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	if err != nil || next.RefreshToken == token.RefreshToken {
		t.Fatalf("refresh: %v", err)
	}
	_, err = config.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); !ok || refused.ErrorCode != "invalid_grant" {
		t.Errorf("the old one again: %v", err)
	}
	// The code again ends the grant.
	if _, err := config.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(verifier)); err == nil {
		t.Error("a code was taken twice")
	}
	if s.Refreshable(next.RefreshToken) {
		t.Error("the grant goes on after its code was used twice")
	}
	want := fakeprovider.Counts{Metadata: 1, Register: 1, Authorize: 1, Exchange: 2, Refresh: 2, Refreshed: 1, Reused: 1, InvalidGrant: 2}
	if got := s.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestAuthorizeRefuses(t *testing.T) {
	t.Parallel()
	s, issuer := fakeprovider.Start(t, &fakeprovider.Options{NoIss: true})
	s.AddClient(fakeprovider.Client{ID: "c", Method: "none", RedirectURIs: []string{"http://127.0.0.1:9/cb"}})
	challenge := oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())
	good := map[string]string{
		"client_id": "c", "redirect_uri": "http://127.0.0.1:9/cb", "response_type": "code", "code_challenge": challenge, "code_challenge_method": "S256",
	}
	tests := []struct{ field, value, want string }{
		{"client_id", "other", "400"},
		{"redirect_uri", "http://127.0.0.1:9/other", "400"},
		{"response_type", "token", "unsupported_response_type"},
		{"code_challenge_method", "plain", "invalid_request"},
		{"code_challenge", "", "invalid_request"},
		{"state", "x", ""},
	}
	for _, test := range tests {
		q := url.Values{}
		for name, value := range good {
			q.Set(name, value)
		}
		q.Set(test.field, test.value)
		response, _ := send(t, http.MethodGet, issuer+"/authorize?"+q.Encode(), "", "")
		location, err := response.Location()
		got := fmt.Sprint(response.StatusCode)
		if err == nil {
			got = location.Query().Get("error")
			if location.Query().Has("iss") {
				t.Error("iss was sent")
			}
		}
		if got != test.want {
			t.Errorf("%s=%q: %s, want %s", test.field, test.value, got, test.want)
		}
	}
}

func TestTokenRefuses(t *testing.T) {
	t.Parallel()
	s, issuer := fakeprovider.Start(t, nil)
	s.AddClient(fakeprovider.Client{ID: "c", Method: "none"})
	s.AddClient(fakeprovider.Client{ID: "b", Secret: "s", Method: "client_secret_basic"})
	refresh, access := s.Grant("c", "ada", "read write")
	foreign, _ := s.Grant("b", "ada", "")
	tests := []struct {
		name, want string
		pairs      []string
	}{
		{"another's token", "invalid_grant", []string{"client_id", "c", "grant_type", "refresh_token", "refresh_token", foreign}},
		{"unknown token", "invalid_grant", []string{"client_id", "c", "grant_type", "refresh_token", "refresh_token", "x"}},
		{"an access token", "invalid_grant", []string{"client_id", "c", "grant_type", "refresh_token", "refresh_token", access}},
		{"more scope", "invalid_scope", []string{"client_id", "c", "grant_type", "refresh_token", "refresh_token", refresh, "scope", "read admin"}},
		{"unknown client", "invalid_client", []string{"client_id", "x", "grant_type", "refresh_token", "refresh_token", refresh}},
		{"another method", "invalid_client", []string{"client_id", "b", "client_secret", "s", "grant_type", "refresh_token", "refresh_token", foreign}},
		{"an empty secret", "invalid_client", []string{"client_id", "c", "client_secret", "", "grant_type", "refresh_token", "refresh_token", refresh}},
		{"twice", "invalid_request", []string{"client_id", "c", "grant_type", "refresh_token", "refresh_token", refresh, "refresh_token", refresh}},
		{"another grant", "unsupported_grant_type", []string{"client_id", "c", "grant_type", "password"}},
		{"fine", "<nil>", []string{"client_id", "c", "grant_type", "refresh_token", "refresh_token", refresh, "scope", "read"}},
	}
	for _, test := range tests {
		if _, fields := post(t, issuer+"/token", test.pairs...); fmt.Sprint(fields["error"]) != test.want {
			t.Errorf("%s: %v, want %s", test.name, fields, test.want)
		}
	}
}

func TestGrace(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name    string
		options fakeprovider.Options
		run     func(use func(token int) bool)
	}{
		{"none", fakeprovider.Options{}, func(use func(int) bool) {
			want(t, "none", true, use(0))
			want(t, "none: again", false, use(0))
			want(t, "none: the next", true, use(1))
		}},
		{"family", fakeprovider.Options{RevokeFamily: true}, func(use func(int) bool) {
			want(t, "family", true, use(0))
			want(t, "family: again", false, use(0))
			want(t, "family: the next", false, use(1))
		}},
		{"until use", fakeprovider.Options{Grace: fakeprovider.UntilUse}, func(use func(int) bool) {
			want(t, "until use", true, use(0))
			want(t, "until use: again", true, use(0))
			want(t, "until use: what the retry replaced", false, use(1))
			want(t, "until use: the retry's", true, use(2))
			want(t, "until use: after that", false, use(0))
		}},
		{"seconds", fakeprovider.Options{Grace: time.Minute}, func(use func(int) bool) {
			want(t, "seconds", true, use(0))
			want(t, "seconds: again", true, use(0))
			now = now.Add(time.Minute)
			want(t, "seconds: too late", false, use(0))
		}},
		{"kept", fakeprovider.Options{KeepRefresh: true}, func(use func(int) bool) {
			want(t, "kept", true, use(0))
			want(t, "kept: again", true, use(0))
		}},
	}
	for _, test := range tests {
		test.options.Now = func() time.Time { return now }
		s, issuer := fakeprovider.Start(t, &test.options)
		s.AddClient(fakeprovider.Client{ID: "c", Method: "none"})
		refresh, _ := s.Grant("c", "ada", "")
		tokens := []string{refresh}
		test.run(func(i int) bool {
			status, fields := post(t, issuer+"/token", "client_id", "c", "grant_type", "refresh_token", "refresh_token", tokens[i])
			if next, ok := fields["refresh_token"].(string); ok {
				tokens = append(tokens, next)
			}
			return status == http.StatusOK
		})
	}
}

func want(t *testing.T, what string, want, got bool) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %t, want %t", what, got, want)
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	s, issuer := fakeprovider.Start(t, nil)
	s.AddClient(fakeprovider.Client{ID: "c", Method: "none"})
	s.AddClient(fakeprovider.Client{ID: "other", Method: "none"})
	refresh, access := s.Grant("c", "ada", "")
	s.Misbehave("revoke", fakeprovider.Fault{Status: http.StatusServiceUnavailable, Header: map[string]string{"Retry-After": "7"}})
	for i, status := range []int{503, 200, 200} {
		if got, _ := post(t, issuer+"/revoke", "client_id", "other", "token", refresh); got != status {
			t.Errorf("%d: status %d, want %d", i, got, status)
		}
	}
	if !s.Refreshable(refresh) {
		t.Error("another client revoked the token")
	}
	if got, _ := post(t, issuer+"/revoke", "client_id", "c", "token", refresh); got != 200 || s.Refreshable(refresh) {
		t.Errorf("status %d, refreshable %t", got, s.Refreshable(refresh))
	}
	if _, ok := s.Valid(access); ok {
		t.Error("the access token outlived its grant")
	}
	if n := s.Counts().Revoked; n != 1 {
		t.Errorf("%d revoked", n)
	}
}

// The command in a process of its own, driven over HTTP.
func TestCommand(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "fakeprovider")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "./cmd/fakeprovider").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, "-client", "c", "-lifetime", "90s", "-grace", "-1s")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has no other end
		_ = cmd.Wait()
	})
	issuer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	issuer = strings.TrimSpace(issuer)
	_, granted := send(t, http.MethodPost, issuer+"/-/grant", "application/json", `{"client":"c","subject":"bob","scope":"read"}`)
	send(t, http.MethodPost, issuer+"/-/misbehave", "application/json", `{"endpoint":"token","fault":{"status":500,"body":"out of order","commit":true}}`)
	for i, status := range []int{500, 200} {
		if got, fields := post(t, issuer+"/token", "client_id", "c", "grant_type", "refresh_token", "refresh_token", granted["refresh_token"].(string)); got != status {
			t.Errorf("%d: status %d, want %d (%v)", i, got, status, fields)
		} else if status == 200 && fields["expires_in"] != 90.0 {
			t.Errorf("%v", fields)
		}
	}
	if _, counts := send(t, http.MethodGet, issuer+"/-/counts", "", ""); counts["Refresh"] != 2.0 || counts["Retried"] != 1.0 {
		t.Errorf("counts %v", counts)
	}
}

func Example() {
	s := fakeprovider.New(nil)
	s.AddClient(fakeprovider.Client{ID: "desk", Method: "none"})
	refresh, _ := s.Grant("desk", "ada", "calendar")
	running := httptest.NewServer(s)
	defer running.Close()

	for range 2 { // the second time is once too often
		response, err := http.PostForm(running.URL+"/token", url.Values{"client_id": {"desk"}, "grant_type": {"refresh_token"}, "refresh_token": {refresh}})
		if err != nil {
			fmt.Println(err)
			return
		}
		response.Body.Close()
		fmt.Println(response.Status)
	}
	fmt.Println(s.Counts().Reused, "reused")
	// Output:
	// 200 OK
	// 400 Bad Request
	// 1 reused
}
