//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lockData takes the data directory for this process. The lock is the kernel's
// (flock), so a process that was killed holds none. Whoever has it may end the
// leases that an earlier life of this machine left (inbox.Recover).
func lockData(dir string) (release func(), err error) {
	return lockFile(filepath.Join(dir, "lock"), dir, "directory", "--data")
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
	return func() { f.Close() }, nil
}
