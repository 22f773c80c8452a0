package tokenendpoint_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/internal/egress"
	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/internal/tokenendpoint"
	"github.com/parley-mcp/parley/vault"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

func newEndpoint(t testing.TB, options *tokenendpoint.Options, allow ...string) *tokenendpoint.Endpoint {
	t.Helper()
	client, err := egress.New(&egress.Options{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	return tokenendpoint.New(client, options)
}

// public is a client without a secret.
var public = vault.Client{ID: "desk", Method: tokenendpoint.MethodNone}

func terms(issuer string) vault.Terms {
	return vault.Terms{Issuer: issuer, TokenEndpoint: issuer + "/token", RevocationEndpoint: issuer + "/revoke"}
}

func refreshRequest(issuer, token string) vault.RefreshRequest {
	return vault.RefreshRequest{Terms: terms(issuer), Client: public, Refresh: vault.NewSecret(token)}
}

// failure is the class, the status and the code of err.
func failure(t *testing.T, err error) (string, *vault.EndpointError) {
	t.Helper()
	e, ok := errors.AsType[*vault.EndpointError](err)
	if !ok {
		t.Fatalf("%v (%T) is no EndpointError", err, err)
	}
	return strings.TrimSpace(fmt.Sprint(e.Class, " ", e.Status, " ", e.Code)), e
}

// TestMisbehaviour holds what the endpoint makes of each way to misbehave
// against what the provider did.
func TestMisbehaviour(t *testing.T) {
	t.Parallel()
	type Fault = fakeprovider.Fault
	granted := "granted"
	tests := []struct {
		name      string
		fault     Fault
		want      string // "granted", or class, status and code
		committed bool   // whether the provider rotated the token
	}{
		{"as it should be", Fault{}, granted, true},
		{"JSON as text", Fault{Shape: fakeprovider.AsText}, granted, true},
		{"a form", Fault{Shape: fakeprovider.AsForm}, granted, true},
		{"compressed", Fault{Shape: fakeprovider.Gzip}, granted, true},
		{"lifetime as text", Fault{Shape: fakeprovider.ExpiryText}, granted, true},
		{"lifetime 3600.0", Fault{Shape: fakeprovider.ExpiryReal}, granted, true},
		{"lifetime null", Fault{Shape: fakeprovider.ExpiryNull}, granted, true},
		{"no lifetime", Fault{Shape: fakeprovider.ExpiryNone}, granted, true},
		{"lifetime an object", Fault{Shape: fakeprovider.ExpiryObject}, granted, true},
		{"no refresh token", Fault{Shape: fakeprovider.OmitRefresh}, granted, true},
		{"status 201", Fault{Status: 201, Commit: true, Body: `{"access_token":"a"}`}, granted, true},

		{"dropped before", Fault{Drop: fakeprovider.BeforeCommit}, "lost 0", false},
		{"dropped after", Fault{Drop: fakeprovider.AfterCommit}, "lost 0", true},
		{"half an answer", Fault{Drop: fakeprovider.InAnswer}, "lost 200", true},
		{"slow", Fault{Delay: time.Hour}, "lost 0", false},
		{"a drip", Fault{Shape: fakeprovider.Drip}, "lost 200", true},
		{"huge", Fault{Shape: fakeprovider.Huge}, "lost 200", true},
		{"a bomb", Fault{Shape: fakeprovider.Bomb}, "lost 200", true},
		{"deep", Fault{Shape: fakeprovider.Deep}, "lost 200", true},
		{"not HTTP", Fault{Shape: fakeprovider.NotHTTP}, "lost 0", true},
		{"token a number", Fault{Shape: fakeprovider.TokenNumber}, "lost 200", true},
		{"no token", Fault{Shape: fakeprovider.TokenNone}, "lost 200", true},
		{"a page", Fault{Status: 200, Commit: true, Header: map[string]string{"Content-Type": "text/html"}, Body: "access_token=x&error=y"}, "lost 200", true},
		{"nothing", Fault{Status: 204, Commit: true}, "lost 204", true},
		{"unknown encoding", Fault{Status: 200, Commit: true, Header: map[string]string{"Content-Encoding": "br"}, Body: "x"}, "lost 200", true},
		{"broken gzip", Fault{Status: 200, Commit: true, Header: map[string]string{"Content-Encoding": "gzip"}, Body: "x"}, "lost 200", true},

		{"error in 200", Fault{Shape: fakeprovider.ErrorIn200}, "invalid_grant 200 invalid_grant", true},
		{"GitHub's word", Fault{Status: 200, Body: `{"error":"bad_refresh_token"}`}, "invalid_grant 200 bad_refresh_token", false},
		{"invalid grant", Fault{Status: 400, Body: `{"error":"invalid_grant"}`}, "invalid_grant 400 invalid_grant", false},
		{"invalid grant as 401", Fault{Status: 401, Body: `{"error":"invalid_grant"}`}, "invalid_grant 401 invalid_grant", false},
		{"invalid client", Fault{Status: 401, Body: `{"error":"invalid_client"}`}, "refused 401 invalid_client", false},
		{"error an object", Fault{Shape: fakeprovider.ErrorObject}, "refused 400 OAuthException", true},
		{"other error", Fault{Status: 400, Body: `error=invalid_scope`}, "refused 400 invalid_scope", false},
		{"not found", Fault{Status: 404, Body: `<html>invalid_grant`}, "refused 404", false},
		{"a redirect", Fault{Status: 307, Header: map[string]string{"Location": "/elsewhere"}}, "refused 307", false},
		{"busy", Fault{Status: 429}, "unavailable 429", false},
		{"busy by its code", Fault{Status: 400, Body: `{"error":"temporarily_unavailable"}`}, "unavailable 400 temporarily_unavailable", false},
		{"failed", Fault{Status: 500}, "unavailable 500", false},
		{"failed after all was done", Fault{Status: 500, Commit: true}, "unavailable 500", true},
		{"failed with the wrong code", Fault{Status: 500, Body: `{"error":"invalid_grant"}`}, "unavailable 500 invalid_grant", false},
		{"failed, and huge", Fault{Status: 502, Body: strings.Repeat("x", 2<<20)}, "unavailable 502", false},

		{"code with markup", Fault{Status: 400, Body: `{"error":"<b>invalid_grant</b>"}`}, "refused 400", false},
		{"code with a secret", Fault{Status: 400, Body: `{"error":"refused_the_secrets"}`}, "refused 400", false},
		{"a long code", Fault{Status: 400, Body: `{"error":"` + strings.Repeat("x", 65) + `"}`}, "refused 400", false},
		{"error null", Fault{Status: 200, Commit: true, Body: `{"error":null,"access_token":"a"}`}, granted, true},
		{"error and token", Fault{Status: 200, Commit: true, Body: `{"error":"access_denied","access_token":"a"}`}, "refused 200 access_denied", true},
		{"a token with a line break", Fault{Status: 200, Commit: true, Body: `{"access_token":"a\r\nb"}`}, "lost 200", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, issuer := fakeprovider.Start(t, nil)
			s.AddClient(fakeprovider.Client{ID: "desk", Method: "none"})
			s.Misbehave("token", test.fault)
			old, _ := s.Grant("desk", "ada", "read")
			options := &tokenendpoint.Options{}
			if test.fault.Delay > 0 || test.fault.Shape == fakeprovider.Drip {
				options.Timeout = 5 * time.Second // in which the request arrives
			}
			request := refreshRequest(issuer, old)
			if test.name == "code with a secret" {
				request.Refresh = vault.NewSecret("the_secret")
			}
			tokens, err := newEndpoint(t, options, "127.0.0.1").Refresh(t.Context(), request)
			got := granted
			if err != nil {
				got, _ = failure(t, err)
				if strings.Contains(err.Error(), old) || strings.Contains(err.Error(), issuer) {
					t.Errorf("the error repeats a secret or the address: %v", err)
				}
			} else if tokens.Access.IsZero() {
				t.Error("no access token")
			}
			if got != test.want {
				t.Errorf("%s, want %s (%v)", got, test.want, err)
			}
			if committed := s.Counts().Refreshed == 1; committed != test.committed {
				t.Errorf("the provider committed: %t", committed)
			}
			if n := s.Counts().Refresh; n > 1 {
				t.Errorf("%d requests arrived", n)
			}
		})
	}
}

func TestNotSent(t *testing.T) {
	t.Parallel()
	free := "http://" + servicetest.FreeAddr(t)
	arrived := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") }))
	t.Cleanup(arrived.Close)
	tls := httptest.NewUnstartedServer(arrived.Config.Handler)
	tls.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	ended, end := context.WithCancel(t.Context())
	end()
	guarded, allowed := newEndpoint(t, nil), newEndpoint(t, nil, "127.0.0.1")
	good := refreshRequest(arrived.URL, "old")
	change := func(f func(*vault.RefreshRequest)) vault.RefreshRequest {
		r := good
		f(&r)
		return r
	}
	tests := map[string]struct {
		ctx context.Context
		e   *tokenendpoint.Endpoint
		r   vault.RefreshRequest
	}{
		"refused connection":      {t.Context(), allowed, refreshRequest(free, "old")},
		"guarded address":         {t.Context(), guarded, good},
		"unknown certificate":     {t.Context(), allowed, refreshRequest(tls.URL, "old")},
		"unknown name":            {t.Context(), allowed, refreshRequest("https://nobody.invalid", "old")},
		"ended":                   {ended, allowed, good},
		"no token":                {t.Context(), allowed, refreshRequest(arrived.URL, "")},
		"no address":              {t.Context(), allowed, change(func(r *vault.RefreshRequest) { r.Terms.TokenEndpoint = "" })},
		"address with a user":     {t.Context(), allowed, change(func(r *vault.RefreshRequest) { r.Terms.TokenEndpoint = "http://ada@127.0.0.1/" })},
		"address with a fragment": {t.Context(), allowed, change(func(r *vault.RefreshRequest) { r.Terms.TokenEndpoint += "#x" })},
		"another scheme":          {t.Context(), allowed, change(func(r *vault.RefreshRequest) { r.Terms.TokenEndpoint = "ftp://127.0.0.1/" })},
		"no client":               {t.Context(), allowed, change(func(r *vault.RefreshRequest) { r.Client.ID = "" })},
		"no method":               {t.Context(), allowed, change(func(r *vault.RefreshRequest) { r.Client.Method = "" })},
		"unknown method":          {t.Context(), allowed, change(func(r *vault.RefreshRequest) { r.Client.Method = "tls_client_auth" })},
		"no key":                  {t.Context(), allowed, change(func(r *vault.RefreshRequest) { r.Client.Method = "private_key_jwt" })},
		"never renewed":           {t.Context(), allowed, change(func(r *vault.RefreshRequest) { r.Terms.Renewal.By = vault.RenewNever })},
	}
	for name, test := range tests {
		_, err := test.e.Refresh(test.ctx, test.r)
		if got, _ := failure(t, err); got != "not_sent 0" {
			t.Errorf("%s: %s (%v)", name, got, err)
		}
	}
	_, err := guarded.Refresh(t.Context(), good)
	if _, is := errors.AsType[*egress.AddressError](err); !is {
		t.Errorf("the guard's error is lost: %v", err)
	}
	if _, err := allowed.Refresh(ended, good); !errors.Is(err, context.Canceled) {
		t.Errorf("the context's error is lost: %v", err)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	s, issuer := fakeprovider.Start(t, nil)
	s.AddClient(fakeprovider.Client{ID: "desk", Method: "none"})
	s.Misbehave("token", fakeprovider.Fault{Delay: time.Hour})
	_, err := newEndpoint(t, &tokenendpoint.Options{Timeout: 50 * time.Millisecond}, "127.0.0.1").Refresh(t.Context(), refreshRequest(issuer, "old"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s, issuer := fakeprovider.Start(t, nil)
	e := newEndpoint(t, nil, "127.0.0.1")
	const day = 24 * time.Hour
	tests := []struct {
		header   string
		from, to time.Duration
	}{
		{"120", 2 * time.Minute, 2 * time.Minute},
		{"0", 0, 0},
		{"-5", 0, 0},
		{"", 0, 0},
		{"soon", 0, 0},
		{"99999999999", day, day},
		{time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 50 * time.Minute, time.Hour},
		{time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 0, 0},
		{time.Now().Add(72 * time.Hour).UTC().Format(http.TimeFormat), day, day},
	}
	for _, test := range tests {
		s.Misbehave("token", fakeprovider.Fault{Status: 503, Header: map[string]string{"Retry-After": test.header}})
		_, err := e.Refresh(t.Context(), refreshRequest(issuer, "old"))
		if _, f := failure(t, err); f.RetryAfter < test.from || f.RetryAfter > test.to {
			t.Errorf("%q: %v", test.header, f.RetryAfter)
		}
	}
}

// A 307 would make net/http send code, verifier and secret again, to a host that
// the server chooses.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(other.Close)
	s, issuer := fakeprovider.Start(t, nil)
	// A client that would follow.
	e := tokenendpoint.New(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, nil)
	for _, status := range []int{301, 302, 303, 307, 308} {
		s.Misbehave("token", fakeprovider.Fault{Status: status, Header: map[string]string{"Location": other.URL}})
		_, err := e.Refresh(t.Context(), refreshRequest(issuer, "old"))
		if got, _ := failure(t, err); got != fmt.Sprint("refused ", status) {
			t.Errorf("%d: %s", status, got)
		}
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	s, issuer := fakeprovider.Start(t, nil)
	s.AddClient(fakeprovider.Client{ID: "desk", Method: "none"})
	e := newEndpoint(t, nil, "127.0.0.1")
	refresh, _ := s.Grant("desk", "ada", "")
	request := vault.RevokeRequest{Terms: terms(issuer), Client: public, Token: vault.NewSecret(refresh), Hint: "refresh_token"}
	s.Misbehave("revoke",
		fakeprovider.Fault{Status: 503, Header: map[string]string{"Retry-After": "9"}},
		fakeprovider.Fault{Drop: fakeprovider.BeforeCommit},
		fakeprovider.Fault{Status: 400, Body: `{"error":"unsupported_token_type"}`},
		fakeprovider.Fault{Status: 400, Body: `{"error":"` + refresh + `"}`},
	)
	for _, want := range []string{"unavailable 503", "lost 0", "refused 400 unsupported_token_type", "refused 400"} {
		if got, _ := failure(t, e.Revoke(t.Context(), request)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if !s.Refreshable(refresh) {
		t.Fatal("revoked by a failure")
	}
	for range 2 { // a token that is not known any more is no error
		if err := e.Revoke(t.Context(), request); err != nil {
			t.Error(err)
		}
	}
	// Nor is a success with a body that makes no sense, or that never ends.
	s.Misbehave("revoke", fakeprovider.Fault{Status: 200, Body: `{"error":"x"`}, fakeprovider.Fault{Shape: fakeprovider.Huge})
	for range 2 {
		if err := e.Revoke(t.Context(), request); err != nil {
			t.Error(err)
		}
	}
	if s.Refreshable(refresh) || s.Form("revoke").Get("token_type_hint") != "refresh_token" {
		t.Errorf("refreshable %t, hint %q", s.Refreshable(refresh), s.Form("revoke").Get("token_type_hint"))
	}
	for name, r := range map[string]vault.RevokeRequest{
		"no token":   {Terms: terms(issuer), Client: public},
		"no address": {Client: public, Token: vault.NewSecret("x")},
	} {
		if got, _ := failure(t, e.Revoke(t.Context(), r)); got != "not_sent 0" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func Example() {
	client, err := egress.New(&egress.Options{Allow: []string{"127.0.0.1"}}) // of the example: the server is here
	if err != nil {
		fmt.Println(err)
		return
	}
	endpoint := tokenendpoint.New(client, nil)

	provider := fakeprovider.New(nil)
	provider.AddClient(fakeprovider.Client{ID: "desk", Method: "none"})
	running := httptest.NewServer(provider)
	defer running.Close()
	refresh, _ := provider.Grant("desk", "ada", "calendar")

	request := vault.RefreshRequest{
		Terms:   vault.Terms{TokenEndpoint: running.URL + "/token"},
		Client:  vault.Client{ID: "desk", Method: tokenendpoint.MethodNone},
		Refresh: vault.NewSecret(refresh),
	}
	tokens, err := endpoint.Refresh(context.Background(), request)
	fmt.Println(tokens.Access, tokens.Lifetime, tokens.Scopes, err)
	_, err = endpoint.Refresh(context.Background(), request) // it was used up
	fmt.Println(err)
	// Output:
	// (withheld) 1h0m0s [calendar] <nil>
	// vault: token endpoint: invalid_grant, status 400
}
