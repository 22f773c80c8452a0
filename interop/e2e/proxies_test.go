//go:build proof

package e2e_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/internal/servicetest"
)

const proxied = "parley.example.com"

// TestBehindProxies runs the proxies of docs/operations.md, as they are configured
// there, in front of a real host: sign-in, a call, large bodies, and an event stream
// that says what happens while it happens.
func TestBehindProxies(t *testing.T) {
	t.Parallel()
	for name, front := range map[string]func(t *testing.T, f *front, text string) *exec.Cmd{"nginx": nginx, "caddyfile": caddy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk := hosttest.NewServer(t, &hosttest.Script{Tools: map[string]hosttest.Tool{"plain": func(x *hosttest.Exchange) { x.Text("hello") }}})
			p := start(t, "serve", "--servers", serversFile(t, map[string]any{"desk": map[string]any{"url": desk.URL}}), "--public-url", "https://"+proxied)
			f := newFront(t)
			text := strings.ReplaceAll(guided(t, name), "127.0.0.1:8420", strings.TrimPrefix(p.base, "http://"))
			f.run(front(t, f, text))
			_, token, _ := strings.Cut(p.address, "#token=")
			f.holds(token)
		})
	}
}

// guided is the one block of a language in the guide.
func guided(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n```"+language+"\n(.*?\n)```\n").FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("the guide has %d blocks of %s, want one", len(found), language)
	}
	return string(found[0][1])
}

// A front is a proxy with a certificate of its own.
type front struct {
	t           *testing.T
	dir         string
	tls, plain  string // where it listens, for https and for http
	cert, key   string // files
	client      *http.Client
	said        *buffer
	redirection bool // it sends http to https
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{t: t, dir: t.TempDir(), tls: servicetest.FreeAddr(t), plain: servicetest.FreeAddr(t), said: &buffer{}}
	f.cert, f.key = filepath.Join(f.dir, "cert.pem"), filepath.Join(f.dir, "key.pem")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: proxied}, DNSNames: []string{proxied},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{f.cert: {Type: "CERTIFICATE", Bytes: der}, f.key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	f.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots},
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				to := map[string]string{proxied + ":443": f.tls, proxied + ":80": f.plain}[addr]
				return (&net.Dialer{}).DialContext(ctx, network, to)
			},
		},
	}
	t.Cleanup(f.client.CloseIdleConnections)
	return f
}

// replace changes one thing of a configuration that a test cannot have: a place, or a port.
func replace(t *testing.T, text, from, to string) string {
	t.Helper()
	if strings.Count(text, from) != 1 {
		t.Fatalf("the guide does not have %q once", from)
	}
	return strings.Replace(text, from, to, 1)
}

func nginx(t *testing.T, f *front, text string) *exec.Cmd {
	for from, to := range map[string]string{
		"listen 443 ssl;": "listen " + f.tls + " ssl;", "listen 80;": "listen " + f.plain + ";",
		"/etc/ssl/parley.example.com.pem": f.cert, "/etc/ssl/parley.example.com.key": f.key,
	} {
		text = replace(t, text, from, to)
	}
	temp := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += kind + "_temp_path " + filepath.Join(f.dir, kind) + ";\n"
	}
	path := filepath.Join(f.dir, "nginx.conf")
	whole := "daemon off;\nmaster_process off;\npid " + filepath.Join(f.dir, "pid") + ";\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n" + temp + text + "}\n"
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	f.redirection = true
	return exec.Command("nginx", "-p", f.dir, "-e", "stderr", "-c", path)
}

func caddy(t *testing.T, f *front, text string) *exec.Cmd {
	_, port, err := net.SplitHostPort(f.tls)
	if err != nil {
		t.Fatal(err)
	}
	text = replace(t, text, proxied+" {\n", "https://"+proxied+":"+port+" {\n\tbind 127.0.0.1\n\ttls "+f.cert+" "+f.key+"\n")
	path := filepath.Join(f.dir, "Caddyfile")
	if err := os.WriteFile(path, []byte("{\n\tadmin off\n\tauto_https disable_redirects\n}\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("caddy", "run", "--config", path, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+f.dir, "XDG_DATA_HOME="+f.dir, "XDG_CONFIG_HOME="+f.dir)
	return cmd
}

// run starts the proxy, and waits until the host answers behind it.
func (f *front) run(cmd *exec.Cmd) {
	f.t.Helper()
	cmd.Stdout, cmd.Stderr = f.said, f.said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		f.t.Fatalf("%v: run make deps-proof", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	f.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		<-ended
		if f.t.Failed() {
			f.t.Logf("the proxy wrote:\n%s", f.said)
		}
	})
	eventually(f.t, "the host behind the proxy", func() bool {
		resp, err := f.client.Get("https://" + proxied + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// do sends a request as a page of the public address does.
func (f *front) do(ctx context.Context, method, url, token, body string) *http.Response {
	f.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if method == http.MethodPost {
		req.Header.Set("Origin", "https://"+proxied)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := f.client.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp
}

// read is the answer of a request whose status is as wanted.
func (f *front) read(want int, resp *http.Response, into any) {
	f.t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		f.t.Fatalf("%s %s: %s, want %d: %.300s %v", resp.Request.Method, resp.Request.URL.Path, resp.Status, want, b, err)
	}
	if into != nil {
		if err := json.Unmarshal(b, into); err != nil {
			f.t.Fatalf("%.300s: %v", b, err)
		}
	}
}

// holds is what has to be true of a host behind a proxy.
func (f *front) holds(oneTime string) {
	t, at := f.t, "https://"+proxied
	t.Helper()
	if f.redirection {
		resp := f.do(t.Context(), http.MethodGet, "http://"+proxied+"/?q=1", "", "")
		f.read(http.StatusMovedPermanently, resp, nil)
		if got := resp.Header.Get("Location"); got != at+"/?q=1" {
			t.Errorf("http leads to %q", got)
		}
	}
	var bearer struct{ Token string }
	f.read(http.StatusOK, f.do(t.Context(), http.MethodPost, at+"/v1/sign-in", "", `{"token":"`+oneTime+`"}`), &bearer)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream := f.do(ctx, http.MethodGet, at+"/v1/events", bearer.Token, "")
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	until := func(want string) { // the stream stays open: what a proxy keeps back does not come
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("no %q in the stream: %v", want, lines.Err())
	}
	until("event: hello")
	var call struct{ ID string }
	f.read(http.StatusCreated, f.do(t.Context(), http.MethodPost, at+"/v1/calls", bearer.Token, `{"conversation":"v","server":"desk","tool":"plain","arguments":{}}`), &call)
	until(`"state":"done"`)
	f.read(http.StatusOK, f.do(t.Context(), http.MethodGet, at+"/v1/calls/"+call.ID+"?since=0&wait=60", bearer.Token, ""), nil)

	// Parley says itself what is too large, as pages read it.
	var problem struct{ Code string }
	large := `{"conversation":"v","server":"desk","tool":"plain","arguments":{"text":"` + strings.Repeat("a", 3<<19) + `"}}`
	f.read(http.StatusRequestEntityTooLarge, f.do(t.Context(), http.MethodPost, at+"/v1/calls", bearer.Token, large), &problem)
	if problem.Code != "too_large" {
		t.Errorf("the problem is %q", problem.Code)
	}
}
