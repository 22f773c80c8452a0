package main

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// TestLockIsLetGo: a program that is being started at that moment has a copy of
// every open file, until it is the one that was wanted; a lock that is let go is
// free all the same.
func TestLockIsLetGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	for name, take := range map[string]func() (func(), error){
		"one":     func() (func(), error) { return lockFile(path, path, "file", "--store") },
		"waiting": func() (func(), error) { return waitFile(path) },
	} {
		release, err := take()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		copied := copyOf(t, path)
		release()
		again, err := lockFile(path, path, "file", "--store")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again()
		if err := syscall.Close(copied); err != nil {
			t.Error(err)
		}
	}
}

// copyOf duplicates the descriptor of an open file, as a fork does.
func copyOf(t *testing.T, path string) int {
	t.Helper()
	const open = "/proc/self/fd"
	list, err := os.ReadDir(open)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		if to, err := os.Readlink(filepath.Join(open, entry.Name())); err != nil || to != path {
			continue
		}
		fd, err := strconv.Atoi(entry.Name())
		if err == nil {
			fd, err = syscall.Dup(fd)
		}
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	t.Fatalf("%s is not open", path)
	return 0
}
