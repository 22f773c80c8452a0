package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/store/sqlitestore"
)

// opened opens a store as a host does: the data directory first, then the file.
func opened(t *testing.T, flags storeFlags, data string) (close func() error, err error) {
	t.Helper()
	release, err := takeData(data)
	if err != nil {
		return nil, err
	}
	kept, err := openStorage(t.Context(), &flags, data, newLog(&environment{stderr: &bytes.Buffer{}}))
	if err != nil {
		release()
		return nil, err
	}
	return func() error { defer release(); return kept.Close() }, nil
}

// An SQLite file has one host, by whatever name it and its directory go: the
// second would end the leases of the first (inbox.Recover). Not parallel: see TestErase.
func TestOneHostOnAFile(t *testing.T) {
	dir := t.TempDir()
	data, other := filepath.Join(dir, "data"), filepath.Join(dir, "other")
	deep := filepath.Join(dir, "a", "deep")
	for _, d := range []string{data, other, deep} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(data, storeFile)
	link := func(to, name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	toFile, toDir, toDeep := link(file, "file"), link("data", "directory"), link(deep, "deep")
	toLink := link("file", "link")         // relative, and to a link
	linked := filepath.Join(dir, "linked") // a data directory whose file is a link
	if err := errors.Join(os.Mkdir(linked, 0o700), os.Symlink(filepath.Join("..", "link"), filepath.Join(linked, storeFile))); err != nil {
		t.Fatal(err)
	}
	work, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(work, file)
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]struct{ store, data string }{
		"--data":                          {"", data},
		"--data, a link":                  {"", toDir},
		"--data with a link for the file": {"", linked},
		"--store":                         {file, other},
		"--store, relative":               {relative, other},
		"--store, a link":                 {toFile, other},
		"--store, a link to a link":       {toLink, other},
		"--store in a linked directory":   {filepath.Join(toDir, storeFile), other},
		"--store by the parent of a link": {toDeep + "/../../data/" + storeFile, other},
		"--store that is not as short":    {filepath.Dir(data) + "/./other/..//data/" + storeFile, other},
	}
	flags := func(store string) storeFlags {
		if store == "" {
			return storeFlags{keys: filepath.Join(dir, "keys.json")}
		}
		return storeFlags{store: "sqlite:" + store, keys: filepath.Join(dir, "keys.json")}
	}
	// Once while the file is not there yet: links then lead to nothing.
	for _, made := range []bool{false, true} {
		for name, first := range ways {
			if made == false {
				for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
					if err := os.Remove(file + suffix); err != nil && !os.IsNotExist(err) {
						t.Fatal(err)
					}
				}
			}
			closeFirst, err := opened(t, flags(first.store), first.data)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for again, second := range ways {
				if closeSecond, err := opened(t, flags(second.store), second.data); err == nil {
					t.Errorf("%s, then %s: two hosts on one file", name, again)
					closeSecond()
				} else if exitCode(err) != exitUsage || !strings.Contains(err.Error(), "in use by another parley") {
					t.Errorf("%s, then %s: %v", name, again, err)
				}
			}
			if err := closeFirst(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What else opens the file beside a host: what changes it waits for its end, what
// only reads does not. Not parallel: see TestErase.
func TestCommandsBesideAHost(t *testing.T) {
	dir := t.TempDir()
	data, linked := filepath.Join(dir, "data"), filepath.Join(dir, "link.db")
	file, keys := filepath.Join(data, storeFile), filepath.Join(data, keysFile)
	for _, named := range []string{"", file} {
		close, err := opened(t, storeFlags{store: map[bool]string{true: "sqlite:" + named}[named != ""]}, data)
		if err != nil {
			t.Fatal(err)
		}
		if named == "" {
			if err := os.Symlink(file, linked); err != nil {
				t.Fatal(err)
			}
		}
		for _, where := range [][]string{{"--data", data}, {"--store", "sqlite:" + file}, {"--store", "sqlite:" + linked}} {
			for _, command := range [][]string{
				{"migrate"},
				{"erase", "--principal", "local||operator", "--yes"},
				{"vault", "status"},
				{"vault", "rotate"},
			} {
				args := slices.Concat(command, where)
				if command[0] == "vault" {
					args = append(args, "--keys", keys)
				}
				if command[0] == "migrate" && where[0] == "--data" {
					continue // it wants a store named
				}
				code, out, errs := runCommand(t, nil, args...)
				if code != exitUsage || !strings.Contains(errs, "in use by another parley") {
					t.Errorf("%q: code %d\n%s%s", args, code, out, errs)
				}
			}
			if code, out, errs := runCommand(t, nil, append([]string{"audit"}, where...)...); code != exitOK {
				t.Errorf("audit %q: code %d\n%s%s", where, code, out, errs)
			}
		}
		if err := close(); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := runCommand(t, nil, "migrate", "--store", "sqlite:"+linked); code != exitOK {
			t.Errorf("migrate, when it has ended: code %d\n%s%s", code, out, errs)
		}
	}
}

// A file with two names is refused: neither says that the other is open.
func TestFileOfTwoNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.db"), filepath.Join(dir, "two.db")
	store, err := sqlitestore.Open(one, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Close(), os.Link(one, two)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{one, two} {
		_, err := opened(t, storeFlags{store: "sqlite:" + path}, t.TempDir())
		if err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), "2 names") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := os.Remove(two); err != nil {
		t.Fatal(err)
	}
	close, err := opened(t, storeFlags{store: "sqlite:" + one}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := close(); err != nil {
		t.Fatal(err)
	}
}

func TestLinksWithoutEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop.db")
	if err := os.Symlink("loop.db", loop); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{loop, filepath.Join(dir, "no", "such.db")} {
		if _, err := opened(t, storeFlags{store: "sqlite:" + path}, t.TempDir()); err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), "the store: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
