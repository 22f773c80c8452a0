package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/internal/sqlitefile"
	"github.com/parley-mcp/parley/store/pgstore"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

var auditCommand = command{
	name: "audit", short: "print what happened: who asked, saw, answered, sent",
	long: `
Prints the audit log of a store, oldest first: a line for each thing that happened, with
when, what, whose, and who did it. It has no content: no argument, no answer, no result;
where those matter there is a keyed digest of them. --json prints JSON lines, one entry
each, for whoever collects them: their "id" rises, so the last one is where to go on.

A person is ISSUER|TENANT|SUBJECT, as for parley erase. Kinds: composed, allowed, asked,
shown, refused, expiring, blocked, opened, answered, checked, taken_back, delivered,
closed, completed, uncertain, finished, denied, stopped, resolved, approval_asked,
approval_expiring, approval_decided, approval_closed, approval_revoked, disabled, enabled,
erased, credential_read, signed_in, signed_out, not_revoked.

What let a call leave stands where it was composed and with each answer that was
delivered: the rule of the policy, and the approval where that rule asks for one. An entry
"allowed" tells of another rule or approval than the last one told.

It only reads, so the host may run meanwhile, also on a file of SQLite, if it is of this
version. The keys of the store are not needed.

Examples:
  parley audit --data /var/lib/parley --since 24h
  parley audit --principal 'local||operator' --kind answered,delivered
  parley audit --call c_Zk3m0l2n3o4p5q6r7s8t9u --json
  PARLEY_STORE=postgres://parley@db.example/parley parley audit --json --after 4711 --follow`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		var a auditing
		fs.StringVar(&a.store.store, "store", "", storeUsage)
		fs.StringVar(&a.data, "data", defaultData, "`DIRECTORY` of the host, where no --store is named")
		fs.StringVar(&a.who, "principal", "", "of this person only: `ISSUER|TENANT|SUBJECT`")
		fs.StringVar(&a.call, "call", "", "of the call with this `ID` only")
		fs.StringVar(&a.kinds, "kind", "", "of these `KINDS` only, with commas")
		fs.StringVar(&a.since, "since", "", "not before this `TIME`: 2026-12-01T09:00:00Z, 2026-12-01, or as long ago as 90m or 24h")
		fs.Int64Var(&a.after, "after", 0, "after the entry with this `NUMBER`")
		fs.BoolVar(&a.json, "json", false, "print JSON lines")
		fs.BoolVar(&a.follow, "follow", false, "go on with what happens from now on, until Ctrl-C")
		return func(ctx context.Context, env *environment) error {
			if err := noArgs(env); err != nil {
				return err
			}
			if err := a.read(time.Now()); err != nil {
				return err
			}
			store, err := openToRead(ctx, &a.store, a.data)
			if err != nil {
				return err
			}
			return errors.Join(a.print(ctx, env.stdout, inbox.New(store, inbox.NewKeys(), nil)), store.Close())
		}
	},
}

// auditing is one run of the command.
type auditing struct {
	store                         storeFlags
	data, who, call, kinds, since string
	after                         int64
	json, follow                  bool

	principal inbox.Principal // zero: of everybody
	only      []inbox.AuditKind
	from      time.Time
}

// auditPoll is how often a run that follows looks for more.
const auditPoll = 2 * time.Second

// read reads the flags that are texts.
func (a *auditing) read(now time.Time) (err error) {
	if a.who != "" {
		if a.principal, err = readPrincipal(a.who); err != nil {
			return err
		}
	}
	for kind := range strings.SplitSeq(a.kinds, ",") {
		if kind = strings.TrimSpace(kind); kind == "" {
			continue
		}
		if !slices.Contains(auditKinds, inbox.AuditKind(kind)) {
			return usageError("`parley help audit` lists them", "--kind %q is no kind of entry", kind)
		}
		a.only = append(a.only, inbox.AuditKind(kind))
	}
	if a.after < 0 {
		return usageError("", "--after is the number of an entry")
	}
	if a.since == "" {
		return nil
	}
	if d, err := time.ParseDuration(a.since); err == nil && d >= 0 {
		a.from = now.Add(-d)
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if a.from, err = time.Parse(layout, a.since); err == nil {
			return nil
		}
	}
	return usageError("write 2026-12-01T09:00:00Z, 2026-12-01, 90m or 24h", "--since %q is no time", a.since)
}

var auditKinds = []inbox.AuditKind{
	inbox.AuditComposed, inbox.AuditAllowed, inbox.AuditAsked, inbox.AuditRefused, inbox.AuditShown, inbox.AuditExpiring, inbox.AuditOpened, inbox.AuditAnswered, inbox.AuditChecked,
	inbox.AuditTakenBack, inbox.AuditDelivered, inbox.AuditClosed, inbox.AuditCompleted, inbox.AuditBlocked, inbox.AuditUncertain, inbox.AuditFinished,
	inbox.AuditDenied, inbox.AuditStopped, inbox.AuditResolved, inbox.AuditApprovalAsked, inbox.AuditApprovalExpiring, inbox.AuditApprovalDecided,
	inbox.AuditApprovalClosed, inbox.AuditApprovalRevoked, inbox.AuditDisabled, inbox.AuditEnabled, inbox.AuditErased, inbox.AuditCredentialRead,
	inbox.AuditSignedIn, inbox.AuditSignedOut, inbox.AuditNotRevoked,
}

// openToRead opens a store that is there. It takes no lock, so it leaves the tables of a
// file as they are: a host on it may be of an older version.
func openToRead(ctx context.Context, flags *storeFlags, data string) (inbox.Store, error) {
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
	store, err := sqlitestore.Open(path, &sqlitestore.Options{KeepTables: true})
	if errors.Is(err, sqlitefile.ErrOtherVersion) {
		return nil, usageError("use the parley that the host runs; where no host runs, `parley migrate` brings older tables up to date", "the store: %w", err)
	}
	if err != nil {
		return nil, usageError("", "the store: %w", err)
	}
	return store, nil
}

// print prints what there is, and with --follow what comes.
func (a *auditing) print(ctx context.Context, to io.Writer, in *inbox.Inbox) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		for {
			entries, err := in.AuditAll(ctx, a.after, 500)
			if err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return fmt.Errorf("the store: %w", err)
			}
			for _, e := range entries {
				a.after = e.ID
				if !a.wants(e) {
					continue
				}
				if err := a.line(to, e); err != nil {
					return err
				}
			}
			if len(entries) == 0 {
				break
			}
		}
		if !a.follow {
			return nil
		}
		timer.Reset(auditPoll)
	}
}

func (a *auditing) wants(e *inbox.AuditEntry) bool {
	return (a.principal == inbox.Principal{} || e.Principal == a.principal) && (a.call == "" || string(e.Call) == a.call) &&
		(len(a.only) == 0 || slices.Contains(a.only, e.Kind)) && !e.At.Before(a.from)
}

// line prints an entry. Names of servers, tools and people are texts of strangers.
func (a *auditing) line(to io.Writer, e *inbox.AuditEntry) error {
	if a.json {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = to.Write(append(b, '\n'))
		return err
	}
	subject := []string{string(e.Call)}
	if e.Question != "" {
		subject = append(subject, string(e.Question))
	}
	if e.Approval != "" {
		subject = append(subject, string(e.Approval))
	}
	what := []string{}
	for _, f := range []struct{ name, value string }{
		{"", e.Server}, {"", e.Tool}, {"state=", e.State}, {"reason=", e.Reason}, {"rule=", e.Rule}, {"scope=", string(e.Scope)},
		{"codes=", strings.Join(e.Codes, ",")}, {"via=", e.Via}, {"by=", doer(e)}, {"from=", e.Remote}, {"evidence=", e.Evidence},
	} {
		if f.value != "" {
			what = append(what, f.name+plain.Line(f.value, 80))
		}
	}
	_, err := fmt.Fprintf(to, "%d  %s  %-16s  %s  %s  %s\n", e.ID, e.At.UTC().Format("2006-01-02 15:04:05.000"), e.Kind,
		or(plain.Line(name(e.Principal), 120), "(erased)"), or(strings.Join(subject, " "), "-"), strings.Join(what, " "))
	return err
}

// doer is who did it, where it was not the person.
func doer(e *inbox.AuditEntry) string {
	if e.Machine != "" {
		return "machine " + e.Machine
	}
	return name(e.By)
}

// name is a person as the flags take them.
func name(p inbox.Principal) string {
	if p == (inbox.Principal{}) {
		return ""
	}
	escape := strings.NewReplacer("%", "%25", "|", "%7C")
	return escape.Replace(p.Issuer) + "|" + escape.Replace(p.Tenant) + "|" + escape.Replace(p.Subject)
}
