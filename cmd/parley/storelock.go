package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// lockStore takes an SQLite file for this process, whichever flag named it and by
// whichever path: two hosts on one file would end each other's leases
// (inbox.Recover). The lock lies beside the file that is meant in the end, since
// links to it, and to directories on the way, are names of the same file.
//
// A second name by a hard link cannot be seen from the first, so a file that has
// several is refused: SQLite keeps a log beside each name, and two of those damage
// the database ("How To Corrupt An SQLite Database File", 2.5). What this does not see: a hard
// link that is made while a host runs, a bind mount of the file alone, a file that
// was put in the place of an open one, and file systems without flock.
func lockStore(path string) (release func(), err error) {
	end, err := linksEnd(path)
	if err != nil {
		return nil, usageError("", "the store: %s: %w", path, err)
	}
	release, err = lockFile(end+".lock", path, "file", "--store")
	if coded := (*failure)(nil); errors.As(err, &coded) {
		return nil, err
	} else if err != nil {
		return nil, usageError("", "the store: %w", err)
	}
	if n, err := names(end); err != nil || n > 1 {
		release()
		if err != nil {
			return nil, usageError("", "the store: %w", err)
		}
		return nil, usageError("remove the others (find -samefile shows them), or copy the file to a place of its own",
			"the store: %s has %d names (hard links), and a database with several is damaged by who opens two of them", path, n)
	}
	return release, nil
}

// linksEnd is the path of the file that is opened by path, without links. The file
// need not be there, its directory has to be.
func linksEnd(path string) (string, error) {
	const most = 40 // as the kernel follows (path_resolution(7))
	for end, n := path, 0; n < most; n++ {
		// Not cleaned: a ".." after a link is the parent of where that leads.
		dir, base := filepath.Split(end)
		dir, err := filepath.EvalSymlinks(dir + ".")
		if err != nil {
			return "", err
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return "", err
		}
		end = filepath.Join(dir, base)
		to, err := os.Readlink(end)
		if err != nil {
			return end, nil //nolint:nilerr // it is no link, or not there
		}
		if !filepath.IsAbs(to) {
			to = dir + string(filepath.Separator) + to
		}
		end = to
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: errors.New("too many links")}
}
