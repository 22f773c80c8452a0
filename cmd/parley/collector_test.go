package main

import (
	"runtime/debug"
	"testing"
)

// TestCollectorIsTheOperators changes a setting of the process, so it runs alone.
func TestCollectorIsTheOperators(t *testing.T) {
	before := debug.SetGCPercent(150)
	defer debug.SetGCPercent(before)
	for _, row := range []struct {
		name, value string
		want        int
	}{
		{"GOGC", "off", 150}, {"GOMEMLIMIT", "1GiB", 150}, {"GOGC", "", gcPercent}, {"OTHER", "1", gcPercent},
	} {
		debug.SetGCPercent(150)
		tuneCollector(func(name string) (string, bool) { return row.value, name == row.name })
		if got := debug.SetGCPercent(150); got != row.want {
			t.Errorf("%s=%s: %d, want %d", row.name, row.value, got, row.want)
		}
	}
}
