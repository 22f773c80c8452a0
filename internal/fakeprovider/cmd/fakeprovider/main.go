// Command fakeprovider runs the authorization server of package fakeprovider in
// a process of its own, until it is killed. It prints its issuer as its first
// line.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/parley-mcp/parley/internal/fakeprovider"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fakeprovider:", err)
		os.Exit(1)
	}
}

func run() error {
	var o fakeprovider.Options
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	client := flag.String("client", "", "a client to register: ID, or ID:SECRET for one with client_secret_basic")
	flag.BoolVar(&o.KeepRefresh, "keep", false, "refresh tokens last")
	flag.BoolVar(&o.RevokeFamily, "revoke-family", false, "reuse of a refresh token ends the grant")
	flag.DurationVar(&o.Grace, "grace", 0, "how long a used refresh token is taken again; negative: until its successor is used")
	flag.DurationVar(&o.Lifetime, "lifetime", time.Hour, "of access tokens")
	flag.StringVar(&o.Subject, "subject", "ada", "who consents")
	flag.Parse()
	if flag.NArg() > 0 {
		return errors.New("there are no arguments, only flags")
	}
	o.Grace = max(o.Grace, fakeprovider.UntilUse)
	s := fakeprovider.New(&o)
	if id, secret, has := strings.Cut(*client, ":"); has {
		s.AddClient(fakeprovider.Client{ID: id, Secret: secret, Method: "client_secret_basic"})
	} else if id != "" {
		s.AddClient(fakeprovider.Client{ID: id, Method: "none"})
	}
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Println("http://" + ln.Addr().String())
	return (&http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}).Serve(ln)
}
