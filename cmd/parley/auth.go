package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/oidc"
)

// authFlags say how people sign in, and which products may name people. The zero
// value is the one person of this machine.
type authFlags struct {
	kind, publicURL, apiKeys string

	issuer, clientID, secretFile  string
	tenantClaim, groupsClaim      string
	operatorGroup, operatorTenant string

	issuerStreams, allStreams int

	trusted string         // proxies, as they were named
	proxies []netip.Prefix // after check
}

const (
	authLocal = "local"
	authOIDC  = "oidc"
)

// secretVariable holds the client secret. There is no flag for it: flags are seen by
// everybody who lists the processes.
const secretVariable = "PARLEY_OIDC_CLIENT_SECRET" //nolint:gosec // its name

func (a *authFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&a.kind, "auth", authLocal, "how people sign in, `KIND`: local (one person, on this machine) or oidc (OpenID Connect)")
	fs.StringVar(&a.publicURL, "public-url", "", "`URL` by which browsers reach this host, such as https://parley.example.com; needed with --auth oidc")
	fs.StringVar(&a.apiKeys, "api-keys", "", "`FILE` of `parley apikey`: back ends of products that embed questions in their pages")
	fs.StringVar(&a.issuer, "oidc-issuer", "", "`URL` of the OpenID provider, as it names itself")
	fs.StringVar(&a.clientID, "oidc-client-id", "", "`ID` of this host at the provider")
	fs.StringVar(&a.secretFile, "oidc-client-secret-file", "", "`FILE` with the client secret, or the variable "+secretVariable+" (neither: a public client)")
	fs.StringVar(&a.tenantClaim, "oidc-tenant-claim", "", "`CLAIM` of the ID token that is the person's tenant (default: people have none)")
	fs.StringVar(&a.groupsClaim, "oidc-groups-claim", "groups", "`CLAIM` of the ID token with the person's groups")
	fs.StringVar(&a.operatorGroup, "operator-group", "", "`GROUP` whose members run this service: see the audit of others, erase, disable")
	fs.IntVar(&a.issuerStreams, "issuer-streams", 2000, "`NUMBER` of event streams that all people of one issuer, such as those of an API key, have open at once")
	fs.IntVar(&a.allStreams, "all-streams", 5000, "`NUMBER` of event streams that everybody has open at once")
	fs.StringVar(&a.trusted, "trusted-proxies", "", "`LIST` of networks or addresses, with commas, such as 127.0.0.1,10.2.0.0/16: proxies in front, whose X-Forwarded-For says where a request comes from (default: nobody's does)")
	fs.StringVar(&a.operatorTenant, "operator-tenant", "", "`TENANT` of the --operator-group, needed with --oidc-tenant-claim: other tenants may have a group of that name")
}

// check finds what is missing before anything is opened.
func (a *authFlags) check() error {
	if a.issuerStreams < 0 || a.allStreams < 0 {
		return usageError("", "--issuer-streams and --all-streams count event streams: they are not negative")
	}
	var err error
	if a.proxies, err = readProxies(a.trusted); err != nil {
		return err
	}
	switch a.kind {
	case "", authLocal:
		if a.issuer != "" || a.clientID != "" || a.operatorGroup != "" {
			return usageError("add --auth oidc", "the flags --oidc-... and --operator-group go with --auth oidc")
		}
		return nil
	case authOIDC:
		for _, f := range []struct{ name, value string }{{"--public-url", a.publicURL}, {"--oidc-issuer", a.issuer}, {"--oidc-client-id", a.clientID}} {
			if f.value == "" {
				return usageError("docs/operations.md has an example", "--auth oidc needs %s", f.name)
			}
		}
		if a.operatorGroup != "" && (a.tenantClaim != "") != (a.operatorTenant != "") {
			return usageError("name the tenant of the group, and the claim that says who is of which",
				"--operator-group needs --oidc-tenant-claim and --operator-tenant, or neither")
		}
		return nil
	}
	return usageError("write --auth local or --auth oidc", "--auth names no way to sign in that there is")
}

// readProxies reads networks and single addresses.
func readProxies(text string) ([]netip.Prefix, error) {
	var proxies []netip.Prefix
	for _, one := range list(text) {
		network, err := netip.ParsePrefix(one)
		if addr, err2 := netip.ParseAddr(one); err2 == nil && addr.Zone() == "" {
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, usageError("write networks as 10.2.0.0/16 or 2001:db8:1::/48, single addresses as they are, with commas between",
				"--trusted-proxies: %q is no network and no address", one)
		}
		if network.Bits() == 0 {
			return nil, usageError("name the addresses of the proxies", "--trusted-proxies: %s is everybody: each could say that it comes from anywhere", one)
		}
		proxies = append(proxies, network)
	}
	return proxies, nil
}

// hosts are the names of the public address.
func (a *authFlags) hosts() ([]string, error) {
	if a.publicURL == "" {
		return nil, nil
	}
	u, err := url.Parse(a.public())
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || a.public() != u.Scheme+"://"+u.Host {
		return nil, usageError("write it as https://parley.example.com", "--public-url is no address")
	}
	if a.public() != strings.ToLower(a.public()) || u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
		// Browsers send it in this form, and providers compare it byte by byte.
		return nil, usageError("write it as browsers do, such as https://parley.example.com", "--public-url has capital letters or the usual port")
	}
	return []string{u.Hostname()}, nil
}

// public is the public address without the slash at its end.
func (a *authFlags) public() string { return strings.TrimSuffix(a.publicURL, "/") }

// clientMetadata is where the document stands by which authorization servers of MCP
// servers know this host; empty if they cannot reach it.
func (a *authFlags) clientMetadata() string {
	if !strings.HasPrefix(a.publicURL, "https://") {
		return ""
	}
	return a.public() + serve.ClientMetadataPath
}

// maxSecret bounds the file of the client secret, in bytes.
const maxSecret = 4 << 10

func (a *authFlags) secret(env *environment) (host.Secret, error) {
	if a.secretFile == "" {
		value, _ := env.lookup(secretVariable)
		return host.NewSecret(strings.TrimSpace(value)), nil
	}
	f, err := os.Open(a.secretFile)
	if err != nil {
		return host.Secret{}, usageError("", "the client secret: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil || len(b) > maxSecret {
		return host.Secret{}, usageError("", "the client secret: %s cannot be read, or is larger than %d bytes", a.secretFile, maxSecret)
	}
	return host.NewSecret(strings.TrimSpace(string(b))), nil
}

// A signIn is how people get into a host that runs.
type signIn struct {
	local *serve.Local
	oidc  *oidc.SignIn
	keys  []*serve.APIKey
	hosts []string

	issuerStreams, allStreams int
	proxies                   []netip.Prefix
}

// open opens the way to sign in. The store is there.
func (a *authFlags) open(ctx context.Context, env *environment, data string, kept *storage, log *slog.Logger) (*signIn, error) {
	s := &signIn{issuerStreams: a.issuerStreams, allStreams: a.allStreams, proxies: a.proxies}
	var err error
	if s.hosts, err = a.hosts(); err != nil {
		return nil, err
	}
	if a.apiKeys != "" {
		if s.keys, err = serve.ReadAPIKeys(a.apiKeys); err != nil {
			return nil, usageError("`parley apikey` makes the file", "--api-keys: %w", err)
		}
	}
	for _, key := range s.keys {
		if a.kind == authOIDC && key.Issuer == a.issuer {
			return nil, usageError("make a key with another --issuer, which is the product's own name for its people",
				"--api-keys: the key %q has the issuer of the people who sign in: it could name any of them", key.ID)
		}
	}
	if a.kind != authOIDC {
		s.local, err = serve.OpenLocal(filepath.Join(data, tokenFile))
		if err != nil {
			return nil, usageError("", "the sign-in token: %w", err)
		}
		return s, nil
	}
	secret, err := a.secret(env)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	s.oidc, err = oidc.Open(ctx, &oidc.Options{
		Issuer: a.issuer, ClientID: a.clientID, ClientSecret: secret, PublicURL: a.publicURL,
		TenantClaim: a.tenantClaim, GroupsClaim: a.groupsClaim, OperatorGroup: a.operatorGroup, OperatorTenant: a.operatorTenant,
		Store: kept.store, Keys: kept.ring, Log: log,
	})
	if netErr := (*net.OpError)(nil); errors.As(err, &netErr) {
		return nil, connectError("--oidc-issuer is the provider as its own metadata names it; is it up?", "%w", err)
	}
	if err != nil {
		return nil, usageError("docs/operations.md has an example", "%w", err)
	}
	return s, nil
}

// options are those of the API, as far as sign-in goes.
func (s *signIn) options(kept *storage) *serve.Options {
	o := &serve.Options{Local: s.local, APIKeys: s.keys, Keys: kept.ring, Hosts: s.hosts, IssuerStreams: s.issuerStreams, AllStreams: s.allStreams, TrustedProxies: s.proxies}
	if s.oidc != nil {
		o.Identify, o.SignIn = s.oidc.Identify, s.oidc.Handler()
	}
	return o
}

// onlyLoopback refuses to listen where others reach what only this machine may: the
// bearer of local sign-in would cross the network in the clear.
func onlyLoopback(flagName, addr string) error {
	hostname, _, err := net.SplitHostPort(addr)
	if err != nil {
		return usageError("write it as HOST:PORT, for example "+defaultAddr, "%s %q: %w", flagName, addr, err)
	}
	if ip, err := netip.ParseAddr(hostname); hostname != "localhost" && (err != nil || !ip.IsLoopback()) {
		return usageError("use 127.0.0.1:PORT, and a tunnel (ssh -L) from elsewhere; --auth oidc is for many people",
			"%s %s is not on loopback, and local sign-in is for this machine only", flagName, addr)
	}
	return nil
}

var apiKeyCommand = command{
	name: "apikey", short: "make an API key for the back end of a product",
	long: `
Makes an API key and adds it to --file, which ` + "`parley serve --api-keys`" + ` reads. The
key is printed once; the file holds its digest only. With the key, the back end of a
product gets tokens of ten minutes for its pages:

  POST /v1/embed-tokens   {"subject": "u-17", "conversation": "c-4", "scopes": ["read", "answer"]}

All people that the key names belong to --issuer, the product's own namespace. To
replace a key make a second one for the same issuer, then take the first out of the
file; its tokens go with it when the hosts start again.

Examples:
  parley apikey --file api-keys.json --id acme-1 --issuer https://acme.example --origins https://app.acme.example
  parley apikey --file api-keys.json --id acme-2 --issuer https://acme.example --tenants eu,us`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		file := fs.String("file", "api-keys.json", "`FILE` to add the key to; made if it is not there")
		id := fs.String("id", "", "`NAME` of the key in logs")
		issuer := fs.String("issuer", "", "`URL` or name of the product: the issuer of the people that the key names")
		tenants := fs.String("tenants", "", "`LIST` of the tenants that the key may name, with commas (default: people without tenants)")
		origins := fs.String("origins", "", "`LIST` of the origins of the product's pages, with commas")
		return func(_ context.Context, env *environment) error {
			if err := noArgs(env); err != nil {
				return err
			}
			key, row, err := serve.NewAPIKey(*id, *issuer, list(*tenants), list(*origins))
			if err != nil {
				return usageError("see `parley help apikey`", "the API key: %w", err)
			}
			if err := addAPIKey(*file, row); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(env.stdout, key); err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stderr, "parley: note: %s has the digest of this key; nobody can print the key again\n", *file)
			return err
		}
	},
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// addAPIKey adds the row to the file, which a host may be reading, and to which another
// command may be adding one: they take turns by a lock beside it.
func addAPIKey(path string, row *serve.APIKey) error {
	release, err := waitFile(path + ".lock")
	if err != nil {
		return fmt.Errorf("the lock of the file of API keys: %w", err)
	}
	defer release()
	rows, err := serve.ReadAPIKeys(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usageError("", "the file of API keys: %w", err)
	}
	for _, other := range rows {
		if other.ID == row.ID {
			return usageError("choose another --id", "%s has a key of the id %q", path, row.ID)
		}
	}
	if err := serve.WriteAPIKeys(path, append(rows, row)); err != nil {
		return fmt.Errorf("the file of API keys: %w", err)
	}
	return nil
}
