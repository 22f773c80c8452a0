//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lockName is the file in the data directory whose lock its host holds.
const lockName = "lock"

// lockData takes the data directory for this process. The lock is the kernel's
// (flock), so a process that was killed holds none. Whoever has it may end the
// leases that an earlier life of this machine left (inbox.Recover).
func lockData(dir string) (release func(), err error) {
	if err := checkData(dir); err != nil {
		return nil, err
	}
	return lockFile(filepath.Join(dir, lockName), dir, "directory", "--data")
}

// checkData refuses a data directory in which somebody else could have put a
// sign-in token of their choice, or a link in the place of a file.
func checkData(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return usageError("choose another directory with --data", "the data directory: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return usageError("choose a directory of your own with --data", "the data directory: %s belongs to another user", dir)
	}
	if info.Mode().Perm()&0o002 != 0 {
		return usageError("take that right away (chmod o-w), or choose another directory with --data",
			"the data directory: everybody can write in %s (mode %#o)", dir, info.Mode().Perm())
	}
	return nil
}

// inUse reports whether a host runs on the data directory.
func inUse(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer letGo(f)
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// waitFile waits for the lock at path, which others hold for a moment only. The file
// stays: whoever removed it could leave two with locks of the same name.
func waitFile(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		switch {
		case err == nil:
			return func() { letGo(f) }, nil
		case !errors.Is(err, syscall.EINTR):
			f.Close()
			return nil, err
		}
	}
}

// names is how many names (hard links) the file has; none if it is not there.
func names(path string) (int, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() { // what is no file is refused as that
		return 1, nil
	}
	return int(stat.Nlink), nil
}

// lockFile takes the lock at path, which stands for what the flag named.
func lockFile(path, what, kind, flagName string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, usageError("stop it, or choose another "+kind+" with "+flagName, "%s is in use by another parley", what)
		}
		return nil, err
	}
	return func() { letGo(f) }, nil
}

// letGo unlocks the file. Closing it alone would not: a program that is just being
// started has it too, until it is the one that was wanted.
func letGo(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // f is closed in any case
	f.Close()
}
