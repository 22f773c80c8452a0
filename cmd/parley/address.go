package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/client"
)

var addressCommand = command{
	name: "address", short: "print a fresh sign-in address of a running host",
	long: `
Each address that parley prints signs in one browser, once, and not for long. This
command asks the running host for another one, for a second browser or when the
first was lost; it signs in within 15 minutes, the one at the start within an hour. It
needs the data directory, so only the person who owns the host can run it.

Examples:
  parley address
  parley address --data /var/lib/parley`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		data := fs.String("data", defaultData, "data `DIRECTORY` of the running host")
		return func(ctx context.Context, env *environment) error {
			if err := noArgs(env); err != nil {
				return err
			}
			address, life, err := freshAddress(ctx, *data)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(env.stdout, address); err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stderr, "parley: note: it signs in one browser, once, within %s\n", inMinutes(life))
			return err
		}
	},
}

// runningFile holds the base address of the host that has the data directory.
const runningFile = "address"

// freshAddress asks the host that runs on dir for a one-time address, and how long
// that signs in.
func freshAddress(ctx context.Context, dir string) (address string, life time.Duration, err error) {
	hint := fmt.Sprintf("start one with `parley serve --data %s`, or name the directory of one that runs", dir)
	// After a crash the address still stands there, and its port may be anybody's:
	// the bearer goes only to the process that has the directory.
	switch running, err := inUse(dir); {
	case err != nil:
		return "", 0, connectError(hint, "no host of yours runs on %s: %w", dir, err)
	case !running:
		return "", 0, connectError(hint, "no host runs on %s", dir)
	}
	base, err := os.ReadFile(filepath.Join(dir, runningFile))
	if err != nil {
		return "", 0, connectError(hint, "no host runs on %s: %w", dir, err)
	}
	token, err := os.ReadFile(filepath.Join(dir, tokenFile))
	if err != nil {
		return "", 0, connectError(hint, "no host runs on %s: %w", dir, err)
	}
	url := strings.TrimSpace(string(base))
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	fresh, err := client.New(url, client.Bearer(strings.TrimSpace(string(token)))).FreshAddress(ctx)
	switch {
	case client.Code(err) == "not_found":
		return "", 0, usageError("open its public address and sign in there", "the host on %s has another way to sign in", dir)
	case err != nil:
		return "", 0, connectError(hint, "the host at %s does not answer as the one on %s: %w", url, dir, err)
	case fresh.Token == "" || fresh.ExpiresIn <= 0:
		return "", 0, connectError(hint, "%s is not a host on %s", url, dir)
	}
	return serve.Address(url, fresh.Token), time.Duration(fresh.ExpiresIn) * time.Second, nil
}
