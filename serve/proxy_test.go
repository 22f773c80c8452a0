package serve_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
)

// A proxy's word about who asked counts as far as it goes back over proxies that are
// trusted, and nobody else's does.
func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	const own, cdn, ann = "10.0.0.1:40000", "10.0.0.2", "192.0.2.7"
	for name, test := range map[string]struct {
		peer    string
		header  []string
		trusted string // default: 10.0.0.0/8 and 2001:db8:1::/48
		want    string
	}{
		"nobody is trusted":            {peer: own, header: []string{ann}, trusted: "none", want: "10.0.0.1"},
		"no header":                    {peer: own, want: "10.0.0.1"},
		"an empty header":              {peer: own, header: []string{""}, want: "10.0.0.1"},
		"a stranger's word":            {peer: "198.51.100.9:1234", header: []string{ann}, want: "198.51.100.9"},
		"one proxy":                    {peer: own, header: []string{ann}, want: ann},
		"two proxies":                  {peer: own, header: []string{ann + ", " + cdn}, want: ann},
		"what the client says itself":  {peer: own, header: []string{"203.0.113.1, 10.9.9.9, " + ann}, want: ann},
		"and over two proxies":         {peer: own, header: []string{"203.0.113.1, " + ann + "," + cdn}, want: ann},
		"all are trusted":              {peer: own, header: []string{"10.0.0.9, 10.0.0.8"}, want: "10.0.0.9"},
		"several lines":                {peer: own, header: []string{"203.0.113.1", ann, cdn}, want: ann},
		"the client's own line":        {peer: own, header: []string{"203.0.113.1, 10.0.0.5", ann}, want: ann},
		"empty elements":               {peer: own, header: []string{"203.0.113.1", ", " + ann + " ,, ", ""}, want: ann},
		"a port":                       {peer: own, header: []string{ann + ":5123"}, want: ann},
		"IPv6":                         {peer: "[2001:db8:1::1]:443", header: []string{"2001:db8:9::7"}, want: "2001:db8:9::7"},
		"IPv6 in brackets":             {peer: own, header: []string{"[2001:db8:9::7]"}, want: "2001:db8:9::7"},
		"IPv6 with a port":             {peer: own, header: []string{"[2001:db8:9::7]:5123, [2001:db8:1::2]:80"}, want: "2001:db8:9::7"},
		"IPv4 in IPv6":                 {peer: "[::ffff:10.0.0.1]:80", header: []string{"::ffff:192.0.2.7"}, want: ann},
		"a network of IPv4 in IPv6":    {peer: own, header: []string{ann}, trusted: "::ffff:10.0.0.0/104", want: ann},
		"a network by one of its own":  {peer: own, header: []string{ann}, trusted: "10.7.7.7/8", want: ann},
		"a zone":                       {peer: own, header: []string{"fe80::7%<script>"}, want: "fe80::7"},
		"a peer with a zone":           {peer: "[fe80::1%eth0]:80", header: []string{ann}, trusted: "fe80::/10", want: ann},
		"no address":                   {peer: own, header: []string{"unknown"}, want: "10.0.0.1"},
		"no address before a proxy":    {peer: own, header: []string{ann + ", _hidden, " + cdn}, want: cdn},
		"markup":                       {peer: own, header: []string{"<img src=x>"}, want: "10.0.0.1"},
		"too long":                     {peer: own, header: []string{ann + strings.Repeat("0", 1<<16)}, want: "10.0.0.1"},
		"too many":                     {peer: own, header: []string{ann + strings.Repeat(", "+cdn, 1000)}, want: cdn},
		"too many empty":               {peer: own, header: []string{ann + strings.Repeat(",", 1000)}, want: "10.0.0.1"},
		"too many lines":               {peer: own, header: append([]string{ann}, make([]string, 1000)...), want: "10.0.0.1"},
		"a peer that is no address":    {peer: "@", header: []string{ann}, want: "@"},
		"a peer without a port":        {peer: "10.0.0.1", header: []string{ann}, want: ann},
		"Forwarded is not looked at":   {peer: own, want: "10.0.0.1"},
		"a shortened address":          {peer: own, header: []string{"192.0.2"}, want: "10.0.0.1"},
		"an address with zeros before": {peer: own, header: []string{"192.0.2.007"}, want: "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := &serve.Options{}
			switch test.trusted {
			case "none":
			case "":
				options.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
			default:
				options.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(test.trusted)}
			}
			got := ""
			options.Identify = func(r *http.Request) (*serve.Session, error) {
				got = r.RemoteAddr
				return nil, errors.New("nobody")
			}
			in := inbox.New(memstore.New(nil), inbox.NewKeys(), nil)
			h, err := host.New(in, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/v1/session", http.NoBody)
			r.RemoteAddr = test.peer
			r.Header["X-Forwarded-For"] = test.header
			r.Header.Set("Forwarded", "for=203.0.113.1")
			serve.New(h, in, options).Handler().ServeHTTP(httptest.NewRecorder(), r)
			if full, err := netip.ParseAddrPort(got); err == nil {
				got = full.Addr().Unmap().String()
			}
			if got != test.want {
				t.Errorf("it came from %q, want %q", got, test.want)
			}
			if r.RemoteAddr != test.peer {
				t.Errorf("the caller's request was changed to %q", r.RemoteAddr)
			}
		})
	}
}

// The audit log has what the proxy says, as an address and nothing more.
func TestAuditBehindAProxy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		trusted []netip.Prefix
		want    string
	}{
		"trusted": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, "2001:db8:9::7"},
		"not":     {nil, "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
			if err != nil {
				t.Fatal(err)
			}
			b := setupWith(t, &serve.Options{Local: local, TrustedProxies: test.trusted})
			c := b.run("seat", map[string]any{})
			b.do(http.MethodPost, "/v1/questions/"+c.Questions[0]+"/answer", map[string]any{"action": "decline"},
				http.Header{"X-Forwarded-For": {"203.0.113.1", "[2001:db8:9::7%zone]:5123"}}).want(http.StatusOK)
			for _, e := range b.audit("?call=" + c.ID) {
				if e.Kind == "answered" && e.Remote != test.want {
					t.Errorf("answered from %q, want %q", e.Remote, test.want)
				}
			}
		})
	}
}
