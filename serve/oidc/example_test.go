package oidc_test

import (
	"context"
	"log"
	"net/http"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/oidc"
	"github.com/parley-mcp/parley/store/memstore"
)

// A host for the people of one provider. It runs against a provider that is there, so
// the example is compiled and not run.
func Example() { //nolint:testableexamples // it needs a provider
	store, keys := memstore.New(nil), inbox.NewKeys()
	signIn, err := oidc.Open(context.Background(), &oidc.Options{
		Issuer:   "https://id.example.com",
		ClientID: "parley", ClientSecret: host.NewSecret("from the environment"),
		PublicURL:     "https://parley.example.com",
		OperatorGroup: "parley-operators",
		Store:         store, Keys: keys,
	})
	if err != nil {
		log.Fatal(err)
	}
	in := inbox.New(store, keys, nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	api := serve.New(h, in, &serve.Options{
		Identify: signIn.Identify, SignIn: signIn.Handler(),
		Hosts: []string{"parley.example.com"}, // the proxy in front speaks TLS
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:8420", api.Handler()))
}
