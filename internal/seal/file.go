package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tink-crypto/tink-go/v2/keyset"
)

// Open reads the ring in the file at path, and makes the file, with one fresh
// key and mode 0600, if it is not there. Missing parent directories are made
// with mode 0700. Processes that start at the same time end with the same key.
//
// A file that is there is never written to: one that others may read, that is
// no regular file or that is damaged gives an error that names it.
func Open(path string) (*Ring, error) {
	ring, err := readFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return ring, err
	}
	var text bytes.Buffer
	if err := NewRing().write(&text); err != nil {
		return nil, fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	if err := create(path, text.Bytes()); err != nil {
		return nil, err
	}
	return readFile(path)
}

func readFile(path string) (*Ring, error) {
	text, err := readText(path)
	if err != nil {
		return nil, err
	}
	ring, err := Read(text)
	if err != nil {
		return nil, fmt.Errorf("seal: keys file %s is damaged: %w", path, err)
	}
	ring.source = func() (*keyset.Handle, error) {
		again, err := readFile(path)
		if err != nil {
			return nil, err
		}
		return again.keys.Load().handle, nil
	}
	return ring, nil
}

// readText reads a file that nobody else can reach.
func readText(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("seal: keys file: %w", err) // names the path
	}
	defer file.Close()
	// The open file is asked, not the path: the path may change in between.
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("seal: keys file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("seal: keys file %s is not a regular file", path)
	}
	// Windows keeps permissions in access lists that Mode does not show.
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&0o077 != 0 {
		return nil, fmt.Errorf("seal: keys file %s has mode %04o, so others can reach the keys: make it 0600", path, perm)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyset+1))
	if err != nil {
		return nil, fmt.Errorf("seal: keys file: %w", err)
	}
	return text, nil
}

// create puts a fresh keyset at path unless a file is there. The complete file
// appears under its name in one step: it is written beside it and then linked,
// because a rename would replace the file of a faster process.
func create(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	// CreateTemp opens with O_EXCL and mode 0600.
	temp, err := os.CreateTemp(dir, ".keys-*")
	if err != nil {
		return fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	defer func() { _ = os.Remove(temp.Name()) }() // one that stays is a file that nobody else can read
	if err := writeSync(temp, text); err != nil {
		return fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	err = os.Link(temp.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without hard links. A process that reads while this
		// one writes sees a damaged file and stops; it never makes a second key.
		err = createExclusive(path, text)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("seal: keys file %s: %w", path, err)
	}
	return syncDir(dir)
}

func createExclusive(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return writeSync(file, text)
}

func writeSync(file *os.File, text []byte) error {
	_, err := file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// syncDir makes the new name survive a power cut: without the key nothing that
// is sealed opens again.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be opened for this there
	}
	file, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("seal: keys directory: %w", err)
	}
	return errors.Join(file.Sync(), file.Close())
}
