package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/pgstore"
	"github.com/parley-mcp/parley/store/sqlitestore"
	"github.com/parley-mcp/parley/vault"
)

var eraseCommand = command{
	name: "erase", short: "remove everything that the store has of a person",
	long: `
Removes all calls of a person with their questions, answers and events, what the vault has
of their access to servers, and that the person was ever there. It shows what it found and asks before it does so. There is no
way back but a backup, and backups keep what they hold.

A person is ISSUER|TENANT|SUBJECT, as they signed in; the tenant is mostly empty. In
each part write | as %7C and % as %25. The person of local sign-in is 'local||operator'.

Calls that have not ended go too. A machine that has one on the wire hears nothing more
of it and drops the reply; what a server has received it has received. So let the person
stop their calls first, if you can.

A file of SQLite belongs to one process: stop the host first. On PostgreSQL the machines
go on meanwhile. The keys of the store are needed for two things only. With them the tokens
of the person are revoked at their servers, by the machines that run or by the next start,
and kept sealed until that is done, for seven days at most; without them the tokens are
removed here, and their servers take them until they end by themselves. And with them the
person's own sign-ins and embed tokens end: a digest of who it was is kept for that, for 30 days.

A person who is disabled stays so, and for that alone their name is kept. To remove it too,
enable them first (POST /v1/ops/people/enable).

Examples:
  parley erase --data /var/lib/parley --principal 'local||operator'
  PARLEY_STORE=postgres://parley@db.example/parley PARLEY_KEYS=keys.json \
    parley erase --principal 'https://login.example.com||248289761001'
  parley erase --store sqlite:/var/lib/parley/parley.db --principal 'shop|eu|7' --yes`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		var flags storeFlags
		fs.StringVar(&flags.store, "store", "", storeUsage)
		fs.StringVar(&flags.keys, "keys", "", "`FILE` with the keys of the store, to revoke tokens (default DATA/keys.json, if it is there)")
		data := fs.String("data", defaultData, "`DIRECTORY` of the host, where no --store is named")
		who := fs.String("principal", "", "the person: `ISSUER|TENANT|SUBJECT`")
		yes := fs.Bool("yes", false, "do not ask")
		return func(ctx context.Context, env *environment) error {
			if err := noArgs(env); err != nil {
				return err
			}
			p, err := readPrincipal(*who)
			if err != nil {
				return err
			}
			e, err := openEraser(ctx, &flags, *data)
			if err != nil {
				return err
			}
			return errors.Join(e.erase(ctx, env, p, *yes), e.Close())
		}
	},
}

const principalHint = "write it as 'ISSUER|TENANT|SUBJECT', in quotes; the tenant may be empty: 'local||operator'"

// readPrincipal reads the flag. A plus sign is itself, other than in
// [inbox.ParsePrincipal]: people have it in their addresses.
func readPrincipal(text string) (inbox.Principal, error) {
	if text == "" {
		return inbox.Principal{}, usageError(principalHint, "--principal says who; it is missing")
	}
	parts := strings.Split(text, "|")
	if len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return inbox.Principal{}, usageError(principalHint, "--principal %q is not of three parts with an issuer and a subject", text)
	}
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil {
			return inbox.Principal{}, usageError("write % as %25", "--principal %q: %w", text, err)
		}
		parts[i] = plain
	}
	p := inbox.Principal{Issuer: parts[0], Tenant: parts[1], Subject: parts[2]}
	if p.Key() == checkPrincipal {
		return inbox.Principal{}, usageError("", "--principal %q is no person: the store keeps under it by what machines know their keys", text)
	}
	return p, nil
}

// An erasable is a store that is closed after the work.
type erasable interface {
	inbox.Store
	io.Closer
}

// openToErase opens a store that is there.
func openToErase(ctx context.Context, flags *storeFlags, data string) (erasable, error) {
	path, file, err := flags.sqlitePath(data)
	if err != nil {
		return nil, err
	}
	if !file {
		ctx, cancel := context.WithTimeout(ctx, startTime)
		defer cancel()
		store, err := pgstore.Open(ctx, flags.store, nil)
		if err != nil {
			return nil, databaseError("the store", err)
		}
		return store, nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil, usageError("name the store with --store, or its directory with --data", "the store: %w", err)
	}
	locked := &lockedStore{release: func() {}}
	if flags.store == "" { // it has to be this user's alone
		if locked.release, err = lockData(data); err != nil {
			return nil, err
		}
	}
	release, err := lockStore(path)
	if err != nil {
		locked.release()
		return nil, err
	}
	directory := locked.release
	locked.release = func() { release(); directory() }
	if locked.Store, err = sqlitestore.Open(path, nil); err != nil {
		locked.release()
		return nil, usageError("", "the store: %w", err)
	}
	return locked, nil
}

// A lockedStore is a file that no other process has.
type lockedStore struct {
	*sqlitestore.Store
	release func()
}

func (s *lockedStore) Close() error {
	defer s.release()
	return s.Store.Close()
}

// holdings are what the store has of a person.
type holdings struct {
	calls, live, questions int // live: calls that have not ended
	events                 int64
}

func (h holdings) String() string {
	text := count(h.calls, "call")
	if h.live > 0 {
		text += fmt.Sprintf(" (%d not ended)", h.live)
	}
	return text + " and " + count(h.questions, "question")
}

// holdingsPage is how many rows are counted at once.
const holdingsPage = 1000

func holdingsOf(ctx context.Context, store inbox.Store, p inbox.Principal) (h holdings, err error) {
	err = store.View(ctx, p.Key(), func(tx inbox.Tx) error {
		h = holdings{}
		for before, more := int64(0), true; more; {
			rows, err := tx.Calls(inbox.CallQuery{Before: before, Limit: holdingsPage, Brief: true})
			if err != nil {
				return err
			}
			for _, c := range rows {
				h.calls++
				if !c.State.Ended() {
					h.live++
				}
				before = c.Seq
			}
			more = len(rows) == holdingsPage
		}
		for before, more := int64(0), true; more; {
			rows, err := tx.Questions(inbox.QuestionQuery{Before: before, Limit: holdingsPage})
			if err != nil {
				return err
			}
			h.questions += len(rows)
			if more = len(rows) == holdingsPage; more {
				before = rows[len(rows)-1].Seq
			}
		}
		_, h.events, err = tx.EventBounds()
		return err
	})
	return h, err
}

// erase shows what there is, asks, and removes it. The vault comes first: a
// command that was killed in between is called again.
func (e *eraser) erase(ctx context.Context, env *environment, p inbox.Principal, yes bool) error {
	h, err := holdingsOf(ctx, e.inbox, p)
	if err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	owner := vault.Principal{Issuer: p.Issuer, Tenant: p.Tenant, Subject: p.Subject}
	c, err := e.credentialsOf(ctx, owner)
	if err != nil {
		return err
	}
	who := fmt.Sprintf("issuer %q, subject %q", p.Issuer, p.Subject)
	if p.Tenant != "" {
		who = fmt.Sprintf("issuer %q, tenant %q, subject %q", p.Issuer, p.Tenant, p.Subject)
	}
	if h == (holdings{}) && c.grants == 0 && c.flows == 0 {
		// Most often a slip; but what is remembered of somebody who only looked around
		// (tools that they have seen, their groups, scopes that a server misses) is not counted.
		more := ": --yes removes what else is remembered of them"
		if yes {
			if _, err := e.remove(ctx, env, p); err != nil {
				return err
			}
			more = ", and what else was remembered of them is removed"
		}
		return &failure{code: exitFindings, hint: "compare issuer, tenant and subject with those that the sign-in gives", err: fmt.Errorf("nothing is stored of %s%s", who, more)}
	}
	fmt.Fprintf(env.stdout, "Stored of %s: %s.\n", who, h)
	if c.grants+c.flows > 0 {
		fmt.Fprintf(env.stdout, "In the vault: %s.\n", c)
	}
	if c.closed > 0 {
		fmt.Fprintf(env.stdout, "%d of these need keys that are not here (--keys): their tokens cannot be revoked.\n", c.closed)
	}
	if !e.keys {
		fmt.Fprintln(env.stdout, "Without the keys (--keys) nothing ends the sign-ins and tokens of this person: they go on as somebody new until those end by themselves.")
	}
	if !yes {
		fmt.Fprint(env.stdout, "Type erase to remove it for good, anything else to leave it: ")
		line, err := bufio.NewReader(io.LimitReader(env.stdin, 100)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if strings.TrimSpace(line) != "erase" {
			return usageError("--yes does it without asking", "nothing was removed")
		}
	}
	left, err := e.remove(ctx, env, p)
	if err != nil {
		return err
	}
	fmt.Fprintln(env.stdout, "It was removed. Backups keep what they hold, and the disk what was not overwritten: docs/operations.md says more.")
	if left > 0 {
		fmt.Fprintf(env.stdout, "Tokens to revoke at their servers: of %s. The machines that run do it, or the next start.\n", count(left, "grant"))
	}
	return nil
}

// remove removes all that there is of a person, and returns how many tokens are left to be revoked.
func (e *eraser) remove(ctx context.Context, env *environment, p inbox.Principal) (left int, err error) {
	if left, err = e.eraseCredentials(ctx, env, vault.Principal(p)); err != nil {
		return 0, err
	}
	// What the machines have in memory of this person they miss at their next look at the store.
	if err := inbox.New(e.inbox, e.ring, nil).Erase(ctx, p); err != nil {
		return 0, fmt.Errorf("the store: %w", err)
	}
	return left, nil
}
