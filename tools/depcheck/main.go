// Command depcheck keeps an eye on what a user of Parley downloads.
//
// docs/dependencies.txt lists the modules that the packages of the module are
// built from, tests aside, so that a newcomer shows in a review; -write
// rewrites it. docs/dependencies.md gives a reason for each module that go.mod
// requires directly: a line that starts with the module's path as "- `path`:"
// and goes on with a sentence.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	module := flag.String("module", "..", "folder of the module")
	write := flag.Bool("write", false, "rewrite docs/dependencies.txt")
	flag.Parse()
	if err := run(*module, *write); err != nil {
		fmt.Fprintln(os.Stderr, "depcheck:", err)
		os.Exit(1)
	}
}

func run(module string, write bool) error {
	listFile, reasonFile := filepath.Join(module, "docs", "dependencies.txt"), filepath.Join(module, "docs", "dependencies.md")
	built, err := builtFrom(module)
	if err != nil {
		return err
	}
	list := []byte(strings.Join(built, "\n") + "\n")
	if write {
		if err := os.MkdirAll(filepath.Dir(listFile), 0o755); err != nil {
			return err
		}
		return os.WriteFile(listFile, list, 0o644)
	}
	var faults []error
	old, err := os.ReadFile(listFile)
	switch {
	case err != nil:
		faults = append(faults, err)
	case !bytes.Equal(old, list):
		faults = append(faults, fmt.Errorf("%s does not list what the packages are built from; if that is meant, run make generate", listFile))
	}
	direct, err := required(module)
	if err != nil {
		return err
	}
	reasons, err := os.ReadFile(reasonFile)
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	return errors.Join(append(faults, unexplained(reasonFile, string(reasons), direct)...)...)
}

// builtFrom returns the paths of the modules that hold a package which the
// module's own packages import, sorted.
func builtFrom(module string) ([]string, error) {
	out, err := goCommand(module, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./...")
	if err != nil {
		return nil, err
	}
	paths := strings.Fields(string(out))
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// required returns the modules that go.mod requires and does not mark indirect.
func required(module string) ([]string, error) {
	out, err := goCommand(module, "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var file struct {
		Require []struct {
			Path     string `json:"Path"`
			Indirect bool   `json:"Indirect"`
		} `json:"Require"`
	}
	if err := json.Unmarshal(out, &file); err != nil {
		return nil, fmt.Errorf("go mod edit -json: %w", err)
	}
	var paths []string
	for _, require := range file.Require {
		if !require.Indirect {
			paths = append(paths, require.Path)
		}
	}
	return paths, nil
}

func goCommand(dir string, args ...string) ([]byte, error) {
	command := exec.Command("go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return out, nil
}

var reasonLine = regexp.MustCompile("(?m)^- `([^`\n]+)`: (.*)$")

// unexplained compares the lines of reasons with the direct dependencies.
func unexplained(name, reasons string, direct []string) []error {
	var faults []error
	given := make(map[string]bool)
	for _, line := range reasonLine.FindAllStringSubmatch(reasons, -1) {
		path, reason := line[1], line[2]
		given[path] = true
		if !slices.Contains(direct, path) {
			faults = append(faults, fmt.Errorf("%s explains %s, which go.mod does not require directly", name, path))
		}
		if len(strings.Fields(reason)) < 4 {
			faults = append(faults, fmt.Errorf("%s gives no reason for %s", name, path))
		}
	}
	for _, path := range direct {
		if !given[path] {
			faults = append(faults, fmt.Errorf("%s has no line for %s", name, path))
		}
	}
	return faults
}
