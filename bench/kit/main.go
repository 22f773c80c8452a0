// Command kit compares what a call that asks once costs on package elicit, on
// the bare official SDK, on mcp-go, and on a net/http handler that answers
// recorded bytes (the floor). Each server runs in a process of its own; they
// take turns in one run. It also compares sealing with AES-GCM alone.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/bench/report"
)

func main() {
	log.SetFlags(0)
	if role := os.Getenv(roleEnv); role != "" {
		if err := serve(role); err != nil {
			log.Fatalf("%s: %v", role, err)
		}
		return
	}
	if err := run(report.Parse()); err != nil {
		log.Fatal(err)
	}
}

func run(flags report.Flags) (err error) {
	// Short turns: what else runs on the machine then hits all of them alike.
	turns, length, workers := 45, 200*time.Millisecond, 8
	if flags.Smoke {
		turns, length, workers = 1, 0, 1
	}
	machine := report.Machine()
	recorded, err := record()
	if err != nil {
		return err
	}
	var servers []*server
	defer func() {
		for _, s := range servers {
			if failure := s.stop(); err == nil {
				err = failure
			}
		}
	}()
	for _, gogc := range []string{"100", "400"} {
		for _, role := range []string{"floor", "kit", "direct", "go-sdk", "mcp-go", typescript} {
			s, err := start(role, gogc, recorded)
			if err != nil {
				return err
			}
			servers = append(servers, s)
			if err := sameForm(s, recorded[0].Body); err != nil {
				return err
			}
			if _, err := s.drive(workers, length); err != nil { // warms up
				return err
			}
		}
	}
	segments := make([][]segment, len(servers))
	for range turns {
		for _, i := range rand.Perm(len(servers)) {
			g, err := servers[i].drive(workers, length)
			if err != nil {
				return err
			}
			segments[i] = append(segments[i], g)
		}
	}
	sealing, err := measureSeal(flags)
	if err != nil {
		return err
	}
	intro := fmt.Sprintf("%d workers, %d turns of %s for each server, in an order that is drawn for each; ratios are taken within a turn; medians. Processor time is the server's own. %s After: %s.",
		workers, turns, length, machine, report.Load())
	return report.Publish(flags, "kit", intro, callTable(servers, segments, "100"), callTable(servers, segments, "400"), sealing)
}

// record makes one call to the kit and keeps the bytes for the floor.
func record() ([2]reply, error) {
	s, err := start("kit", "100", [2]reply{})
	if err != nil {
		return [2]reply{}, err
	}
	replies, err := s.call()
	if err != nil {
		return [2]reply{}, err
	}
	return replies, s.stop()
}

// sameForm fails unless the server asks what the kit asks.
func sameForm(s *server, want []byte) error {
	replies, err := s.call()
	if err != nil {
		return err
	}
	got, err := askedForm(replies[0].Body)
	if err != nil {
		return fmt.Errorf("%s: %w", s.role, err)
	}
	wanted, err := askedForm(want)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		return fmt.Errorf("%s asks for something else (-kit +it):\n%s", s.role, diff)
	}
	if a, b := len(want), len(replies[0].Body); b < a*3/4 || b > a*4/3 {
		return fmt.Errorf("%s answers with %d bytes, the kit with %d", s.role, b, a)
	}
	return nil
}

func askedForm(body []byte) (any, error) {
	if _, data, ok := bytes.Cut(body, []byte("data: ")); ok { // an event stream
		body = data
	}
	var m struct {
		Result struct {
			InputRequests map[string]struct{ Params map[string]any } `json:"inputRequests"`
		} `json:"result"`
	}
	err := json.NewDecoder(bytes.NewReader(body)).Decode(&m)
	return m.Result.InputRequests["pick"].Params, err
}

var names = map[string]string{
	"floor": "net/http, recorded bytes", "kit": "**Parley `elicit`** (seals, checks)", "direct": "**Parley `elicit`**, direct handler (seals, checks)", "go-sdk": "go-sdk v1.8.0, stateless handler", "mcp-go": "mcp-go v1.2.1", typescript: "TypeScript SDK v2.4.0 (Node.js, one thread)",
}

func callTable(servers []*server, segments [][]segment, gogc string) report.Table {
	t := report.Table{
		Title: "A call of two rounds, GOGC=" + gogc,
		Head:  []string{"", "calls a second, floor = 1", "calls a second, go-sdk = 1", "processor time a call, floor = 1", "processor time a call, go-sdk = 1", "calls a second", "p50", "p99", "allocated a request", "resident"},
	}
	at := func(role string) int {
		return slices.IndexFunc(servers, func(s *server) bool { return s.role == role && s.gogc == gogc })
	}
	ratio := func(i, j int, of func(segment) float64) string {
		list := make([]float64, len(segments[i]))
		for n := range list {
			list[n] = of(segments[i][n]) / of(segments[j][n])
		}
		return fmt.Sprintf("%.2f", report.Median(list))
	}
	median := func(i int, of func(segment) float64) float64 {
		list := make([]float64, len(segments[i]))
		for n := range list {
			list[n] = of(segments[i][n])
		}
		return report.Median(list)
	}
	perSecond := func(g segment) float64 { return g.perSecond }
	processor := func(g segment) float64 { return float64(g.processor) }
	for i, s := range servers {
		if s.gogc != gogc {
			continue
		}
		var all []time.Duration
		for _, g := range segments[i] {
			all = append(all, g.latencies...)
		}
		slices.Sort(all)
		ms := func(share float64) string {
			return fmt.Sprintf("%.1f ms", float64(all[int(share*float64(len(all)-1))])/1e6)
		}
		allocated := ""
		if s.role != typescript {
			allocated = fmt.Sprintf("%.0f KiB", median(i, func(g segment) float64 { return g.allocated })/2/1024)
		}
		t.Rows = append(t.Rows, []string{
			names[s.role], ratio(i, at("floor"), perSecond), ratio(i, at("go-sdk"), perSecond),
			ratio(i, at("floor"), processor), ratio(i, at("go-sdk"), processor), fmt.Sprintf("%.0f", median(i, perSecond)), ms(0.5), ms(0.99),
			allocated,
			fmt.Sprintf("%.0f MiB", median(i, func(g segment) float64 { return g.resident })/(1<<20)),
		})
	}
	return t
}
