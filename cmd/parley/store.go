package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/notify/natsnotify"
	"github.com/parley-mcp/parley/notify/pgnotify"
	"github.com/parley-mcp/parley/store/pgstore"
	"github.com/parley-mcp/parley/store/sqlitestore"
	"github.com/parley-mcp/parley/vault"
)

// storeFlags say where the store is, and what the machines on it share. The zero
// value is a file in the data directory.
type storeFlags struct {
	store, keys, notify string
	lease               time.Duration
}

const (
	storeUsage = "`STORE`: sqlite:PATH, or postgres://USER@HOST/DATABASE for several machines (default sqlite:DATA/parley.db)"
	keysUsage  = "`FILE` with the keys that seal the store; the same on all machines (default DATA/keys.json)"
)

func (s *storeFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&s.store, "store", "", storeUsage)
	fs.StringVar(&s.keys, "keys", "", keysUsage)
	fs.StringVar(&s.notify, "notify", "", "how machines wake each other: `ADDRESS` nats://HOST:PORT or postgres://..., or none (default: the store's database)")
	fs.DurationVar(&s.lease, "lease", 30*time.Second, "`DURATION` after which other machines take over the calls of one that is gone")
}

// startTime is how long a start waits for a database.
const startTime = 30 * time.Second

// Bounds of --lease: it is renewed every third of it.
const minLease, maxLease = time.Second, 10 * time.Minute

// sqlitePath is the file that the flag names; false if it names a database server.
func (s *storeFlags) sqlitePath(data string) (path string, ok bool, err error) {
	if s.store == "" {
		return filepath.Join(data, storeFile), true, nil
	}
	if path, ok := strings.CutPrefix(s.store, "sqlite:"); ok && path != "" {
		return path, true, nil
	}
	if isPostgres(s.store) {
		return "", false, nil
	}
	// It is not repeated: it may hold a password.
	return "", false, usageError("write sqlite:PATH or postgres://USER@HOST:PORT/DATABASE", "--store names no store that there is")
}

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// storage is what a machine keeps its calls in.
type storage struct {
	store    inbox.Store
	notifier inbox.Notifier // nil: inside this process
	ring     *seal.Ring
	vault    *vault.Vault // runs, once it is opened
	place    string       // of the vault's store
	file     bool         // it is a file
	// owner is the machine's name if it is the same in its next life: only where
	// a lock says that there is no other process of that name.
	owner string
	close []func() error // in the order of opening
}

func (s *storage) Close() error {
	var errs []error
	for _, f := range slices.Backward(s.close) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// openStorage opens the store, the keys and the way to other machines. The data
// directory is there and locked.
func openStorage(ctx context.Context, flags *storeFlags, data string, log *slog.Logger) (_ *storage, err error) {
	path, file, err := flags.sqlitePath(data)
	if err != nil {
		return nil, err
	}
	if flags.lease != 0 && (flags.lease < minLease || flags.lease > maxLease) {
		return nil, usageError("", "--lease has to be between %v and %v", minLease, maxLease)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	s := &storage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if file {
		err = s.openFile(flags, data, path)
	} else {
		err = s.openShared(ctx, flags, log)
	}
	if err != nil {
		return nil, err
	}
	if err := checkKeys(ctx, s.store, s.ring); err != nil {
		return nil, err
	}
	if s.place, s.file = flags.store, file; file {
		s.place = path
	}
	return s, nil
}

// openFile opens an SQLite file, which one process at a time uses.
func (s *storage) openFile(flags *storeFlags, data, path string) error {
	if flags.notify != "" {
		return usageError("leave it out: one machine needs none", "--notify is for several machines on PostgreSQL")
	}
	// Beside the lock of the data directory, which says nothing of a file elsewhere.
	release, err := lockStore(path)
	if err != nil {
		return err
	}
	s.close = append(s.close, func() error { release(); return nil })
	keys := flags.keys
	if keys == "" {
		keys = filepath.Join(data, keysFile)
	}
	if s.ring, err = seal.Open(keys); err != nil {
		return usageError("", "the keys: %w", err)
	}
	store, err := sqlitestore.Open(path, nil)
	if err != nil {
		return usageError("", "the store: %w", err)
	}
	s.store, s.owner = store, "data-directory"
	s.close = append(s.close, store.Close)
	return nil
}

// openShared opens a store that other machines use too.
func (s *storage) openShared(ctx context.Context, flags *storeFlags, log *slog.Logger) error {
	if flags.keys == "" {
		return usageError("name the file with --keys FILE or PARLEY_KEYS; `parley migrate --keys FILE` makes the first one",
			"a store in PostgreSQL needs keys that all its machines share")
	}
	ring, err := readKeys(flags.keys)
	if err != nil {
		return err
	}
	s.ring = ring
	store, err := pgstore.Open(ctx, flags.store, nil)
	if err != nil {
		return databaseError("the store", err)
	}
	s.store = store
	s.close = append(s.close, store.Close)
	switch address := flags.notify; {
	case address == "none":
		s.notifier = inbox.NewLocal()
	case address == "" || isPostgres(address):
		if address == "" {
			address = flags.store
		}
		channel := "parley_" + store.Schema()
		n, err := pgnotify.Open(ctx, address, &pgnotify.Options{Channel: channel[:min(len(channel), 63)], Log: log})
		if err != nil {
			return databaseError("--notify", err)
		}
		s.notifier = n
		s.close = append(s.close, n.Close)
	case strings.HasPrefix(address, "nats://"), strings.HasPrefix(address, "tls://"):
		n, err := natsnotify.Open(ctx, address, &natsnotify.Options{Log: log})
		if err != nil {
			return connectError("is the server there? `--notify none` does without", "--notify: %w", err)
		}
		s.notifier = n
		s.close = append(s.close, n.Close)
	default:
		return usageError("write nats://HOST:PORT, postgres://USER@HOST:PORT/DATABASE or none", "--notify names no way that there is")
	}
	return nil
}

// readKeys reads keys that were made before: a machine that made its own could
// read nothing that the others wrote.
func readKeys(path string) (*seal.Ring, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("copy the file of another machine; `parley migrate --keys FILE` makes the first one", "there is no keys file %s", path)
	}
	ring, err := seal.Open(path)
	if err != nil {
		return nil, usageError("", "the keys: %w", err)
	}
	return ring, nil
}

// noDatabase is invalid_catalog_name (PostgreSQL, "Error Codes").
const noDatabase = "3D000"

// databaseError tells a server that cannot be reached from one that says no.
func databaseError(what string, err error) error {
	if connect := (*pgconn.ConnectError)(nil); errors.As(err, &connect) {
		hint := "is PostgreSQL there, and are user and password right?"
		if said := (*pgconn.PgError)(nil); errors.As(err, &said) && said.Code == noDatabase {
			hint = "make the database first, such as with createdb"
		}
		return connectError(hint, "%s: %w", what, err)
	}
	return usageError("", "%s: %w", what, err)
}

// Where a store keeps the text by which machines know that their keys fit.
const (
	checkPrincipal = "parley||keys"
	checkName      = "keys check"
)

// checkEnd is when that text ends: never.
var checkEnd = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// checkKeys refuses keys that are not the store's, before they seal anything. The
// text is sealed with the key that seals now: the older ones may go one day.
func checkKeys(ctx context.Context, store inbox.Store, ring *seal.Ring) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	fits := true
	err := store.Update(ctx, checkPrincipal, func(tx inbox.Tx) error {
		sealed, err := tx.Remembered(checkName)
		if errors.Is(err, inbox.ErrNotFound) {
			return tx.Remember(checkName, ring.Seal(checkName, nil, nil), checkEnd)
		}
		if err == nil {
			_, openErr := ring.Open(checkName, nil, sealed)
			if fits = openErr == nil; fits && seal.KeyID(sealed) != ring.Primary() {
				return tx.Remember(checkName, ring.Seal(checkName, nil, nil), checkEnd)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	if !fits {
		return usageError("use the keys that the store was made with; all its machines share one file", "the keys do not fit the store")
	}
	return nil
}
