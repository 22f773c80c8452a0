// Command forms compares package form with three validators of JSON Schema, on
// real requests and legal answers to them, and the cost of linting a request
// with that of parsing its schema. All take turns in one run.
package main

import (
	"errors"
	"fmt"
	"log"
	"runtime"
	"testing"
	"time"

	"github.com/parley-mcp/parley/bench/corpus"
	"github.com/parley-mcp/parley/bench/report"
	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/lint"
)

func main() {
	log.SetFlags(0)
	if err := run(report.Parse()); err != nil {
		log.Fatal(err)
	}
}

// A sample is one request with one legal answer.
type sample struct {
	params []byte
	schema []byte
	answer []byte
}

// A validator is one contestant. check and compile do a pass over all samples;
// an answer that is refused is an error.
type validator struct {
	name    string
	compile func(passes int) (time.Duration, error)
	check   func(passes int) (time.Duration, error)
	close   func() error
}

// An opener says which samples a validator can read and finds legal, and how to
// open it on those that all the others take too.
type opener func(samples []sample) (verdicts []bool, open func(samples []sample, kept []int) (*validator, error), err error)

func run(flags report.Flags) (err error) {
	samples, total, err := readSamples()
	if err != nil {
		return err
	}
	validators, samples, err := openAll(samples, ours, santhosh, google, ajv)
	if err != nil {
		return err
	}
	for _, v := range validators {
		defer func() { err = errors.Join(err, v.close()) }()
	}
	rounds, least := 15, 60*time.Millisecond
	if flags.Smoke {
		rounds, least = 1, 0
	}
	most, err := mostAllocations(samples)
	if err != nil {
		return err
	}
	intro := fmt.Sprintf("%d of %d form requests: those that each validator takes, with a legal answer. %d rounds in turn, medians of processor time. Most allocations of Parley for one legal answer: %d. %s", len(samples), total, rounds, most, report.Machine())

	check, err := measure(rounds, least, len(samples), validators, func(v *validator) func(int) (time.Duration, error) { return v.check })
	if err != nil {
		return err
	}
	compile, err := measure(rounds, least, len(samples), validators, func(v *validator) func(int) (time.Duration, error) { return v.compile })
	if err != nil {
		return err
	}
	linting, err := measureLint(rounds, least, samples)
	if err != nil {
		return err
	}
	return report.Publish(flags, "forms", intro+" After: "+report.Load()+".",
		table("Check an answer (bytes in, verdict out; schema compiled before)", check),
		table("Compile a schema and check one answer", compile),
		linting)
}

// mostAllocations of checking one legal answer.
func mostAllocations(samples []sample) (int, error) {
	most := 0.0
	for _, one := range samples {
		s, err := form.Parse(one.schema)
		if err != nil {
			return 0, err
		}
		var errs form.Errors
		most = max(most, testing.AllocsPerRun(10, func() { errs = s.Check(one.answer) }))
		if errs != nil {
			return 0, errs
		}
	}
	return int(most), nil
}

// readSamples gives the requests that are not out of the subset and to which
// an answer can be made up.
func readSamples() ([]sample, int, error) {
	requests, err := corpus.Read()
	if err != nil {
		return nil, 0, err
	}
	var samples []sample
	for _, r := range requests {
		if r.Validity == "out-of-subset" {
			continue
		}
		s, err := form.Parse(r.Schema)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", r.ID, err)
		}
		if answer, ok := corpus.Legal(s); ok {
			samples = append(samples, sample{r.Params(), r.Schema, answer})
		}
	}
	return samples, len(requests), nil
}

// openAll opens every validator on the samples that all of them take.
func openAll(samples []sample, openers ...opener) ([]*validator, []sample, error) {
	taken := make([]bool, len(samples))
	for i := range taken {
		taken[i] = true
	}
	var opens []func([]sample, []int) (*validator, error)
	for _, o := range openers {
		verdicts, open, err := o(samples)
		if err != nil {
			return nil, nil, err
		}
		for i, ok := range verdicts {
			taken[i] = taken[i] && ok
		}
		opens = append(opens, open)
	}
	var kept []int
	var all []sample
	for i, ok := range taken {
		if ok {
			kept, all = append(kept, i), append(all, samples[i])
		}
	}
	if len(all) < len(samples)/2 {
		return nil, nil, fmt.Errorf("only %d of %d samples are taken by all validators", len(all), len(samples))
	}
	var validators []*validator
	for _, open := range opens {
		v, err := open(all, kept)
		if err != nil {
			return nil, nil, err
		}
		validators = append(validators, v)
	}
	return validators, all, nil
}

// result is what one validator needed for one answer.
type result struct {
	name          string
	ns            float64
	ratio         float64 // to the first validator, median over the rounds
	allocs, bytes float64 // -1: not known
}

// measure lets the validators take turns, so that what else the machine does
// meets all of them alike.
func measure(rounds int, least time.Duration, samples int, validators []*validator, of func(*validator) func(int) (time.Duration, error)) ([]result, error) {
	passes := make([]int, len(validators))
	for i, v := range validators { // also warms up
		for n := 1; ; n *= 2 {
			took, err := of(v)(n)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
			if passes[i] = n; took >= least {
				break
			}
		}
	}
	times := make([][]float64, len(validators))
	ratios := make([][]float64, len(validators))
	for range rounds {
		var first float64
		for i, v := range validators {
			runtime.GC()
			took, err := of(v)(passes[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
			ns := float64(took) / float64(passes[i]*samples)
			if i == 0 {
				first = ns
			}
			times[i] = append(times[i], ns)
			ratios[i] = append(ratios[i], ns/first)
		}
	}
	results := make([]result, len(validators))
	for i, v := range validators {
		results[i] = result{name: v.name, ns: report.Median(times[i]), ratio: report.Median(ratios[i]), allocs: -1, bytes: -1}
		if v.name == nodeName {
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := of(v)(1); err != nil {
			return nil, err
		}
		runtime.ReadMemStats(&after)
		results[i].allocs = float64(after.Mallocs-before.Mallocs) / float64(samples)
		results[i].bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(samples)
	}
	return results, nil
}

func table(title string, results []result) report.Table {
	t := report.Table{Title: title, Head: []string{"", "time, Parley = 1", "ns an answer", "allocations", "bytes"}}
	for _, r := range results {
		allocs, bytes := "", ""
		if r.allocs >= 0 {
			allocs, bytes = fmt.Sprintf("%.1f", r.allocs), fmt.Sprintf("%.0f", r.bytes)
		}
		t.Rows = append(t.Rows, []string{r.name, report.Times(r.ratio), fmt.Sprintf("%.0f", r.ns), allocs, bytes})
	}
	return t
}

// measureLint compares reading a schema with linting the request around it.
func measureLint(rounds int, least time.Duration, samples []sample) (report.Table, error) {
	parse := func(passes int) (time.Duration, error) {
		return timed(passes, samples, func(i int) error {
			_, err := form.Parse(samples[i].schema)
			return err
		})
	}
	judge := func(passes int) (time.Duration, error) {
		return timed(passes, samples, func(i int) error {
			r, err := lint.Lint(samples[i].params, nil)
			if err == nil && r.Kind == "" {
				return errors.New("a request was not recognised")
			}
			return err
		})
	}
	results, err := measure(rounds, least, len(samples), []*validator{
		{name: "`form.Parse` of its schema", check: parse}, {name: "`lint.Lint` of a request", check: judge},
	}, func(v *validator) func(int) (time.Duration, error) { return v.check })
	if err != nil {
		return report.Table{}, err
	}
	t := table("Lint a request", results)
	t.Head[1], t.Head[2] = "time, parsing = 1", "ns a request"
	return t, nil
}

// timed runs passes over the samples. It gives the processor time that all
// threads took, garbage collection included: what else the machine does counts
// for less there than in time on the wall.
func timed(passes int, samples []sample, one func(i int) error) (time.Duration, error) {
	start := report.Processor()
	for range passes {
		for i := range samples {
			if err := one(i); err != nil {
				return 0, err
			}
		}
	}
	return report.Processor() - start, nil
}

// local makes an opener of a validator written in Go. compiled checks bytes.
func local(name string, compile func(schema []byte) (compiled func(answer []byte) error, err error)) opener {
	return func(samples []sample) ([]bool, func([]sample, []int) (*validator, error), error) {
		verdicts := make([]bool, len(samples))
		for i, s := range samples {
			check, err := compile(s.schema)
			verdicts[i] = err == nil && check(s.answer) == nil
		}
		return verdicts, func(samples []sample, _ []int) (*validator, error) {
			checks := make([]func([]byte) error, len(samples))
			for i, s := range samples {
				var err error
				if checks[i], err = compile(s.schema); err != nil {
					return nil, err
				}
			}
			return &validator{
				name: name,
				check: func(passes int) (time.Duration, error) {
					return timed(passes, samples, func(i int) error { return checks[i](samples[i].answer) })
				},
				compile: func(passes int) (time.Duration, error) {
					return timed(passes, samples, func(i int) error {
						check, err := compile(samples[i].schema)
						if err != nil {
							return err
						}
						return check(samples[i].answer)
					})
				},
				close: func() error { return nil },
			}, nil
		}, nil
	}
}
