package sqlitestore_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

func mustOpen(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	store, err := sqlitestore.Open(path, nil)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func put(ctx context.Context, store *sqlitestore.Store, id string) error {
	return store.Update(ctx, "p", func(tx inbox.Tx) error {
		seq, err := tx.Append(inbox.CallEvent, id)
		if err != nil {
			return err
		}
		return tx.PutCall(&inbox.CallRow{
			ID: inbox.CallID(id), Seq: seq, State: inbox.Ready, Created: tx.Now(), Updated: tx.Now(),
			Content: bytes.Repeat([]byte("x"), 3000),
		})
	})
}

// TestNotADatabase opens what is no inbox: the error names the file and the file stays as it was.
func TestNotADatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer.db")
	store := mustOpen(t, newer)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, newer, `INSERT INTO inbox_schema (version) VALUES (99)`)

	whole, err := os.ReadFile(newer)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	for i := 100; i < len(damaged); i++ { // behind the header
		damaged[i] = 0xa5
	}
	for name, content := range map[string][]byte{
		"text.db":    []byte("dear diary, today I was not a database at all"),
		"short.db":   []byte("SQLite"),
		"damaged.db": damaged,
		"half.db":    whole[:700],
		"newer.db":   whole,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		store, err := sqlitestore.Open(path, nil)
		if err == nil {
			store.Close()
			t.Errorf("%s was opened", name)
			continue
		}
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error does not name the file: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
			t.Errorf("%s was changed (%v)", name, err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "no", "such.db")} {
		if store, err := sqlitestore.Open(path, nil); err == nil {
			store.Close()
			t.Errorf("%s was opened", path)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error does not name it: %v", path, err)
		}
	}
	if _, err := sqlitestore.Open(filepath.Join(dir, "no", "such.db"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}

// execute runs a statement with a connection of its own.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedLater damages the file of an open store: operations fail with an
// error that names it, and do not invent rows.
func TestDamagedLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inbox.db")
	store := mustOpen(t, path)
	for i := range 50 {
		if err := put(t.Context(), store, fmt.Sprint("c_", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil { // moves everything out of the log
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for at := int64(2 * page); at < info.Size(); at += page { // all but the schema
		if _, err := file.WriteAt(bytes.Repeat([]byte{0xff}, page), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	store, err = sqlitestore.Open(path, nil)
	if err == nil {
		defer store.Close()
		err = store.View(t.Context(), "p", func(tx inbox.Tx) error {
			_, err := tx.Calls(inbox.CallQuery{})
			return err
		})
	}
	if err == nil || !strings.Contains(err.Error(), path) || errors.Is(err, inbox.ErrNotFound) {
		t.Errorf("reading a damaged file: %v", err)
	}
}

func TestFileMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // permissions are kept in another way there
	}
	path := filepath.Join(t.TempDir(), "inbox.db")
	store := mustOpen(t, path)
	if err := put(t.Context(), store, "c_1"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %04o", filepath.Base(name), info.Mode().Perm())
		}
	}
}

// TestSettings asks the file for what the package promises.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"inbox.db", "with space.db", "a?b.db", "50%25.db", "#1.db", "ü&_pragma=x.db"} {
		path := filepath.Join(t.TempDir(), name)
		store := mustOpen(t, path)
		if err := put(t.Context(), store, "c_1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path + "-wal"); err != nil {
			t.Errorf("%s is not in WAL mode: %v", name, err)
		}
	}
}

// TestOpenAtOnce opens a new file from many places at the same time.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inbox.db")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			store, err := sqlitestore.Open(path, nil)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			defer store.Close()
			if err := put(t.Context(), store, fmt.Sprint("c_", i)); err != nil {
				t.Errorf("Update: %v", err)
			}
		})
	}
	wg.Wait()
	err := mustOpen(t, path).View(t.Context(), "p", func(tx inbox.Tx) error {
		_, last, err := tx.EventBounds()
		if last != 8 {
			t.Errorf("%d events, want 8", last)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGroup checks that transactions which share a commit do not share their fate.
func TestGroup(t *testing.T) {
	t.Parallel()
	store := mustOpen(t, filepath.Join(t.TempDir(), "inbox.db"))
	no := errors.New("no")
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			defer func() {
				if got := recover(); (got != nil) != (i%4 == 3) {
					t.Errorf("update %d: recovered %v", i, got)
				}
			}()
			err := store.Update(ctx, "p", func(tx inbox.Tx) error {
				if err := tx.PutCall(&inbox.CallRow{ID: inbox.CallID(fmt.Sprint("c_", i)), Created: tx.Now(), Updated: tx.Now()}); err != nil {
					return err
				}
				if _, err := tx.Append(inbox.CallEvent, "c"); err != nil {
					return err
				}
				switch i % 4 {
				case 1:
					return no
				case 2:
					cancel()
				case 3:
					panic("boo")
				}
				return nil
			})
			want := map[int]error{1: no, 2: context.Canceled}[i%4]
			if !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("update %d: %v, want %v", i, err, want)
			}
		})
	}
	wg.Wait()
	err := store.View(t.Context(), "p", func(tx inbox.Tx) error {
		calls, err := tx.Calls(inbox.CallQuery{})
		if err != nil {
			return err
		}
		_, last, err := tx.EventBounds()
		if len(calls) != 15 || last != 15 {
			t.Errorf("%d calls and %d events, want the 15 that succeeded", len(calls), last)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGoexit ends a goroutine inside a transaction, as t.FailNow does.
func TestGoexit(t *testing.T) {
	t.Parallel()
	store := mustOpen(t, filepath.Join(t.TempDir(), "inbox.db"))
	var wg sync.WaitGroup
	wg.Go(func() {
		store.Update(t.Context(), "p", func(tx inbox.Tx) error {
			tx.PutCall(&inbox.CallRow{ID: "c_lost", Created: tx.Now(), Updated: tx.Now()})
			runtime.Goexit()
			return nil
		})
	})
	wg.Wait()
	err := store.Update(t.Context(), "p", func(tx inbox.Tx) error {
		if _, err := tx.Call("c_lost"); !errors.Is(err, inbox.ErrNotFound) {
			t.Errorf("Call: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Errorf("the next Update: %v", err)
	}
}

// crashPath makes the test binary the process that TestKilled kills.
const crashPath = "SQLITESTORE_CRASH_PATH"

// TestKilled kills a process that writes, again and again, and looks whether
// everything is there of which it had said that it was stored.
func TestKilled(t *testing.T) {
	if path := os.Getenv(crashPath); path != "" {
		writeUntilKilled(path)
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inbox.db")
	stored := 0
	for life := range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), crashPath+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		said := 0
		for said < 10+life && lines.Scan() {
			said++
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // said before the kill arrived
			if strings.HasPrefix(lines.Text(), "stored") {
				said++
			}
		}
		cmd.Wait()
		stored += said
		store := mustOpen(t, path)
		err = store.View(t.Context(), "p", func(tx inbox.Tx) error {
			first, last, err := tx.EventBounds()
			if err != nil {
				return err
			}
			calls, err := tx.Calls(inbox.CallQuery{})
			if err != nil {
				return err
			}
			// One more may be stored than it had time to say, in each life.
			if first != 1 || int(last) != len(calls) || len(calls) < stored || len(calls) > stored+1 {
				t.Errorf("life %d: %d calls, events %d to %d; %d were said to be stored", life, len(calls), first, last, stored)
			}
			stored = len(calls)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

func writeUntilKilled(path string) {
	store, err := sqlitestore.Open(path, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		if err := put(context.Background(), store, fmt.Sprint("c_", time.Now().UnixNano(), "_", i)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.WriteString("stored\n")
	}
}

// BenchmarkUpdate has many writers, who share commits.
func BenchmarkUpdate(b *testing.B) {
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			store, err := sqlitestore.Open(filepath.Join(b.TempDir(), "inbox.db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			b.SetParallelism(max(1, writers/runtime.GOMAXPROCS(0)))
			b.ResetTimer()
			if writers == 1 {
				for i := range b.N {
					if err := put(context.Background(), store, fmt.Sprint("c_", i)); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			var n sync.Mutex
			i := 0
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n.Lock()
					i++
					id := fmt.Sprint("c_", i)
					n.Unlock()
					if err := put(context.Background(), store, id); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
