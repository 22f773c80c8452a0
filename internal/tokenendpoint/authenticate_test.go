package tokenendpoint_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/internal/tokenendpoint"
	"github.com/parley-mcp/parley/vault"
)

// sent is what a request to the endpoint consists of.
func sent(t *testing.T, do func(e *tokenendpoint.Endpoint) error) (form url.Values, authorization string, err error) {
	t.Helper()
	c := &canned{status: 200, kind: "application/json", body: `{"access_token":"a","id_token":"i"}`}
	err = do(tokenendpoint.New(&http.Client{Transport: c}, nil))
	if c.request == nil {
		return nil, "", err
	}
	form, parseErr := url.ParseQuery(c.sent)
	if parseErr != nil {
		t.Fatal(parseErr)
	}
	if c.request.Method != http.MethodPost || c.request.URL.RawQuery != "" || c.request.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("%s %s %v", c.request.Method, c.request.URL, c.request.Header)
	}
	return form, c.request.Header.Get("Authorization"), err
}

func TestRequests(t *testing.T) {
	t.Parallel()
	secret := vault.NewSecret
	basic := func(id, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+password))
	}
	at := vault.Terms{Issuer: "https://idp.example", TokenEndpoint: "https://idp.example/token", RevocationEndpoint: "https://idp.example/revoke"}
	with := func(f func(*vault.Terms)) vault.Terms {
		t := at
		f(&t)
		return t
	}
	refresh := func(r vault.RefreshRequest) func(*tokenendpoint.Endpoint) error {
		return func(e *tokenendpoint.Endpoint) error { _, err := e.Refresh(t.Context(), r); return err }
	}
	tests := []struct {
		name          string
		do            func(*tokenendpoint.Endpoint) error
		form          url.Values
		authorization string
	}{
		{"public client", refresh(vault.RefreshRequest{Terms: at, Client: vault.Client{ID: "c", Method: "none", Secret: secret("not sent")}, Refresh: secret("r")}),
			url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"r"}, "client_id": {"c"}}, ""},
		{"secret in the body", refresh(vault.RefreshRequest{Terms: at, Client: vault.Client{ID: "c", Secret: secret("s&="), Method: "client_secret_post"}, Refresh: secret("r")}),
			url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"r"}, "client_id": {"c"}, "client_secret": {"s&="}}, ""},
		{"an empty secret is left out", refresh(vault.RefreshRequest{Terms: at, Client: vault.Client{ID: "c", Method: "client_secret_post"}, Refresh: secret("r")}),
			url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"r"}, "client_id": {"c"}}, ""},
		{"secret in the header only, encoded", refresh(vault.RefreshRequest{Terms: at, Client: vault.Client{ID: "c:d", Secret: secret("s %"), Method: "client_secret_basic"}, Refresh: secret("r")}),
			url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"r"}}, basic("c%3Ad", "s+%25")},
		{"secret as user", refresh(vault.RefreshRequest{Terms: at, Client: vault.Client{ID: "sk_x", Method: "client_secret_basic"}, Refresh: secret("r")}),
			url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"r"}}, basic("sk_x", "")},
		{"resource, scope, parameters", refresh(vault.RefreshRequest{
			Terms: with(func(t *vault.Terms) {
				t.Resource = "https://mcp.example/x"
				t.Params = map[string]string{"type": "refresh", "grant_type": "password", "refresh_token": "other", "client_id": "other", "empty": ""}
			}),
			Client: public, Refresh: secret("r"), Scopes: []string{"a", "b"},
		}), url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {"r"}, "client_id": {"desk"}, "scope": {"a b"}, "resource": {"https://mcp.example/x"}, "type": {"refresh"},
		}, ""},
		{"by access token", refresh(vault.RefreshRequest{
			Terms: with(func(t *vault.Terms) { t.Renewal.By = vault.RenewByAccessToken }), Client: public, Refresh: secret("not sent"), Access: secret("a"),
		}), url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {"a"},
			"subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}, "client_id": {"desk"},
		}, ""},
		{"by client", refresh(vault.RefreshRequest{
			Terms: with(func(t *vault.Terms) { t.Renewal.By = vault.RenewByClient }), Client: vault.Client{ID: "c", Secret: secret("s"), Method: "client_secret_post"}, Scopes: []string{"a"},
		}), url.Values{"grant_type": {"client_credentials"}, "client_id": {"c"}, "client_secret": {"s"}, "scope": {"a"}}, ""},
		{"exchange", func(e *tokenendpoint.Endpoint) error {
			reply, err := e.Exchange(t.Context(), tokenendpoint.Exchange{
				Terms: with(func(t *vault.Terms) { t.Resource = "https://mcp.example/x" }), Client: public,
				Code: secret("the code"), Verifier: secret("v"), RedirectURI: "http://127.0.0.1:9/cb?x=y",
			})
			if reply.ID.Reveal() != "i" {
				t.Errorf("id token %q", reply.ID.Reveal())
			}
			return err
		}, url.Values{
			"grant_type": {"authorization_code"}, "code": {"the code"}, "code_verifier": {"v"}, "client_id": {"desk"},
			"redirect_uri": {"http://127.0.0.1:9/cb?x=y"}, "resource": {"https://mcp.example/x"},
		}, ""},
		{"revocation", func(e *tokenendpoint.Endpoint) error {
			return e.Revoke(t.Context(), vault.RevokeRequest{Terms: at, Client: public, Token: secret("a"), Hint: "access_token"})
		}, url.Values{"token": {"a"}, "token_type_hint": {"access_token"}, "client_id": {"desk"}}, ""},
	}
	for _, test := range tests {
		form, authorization, err := sent(t, test.do)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.form, form); diff != "" || authorization != test.authorization {
			t.Errorf("%s: Authorization %q\n%s", test.name, authorization, diff)
		}
	}
}

func keyPEM(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func TestAssertion(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	otherCurve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		key    any
		verify func(text, signature []byte) bool
	}{
		"RS256": {rsaKey, func(text, signature []byte) bool {
			digest := sha256.Sum256(text)
			return rsa.VerifyPKCS1v15(&rsaKey.PublicKey, crypto.SHA256, digest[:], signature) == nil
		}},
		"ES256": {ecKey, func(text, signature []byte) bool {
			digest := sha256.Sum256(text)
			return len(signature) == 64 && ecdsa.Verify(&ecKey.PublicKey, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
		}},
		"EdDSA": {edKey, func(text, signature []byte) bool { return ed25519.Verify(edPublic, text, signature) }},
	}
	for algorithm, test := range tests {
		client := vault.Client{ID: "c", Method: tokenendpoint.MethodPrivateKeyJWT, PrivateKey: vault.NewSecret(keyPEM(t, test.key))}
		seen := map[string]bool{}
		for _, issuer := range []string{"https://idp.example", "", "https://idp.example"} {
			terms := vault.Terms{Issuer: issuer, TokenEndpoint: "https://idp.example/token"}
			form, authorization, err := sent(t, func(e *tokenendpoint.Endpoint) error {
				_, err := e.Refresh(t.Context(), vault.RefreshRequest{Terms: terms, Client: client, Refresh: vault.NewSecret("r")})
				return err
			})
			if err != nil {
				t.Fatalf("%s: %v", algorithm, err)
			}
			parts := strings.Split(form.Get("client_assertion"), ".")
			if len(parts) != 3 || authorization != "" || form.Get("client_id") != "c" || form.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
				t.Fatalf("%s: %v", algorithm, form)
			}
			var decoded [3][]byte
			for i, part := range parts {
				if decoded[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
					t.Fatalf("%s: %v", algorithm, err)
				}
			}
			if want := `{"alg":"` + algorithm + `","typ":"JWT"}`; string(decoded[0]) != want || !test.verify([]byte(parts[0]+"."+parts[1]), decoded[2]) {
				t.Errorf("%s: head %s, or the signature does not verify", algorithm, decoded[0])
			}
			var claims struct {
				Iss, Sub, Aud, Jti string
				Iat, Exp           int64
			}
			if err := json.Unmarshal(decoded[1], &claims); err != nil {
				t.Fatal(err)
			}
			audience := issuer
			if audience == "" {
				audience = terms.TokenEndpoint
			}
			if claims.Iss != "c" || claims.Sub != "c" || claims.Aud != audience || claims.Exp-claims.Iat != 300 || seen[claims.Jti] || len(claims.Jti) < 20 {
				t.Errorf("%s: claims %+v", algorithm, claims)
			}
			seen[claims.Jti] = true
		}
	}
	for name, text := range map[string]string{
		"empty": "", "no PEM": "secret-key", "no key": "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n", "another curve": keyPEM(t, otherCurve),
	} {
		client := vault.Client{ID: "c", Method: tokenendpoint.MethodPrivateKeyJWT, PrivateKey: vault.NewSecret(text)}
		_, _, err := sent(t, func(e *tokenendpoint.Endpoint) error {
			_, err := e.Refresh(t.Context(), vault.RefreshRequest{Terms: vault.Terms{TokenEndpoint: "https://idp.example/token"}, Client: client, Refresh: vault.NewSecret("r")})
			return err
		})
		if got, _ := failure(t, err); got != "not_sent 0" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoSecretLeaves runs every way to fail with secrets that are easy to find,
// against a server that repeats them wherever it can, and looks into everything
// that could be printed.
func TestNoSecretLeaves(t *testing.T) {
	t.Parallel()
	const mark = "sentinel"
	echo := func(status int, body string) fakeprovider.Fault {
		return fakeprovider.Fault{Status: status, Commit: true, Header: map[string]string{"X-Echo": mark, "Retry-After": mark}, Body: body}
	}
	faults := []fakeprovider.Fault{
		echo(400, `{"error":"{secrets}","error_description":"{secrets}"}`), echo(400, `{"error":"sentinel_refresh"}`), echo(400, `{"error":"xxsentinel_"}`),
		echo(400, `{"error":{"code":"sentinel_secret","message":"{secrets}"}}`),
		echo(200, `{"access_token":"a\nsentinel"}`), echo(200, `{"access_token":"sentinel`), echo(200, `{secrets}`), echo(500, `{secrets}`), echo(401, `{secrets}`),
		echo(200, `error=sentinel_secret`), echo(307, ``),
		{Shape: fakeprovider.NotHTTP}, {Shape: fakeprovider.ErrorIn200}, {Shape: fakeprovider.ErrorObject}, {Shape: fakeprovider.Huge}, {Drop: fakeprovider.AfterCommit},
	}
	s, issuer := fakeprovider.Start(t, nil)
	s.AddClient(fakeprovider.Client{ID: "c", Secret: "sentinel_secret", Method: "client_secret_post"})
	s.Misbehave("token", faults...)
	s.Misbehave("token", faults...)
	s.Misbehave("revoke", faults...)
	e := newEndpoint(t, nil, "127.0.0.1")
	client := vault.Client{ID: "c", Secret: vault.NewSecret("sentinel_secret"), Method: tokenendpoint.MethodPost}
	var printed bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&printed, nil))
	show := func(err error, values ...any) {
		if err == nil {
			return
		}
		log.Info("failed", "error", err)
		for _, v := range append(values, err) {
			fmt.Fprintf(&printed, "%v %+v %#v %q\n", v, v, v, v)
		}
	}
	failed := 0
	for range faults {
		tokens, err := e.Refresh(t.Context(), vault.RefreshRequest{Terms: terms(issuer), Client: client, Refresh: vault.NewSecret("sentinel_refresh")})
		show(err, tokens)
		exchange := tokenendpoint.Exchange{Terms: terms(issuer), Client: client, Code: vault.NewSecret("sentinel_code"), Verifier: vault.NewSecret("sentinel_verifier")}
		reply, err := e.Exchange(t.Context(), exchange)
		show(err, reply, &reply, exchange)
		if err != nil {
			failed++
		}
		show(e.Revoke(t.Context(), vault.RevokeRequest{Terms: terms(issuer), Client: client, Token: vault.NewSecret("sentinel_token")}))
	}
	if failed < len(faults)/2 {
		t.Errorf("only %d of %d failed", failed, len(faults))
	}
	if at := bytes.Index(printed.Bytes(), []byte(mark)); at >= 0 {
		t.Errorf("printed: …%.200s", printed.Bytes()[max(0, at-100):])
	}
}

func TestReplyDoesNotPrint(t *testing.T) {
	t.Parallel()
	reply := tokenendpoint.Reply{Tokens: vault.Tokens{Access: vault.NewSecret("sentinel"), Lifetime: time.Hour}, ID: vault.NewSecret("sentinel")}
	text, err := json.Marshal(reply)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %s %v %s", reply, reply, reply, []tokenendpoint.Reply{reply}, struct{ r tokenendpoint.Reply }{reply}, text)
	if strings.Contains(all, "sentinel") || !strings.Contains(all, "withheld") {
		t.Error(all)
	}
}
