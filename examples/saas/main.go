// Command saas is a small product with users of its own, whose pages show questions of
// MCP servers: Acme Desks. It starts with one command:
//
//	go run ./examples/saas
//
// Three parts run in it, each on an address of its own, as they would on machines of
// their own: the product (its sign-in, its page, its back end), a Parley host, and an MCP
// server that asks. The product and the host know each other by an API key only, so the
// product could be written in any language.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"
)

func main() {
	if err := start(); err != nil {
		log.Fatal(err)
	}
}

func start() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	addr := flag.String("addr", "127.0.0.1:8430", "`HOST:PORT` of the product")
	data := flag.String("data", "./saas-data", "`DIRECTORY` of the questions")
	flag.Parse()
	return run(ctx, *data, *addr, func(s *site) {
		fmt.Printf("Acme Desks is ready: %s\nSign in as ada or bob, with the password %q.\nStop: Ctrl-C\n", s.address, demoPassword)
	})
}

// A site is what runs: the product, and where its parts are.
type site struct {
	address string // of the product
	parley  *parley
}

// run starts all parts and stops them when ctx ends. The host keeps its questions in dir.
func run(ctx context.Context, dir, addr string, ready func(*site)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shop, err := newServer(deskServer())
	if err != nil {
		return err
	}
	product, err := newServer(nil)
	if err != nil {
		return err
	}
	if product, err = product.on(addr); err != nil {
		return err
	}
	host, err := openParley(dir, shop.address+"/mcp", product.address)
	if err != nil {
		return err
	}
	p := newProduct(host.address(), host.key)
	product.Handler = p.handler()

	failed := make(chan error, 4)
	for _, s := range []*server{shop, product, host.server} {
		go func() { failed <- s.Serve(s.listener) }()
	}
	ran := make(chan error, 1)
	go func() { ran <- host.run(ctx) }()
	if ready != nil {
		ready(&site{address: product.address, parley: host})
	}
	select {
	case <-ctx.Done():
	case err = <-failed: // a server ended by itself
	}
	cancel()
	for _, s := range []*server{product, host.server, shop} {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, <-ran)
}

// A server is an HTTP server with its address.
type server struct {
	*http.Server
	listener net.Listener
	address  string
}

// newServer listens on a port that is free.
func newServer(h http.Handler) (*server, error) {
	// No WriteTimeout: event streams stay open.
	s := &server{Server: &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}}
	return s.on("127.0.0.1:0")
}

func (s *server) on(addr string) (*server, error) {
	if s.listener != nil {
		if err := s.listener.Close(); err != nil {
			return nil, err
		}
	}
	var err error
	if s.listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", addr); err != nil {
		return nil, err
	}
	s.address = "http://" + s.listener.Addr().String()
	return s, nil
}
