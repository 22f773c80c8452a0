package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// parley is the host, as `parley serve --api-keys` would run it.
type parley struct {
	*server
	key   string // the product's API key
	store *sqlitestore.Store
	host  *host.Host
	inbox *inbox.Inbox
}

func (p *parley) address() string { return p.server.address }

// openParley makes a host of one MCP server for the product at the given address.
func openParley(dir, mcp, product string) (_ *parley, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	keys, err := inbox.OpenKeys(filepath.Join(dir, "keys.json"))
	if err != nil {
		return nil, err
	}
	// Made anew at each start; a product keeps its key among its secrets. The issuer is
	// the product's namespace: its people are nobody else's.
	key, row, err := serve.NewAPIKey("acme-1", "https://acme.example", nil, []string{product})
	if err != nil {
		return nil, err
	}
	store, err := sqlitestore.Open(filepath.Join(dir, "parley.db"), nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	in := inbox.New(store, keys, &inbox.Options{Owner: "saas"})
	if _, err := in.Recover(context.Background()); err != nil {
		return nil, err
	}
	h, err := host.New(in, []*host.Server{{ID: "desks", URL: mcp}}, nil)
	if err != nil {
		return nil, err
	}
	api := serve.New(h, in, &serve.Options{
		Identify: nobody, // only pages with a token get in
		APIKeys:  []*serve.APIKey{row}, Keys: keys,
	})
	s, err := newServer(api.Handler())
	if err != nil {
		return nil, err
	}
	return &parley{server: s, key: key, store: store, host: h, inbox: in}, nil
}

// nobody signs in to the host itself. Any error but ErrSignedOut would say that this
// could not be found out, and be answered 503.
func nobody(*http.Request) (*serve.Session, error) { return nil, serve.ErrSignedOut }

// run carries calls on until ctx ends.
func (p *parley) run(ctx context.Context) error {
	return errors.Join(p.host.Run(ctx), p.store.Close())
}
