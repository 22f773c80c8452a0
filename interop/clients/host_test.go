package clients

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/interop/tables"
)

// A foreign is a server of somebody else, on one transport, in the revision that
// the host and it settle on.
type foreign struct {
	name      string
	transport string
	revision  string

	start func(t *testing.T) *standing
	play  func(cell, page string) play
	// cannot says of cells why this server cannot be in them.
	cannot []exception
}

type exception struct {
	cells []string
	why   string
}

func (f foreign) can(cell string) bool {
	return !slices.ContainsFunc(f.cannot, func(e exception) bool { return slices.Contains(e.cells, cell) })
}

// A standing is a server that runs.
type standing struct {
	t       *testing.T
	server  *host.Server
	restart func() // ends it, however it is busy, and starts it anew at the same place

	// Of servers that seal request states; else nil.
	rekey func()     // restart, and the key of before is gone
	age   func(bool) // restart, and states are too old as soon as they are made, or live again as long as ever
}

// What a cell is: an exchange from beginning to end, or one that is cut.
var (
	exchanges = []string{"form", "rounds", "at once", "page", "page first", "decline", "cancel"}
	cuts      = []string{"server, 1st", "server, 2nd", "host, 1st", "host, 2nd", "too old", "other key"}
)

// TestHostWithEverybodysServers answers what servers of other people, and the
// kit, ask; and has either side go away while a question waits.
func TestHostWithEverybodysServers(t *testing.T) {
	t.Parallel()
	head := []string{"Server", "Transport", "Revision"}
	exchanged := &tables.Table{Head: append(slices.Clone(head), exchanges...)}
	cut := &tables.Table{Head: append(slices.Clone(head), cuts...)}
	cannot := &tables.Table{Head: append(slices.Clone(head), "cells", "why not")}
	t.Cleanup(func() { // when all tests below have ended
		compare(t, "servers", exchanged)
		compare(t, "servers cut off", cut)
		compare(t, "servers cannot", cannot)
	})
	pages := newPages(t)
	for _, f := range foreigners(t) {
		name := []string{f.name, f.transport, f.revision}
		row := append(slices.Clone(name), make([]string, len(exchanges))...)
		cutRow := append(slices.Clone(name), make([]string, len(cuts))...)
		exchanged.Rows, cut.Rows = append(exchanged.Rows, row), append(cut.Rows, cutRow)
		for _, e := range f.cannot {
			cannot.Rows = append(cannot.Rows, append(slices.Clone(name), strings.Join(e.cells, "; "), e.why))
		}
		t.Run(f.name+" "+f.transport+" "+f.revision, func(t *testing.T) {
			t.Parallel()
			d := newHostDesk(t, f)
			for i, cell := range exchanges {
				row[3+i] = d.exchange(cell, pages)
			}
			for i, cell := range cuts {
				cutRow[3+i] = d.cut(cell)
			}
		})
	}
}

// exchange plays a cell and returns what the table shows.
func (d *hostDesk) exchange(cell, pages string) string {
	d.t.Helper()
	if !d.can(cell) {
		return "cannot"
	}
	p := d.play(cell, pages+"/open/"+pageName(d.t.Name()+cell))
	run := d.newRun(p)
	end := run.carry(d.start(p))
	if !run.check(end) {
		return "no"
	}
	if got := d.h.Servers(ada)[0].Revision; got != d.revision {
		d.t.Errorf("negotiated %s, want %s", got, d.revision)
		return "no"
	}
	return "yes"
}

// cut plays what is cut while a question waits. Where the call does not go on,
// the person runs it again. It returns what became of the call.
func (d *hostDesk) cut(cell string) string {
	d.t.Helper()
	if !d.can(cell) {
		return "cannot"
	}
	p := d.play("rounds", "") // no page in it
	run := d.newRun(p)
	switch cell {
	case "server, 1st", "server, 2nd":
		run.pause = d.standing.restart
	case "host, 1st", "host, 2nd":
		run.pause = d.restart
	case "other key":
		run.pause = d.standing.rekey
	case "too old":
		d.standing.age(true)
		d.restart() // its connections are to the server of before
		run.pause = func() {}
	}
	run.pauseAt = 1
	if cell == "server, 2nd" || cell == "host, 2nd" {
		run.pauseAt = 2
	}
	end := run.carry(d.start(p))
	if cell == "too old" {
		d.standing.age(false)
		d.restart()
	}
	became := run.became(end)
	if became != "goes on" && !run.again(end) {
		return "no"
	}
	return became
}
