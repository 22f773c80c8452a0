// Command bundle turns the TypeScript of the web elements into the JavaScript
// that the binary embeds.
//
// Every .ts file directly in -src (declaration files aside) is an entry and
// becomes one self-contained ES module of the same name in -out; what entries
// share lives in folders below -src. A .css file can be imported as text. The
// output is legible, carries no source map, and depends on nothing but the
// sources and the pinned esbuild, so that it can be committed and compared.
//
// With -check nothing is written: the program rebuilds in memory and fails
// when -out holds other bytes, lacks a module, or has one too many.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	src := flag.String("src", "../web/src", "folder of the TypeScript entries")
	out := flag.String("out", "../web/dist", "folder of the built modules")
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(*src, *out, *check); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(src, out string, check bool) error {
	modules, err := build(src)
	if err != nil {
		return err
	}
	if check {
		return compare(out, modules)
	}
	return write(out, modules)
}

// build bundles the entries in src and returns each module's bytes by file name.
func build(src string) (map[string][]byte, error) {
	src, err := filepath.Abs(src)
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(src, "*.ts"))
	if err != nil {
		return nil, err
	}
	entries := slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".d.ts") })
	if len(entries) == 0 {
		return nil, fmt.Errorf("no .ts file in %s", src)
	}
	outdir := filepath.Join(src, "out") // never written: esbuild wants a name
	result := api.Build(api.BuildOptions{
		EntryPoints: entries,
		// The paths in the comments of the output are relative to this
		// folder, so a clone elsewhere builds the same bytes.
		AbsWorkingDir: filepath.Dir(src),
		Outdir:        outdir,
		Outbase:       src,
		Bundle:        true,
		Format:        api.FormatESModule,
		Platform:      api.PlatformBrowser,
		Target:        api.ES2022,
		Charset:       api.CharsetUTF8,
		Sourcemap:     api.SourceMapNone,
		Loader:        map[string]api.Loader{".css": api.LoaderText},
		LogLevel:      api.LogLevelSilent,
	})
	// A warning is a fault too: it would never be seen again.
	if faults := slices.Concat(result.Errors, result.Warnings); len(faults) > 0 {
		text := api.FormatMessages(faults, api.FormatMessagesOptions{Kind: api.ErrorMessage})
		return nil, errors.New(strings.TrimSpace(strings.Join(text, "")))
	}
	modules := make(map[string][]byte, len(result.OutputFiles))
	for _, file := range result.OutputFiles {
		name, err := filepath.Rel(outdir, file.Path)
		if err != nil {
			return nil, err
		}
		modules[name] = file.Contents
	}
	return modules, nil
}

// write puts the modules into dir and removes .js files that have no entry any
// more. Other files in dir are not the bundler's.
func write(dir string, modules map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, want := range modules {
		path := filepath.Join(dir, name)
		if got, err := os.ReadFile(path); err == nil && bytes.Equal(got, want) {
			continue // keep the time stamp
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			return err
		}
	}
	stale, err := without(dir, modules)
	if err != nil {
		return err
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// compare reports how dir differs from the modules.
func compare(dir string, modules map[string][]byte) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		path := filepath.Join(dir, name)
		switch got, err := os.ReadFile(path); {
		case errors.Is(err, fs.ErrNotExist):
			faults = append(faults, fmt.Errorf("%s is missing", path))
		case err != nil:
			faults = append(faults, err)
		case !bytes.Equal(got, modules[name]):
			faults = append(faults, fmt.Errorf("%s is not what its source builds, first at line %d", path, firstDifference(got, modules[name])))
		}
	}
	stale, err := without(dir, modules)
	if err != nil {
		return err
	}
	for _, name := range stale {
		faults = append(faults, fmt.Errorf("%s has no source", filepath.Join(dir, name)))
	}
	if len(faults) > 0 {
		return fmt.Errorf("run make web and commit the result:\n%w", errors.Join(faults...))
	}
	return nil
}

// without lists the .js files of dir that are not among the modules.
func without(dir string, modules map[string][]byte) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.js"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, path := range paths {
		if _, ok := modules[filepath.Base(path)]; !ok {
			names = append(names, filepath.Base(path))
		}
	}
	return names, nil
}

// firstDifference is the number of the first line in which a and b differ.
func firstDifference(a, b []byte) int {
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			line++
		}
	}
	return line
}
