package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/internal/travel"
)

var demoCommand = command{
	name: "demo", short: "a chat page and a real MCP server that asks: a trip to Tokyo",
	long: `
Starts the host's page and "travel", a real MCP server on its own port. Pick
book_flight, fill in the trip, and answer what travel asks. Stop the program while a
question is open, start it again, reload the page: the question is still there, and
its answer goes on to the booking.

Bookings are appended to bookings.jsonl in the data directory.

Examples:
  parley demo
  parley demo --addr 127.0.0.1:9000 --travel-addr 127.0.0.1:9001 --data /tmp/demo`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		var common hostFlags
		common.register(fs)
		addr := fs.String("travel-addr", "127.0.0.1:8421", "`HOST:PORT`: where the server travel listens; parked calls go on only at the same address")
		return func(ctx context.Context, env *environment) error {
			if err := noArgs(env); err != nil {
				return err
			}
			return runDemo(ctx, env, common, *addr)
		}
	},
}

// demoQuestions a minute stop nobody who tries the demo quickly, as the default
// for servers of others would. Their servers file can only lower that default.
const demoQuestions = 120

func runDemo(ctx context.Context, env *environment, common hostFlags, addr string) (err error) {
	if _, port, err := net.SplitHostPort(addr); err == nil && port != "0" && addr == common.addr {
		return usageError("choose another port with --travel-addr", "--addr and --travel-addr are both %s", addr)
	}
	release, err := takeData(common.data) // travel's keys are read from it, too
	if err != nil {
		return err
	}
	defer release()
	for _, f := range []struct{ name, addr string }{{"--addr", common.addr}, {"--travel-addr", addr}} {
		if err := onlyLoopback(f.name, f.addr); err != nil {
			return err
		}
	}
	page, err := listen(ctx, "--addr", common.addr)
	if err != nil {
		return err
	}
	defer page.Close()
	ln, err := listen(ctx, "--travel-addr", addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	server, err := travel.New(&travel.Options{
		LogFile: filepath.Join(common.data, "bookings.jsonl"),
		// The server's keys outlive the process, or its parked calls would end with it.
		KeysFile: filepath.Join(common.data, "travel-keys.json"),
		Kit:      elicit.Options{Logger: newLog(env).With("server", travel.Name)},
	})
	if err != nil {
		return usageError("", "starting travel: %w", err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	endpoint := "http://" + ln.Addr().String() + "/mcp"
	mux := http.NewServeMux()
	mux.Handle("/mcp", server)

	file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"travel": map[string]any{"url": endpoint}}})
	if err != nil {
		return err
	}
	servers, err := host.ParseServers(file, "the demo's servers", env.lookup)
	if err != nil {
		return err
	}

	// travel stops after the host: a call that is on the wire gets its reply.
	stopped := make(chan error, 1)
	travelCtx, stopTravel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		stopped <- serveUntil(travelCtx, ln, mux, func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
	}()
	err = runHost(ctx, env, common, page, hosting{
		servers: servers, questionsPerMinute: demoQuestions,
		ready: fmt.Sprintf("The MCP server travel listens at %s\n", endpoint),
	})
	stopTravel()
	if travelErr := <-stopped; err == nil {
		err = travelErr
	}
	return err
}
