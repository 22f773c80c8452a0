// Command longfiles finds source files that hold more than one idea: those of
// over 500 lines whose first lines do not say why, as
//
//	// long: one table that is read from top to bottom
//
// Generated files and those that git does not track are left alone.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	limit = 500 // lines
	top   = 30  // lines in which the reason must stand
)

func main() {
	root := flag.String("root", "..", "folder of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "longfiles:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	command := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "*.go", "*.ts")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	var faults []error
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		source, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, but not yet for git
		}
		if err != nil {
			return err
		}
		faults = append(faults, judge(name, source))
	}
	return errors.Join(faults...)
}

var (
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	reason    = regexp.MustCompile(`^// long: \S+ \S+`)
)

// judge says what is wrong with the length of a file, if anything.
func judge(name string, source []byte) error {
	lines := bytes.Count(source, []byte("\n"))
	if lines <= limit || generated.Match(source) {
		return nil
	}
	scanner := bufio.NewScanner(bytes.NewReader(source))
	for i := 0; i < top && scanner.Scan(); i++ {
		if reason.MatchString(scanner.Text()) {
			return nil
		}
	}
	return fmt.Errorf("%s has %d lines: split it, or say why not near the top: // long: reason", name, lines)
}
