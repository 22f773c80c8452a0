package egress_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/parley-mcp/parley/internal/egress"
	"github.com/parley-mcp/parley/internal/servicetest"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

// site is a server on the loopback address that counts who reaches it.
type site struct {
	*httptest.Server
	port  string
	conns atomic.Int64
}

func newSite(t *testing.T, tls bool, h http.HandlerFunc) *site {
	s := &site{}
	s.Server = httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	if tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	_, s.port, _ = net.SplitHostPort(s.Listener.Addr().String())
	return s
}

func ok(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }

func client(t *testing.T, o *egress.Options) *http.Client {
	t.Helper()
	c, err := egress.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, c *http.Client, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode, " ", string(text)), err
}

// names is a name server: each question takes the next address of its list and
// stays at the last one.
func names(t *testing.T, zone map[string][]string) *net.Resolver {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(func() {
		conn.Close()
		group.Wait()
	})
	var mu sync.Mutex
	asked := map[string]int{}
	group.Go(func() {
		packet := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(packet[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true}, Questions: m.Questions}
			list, known := zone[strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))]
			if !known {
				reply.RCode = dnsmessage.RCodeNameError
			} else if q.Type == dnsmessage.TypeA {
				mu.Lock()
				at := min(asked[q.Name.String()], len(list)-1)
				asked[q.Name.String()]++
				mu.Unlock()
				for one := range strings.FieldsSeq(list[at]) {
					reply.Answers = append(reply.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
						Body:   &dnsmessage.AResource{A: netip.MustParseAddr(one).As4()},
					})
				}
			}
			if out, err := reply.Pack(); err == nil {
				_, _ = conn.WriteTo(out, from)
			}
		}
	})
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
}

func refused(err error) bool {
	_, ok := errors.AsType[*egress.AddressError](err)
	return ok
}

func TestRefusesAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t, false, ok)
	c := client(t, nil)
	for _, domain := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "10.0.0.1", "169.254.169.254", "[64:ff9b::7f00:1]", "[fe80::1%25lo]",
	} {
		for _, scheme := range []string{"http", "https"} {
			if _, err := get(t, c, scheme+"://"+domain+":"+s.port+"/"); !refused(err) {
				t.Errorf("%s://%s: %v", scheme, domain, err)
			}
		}
	}
	// A public address is refused without TLS, before anything is sent to it.
	_, err := get(t, c, "http://1.1.1.1/")
	if e, ok := errors.AsType[*egress.AddressError](err); !ok || !e.Plain {
		t.Errorf("plain http to a public address: %v", err)
	}
	if n := s.conns.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	s := newSite(t, false, ok)
	resolver := names(t, map[string][]string{"idp.corp.example": {"127.0.0.1"}, "other.example": {"127.0.0.1"}})
	tests := []struct {
		allow, domain string
		want          bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.0/8", "127.0.0.1", true},
		{"127.0.0.2", "127.0.0.1", false},
		{"[::ffff:127.0.0.1]", "127.0.0.1", true},
		{"127.0.0.1", "[::ffff:127.0.0.1]", true},
		{"IDP.corp.example", "idp.corp.example", true},
		{"idp.corp.example", "idp.CORP.example.", true},
		{"idp.corp.example", "other.example", false},
		{"corp.example", "idp.corp.example", false},
		{"127.0.0.1", "other.example", true},
		{"127.0.0.0/8", "other.example", true},
		{"10.0.0.0/8", "other.example", false},
	}
	for _, test := range tests {
		o := &egress.Options{Allow: []string{test.allow}}
		egress.SetResolver(o, resolver)
		got, err := get(t, client(t, o), "http://"+test.domain+":"+s.port+"/")
		if test.want && (err != nil || got != "200 ok") || !test.want && !refused(err) {
			t.Errorf("%s allowed, %s dialled: %q, %v", test.allow, test.domain, got, err)
		}
	}
	for _, entry := range []string{"", "https://idp.corp.example", "idp.corp.example:443", "*.corp.example", "a b"} {
		if _, err := egress.New(&egress.Options{Allow: []string{entry}}); err == nil {
			t.Errorf("%q was accepted", entry)
		}
	}
}

// A name that has a public address when it is checked and a private one when it
// is used. There is no check before the dial that could be deceived.
func TestRebinding(t *testing.T) {
	t.Parallel()
	s := newSite(t, false, ok)
	o := &egress.Options{Timeout: 5 * time.Second}
	resolver := names(t, map[string][]string{"turns.example": {"93.184.215.14", "127.0.0.1"}, "both.example": {"127.0.0.1 10.0.0.1"}})
	egress.SetResolver(o, resolver)
	first, err := resolver.LookupHost(t.Context(), "turns.example")
	if err != nil || len(first) != 1 || !egress.Public(netip.MustParseAddr(first[0])) {
		t.Fatalf("%v, %v", first, err)
	}
	for _, name := range []string{"turns.example", "both.example"} {
		for range 2 {
			if _, err := get(t, client(t, o), "https://"+name+":"+s.port+"/"); !refused(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n := s.conns.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	other := newSite(t, false, ok)
	s := newSite(t, false, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	got, err := get(t, client(t, &egress.Options{Allow: []string{"127.0.0.1"}}), s.URL)
	if err != nil || !strings.HasPrefix(got, "307 ") || other.conns.Load() != 0 {
		t.Errorf("%q, %v, %d connections to the other", got, err, other.conns.Load())
	}
}

func TestNoProxy(t *testing.T) {
	proxy := newSite(t, false, ok)
	s := newSite(t, false, ok)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	o := &egress.Options{Allow: []string{"site.example"}} // net/http never asks a proxy for a loopback address
	egress.SetResolver(o, names(t, map[string][]string{"site.example": {"127.0.0.1"}}))
	if got, err := get(t, client(t, o), "http://site.example:"+s.port+"/"); err != nil || got != "200 ok" || proxy.conns.Load() != 0 {
		t.Errorf("%q, %v, %d connections to the proxy", got, err, proxy.conns.Load())
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, ok)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	if got, err := get(t, client(t, &egress.Options{Allow: []string{"127.0.0.1"}, Roots: roots}), s.URL); err != nil || got != "200 ok" {
		t.Errorf("%q, %v", got, err)
	}
	_, err := get(t, client(t, &egress.Options{Allow: []string{"127.0.0.1"}}), s.URL)
	if _, is := errors.AsType[*tls.CertificateVerificationError](err); !is {
		t.Errorf("an unknown certificate: %v", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	s := newSite(t, false, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/exact":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1000))
		case "/body":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1001))
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return
				}
			}
		case "/head":
			w.Header().Set("X-Long", strings.Repeat("x", 20_000))
		case "/drip":
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			<-stop
		case "/silent":
			<-stop
		}
	})
	t.Cleanup(func() { close(stop) }) // before the server's Close, which waits
	options := egress.Options{Allow: []string{"127.0.0.1"}, Head: 4096, Body: 1000}
	c := client(t, &options)
	if got, err := get(t, c, s.URL+"/exact"); err != nil || len(got) != 1004 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, path := range []string{"/body", "/endless"} {
		if got, err := get(t, c, s.URL+path); !errors.Is(err, egress.ErrTooLarge) || len(got) > 1004 {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
	if _, err := get(t, c, s.URL+"/head"); err == nil {
		t.Error("a head of 20,000 bytes was read")
	}
	options.Timeout = 500 * time.Millisecond
	hasty := client(t, &options)
	for _, path := range []string{"/drip", "/silent"} {
		_, err := get(t, hasty, s.URL+path)
		if e, is := errors.AsType[net.Error](err); !is || !e.Timeout() {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// One that was kept could be closed by the server just when it is used again.
func TestConnectionsAreNotKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, false, ok)
	c := client(t, &egress.Options{Allow: []string{"127.0.0.1"}})
	for range 3 {
		if _, err := get(t, c, s.URL); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.conns.Load(); n != 3 {
		t.Errorf("%d connections for 3 requests", n)
	}
}

func Example() {
	local := httptest.NewServer(http.HandlerFunc(ok))
	defer local.Close()
	client, err := egress.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	response, err := client.Get(local.URL)
	if refusal, ok := errors.AsType[*egress.AddressError](err); ok {
		fmt.Println(refusal)
		return
	}
	fmt.Println(err)
	response.Body.Close()
	// Output: egress: 127.0.0.1 is refused: it is no address of the internet
}
