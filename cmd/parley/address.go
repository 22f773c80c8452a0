package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-mcp/parley/serve"
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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/sign-in/addresses", http.NoBody)
	if err != nil {
		return "", 0, connectError(hint, "the address in %s is damaged", filepath.Join(dir, runningFile))
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", 0, connectError(hint, "the host at %s does not answer: %w", url, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return "", 0, connectError(hint, "the host at %s broke off: %w", url, err)
	}
	var out struct {
		Token     string `json:"token"`
		ExpiresIn int    `json:"expires_in"` // seconds
	}
	if resp.StatusCode != http.StatusCreated || json.Unmarshal(body, &out) != nil || out.Token == "" || out.ExpiresIn <= 0 {
		return "", 0, connectError(hint, "%s is not a host on %s (it answered %s)", url, dir, resp.Status)
	}
	return serve.Address(url, out.Token), time.Duration(out.ExpiresIn) * time.Second, nil
}
