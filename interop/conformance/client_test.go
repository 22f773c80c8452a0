package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/interop/conformance"
	"github.com/parley-mcp/parley/interop/stranger"
	"github.com/parley-mcp/parley/interop/tables"
)

// asClient makes this test binary the client that the suite starts.
const asClient = "PARLEY_CONFORMANCE_CLIENT"

func TestMain(m *testing.M) {
	if os.Getenv(asClient) == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	if err := conformance.Client(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // the process is over
	}
	os.Exit(0)
}

// clientScenarios are those of the suite that concern elicitation and requests.
// The others are about signing in, and about extensions that the host does not have.
var clientScenarios = []struct {
	name      string
	revisions []string
}{
	{"initialize", []string{"2025-06-18", "2025-11-25"}},
	{"tools_call", []string{"2025-06-18", "2025-11-25", "2026-07-28"}},
	{"elicitation-sep1034-client-defaults", []string{"2025-11-25"}},
	{"sse-retry", []string{"2025-11-25"}},
	{"request-metadata", []string{"2026-07-28"}},
	{"sep-2322-client-request-state", []string{"2026-07-28"}},
	{"http-standard-headers", []string{"2026-07-28"}},
	{"http-custom-headers", []string{"2026-07-28"}},
	{"http-invalid-tool-headers", []string{"2026-07-28"}},
	{"json-schema-ref-no-deref", []string{"2026-07-28"}},
	{"json-schema-2020-12-preservation", []string{"2025-11-25", "2026-07-28"}},
}

// clientSkips are how many checks of a scenario the suite skips, with the reasons
// in the document.
var clientSkips = map[string]int{
	"2026-07-28 request-metadata":                 2, // roots and sampling are not declared
	"2026-07-28 http-standard-headers":            4, // the methods that a host, or the revision, does not have
	"2025-11-25 json-schema-2020-12-preservation": 0,
}

// TestClientSuite runs the official suite against a host.
func TestClientSuite(t *testing.T) {
	t.Parallel()
	revisions := []string{"2025-06-18", "2025-11-25", "2026-07-28"}
	table := &tables.Table{Head: append([]string{"Scenario"}, revisions...)}
	for _, s := range clientScenarios {
		row := []string{"`" + s.name + "`", "", "", ""}
		for _, revision := range s.revisions {
			checks := runClient(t, s.name, revision)
			for n := 0; n < 3 && late(checks); n++ { // as runSuite does
				t.Logf("%s %s: run again, since only hurried checks failed", revision, s.name)
				checks = runClient(t, s.name, revision)
			}
			passed, skipped := 0, 0
			for _, c := range checks {
				switch c.Status {
				case "SUCCESS":
					passed++
				case "SKIPPED":
					skipped++
				default:
					t.Errorf("%s %s %s: %s %s", revision, s.name, c.ID, strings.ToLower(c.Status), c.Message)
				}
			}
			if want := clientSkips[revision+" "+s.name]; skipped != want {
				t.Errorf("%s %s: %d checks were skipped, want %d: %+v", revision, s.name, skipped, want, checks)
			}
			row[1+slices.Index(revisions, revision)] = fmt.Sprintf("%d of %d", passed, len(checks)-skipped)
		}
		table.Rows = append(table.Rows, row)
	}
	text := table.String()
	if *update && !t.Failed() {
		if err := tables.Write(document, "client suite", text); err != nil {
			t.Fatal(err)
		}
	}
	want, err := tables.Read(document, "client suite")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("%s (-update writes it):\n%s", document, diff)
	}
}

// runClient runs one scenario against this test binary and returns its checks.
func runClient(t *testing.T, scenario, revision string) []check {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	command, err := stranger.Node(t.Context(), "@modelcontextprotocol/conformance/dist/index.js",
		"client", "--command", exe, "--scenario", scenario, "--spec-version", revision, "--output-dir", dir)
	if err != nil {
		t.Fatal(err)
	}
	command.Dir = dir
	command.Env = append(os.Environ(), asClient+"=1")
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	failed := command.Run() // says that a check failed, which is judged below
	files, err := filepath.Glob(filepath.Join(dir, scenario+"-*", "checks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s %s left %d results, %v, %v:\n%s", scenario, revision, len(files), err, failed, out.Bytes())
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks []check
	if err := json.Unmarshal(text, &checks); err != nil {
		t.Fatalf("%s: %v", files[0], err)
	}
	checks = slices.DeleteFunc(checks, func(c check) bool { return c.Status == "INFO" })
	if len(checks) == 0 || failed != nil && !strings.Contains(out.String(), "FAILED") {
		t.Errorf("%s %s checked nothing, or ended with %v:\n%s", scenario, revision, failed, out.Bytes())
	}
	if testing.Verbose() {
		t.Logf("%s %s:\n%s", scenario, revision, out.Bytes())
	}
	return checks
}
