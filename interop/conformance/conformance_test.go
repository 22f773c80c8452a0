package conformance_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/interop/conformance"
	"github.com/parley-mcp/parley/interop/stranger"
	"github.com/parley-mcp/parley/interop/tables"
)

var update = flag.Bool("update", false, "write the table in docs/conformance.md")

const document = "../../docs/conformance.md"

// runs are how the suite is told what to run, by revision. The suite names
// what a revision requires since 2025-11-25; before, all of it that applies.
var runs = []struct {
	revision string
	args     []string
}{
	{"2026-07-28", []string{"--requirements", "2026-07-28"}},
	{"2025-11-25", []string{"--requirements", "2025-11-25"}},
	{"2025-06-18", []string{"--suite", "all", "--spec-version", "2025-06-18"}},
}

// warned are the checks that end in a warning, with the reason in the document.
var warned = map[string]bool{
	// The answers come without request state, so nothing was asked.
	"2026-07-28 input-required-result-ignore-extra-params sep-2322-ignore-unexpected-params": true,
}

// stateless is the scenario with hurried checks of a server.
const stateless = "server-stateless"

// hurried are checks that give half a second to a second and a half, on whatever machine. No
// option of the suite changes that.
var hurried = map[string]bool{
	// Of a client: a stream of its own that it opens late counts as its coming back too early.
	"client-sse-retry-timing": true,

	"sep-2575-http-server-no-independent-requests-on-stream":     true,
	"sep-2575-server-no-log-without-loglevel":                    true,
	"sep-2575-server-sends-subscription-ack":                     true,
	"sep-2575-server-tags-subscription-id":                       true,
	"sep-2575-server-honors-notification-filter":                 true,
	"sep-2575-server-sends-prompts-list-changed-on-subscription": true,
	"sep-2575-server-sends-tools-list-changed-on-subscription":   true,
}

// late reports whether checks failed, and only such as are hurried.
func late(checks []check) bool {
	failed := slices.DeleteFunc(slices.Clone(checks), func(c check) bool { return c.Status == "SUCCESS" })
	return len(failed) > 0 && !slices.ContainsFunc(failed, func(c check) bool { return !hurried[c.ID] })
}

// extension is what names the scenarios of an extension that the kit does not
// have; the suite does not score them.
const extension = "tasks-"

type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// TestSuite runs the official suite against one endpoint for all revisions.
func TestSuite(t *testing.T) {
	t.Parallel()
	server, err := conformance.NewServer(&elicit.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := httptest.NewServer(elicit.NewHTTPHandler(server, nil))
	t.Cleanup(endpoint.Close)

	results, order := make(map[string]map[string][]check), []string{}
	for _, run := range runs {
		found, scenarios := runSuite(t, endpoint.URL, run.revision, run.args)
		results[run.revision] = found
		for _, scenario := range scenarios {
			if !slices.Contains(order, scenario) {
				order = append(order, scenario)
			}
			judge(t, run.revision, scenario, found[scenario])
		}
	}
	table := draw(results, order)
	if *update && !t.Failed() {
		if err := tables.Write(document, "suite", table); err != nil {
			t.Fatal(err)
		}
	}
	want, err := tables.Read(document, "suite")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("%s (-update writes it):\n%s", document, diff)
	}
}

// TestSuiteDirect runs what the revision that it is for requires against the
// handler without sessions.
func TestSuiteDirect(t *testing.T) {
	t.Parallel()
	server, err := conformance.NewServer(&elicit.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := elicit.NewDirectHTTPHandler(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := httptest.NewServer(handler)
	t.Cleanup(endpoint.Close)
	found, scenarios := runSuite(t, endpoint.URL, runs[0].revision, runs[0].args)
	for _, scenario := range scenarios {
		judge(t, runs[0].revision, scenario, found[scenario])
	}
}

var (
	heading = regexp.MustCompile(`(?m)^=== Running scenario: (\S+) ===$`)
	stamp   = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
)

// runSuite returns the checks of each scenario, and the scenarios in order. What may have
// failed since the machine was slow is run again, three times at most: the last one counts.
func runSuite(t *testing.T, endpoint, revision string, args []string) (map[string][]check, []string) {
	t.Helper()
	found, out, err := runOnce(t, endpoint, args)
	var scenarios []string
	for _, m := range heading.FindAllSubmatch(out, -1) {
		scenarios = append(scenarios, string(m[1]))
	}
	if err != nil && !late(found[stateless]) {
		t.Errorf("the suite with %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	for n := 0; n < 3 && late(found[stateless]); n++ {
		t.Logf("%s: run again, since only hurried checks failed", stateless)
		again, out, _ := runOnce(t, endpoint, []string{"--scenario", stateless, "--spec-version", revision, "--force"})
		if len(again[stateless]) != len(found[stateless]) {
			t.Fatalf("%s has %d checks when it is run again, and had %d:\n%s", stateless, len(again[stateless]), len(found[stateless]), out)
		}
		found[stateless] = again[stateless]
	}
	if len(scenarios) < 25 || len(found) != len(scenarios) {
		t.Fatalf("the suite with %s ran %d scenarios and left %d results:\n%s", strings.Join(args, " "), len(scenarios), len(found), out)
	}
	return found, scenarios
}

// runOnce returns the checks of each scenario that the suite ran, and what it wrote and
// ended with.
func runOnce(t *testing.T, endpoint string, args []string) (map[string][]check, []byte, error) {
	t.Helper()
	dir := t.TempDir()
	command, err := stranger.Node(t.Context(), "@modelcontextprotocol/conformance/dist/index.js",
		append([]string{"server", "--url", endpoint, "--output-dir", dir}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	command.Dir = dir
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	ended := command.Run()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]check)
	for _, file := range files {
		name := stamp.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		if name == nil {
			t.Fatalf("%s is no result that this test knows", file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		// What the suite tells on the way is no check.
		found[name[1]] = slices.DeleteFunc(checks, func(c check) bool { return c.Status == "INFO" })
	}
	return found, out.Bytes(), ended
}

// judge is stricter than the suite, which lets warnings, skipped checks and
// whatever it does not score pass.
func judge(t *testing.T, revision, scenario string, checks []check) {
	t.Helper()
	if strings.HasPrefix(scenario, extension) {
		return
	}
	if len(checks) == 0 {
		t.Errorf("%s %s: nothing was checked", revision, scenario)
	}
	for _, c := range checks {
		id := revision + " " + scenario + " " + c.ID
		switch {
		case c.Status == "WARNING" && warned[id]:
		case c.Status == "SUCCESS" && !warned[id]:
		default:
			t.Errorf("%s: %s %s", id, strings.ToLower(c.Status), c.Message)
		}
	}
}

// draw makes a table of scenarios and revisions: how many checks passed.
func draw(results map[string]map[string][]check, order []string) string {
	revisions := slices.Sorted(maps.Keys(results))
	table := &tables.Table{Head: append([]string{"Scenario"}, revisions...)}
	total := make(map[string]int)
	for _, scenario := range order {
		if strings.HasPrefix(scenario, extension) {
			continue
		}
		row := []string{"`" + scenario + "`"}
		for _, revision := range revisions {
			checks, ran := results[revision][scenario]
			if !ran {
				row = append(row, "")
				continue
			}
			passed := 0
			for _, c := range checks {
				if c.Status == "SUCCESS" {
					passed++
				}
			}
			total[revision] += passed
			row = append(row, fmt.Sprintf("%d of %d", passed, len(checks)))
		}
		table.Rows = append(table.Rows, row)
	}
	sum := []string{"**passed**"}
	for _, revision := range revisions {
		sum = append(sum, fmt.Sprintf("**%d**", total[revision]))
	}
	table.Rows = append(table.Rows, sum)
	return table.String()
}
