//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

type pick struct {
	Flight string `json:"flight" title:"Connecting flight" elicit:"options=a:LH716|b:JL44"`
	Bags   int    `json:"bags" title:"Bags" elicit:"min=0,max=3"`
}

// asker is a server whose one tool asks one question: two rounds a call.
func asker(b *testing.B) *httptest.Server {
	b.Helper()
	kit, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "asker"}, nil), &elicit.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	elicit.AddTool(kit, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, in struct {
		N int `json:"n"`
	}) (pick, error) {
		return elicit.Ask[pick](ctx, call, "pick", "Which connection do you want?")
	})
	server := httptest.NewServer(elicit.NewHTTPHandler(kit, nil))
	b.Cleanup(server.Close)
	return server
}

// BenchmarkServer is a server on the kit under calls of two rounds. The numbers
// behind gcPercent come from this and BenchmarkHost with GOGC in the environment.
func BenchmarkServer(b *testing.B) {
	server := asker(b)
	start := used()
	b.RunParallel(func(pb *testing.PB) {
		client := elicittest.Connect(b, server.Config.Handler, "2026-07-28", func(elicittest.Question) elicittest.Answer {
			return elicittest.Accept(map[string]any{"flight": "a", "bags": 2})
		}, nil)
		for pb.Next() {
			result, err := client.Call(b.Context(), "ask", map[string]any{"n": 1})
			if err != nil || result.IsError || result.Rounds != 2 {
				b.Errorf("%+v, %v", result, err)
				return
			}
		}
	})
	reportUse(b, start)
}

// BenchmarkHost is the host, its store on disk included, beside such a server.
func BenchmarkHost(b *testing.B) {
	server := asker(b)
	store, err := sqlitestore.Open(b.TempDir()+"/parley.db", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	in := inbox.New(store, seal.NewRing(), &inbox.Options{OpenQuestions: 1 << 20, QuestionsPerMinute: 1 << 30})
	h, err := host.New(in, []*host.Server{{ID: "asker", URL: server.URL}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	var n atomic.Int64
	start := used()
	b.SetParallelism(16) // more people than processors: commits are shared
	b.RunParallel(func(pb *testing.PB) {
		p := inbox.Principal{Issuer: "bench", Subject: fmt.Sprint(n.Add(1))}
		for pb.Next() {
			call, err := h.Start(b.Context(), p, host.NewCall{Conversation: "v_1", Server: "asker", Name: "ask", Arguments: json.RawMessage(`{"n":1}`)})
			if err == nil {
				call, err = h.Auto(b.Context(), p, call.ID, func(ctx context.Context, stop *host.Stop) error {
					return acceptAll(ctx, in, p, stop)
				})
			}
			if err != nil || call.State != inbox.Done {
				b.Errorf("%+v, %v", call, err)
				return
			}
		}
	})
	reportUse(b, start)
}

// acceptAll is a person who says the same to everything. Nothing else is waited
// for here: a call that a busy machine made uncertain would wait for ever.
func acceptAll(ctx context.Context, in *inbox.Inbox, p inbox.Principal, stop *host.Stop) error {
	if stop.Why != host.Asked {
		return fmt.Errorf("the call is %s: %s", stop.Why, stop.Call.Detail)
	}
	questions, err := in.Questions(ctx, p, inbox.QuestionFilter{Call: stop.Call.ID, States: []inbox.QuestionState{inbox.Open}})
	if err != nil {
		return err
	}
	for _, q := range questions {
		if _, err := in.Answer(ctx, p, q.ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"flight":"a","bags":2}`)}); err != nil {
			return err
		}
	}
	return nil
}

// used returns the processor time of this process so far.
func used() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// reportUse reports what does not depend on who else uses the machine: processor
// time per call since the start, and the most memory that the process has held.
func reportUse(b *testing.B, start time.Duration) {
	b.Helper()
	b.ReportMetric(float64((used()-start).Microseconds())/float64(b.N), "cpu-µs/op")
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return // not Linux
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err == nil {
		b.ReportMetric(kib/1024, "MiB-resident")
	}
}
