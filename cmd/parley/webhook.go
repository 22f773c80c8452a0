package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"flag"
	"fmt"
)

var webhookCommand = command{
	name: "webhook", args: "secret", short: "make a secret for the receiver of webhooks",
	long: `
"parley serve --webhooks FILE" tells programs elsewhere that a question was asked, will
expire soon or was answered, that an approval waits, or that a call is blocked, so that
they can send mail. The file has their addresses:

  {"endpoints": [{
    "id": "mail",
    "url": "https://mail.example.com/parley",
    "secret": "${PARLEY_WEBHOOK_SECRET}",
    "events": ["asked", "expiring", "approval_asked"]
  }]}

${VAR} is taken from the environment in url and secret. "events" may be asked, expiring,
answered, blocked, uncertain, approval_asked and approval_expiring (default: all);
"issuers" and "tenants" restrict whose calls are told of. A message has ids and no content, and is signed as Standard Webhooks says;
docs/webhooks.md has receivers in Go, Python and Node.js.

  parley webhook secret     print a fresh secret, for both sides

Examples:
  export PARLEY_WEBHOOK_SECRET="$(parley webhook secret)"
  parley serve --servers mcp.json --webhooks webhooks.json`,
	setup: func(*flag.FlagSet) func(context.Context, *environment) error {
		return func(_ context.Context, env *environment) error {
			if len(env.args) != 1 || env.args[0] != "secret" {
				return usageError("it is `parley webhook secret`", "webhook needs the one word secret")
			}
			var key [32]byte
			rand.Read(key[:]) // never fails (crypto/rand, since Go 1.24)
			_, err := fmt.Fprintln(env.stdout, "whsec_"+base64.StdEncoding.EncodeToString(key[:]))
			return err
		}
	},
}
