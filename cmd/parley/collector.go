package main

import "runtime/debug"

// gcPercent is how far the heap may grow over what is live before it is collected.
//
// Go's own 100 is too little here: the MCP SDK allocates tens of KiB for every
// value that it decodes, next to a live heap of a few MiB, so a machine under load
// mostly collects. At 400 a call of two rounds costs 0.45 of the processor time in
// a server on the kit and 0.82 in the host, for about 30 MiB more; 800 gains little
// beyond. Measured by BenchmarkServer and BenchmarkHost; docs/decisions/0010.
const gcPercent = 400

// tuneCollector sets gcPercent, unless who runs the process has decided: Go reads
// GOGC and GOMEMLIMIT itself.
func tuneCollector(lookup func(string) (string, bool)) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if value, ok := lookup(name); ok && value != "" {
			return
		}
	}
	debug.SetGCPercent(gcPercent)
}
