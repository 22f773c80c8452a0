// Command apilist writes down what each public package offers, one file per
// package, so that a change of the public surface is a change in a review.
//
// Public is every package of the module in -module that is neither internal
// nor a command. With -check the program writes nothing and fails when a file
// in -out says something else.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	module := flag.String("module", "..", "folder of the module")
	out := flag.String("out", "../api", "folder of the lists")
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(*module, *out, *check); err != nil {
		fmt.Fprintln(os.Stderr, "apilist:", err)
		os.Exit(1)
	}
}

func run(module, out string, check bool) error {
	files, err := lists(module)
	if err != nil {
		return err
	}
	written, err := filepath.Glob(filepath.Join(out, "*.txt"))
	if err != nil {
		return err
	}
	if check {
		return compare(out, files, written)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, path := range written {
		if files[filepath.Base(path)] == nil {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func compare(out string, files map[string][]byte, written []string) error {
	var faults []error
	for _, path := range written {
		if files[filepath.Base(path)] == nil {
			faults = append(faults, fmt.Errorf("%s: the package is gone", path))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(out, name)
		old, err := os.ReadFile(path)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if bytes.Equal(old, files[name]) {
			continue
		}
		before, after := strings.Split(string(old), "\n"), strings.Split(string(files[name]), "\n")
		for _, line := range before {
			if !slices.Contains(after, line) {
				faults = append(faults, fmt.Errorf("%s: gone: %s", path, line))
			}
		}
		for _, line := range after {
			if !slices.Contains(before, line) {
				faults = append(faults, fmt.Errorf("%s: new: %s", path, line))
			}
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("the public surface has changed; if that is meant, run make generate:\n%w", errors.Join(faults...))
	}
	return nil
}

// lists returns the text for each public package of the module, by file name.
func lists(module string) (map[string][]byte, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedModule | packages.NeedImports | packages.NeedDeps,
		Dir:  module,
		Env:  append(os.Environ(), "GOWORK=off"),
	}, "./...")
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for _, pkg := range loaded {
		for _, fault := range pkg.Errors {
			return nil, fault
		}
		if pkg.Name == "main" || slices.Contains(strings.Split(pkg.PkgPath, "/"), "internal") {
			continue
		}
		lines := describe(pkg.Types)
		if len(lines) == 0 {
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(pkg.PkgPath, pkg.Module.Path), "/")
		if name == "" {
			name = pkg.Name
		}
		files[strings.ReplaceAll(name, "/", "-")+".txt"] = []byte("package " + pkg.PkgPath + "\n\n" + strings.Join(lines, "\n") + "\n")
	}
	return files, nil
}

// describe returns a line for everything that a user of pkg can name, sorted.
func describe(pkg *types.Package) []string {
	qualify := func(other *types.Package) string {
		if other == pkg {
			return ""
		}
		return other.Path()
	}
	text := func(t types.Type) string { return types.TypeString(t, qualify) }
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, name := range pkg.Scope().Names() {
		if !token.IsExported(name) {
			continue
		}
		switch object := pkg.Scope().Lookup(name).(type) {
		case *types.Const:
			add("const %s %s = %s", name, text(object.Type()), object.Val().ExactString())
		case *types.Var:
			add("var %s %s", name, text(object.Type()))
		case *types.Func:
			add("func %s%s", name, signature(object, qualify))
		case *types.TypeName:
			lines = append(lines, describeType(object, text, qualify)...)
		}
	}
	slices.Sort(lines)
	return lines
}

func describeType(object *types.TypeName, text func(types.Type) string, qualify types.Qualifier) []string {
	name := object.Name()
	if object.IsAlias() {
		return []string{fmt.Sprintf("type %s = %s", name, text(types.Unalias(object.Type())))}
	}
	named, ok := object.Type().(*types.Named)
	if !ok {
		return []string{fmt.Sprintf("type %s %s", name, text(object.Type()))}
	}
	head := "type " + name
	if params := named.TypeParams(); params.Len() > 0 {
		var list []string
		for param := range params.TypeParams() {
			list = append(list, param.Obj().Name()+" "+text(param.Constraint()))
		}
		head += "[" + strings.Join(list, ", ") + "]"
	}
	var lines []string
	switch under := named.Underlying().(type) {
	case *types.Struct:
		lines = append(lines, head+" struct")
		for i := range under.NumFields() {
			field := under.Field(i)
			if !field.Exported() {
				continue
			}
			what := field.Name() + " " + text(field.Type())
			if field.Embedded() {
				what = "embedded " + text(field.Type())
			}
			if tag := under.Tag(i); tag != "" {
				what += " `" + tag + "`"
			}
			lines = append(lines, head+" struct: "+what)
		}
	case *types.Interface:
		lines = append(lines, head+" interface")
		for method := range under.Methods() {
			if method.Exported() {
				lines = append(lines, head+" interface: "+method.Name()+signature(method, qualify))
			} else {
				lines = append(lines, head+" interface: methods that are not exported")
			}
		}
		for embedded := range under.EmbeddedTypes() {
			if _, plain := embedded.Underlying().(*types.Interface); !plain {
				lines = append(lines, head+" interface: "+text(embedded))
			}
		}
		lines = slices.Compact(lines)
	default:
		lines = append(lines, head+" "+text(under))
	}
	for method := range named.Methods() {
		if !method.Exported() {
			continue
		}
		receiver := name
		if _, pointer := method.Signature().Recv().Type().(*types.Pointer); pointer {
			receiver = "*" + name
		}
		lines = append(lines, fmt.Sprintf("method (%s) %s%s", receiver, method.Name(), signature(method, qualify)))
	}
	return lines
}

// signature is what follows the name in a declaration.
func signature(function *types.Func, qualify types.Qualifier) string {
	return strings.TrimPrefix(types.TypeString(function.Type(), qualify), "func")
}
