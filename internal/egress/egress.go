package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// The defaults of [Options].
const (
	DefaultTimeout = 30 * time.Second
	DefaultHead    = 64 << 10
	DefaultBody    = 1 << 20

	dialTimeout = 10 * time.Second // of each address, and of TLS
)

// Options of [New]; zero fields are the defaults.
type Options struct {
	// Allow are exceptions from the guard, for tests and for servers in the
	// operator's own network: addresses ("127.0.0.1"), ranges ("10.20.0.0/16") and
	// names of hosts ("idp.corp.example"), which are compared without case and
	// allowed whatever they resolve to. Plain http is allowed to them only.
	Allow []string

	Timeout time.Duration // of a request, from the dial to the last byte of the body; default 30 s
	Head    int64         // bytes of a response's head; default 64 KiB
	Body    int64         // bytes of a response's body, as it comes from the wire; default 1 MiB

	Roots *x509.CertPool // that certificates are checked against; default the system's

	resolver *net.Resolver // of tests
}

// An AddressError says that the guard refused an address. Nothing was sent.
type AddressError struct {
	Addr  netip.Addr
	Plain bool // it is public, but the request was for plain http
}

// Error returns one line.
func (e *AddressError) Error() string {
	if e.Plain {
		return fmt.Sprintf("egress: %s is refused without TLS", e.Addr)
	}
	return fmt.Sprintf("egress: %s is refused: it is no address of the internet", e.Addr)
}

// ErrTooLarge is returned by reading a body that is larger than the limit.
var ErrTooLarge = errors.New("egress: the response's body is too large")

// New makes a client. Options may be nil. An entry of Allow that cannot be read
// is an error. The client is safe for concurrent use and keeps no connections,
// so there is nothing to close.
func New(options *Options) (*http.Client, error) {
	if options == nil {
		options = &Options{}
	}
	g := &guard{names: map[string]bool{}}
	for _, entry := range options.Allow {
		if err := g.allow(entry); err != nil {
			return nil, err
		}
	}
	g.dialer = net.Dialer{Timeout: dialTimeout, KeepAlive: -1, ControlContext: g.control, Resolver: options.resolver}
	timeout := orDefault(options.Timeout, DefaultTimeout)
	inner := &http.Transport{
		Proxy:                  nil, // the environment is not asked
		DialContext:            g.dial,
		TLSClientConfig:        &tls.Config{RootCAs: options.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		DisableCompression:     true, // a body is bounded as it comes
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  timeout,
		MaxResponseHeaderBytes: orDefault(options.Head, DefaultHead),
	}
	return &http.Client{
		Transport:     &transport{inner: inner, body: orDefault(options.Body, DefaultBody)},
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func orDefault[T int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// A guard is asked for every connection.
type guard struct {
	dialer   net.Dialer
	prefixes []netip.Prefix
	names    map[string]bool
}

func (g *guard) allow(entry string) error {
	entry = strings.ToLower(strings.TrimSpace(entry))
	if p, err := netip.ParsePrefix(entry); err == nil {
		g.prefixes = append(g.prefixes, p.Masked())
		return nil
	}
	if a, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		a = a.Unmap().WithZone("")
		g.prefixes = append(g.prefixes, netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	if entry == "" || strings.ContainsAny(entry, "/:*@ ") {
		return fmt.Errorf("egress: %q is no address, no range and no name of a host", entry)
	}
	g.names[strings.TrimSuffix(entry, ".")] = true
	return nil
}

type (
	plainKey struct{} // the request is for http
	namedKey struct{} // the name of the host is allowed
)

// dial notes whether the name is allowed before it is looked up: control sees
// numbers only.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if host, _, err := net.SplitHostPort(address); err == nil && g.names[strings.TrimSuffix(strings.ToLower(host), ".")] {
		ctx = context.WithValue(ctx, namedKey{}, true)
	}
	return g.dialer.DialContext(ctx, network, address)
}

// control runs after the address was chosen and before the connection is made.
func (g *guard) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return &AddressError{}
	}
	addr := to.Addr()
	switch {
	case ctx.Value(namedKey{}) != nil, contains(g.prefixes, addr.Unmap().WithZone("")):
		return nil
	case !Public(addr):
		return &AddressError{Addr: addr}
	case ctx.Value(plainKey{}) != nil:
		return &AddressError{Addr: addr, Plain: true}
	}
	return nil
}

type transport struct {
	inner *http.Transport
	body  int64
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme == "http" {
		request = request.WithContext(context.WithValue(request.Context(), plainKey{}, true))
	}
	response, err := t.inner.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &bounded{ReadCloser: response.Body, left: t.body}
	return response, nil
}

// bounded reads up to the limit and then fails, so that a body that was cut
// never looks whole.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	// One more than is left shows whether there is more.
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
