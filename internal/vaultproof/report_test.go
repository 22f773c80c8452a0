package vaultproof_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pointsVariable is how many rounds and kills there are, reportVariable the file
// whose tables get a row for each test that passed.
const (
	pointsVariable = "PARLEY_VAULT_POINTS"
	reportVariable = "PARLEY_VAULT_REPORT"
)

// points is the number that make proof asks for, or the given one.
func points(t *testing.T, usually int) int {
	t.Helper()
	text := os.Getenv(pointsVariable)
	if text == "" {
		return usually
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number of points", pointsVariable, text)
	}
	return n
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }

// reports is held while a row is added.
var reports = make(chan struct{}, 1)

// report adds a row below the others of the table, which ends with its marker.
func report(t *testing.T, table, row string) {
	t.Helper()
	path := os.Getenv(reportVariable)
	if path == "" {
		t.Log(row)
		return
	}
	reports <- struct{}{}
	defer func() { <-reports }()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	marker := "\n<!-- end of " + table + " -->"
	if strings.Count(string(text), marker) != 1 {
		t.Fatalf("%s has no place for a row of %s", path, table)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), marker, "\n"+row+marker, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}
