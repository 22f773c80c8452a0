package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/internal/oidctest"
)

// TestServeOIDC runs the program behind a proxy that speaks TLS, as an operator would:
// two people sign in with the provider, and one of them runs the service.
func TestServeOIDC(t *testing.T) {
	t.Parallel()
	provider := oidctest.New(t)
	var address *url.URL
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(address)
		r.Out.Host = r.In.Host
		r.Out.Header["X-Forwarded-For"] = []string{"203.0.113.1", "192.0.2.7"} // the client's own word, and the proxy's
	}})
	proxy.StartTLS()
	t.Cleanup(proxy.Close)

	dir := t.TempDir()
	servers := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(servers, []byte(`{"mcpServers": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var errs strings.Builder // read once the host has ended
	ended := make(chan int, 1)
	go func() {
		env := &environment{stdout: in, stderr: &errs, lookup: func(name string) (string, bool) {
			return oidctest.ClientSecret, name == secretVariable
		}}
		ended <- run(ctx, []string{
			"serve", "--servers", servers, "--data", dir, "--addr", "127.0.0.1:0", "--auth", "oidc", "--public-url", proxy.URL,
			"--oidc-issuer", provider.URL, "--oidc-client-id", oidctest.ClientID, "--operator-group", "ops",
			"--trusted-proxies", "10.0.0.0/8, 127.0.0.1",
		}, env)
		in.Close()
	}()
	defer func() {
		stop()
		go io.Copy(io.Discard, out)
		if code := <-ended; code != exitOK || strings.Contains(errs.String(), oidctest.ClientSecret) {
			t.Errorf("the host ended with %d: %s", code, errs.String())
		}
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.Contains(lines.Text(), proxy.URL) {
		t.Fatalf("the host says %q", lines.Text())
	}
	base, err := os.ReadFile(filepath.Join(dir, runningFile))
	if err != nil {
		t.Fatal(err)
	}
	if address, err = url.Parse(strings.TrimSpace(string(base))); err != nil {
		t.Fatal(err)
	}
	for subject, groups := range map[string][]string{"ann": {"ops"}, "bob": {"staff"}} {
		provider.Set(func() { provider.Claims = map[string]any{"sub": subject, "groups": groups} })
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: proxy.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}
		defer transport.CloseIdleConnections()
		browser := &http.Client{Transport: transport, Jar: jar}
		for _, path := range []string{"/", "/v1/session"} {
			resp, err := browser.Get(proxy.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s of %s: %s %v\n%s", path, subject, resp.Status, err, raw)
			}
			if path == "/" {
				continue
			}
			var row struct {
				Principal struct{ Issuer, Subject string }
				Operator  bool
			}
			if err := json.Unmarshal(raw, &row); err != nil || row.Principal.Subject != subject || row.Principal.Issuer != provider.URL || row.Operator != (subject == "ann") {
				t.Errorf("%s is %s, %v", subject, raw, err)
			}
		}
		if subject != "ann" {
			continue
		}
		resp, err := browser.Post(proxy.URL+"/v1/ops/people/disable", "application/json", strings.NewReader(`{"issuer":"https://other.example","subject":"eve"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp, err = browser.Get(proxy.URL + "/v1/ops/audit"); err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(raw), `"kind":"disabled"`) || !strings.Contains(string(raw), `"remote":"192.0.2.7"`) {
			t.Errorf("the audit does not say from where: %s, %v", raw, err)
		}
	}
}
