// Command embed is a Go back end that hosts MCP servers for its users: the host,
// the inbox and the HTTP API inside of a program with a sign-in of its own.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// A backend is what the program keeps open.
type backend struct {
	store *sqlitestore.Store
	host  *host.Host
	api   http.Handler
}

// open puts the parts together. dir is on a local disk and belongs to this process;
// identify is the program's own sign-in.
func open(dir string, servers []*host.Server, identify func(*http.Request) (*serve.Session, error)) (*backend, error) {
	keys, err := inbox.OpenKeys(filepath.Join(dir, "keys.json"))
	if err != nil {
		return nil, err
	}
	store, err := sqlitestore.Open(filepath.Join(dir, "parley.db"), nil)
	if err != nil {
		return nil, err
	}
	in := inbox.New(store, keys, &inbox.Options{Owner: "backend-1"}) // a name that survives restarts
	// With a stable name, and no second process under it, the leases of the run
	// before are ended at once.
	if _, err := in.Recover(context.Background()); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	h, err := host.New(in, servers, nil)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	api := serve.New(h, in, &serve.Options{Identify: identify, Hosts: []string{"app.example.com"}})
	return &backend{store: store, host: h, api: api.Handler()}, nil
}

// run carries calls on until ctx ends; then nothing is on the wire any more.
func (b *backend) run(ctx context.Context) error {
	return errors.Join(b.host.Run(ctx), b.store.Close())
}

func main() {
	if err := serveUntilInterrupt("./embed-data", "127.0.0.1:8423"); err != nil {
		log.Fatal(err)
	}
}

func serveUntilInterrupt(dir, addr string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	b, err := open(dir, []*host.Server{{ID: "desk", URL: "http://127.0.0.1:8422/mcp"}}, signedIn)
	if err != nil {
		return err
	}
	// The page and its API are one handler; put it on a name of its own.
	server := &http.Server{Addr: addr, Handler: b.api, ReadHeaderTimeout: 10 * time.Second}
	log.Printf("the host's page is at http://%s; sign in as ada, with the password of the variable ADA_PASSWORD", addr)
	go func() {
		log.Print(server.ListenAndServe())
		stop() // a port that is taken ends the program
	}()
	return errors.Join(b.run(ctx), server.Close())
}

// signedIn stands for the session check of the program. What it returns must be
// verified: it decides whose questions a request sees and answers. ErrSignedOut says
// that nobody is signed in; an error of the session store would be returned as it is,
// and pages try again.
func signedIn(r *http.Request) (*serve.Session, error) {
	user, password, ok := r.BasicAuth()
	if !ok || user != "ada" || password != os.Getenv("ADA_PASSWORD") || password == "" {
		return nil, serve.ErrSignedOut
	}
	return &serve.Session{Principal: inbox.Principal{Issuer: "https://id.example.com", Subject: user}}, nil
}
