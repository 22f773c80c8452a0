package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// A gate stands in front of a server. While it is shut no request comes
// through; whoever knocked waits until it goes away.
type gate struct {
	url    string
	shut   atomic.Bool
	knocks atomic.Int32 // at the shut gate
	ended  chan struct{}
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{ended: make(chan struct{})}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host}) },
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.shut.Load() {
			// Only after the body does the server watch for the end of the connection.
			_, _ = io.Copy(io.Discard, r.Body)
			g.knocks.Add(1)
			select {
			case <-r.Context().Done():
			case <-g.ended:
			}
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(g.ended)
		server.Close()
	})
	g.url = server.URL + to.Path
	return g
}
