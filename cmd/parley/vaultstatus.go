package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/vault"
)

var vaultStatusCommand = command{
	name: "vault status", short: "how many rows the vault has, and which keys they need",
	long: `
Says how many rows of the vault and of the inbox (calls, questions, approvals) are sealed
with each key, what the vault holds by provider and status, and which machines run on the store and with which keys. It shows no secret, and nothing
of a person.

Statuses of grants: alive; reconnect_needed (the person has to sign in again); dead (the
authorization server refuses the client registration: repair it).

The exit code is 1 if there are rows that these keys do not open.

A file of SQLite belongs to one process: stop the host first. On PostgreSQL the machines
go on meanwhile.

Examples:
  parley vault status --data /var/lib/parley
  PARLEY_STORE=postgres://parley@db.example/parley parley vault status --keys keys.json`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		var flags vaultFlags
		flags.register(fs)
		return func(ctx context.Context, env *environment) error {
			if err := noArgs(env); err != nil {
				return err
			}
			v, err := flags.open(ctx)
			if err != nil {
				return err
			}
			return errors.Join(vaultStatus(ctx, env, v), v.Close())
		}
	},
}

func vaultStatus(ctx context.Context, env *environment, v *openedVault) error {
	r, err := v.usage(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.stdout, "Keys (%s):\n", v.keys)
	table(env.stdout, func(row func(...any)) {
		for _, key := range r.keys {
			row(key.ID, keyState(key.Key), key.rows.String())
		}
	})
	fmt.Fprint(env.stdout, "\nRows of the vault:\n")
	if len(r.Counts) == 0 {
		fmt.Fprintln(env.stdout, "  none")
	}
	table(env.stdout, func(row func(...any)) {
		for i, c := range r.Counts {
			n := c.N
			if i > 0 && sameButKey(r.Counts[i-1], c) {
				continue // counted with the one before
			}
			for _, next := range r.Counts[i+1:] {
				if !sameButKey(c, next) {
					break
				}
				n += next.N
			}
			// A provider is an address that a servers file, or a stranger, chose.
			row(string(c.Kind), or(plain.Line(c.Provider, 120), "-"), or(plain.Line(c.Status, 40), "-"), n)
		}
	})
	if v.shared {
		fmt.Fprint(env.stdout, "\nMachines of the last five minutes:\n")
		if len(r.Machines) == 0 {
			fmt.Fprintln(env.stdout, "  none")
		}
		table(env.stdout, func(row func(...any)) {
			for _, m := range r.Machines {
				row(plain.Line(m.Name, 80), fmt.Sprintf("seen %v ago", r.Time.Sub(m.Seen).Round(time.Second)), fmt.Sprintf("seals with %d", m.Primary), fmt.Sprintf("opens %v", m.Keys))
			}
		})
	}
	if closed := r.closed(); closed != (rows{}) {
		return &failure{
			code: exitFindings, hint: "find the file that has them, or the backup of it; without it what is in them is lost",
			err: fmt.Errorf("the keys do not open %s", closed),
		}
	}
	return nil
}

func keyState(key vault.Key) string {
	switch {
	case key.ID == 0:
		return "no key named"
	case !key.Here:
		return "not in this file"
	case !key.Enabled:
		return "disabled"
	case key.Primary:
		return "seals"
	}
	return "opens"
}

func sameButKey(a, b vault.Count) bool {
	return a.Kind == b.Kind && a.Provider == b.Provider && a.Status == b.Status
}

func countRows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// table writes lines whose columns stand below each other.
func table(w io.Writer, fill func(row func(...any))) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fill(func(cells ...any) {
		fmt.Fprint(t, "  ")
		for i, cell := range cells {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	})
	_ = t.Flush() // of a writer that reports its own errors
}
