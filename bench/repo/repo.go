// Package repo finds the files of this repository.
package repo

import (
	"errors"
	"os"
	"path/filepath"
)

// Path is the path of a file in the repository, from any folder inside it.
func Path(parts ...string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "bench", "go.mod")); err == nil {
			return filepath.Join(append([]string{dir}, parts...)...), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside of the repository")
		}
		dir = parent
	}
}
