// Package report writes what was measured as tables into docs/benchmarks.md.
package report

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/parley-mcp/parley/bench/repo"
)

// Flags are those of every benchmark program.
type Flags struct {
	Write bool // into docs/benchmarks.md
	Smoke bool // one short round, which proves that it runs and nothing else
}

// Parse reads the flags of the command line.
func Parse() Flags {
	var f Flags
	flag.BoolVar(&f.Write, "write", false, "write the tables into docs/benchmarks.md")
	flag.BoolVar(&f.Smoke, "smoke", false, "one short round: proves that the benchmark runs, measures nothing")
	flag.Parse()
	return f
}

// Median of some measurements, which it sorts.
func Median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// A Table is what one program measured.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// Write writes the table in Markdown.
func (t Table) Write(w io.Writer) {
	fmt.Fprintf(w, "**%s**\n\n| %s |\n|%s\n", t.Title, strings.Join(t.Head, " | "), strings.Repeat(" --- |", len(t.Head)))
	for _, row := range t.Rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintln(w)
}

// Times writes a ratio: "3.1×".
func Times(ratio float64) string {
	if ratio >= 20 {
		return fmt.Sprintf("%.0f×", ratio)
	}
	return fmt.Sprintf("%.2g×", ratio)
}

// Machine says where and when a run took place, and how busy it was there.
func Machine() string {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				model = strings.Trim(name, "\t: \n")
				break
			}
		}
	}
	return fmt.Sprintf("%s, %s/%s, %d cores (%s), %s; %s.", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model, time.Now().UTC().Format("2006-01-02"), Load())
}

// Processor is the processor time that this process has taken so far.
func Processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Load says how many processes wanted a core in the last minute.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	load, _, _ := strings.Cut(string(text), " ")
	return "load average " + load
}

// Publish writes a section to stdout, and with Flags.Write into the place that
// docs/benchmarks.md marks for it.
func Publish(f Flags, section string, intro string, tables ...Table) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n%s\n\n", intro)
	for _, t := range tables {
		t.Write(&b)
	}
	fmt.Print(b.String())
	if !f.Write {
		return nil
	}
	file, err := repo.Path("docs", "benchmarks.md")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	start, end := "<!-- measured: "+section+" -->\n", "<!-- end: "+section+" -->"
	before, rest, found := strings.Cut(string(text), start)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for %q", file, section)
	}
	return os.WriteFile(file, []byte(before+start+b.String()+end+after), 0o644)
}
