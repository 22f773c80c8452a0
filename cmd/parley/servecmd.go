package main

import (
	"context"
	"flag"

	"github.com/parley-mcp/parley/host"
)

const (
	defaultAddr = "127.0.0.1:8420"
	defaultData = "./parley-data"
)

// maxRetention is a hundred years, in days.
const maxRetention = 36525

// hostFlags are the flags of a host; demo and serve share those of register.
type hostFlags struct {
	storeFlags   // of serve
	authFlags    // of serve
	tellingFlags // of serve

	addr, data string
	retention  int // days, of serve; 0: the inbox's default
}

func (h *hostFlags) register(fs *flag.FlagSet) {
	h.auditDays = defaultAuditDays
	fs.StringVar(&h.addr, "addr", defaultAddr, "`HOST:PORT`: where the page and its API listen; loopback only with --auth local")
	fs.StringVar(&h.data, "data", defaultData, "`DIRECTORY` for the store, the keys and the sign-in token")
}

var serveCommand = command{
	name: "serve", short: "run the host for the servers of a file",
	long: `
Runs the host: a page on --addr where you pick a tool, answer what its server asks,
and see the outcome. Questions are kept in --data until they are answered, also
over restarts.

The servers file is the object "mcpServers" that other MCP hosts use:

  {"mcpServers": {
    "everything": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]},
    "travel":     {"url": "http://127.0.0.1:8421/mcp", "headers": {"Authorization": "Bearer ${TRAVEL_TOKEN}"}}
  }}

${VAR} is taken from the environment in env, headers, url and args. What Parley wants to
know of a server stands in an object "parley" in it, such as {"trusted": true};
docs/operations.md has all of it. People sign in on the page to servers that want OAuth.

Any number of machines may serve one PostgreSQL: --store postgres://..., and --keys
with the same file on each; docs/several-machines.md says how.

With --auth local the printed address signs in the one person of this machine. With
--auth oidc people sign in with an OpenID provider; put a proxy that speaks TLS in
front, and name its address with --public-url. The provider is told the address
PUBLIC-URL/sign-in/callback.

GET /healthz says that the process lives, GET /readyz that it can work; both without
sign-in. Traces go where the variables OTEL_EXPORTER_OTLP_... say. docs/operations.md
has metrics, webhooks, backups and upgrades.

Examples:
  parley serve --servers mcp.json
  parley serve --servers mcp.json --metrics-addr :9464 --webhooks webhooks.json
  PARLEY_ADDR=127.0.0.1:9000 parley serve --servers mcp.json --data /var/lib/parley
  parley serve --servers mcp.json --auth oidc --public-url https://parley.example.com \
    --oidc-issuer https://id.example.com --oidc-client-id parley --operator-group parley-operators`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		var common hostFlags
		common.register(fs)
		common.storeFlags.register(fs)
		common.authFlags.register(fs)
		common.tellingFlags.register(fs)
		fs.IntVar(&common.retention, "retention", 30, "`DAYS` after which what an ended call contained is removed")
		file := fs.String("servers", "", "`FILE` with the object \"mcpServers\"")
		policyFile := fs.String("policy", "", "`FILE` of the policy (parley help policy), which is followed while the host runs; without one, what models call is asked, but for read-only tools of trusted servers")
		return func(ctx context.Context, env *environment) error {
			if err := noArgs(env); err != nil {
				return err
			}
			if common.retention < 1 || common.retention > maxRetention {
				return usageError("", "--retention has to be between 1 and %d days", maxRetention)
			}
			if err := common.authFlags.check(); err != nil {
				return err
			}
			if err := common.tellingFlags.check(); err != nil {
				return err
			}
			if *file == "" {
				return usageError("--servers FILE names a JSON file with the object \"mcpServers\"; `parley demo` brings a server of its own",
					"no servers were named")
			}
			servers, err := host.ReadServers(*file)
			if err != nil {
				return usageError("--servers names a JSON file such as "+`{"mcpServers": {"travel": {"url": "http://127.0.0.1:8421/mcp"}}}`, "the servers: %w", err)
			}
			rules, err := openPolicy(*policyFile)
			if err != nil {
				return err
			}
			release, err := takeData(common.data)
			if err != nil {
				return err
			}
			defer release()
			if common.kind != authOIDC {
				if err := onlyLoopback("--addr", common.addr); err != nil {
					return err
				}
			}
			ln, err := listen(ctx, "--addr", common.addr)
			if err != nil {
				return err
			}
			defer ln.Close()
			return runHost(ctx, env, common, ln, hosting{servers: servers, policy: rules})
		}
	},
}
