package parley_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/parley-mcp/parley"

// edges are the packages of this module that each package may import directly:
// DESIGN.md, Layout. Children ("store/memstore") take the row of the longest prefix.
var edges = map[string][]string{
	"form":            {},
	"link":            {},
	"lint":            {"form", "link", "internal/plain"},
	"elicit":          {"form", "link", "lint", "internal/seal", "internal/plain"},
	"inbox":           {"form", "link", "internal/aside", "internal/seal", "internal/plain", "internal/elicitation"},
	"store":           {"inbox", "form", "link", "internal/sqlitefile", "internal/pgschema"},
	"notify":          {"inbox"},
	"vault":           {"internal/seal"},
	"policy":          {"inbox", "internal/exact"},
	"host":            {"inbox", "form", "link", "policy", "vault", "internal/aside", "internal/seal", "internal/wiretap", "internal/elicitation", "internal/exact", "internal/plain", "internal/egress", "internal/tokenendpoint", "internal/settings"},
	"web":             {},
	"webhook":         {"inbox", "internal/settings"},
	"serve":           {"inbox", "host", "policy", "audit", "web", "webhook", "form", "link", "lint", "internal/exact", "internal/plain", "internal/quiet", "internal/settings"},
	"internal":        {"internal/plain"},
	"cmd":             nil,                                           // everything
	"examples":        {"elicit", "host", "inbox", "serve", "store"}, // what users can import: nothing internal
	"interop":         nil,
	"internal/travel": {"elicit"},
	"serve/metrics":   {"inbox", "host", "serve", "vault", "webhook"},
	"serve/tracing":   {"inbox", "host"},
	"serve/oidc":      {"serve", "host", "inbox", "internal/exact", "internal/plain"}, // the one place that knows an identity provider

	"policy/rules": {"policy", "inbox", "link", "internal/exact", "internal/plain"}, // the one place that knows YAML and CEL

	"internal/tokenendpoint": {"vault", "internal/egress"},
	"internal/storebench":    {"inbox"},

	"elicit/sqlitereplay": {"elicit", "internal/sqlitefile"},
	"elicit/pgreplay":     {"elicit", "internal/pgschema"},
	"vault/sqlitevault":   {"vault", "internal/sqlitefile"},
	"vault/pgvault":       {"vault", "internal/pgschema"},
}

// drivers are the packages that know a database or a broker.
var drivers = []string{"store", "notify", "elicit/sqlitereplay", "elicit/pgreplay", "vault/sqlitevault", "vault/pgvault"}

// isDriver reports whether the path is within one of them.
func isDriver(path string) bool {
	return slices.ContainsFunc(drivers, func(d string) bool { return within(path, d) })
}

// servers are the packages that authors of MCP servers import.
var servers = []string{"elicit", "form", "link", "lint", "connect", "vault"}

// never is what servers' packages must not reach, at any distance.
var never = []string{
	"modernc.org/sqlite", "github.com/jackc/pgx", "database/sql",
	module + "/host", module + "/serve", module + "/web", module + "/inbox", module + "/store",
}

type pkg struct {
	ImportPath                         string
	Imports, Deps                      []string
	TestImports, XTestImports, GoFiles []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps,GoFiles", "./...")
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var pkgs []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// within reports whether path is pkg or below it.
func within(path, pkg string) bool { return path == pkg || strings.HasPrefix(path, pkg+"/") }

// row finds the longest name of the table that path is within.
func row(path string) (name string, allowed []string, ok bool) {
	for n, a := range edges {
		if within(path, n) && len(n) > len(name) {
			name, allowed, ok = n, a, true
		}
	}
	return name, allowed, ok
}

func TestImportEdges(t *testing.T) {
	t.Parallel()
	pkgs := list(t)
	if len(pkgs) < 10 {
		t.Fatalf("go list found %d packages: the test looks at the wrong place", len(pkgs))
	}
	for _, p := range pkgs {
		self, inModule := strings.CutPrefix(p.ImportPath, module+"/")
		if !inModule {
			continue // the root: no code
		}
		name, allowed, ok := row(self)
		if !ok {
			t.Errorf("%s is in no row of the table of edges: give it a place in DESIGN.md and here", self)
			continue
		}
		if allowed == nil {
			continue
		}
		for _, imp := range p.Imports {
			to, ok := strings.CutPrefix(imp, module+"/")
			if !ok || within(to, name) {
				continue
			}
			if !slices.ContainsFunc(allowed, func(a string) bool { return within(to, a) }) {
				t.Errorf("%s imports %s: the design has no such edge", self, to)
			}
		}
	}
}

func TestServersReachNoDriver(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range list(t) {
		self, ok := strings.CutPrefix(p.ImportPath, module+"/")
		if !ok || !slices.ContainsFunc(servers, func(s string) bool { return within(self, s) }) || isDriver(self) {
			continue
		}
		seen++
		for _, dep := range p.Deps {
			if slices.ContainsFunc(never, func(n string) bool { return within(dep, n) }) {
				t.Errorf("%s reaches %s", self, dep)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no package for servers was found")
	}
}

// A product that embeds the host brings its own policy, sign-in and metrics: what
// the host is built from needs none of their libraries.
func TestHostIsLight(t *testing.T) {
	t.Parallel()
	heavy := []string{"cel.dev", "go.yaml.in", "gopkg.in", "github.com/coreos/go-oidc", "github.com/prometheus", "github.com/alexedwards/scs"}
	seen := 0
	for _, p := range list(t) {
		if self, ok := strings.CutPrefix(p.ImportPath, module+"/"); !ok || self != "host" && self != "policy" && self != "inbox" {
			continue
		}
		seen++
		for _, dep := range p.Deps {
			if slices.ContainsFunc(heavy, func(h string) bool { return within(dep, h) }) {
				t.Errorf("%s reaches %s", p.ImportPath, dep)
			}
		}
	}
	if seen != 3 {
		t.Fatalf("%d of 3 packages were found", seen)
	}
}

// Only the binary, and examples of programs, choose a driver.
func TestOnlyTheBinaryImportsDrivers(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		self, _ := strings.CutPrefix(p.ImportPath, module+"/")
		if within(self, "cmd") || within(self, "examples") || isDriver(self) {
			continue
		}
		for _, imp := range p.Imports {
			if to, ok := strings.CutPrefix(imp, module+"/"); ok && isDriver(to) {
				t.Errorf("%s imports the driver %s", self, imp)
			}
		}
	}
}

// form is a leaf that any program can take in: the standard library only.
func TestFormIsStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		if p.ImportPath != module+"/form" {
			continue
		}
		for _, dep := range p.Deps {
			if first, _, _ := strings.Cut(dep, "/"); strings.Contains(first, ".") {
				t.Errorf("form reaches %s", dep)
			}
		}
		return
	}
	t.Fatal("form was not found")
}
