package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

const (
	heldPeople = 10  // hold the calls, on a session each
	heldAtOnce = 100 // calls are on their way to being held
)

// BenchmarkHeld measures the memory of a process that holds calls of a legacy
// server on ten sessions: of a host, and of a bare client of the SDK. Both and
// the server are processes of their own; the server is the same. Each call needs
// an open file on both sides.
func BenchmarkHeld(b *testing.B) {
	for _, calls := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(calls), func(b *testing.B) {
			var bare, own heldMemory
			for b.Loop() {
				bare = holdIn(b, "bare", calls)
				own = holdIn(b, "host", calls)
			}
			each := float64(calls)
			b.ReportMetric(own.live/each, "host-B/call")
			b.ReportMetric(bare.live/each, "bare-B/call")
			b.ReportMetric(own.live/bare.live, "host-of-bare")
			b.ReportMetric(own.resident/bare.resident, "host-of-bare-resident")
			b.ReportMetric(own.peak/bare.peak, "host-of-bare-peak")
			b.ReportMetric(own.goroutines/each, "host-goroutines/call")
			b.ReportMetric(bare.goroutines/each, "bare-goroutines/call")
		})
	}
}

// heldMemory is what a process says of itself, in bytes: live is what the heap
// holds after a collection and the stacks, resident what the system counts then,
// and peak the most that it has counted.
type heldMemory struct{ live, resident, peak, goroutines float64 }

// holdIn runs the server and a client, and ends both with the benchmark.
func holdIn(b *testing.B, kind string, calls int) heldMemory {
	address := strings.TrimSpace(heldProcess(b, "server", "", calls)())
	client := heldProcess(b, kind, address, calls)
	var m heldMemory
	if _, err := fmt.Sscan(client(), &m.live, &m.resident, &m.peak, &m.goroutines); err != nil {
		b.Fatal(err)
	}
	return m
}

// heldProcess runs a part in a process of its own, and returns what reads its
// next line.
func heldProcess(b *testing.B, part, address string, calls int) (line func() string) {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "PARLEY_HELD="+part, "PARLEY_HELD_SERVER="+address, "PARLEY_HELD_DIR="+b.TempDir(), "PARLEY_HELD_CALLS="+strconv.Itoa(calls))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(out)
	return func() string {
		text, err := lines.ReadString('\n')
		if err != nil {
			b.Fatalf("%s: %v", part, err)
		}
		return text
	}
}

// runHeldPart plays the part that the environment names, if it names one.
func runHeldPart() {
	part := os.Getenv("PARLEY_HELD")
	if part == "" {
		return
	}
	calls, err := strconv.Atoi(os.Getenv("PARLEY_HELD_CALLS"))
	address := os.Getenv("PARLEY_HELD_SERVER")
	switch part {
	case "server":
		err = heldServer()
	case "bare":
		err = heldBare(address, calls)
	case "host":
		err = heldHost(address, os.Getenv("PARLEY_HELD_DIR"), calls)
	}
	fmt.Fprintln(os.Stderr, part, err)
	os.Exit(1)
}

// heldServer has one tool, which asks a question and waits.
func heldServer() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "held", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "seat", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Which seat?", RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"seat":{"type":"string","maxLength":4}},"required":["seat"]}`)})
			return &mcp.CallToolResult{}, err
		})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + ln.Addr().String())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	return http.Serve(ln, handler)
}

// heldBare holds the calls with the SDK's client and nothing else.
func heldBare(address string, calls int) error {
	ctx := context.Background()
	var held atomic.Int64
	client := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			held.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	errs := make(chan error, calls)
	var sessions []*mcp.ClientSession
	for range heldPeople {
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			return err
		}
		sessions = append(sessions, session)
	}
	for n := range calls {
		go func() {
			_, err := sessions[n%heldPeople].CallTool(ctx, &mcp.CallToolParams{Name: "seat"})
			errs <- err
		}()
		for (n+1)%heldAtOnce == 0 && held.Load() <= int64(n) {
			select {
			case err := <-errs:
				return err
			case <-time.After(time.Millisecond):
			}
		}
	}
	return tellMemory()
}

// heldHost holds them with a host on SQLite, whose rows are not in its memory.
func heldHost(address, dir string, calls int) error {
	ctx := context.Background()
	store, err := sqlitestore.Open(filepath.Join(dir, "inbox.db"), nil)
	if err != nil {
		return err
	}
	var held atomic.Int64
	in := inbox.New(store, inbox.NewKeys(), &inbox.Options{
		OpenQuestions: calls, QuestionsPerMinute: calls, Lease: time.Hour, Poll: time.Hour,
		Observe: func(e *inbox.AuditEntry) {
			if e.Kind == inbox.AuditAsked {
				held.Add(1)
			}
		},
	})
	h, err := host.New(in, []*host.Server{{ID: "s", URL: address}}, &host.Options{Concurrency: calls})
	if err != nil {
		return err
	}
	go func() { _ = h.Run(ctx) }()
	for n := range calls {
		person := inbox.Principal{Issuer: "i", Subject: fmt.Sprint(n % heldPeople)}
		if _, err := h.Start(ctx, person, host.NewCall{Server: "s", Name: "seat"}); err != nil {
			return err
		}
		for (n+1)%heldAtOnce == 0 && held.Load() <= int64(n) {
			time.Sleep(time.Millisecond) //nolint:forbidigo // a process of its own, which the parent ends
		}
	}
	return tellMemory()
}

// tellMemory collects what is garbage, says what is left, and stays.
func tellMemory() error {
	time.Sleep(2 * time.Second) //nolint:forbidigo // what is just being done has no signal; it is a benchmark
	for range 4 {               // stacks shrink by half each time
		runtime.GC()
	}
	debug.FreeOSMemory()
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	size := map[string]uint64{} // in kB
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if kilobytes, ok := strings.CutSuffix(strings.TrimSpace(value), " kB"); ok {
			if size[name], err = strconv.ParseUint(kilobytes, 10, 64); err != nil {
				return err
			}
		}
	}
	fmt.Println(samples[0].Value.Uint64()+samples[1].Value.Uint64(), size["VmRSS"]<<10, size["VmHWM"]<<10, runtime.NumGoroutine())
	select {}
}
