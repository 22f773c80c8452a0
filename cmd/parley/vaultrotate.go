package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/vault"
)

var vaultRotateCommand = command{
	name: "vault rotate", short: "change the key that seals the vault, while all goes on",
	long: `
Adds a key to the keys file, makes it the one that seals, and seals with it every row of
the vault and of the inbox (calls, questions, approvals), which have the same keys. Each call goes as far as it can and says what is next; call it again until it
says that it is done. What it has done stays done, also if it is killed.

Several machines: a machine has to have a key before another one seals with it. So after
the key is added, give the file to all machines; they read it again within 30 seconds (a
secret that is mounted as a file does the same). The next call looks whether all that run
have it, and only then makes it the one that seals; give the file to all machines once
more. A machine that does not run is not seen: it needs the file before it starts.

Called once more after that it changes nothing, until the old key is disabled; --add begins
another rotation all the same.

The old key stays in the file and opens. When the command says that nothing needs it:

  parley vault rotate --disable KEY

makes it open nothing, after it has looked that no row of the vault or the inbox and no
running machine needs it. Those who signed in to the host's pages before the rotation then
sign in again, and addresses for embedding that were made before it end. --enable KEY takes
it back. The key itself is never removed.

A file of SQLite belongs to one process: stop the host first. On PostgreSQL the machines
go on meanwhile. A keys file that a key management service encrypts is rotated by a
program that has a client of the service (docs/vault.md).

Examples:
  parley vault rotate --data /var/lib/parley
  PARLEY_STORE=postgres://parley@db.example/parley parley vault rotate --keys keys.json
  parley vault rotate --data /var/lib/parley --disable 1234567890`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		var flags vaultFlags
		flags.register(fs)
		disable := fs.Uint("disable", 0, "the `KEY` that is to open nothing any more")
		enable := fs.Uint("enable", 0, "the `KEY` that is to open again")
		add := fs.Bool("add", false, "begin another rotation though the key of the one before still opens")
		yes := fs.Bool("yes", false, "do not ask")
		return func(ctx context.Context, env *environment) error {
			if err := noArgs(env); err != nil {
				return err
			}
			if *disable != 0 && *enable != 0 {
				return usageError("", "--disable and --enable are two things to do")
			}
			if max(*disable, *enable) > 1<<32-1 {
				return usageError("`parley vault status` lists them", "a key has a number below 4294967296")
			}
			v, err := flags.open(ctx)
			if err != nil {
				return err
			}
			r := &rotation{env: env, v: v}
			switch {
			case *disable != 0:
				err = r.disable(ctx, uint32(*disable), *yes)
			case *enable != 0:
				err = r.enable(uint32(*enable))
			default:
				err = r.goOn(ctx, *add)
			}
			return errors.Join(err, v.Close())
		}
	},
}

// rotation is one call of the command. What there is to do follows from the
// keys file and the store alone, so a call that was killed leaves nothing to
// repair:
//
//	one key opens, and seals                          add a key
//	a key comes after the one that seals              if all machines have it: it seals
//	the last key seals, rows need another one         seal them anew
//	the last key seals, another one opens             done; --add adds a key
type rotation struct {
	env *environment
	v   *openedVault
}

func (r *rotation) sayf(format string, args ...any) { fmt.Fprintf(r.env.stdout, format+"\n", args...) }

// waiting ends a call that cannot go on by itself.
func waiting(hint, format string, args ...any) error {
	return &failure{code: exitFindings, hint: hint, err: fmt.Errorf(format, args...)}
}

// lockKeys takes a keys file for this command. As with [lockStore] the lock lies beside
// the file that is meant in the end, since links are names of the same file.
func lockKeys(path string) (release func(), err error) {
	end, err := linksEnd(path)
	if err != nil {
		return nil, usageError("", "the keys: %s: %w", path, err)
	}
	return lockFile(end+".lock", path, "file", "--keys")
}

func (r *rotation) goOn(ctx context.Context, add bool) error {
	unlock, err := lockKeys(r.v.keys)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.v.ring.Reload(); err != nil { // it may have changed before the lock
		return usageError("", "the keys: %w", err)
	}
	report, err := r.v.usage(ctx)
	if err != nil {
		return err
	}
	if closed := report.closed(); closed != (rows{}) {
		return waiting("`parley vault status` lists them, and --enable takes a key back", "there are %s that these keys do not open; first find the keys", closed)
	}
	machines := report.Machines
	if !r.v.shared {
		machines = nil // the lock says that none runs
	}
	next := nextKey(r.v.ring)
	begin := add || len(opening(r.v.ring)) == 1 // else one was begun, and may have been killed at its end
	if next == 0 && begin && report.rest() == (rows{}) && len(lagging(machines, r.v.ring.Primary())) == 0 {
		if next, err = seal.AddKey(r.v.keys, nil); err != nil {
			return err
		}
		r.sayf("Key %d was added to %s. It does not seal yet.", next, r.v.keys)
		if err := r.v.ring.Reload(); err != nil {
			return err
		}
	}
	if next != 0 {
		if missing := without(machines, next); len(missing) > 0 {
			return waiting("give "+r.v.keys+" to them; they read it again within 30 seconds; then call this again",
				"key %d cannot seal yet, since machines run without it: %s", next, strings.Join(missing, ", "))
		}
		if err := seal.PromoteKey(r.v.keys, nil, next); err != nil {
			return err
		}
		if err := r.v.ring.Reload(); err != nil {
			return err
		}
		r.sayf("Key %d seals from now on.", next)
	}
	return r.reseal(ctx)
}

// reseal is the last part: rows, and machines that seal with another key.
func (r *rotation) reseal(ctx context.Context) error {
	primary := r.v.ring.Primary()
	done, err := r.v.Reseal(ctx, func(d vault.Resealed) { r.sayf("  vault %d", d.Done) })
	if err != nil {
		return fmt.Errorf("the vault: after %s: %w", countRows(done.Done), err)
	}
	inInbox, err := r.v.inbox.Reseal(ctx, func(d inbox.Resealed) { r.sayf("  inbox %d", d.Done) })
	if err != nil {
		return fmt.Errorf("the inbox: after %s: %w", countRows(inInbox.Done), err)
	}
	// By this text machines know that their keys are those of the store.
	if err := checkKeys(ctx, r.v.beside, r.v.ring); err != nil {
		return err
	}
	report, err := r.v.usage(ctx)
	if err != nil {
		return err
	}
	r.sayf("Sealed anew with key %d: %s. Left on other keys: %s.", primary, rows{done.Done, inInbox.Done}, report.rest())
	if r.v.shared {
		if old := lagging(report.Machines, primary); len(old) > 0 {
			return waiting("give "+r.v.keys+" to them; they read it again within 30 seconds; then call this again",
				"machines still seal with another key: %s", strings.Join(old, ", "))
		}
	}
	if done.Unreadable > 0 {
		return waiting("their people have to sign in again; the key stays", "%s of the vault could not be opened and stay on their key", countRows(done.Unreadable))
	}
	if inInbox.Unreadable > 0 {
		return waiting("somebody changed them in the database; they and the key stay", "%s of the inbox could not be opened and stay on their key", countRows(inInbox.Unreadable))
	}
	if rest := report.rest(); rest != (rows{}) {
		return waiting("call this again", "%s came up meanwhile", rest)
	}
	r.sayf("Done. No row needs another key.")
	for _, key := range opening(r.v.ring) {
		if key != primary {
			r.sayf("Key %d still opens; --disable %d ends that, and with it sign-ins to pages from before.", key, key)
		}
	}
	return nil
}

// nextKey is the key that was added and does not seal yet: keys stand in the
// file in the order in which they were added.
func nextKey(ring *seal.Ring) (next uint32) {
	after := false
	for _, key := range ring.Keys() {
		if after && key.Enabled {
			next = key.ID
		}
		after = after || key.Primary
	}
	return next
}

// opening are the keys that open.
func opening(ring *seal.Ring) (keys []uint32) {
	for _, key := range ring.Keys() {
		if key.Enabled {
			keys = append(keys, key.ID)
		}
	}
	return keys
}

func without(machines []vault.Machine, key uint32) (names []string) {
	for _, m := range machines {
		if !m.Has(key) {
			names = append(names, plain.Line(m.Name, 80))
		}
	}
	return names
}

func lagging(machines []vault.Machine, primary uint32) (names []string) {
	for _, m := range machines {
		if m.Primary != primary {
			names = append(names, plain.Line(m.Name, 80))
		}
	}
	return names
}

func (r *rotation) disable(ctx context.Context, key uint32, yes bool) error {
	unlock, err := lockKeys(r.v.keys)
	if err != nil {
		return err
	}
	defer unlock()
	report, err := r.v.usage(ctx)
	if err != nil {
		return err
	}
	found := false
	for _, k := range report.keys {
		if k.ID == 0 {
			return waiting("`parley vault rotate` seals them anew if they open", "%s do not say which key they need", k.rows)
		}
		if k.ID != key {
			continue
		}
		found = k.Here
		switch {
		case k.Primary:
			return usageError("`parley vault rotate` makes another one the one that seals", "key %d seals", key)
		case k.rows != (rows{}):
			return waiting("`parley vault rotate` seals them anew", "%s need key %d", k.rows, key)
		}
	}
	if !found {
		return usageError("`parley vault status` lists them", "there is no key %d in %s", key, r.v.keys)
	}
	if r.v.shared {
		if old := lagging(report.Machines, r.v.ring.Primary()); len(old) > 0 {
			return waiting("give "+r.v.keys+" to them first", "machines still seal with another key: %s", strings.Join(old, ", "))
		}
	}
	if !yes {
		r.sayf("No row needs key %d. Those who signed in to pages before the rotation will sign in again.", key)
		fmt.Fprint(r.env.stdout, "Type disable to make the key open nothing, anything else to leave it: ")
		line, err := bufio.NewReader(io.LimitReader(r.env.stdin, 100)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if strings.TrimSpace(line) != "disable" {
			return usageError("--yes does it without asking", "nothing was changed")
		}
	}
	if err := checkKeys(ctx, r.v.beside, r.v.ring); err != nil {
		return err
	}
	if err := seal.DisableKey(r.v.keys, nil, key); err != nil {
		return err
	}
	r.sayf("Key %d opens nothing any more. --enable %d takes that back. Give %s to all machines.", key, key, r.v.keys)
	return nil
}

func (r *rotation) enable(key uint32) error {
	unlock, err := lockKeys(r.v.keys)
	if err != nil {
		return err
	}
	defer unlock()
	if err := seal.EnableKey(r.v.keys, nil, key); err != nil {
		return usageError("`parley vault status` lists them", "there is no key %d in %s that can be enabled", key, r.v.keys)
	}
	r.sayf("Key %d opens again. Give %s to all machines.", key, r.v.keys)
	return nil
}
