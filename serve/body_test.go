package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
)

func bare(t *testing.T) *serve.Server {
	t.Helper()
	in := inbox.New(memstore.New(nil), seal.NewRing(), nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	return serve.New(h, in, &serve.Options{Local: local})
}

// A body that never comes ends with its connection, whoever sent it: also where
// the handler does not look at it.
func TestBodyThatNeverComes(t *testing.T) {
	t.Parallel()
	s := bare(t)
	s.SetBodyTime(20 * time.Millisecond)
	api := httptest.NewServer(s.Handler())
	t.Cleanup(api.Close)
	for _, route := range []string{"POST /v1/sign-in", "POST /v1/calls", "GET /"} {
		conn, err := net.Dial("tcp", api.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{", route)
		if _, err := io.Copy(io.Discard, bufio.NewReader(conn)); err != nil {
			t.Errorf("%s: the connection is still open: %v", route, err)
		}
	}
}

// deadlines is a writer that only notes its read deadline.
type deadlines struct {
	http.ResponseWriter
	now time.Time
	set int
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.now = t
	d.set++
	return nil
}

// Once the body is there, the handler may take its time.
func TestBodyTimeEndsWithTheBody(t *testing.T) {
	t.Parallel()
	handler := bare(t).Handler()
	for body, want := range map[string]int{"": 0, `{"token":"x"}`: 2} {
		w := &deadlines{ResponseWriter: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/sign-in", strings.NewReader(body))
		handler.ServeHTTP(w, r)
		if w.set < want || want == 0 && w.set > 0 || !w.now.IsZero() {
			t.Errorf("body %q: the deadline was set %d times, at the end to %v; want none in the end", body, w.set, w.now)
		}
	}
}
