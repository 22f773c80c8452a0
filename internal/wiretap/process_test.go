//go:build unix

package wiretap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func init() {
	children = map[string]func() int{
		"sdk": func() int {
			if err := sdkServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		},
		// noisy prints what is no JSON-RPC around and between its messages.
		"noisy": func() int {
			fmt.Print("Starting server...\n\n\x1b[31mred\x1b[0m\n{\"log\":true}\n[1,2]\n")
			return scripted(func(id, tool string) {
				fmt.Printf("working\r\n%s\r\n", result(id))
			})
		},
		"huge": func() int {
			return scripted(func(id, _ string) {
				fmt.Println(strings.Repeat("x", 10_000))
				fmt.Println(result(id))
			})
		},
		"crash": func() int {
			return scripted(func(string, string) {
				fmt.Fprintln(os.Stderr, strings.Repeat("noise\n", 10_000)+"fatal: no API key")
				fmt.Print(`{"jsonrpc":"2.0","id":`)
				os.Exit(3)
			})
		},
		// silent is a legacy server that does not answer what it does not know.
		"silent": func() int { return scripted(func(id, _ string) { fmt.Println(result(id)) }) },
		// asking asks with an id that a float64 loses, and returns what it was answered.
		"asking": func() int {
			return scripted(func(id, _ string) {
				fmt.Println(`{"jsonrpc":"2.0","id":9007199254740993,"method":"elicitation/create","params":{"requestedSchema":` + askSchema + `}}`)
				for in.Scan() {
					if strings.Contains(in.Text(), `"id":9007199254740993`) {
						text, _ := json.Marshal(in.Text())
						fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%s}]}}\n", id, text)
						return
					}
				}
			})
		},
		// stubborn ignores SIGTERM and the end of its input, and has a child that holds its pipes.
		"stubborn": func() int {
			signal.Ignore(syscall.SIGTERM)
			sleeper := exec.Command("sleep", "600")
			sleeper.Stdout, sleeper.Stderr = os.Stdout, os.Stderr
			sleeper.ExtraFiles = []*os.File{os.NewFile(3, "held")}
			if err := sleeper.Start(); err != nil {
				return 1
			}
			scripted(func(id, _ string) { fmt.Println(result(id)) })
			select {}
		},
		// leaver ends when its input ends, and leaves a child behind that holds its pipes.
		"leaver": func() int {
			sleeper := exec.Command("sleep", "600")
			sleeper.Stdout, sleeper.Stderr = os.Stdout, os.Stderr
			sleeper.ExtraFiles = []*os.File{os.NewFile(3, "held")}
			if err := sleeper.Start(); err != nil {
				return 1
			}
			return scripted(func(id, _ string) { os.Exit(4) })
		},
		// deaf does the handshake and then reads nothing more.
		"deaf": func() int {
			scriptedUntil("notifications/initialized", func(string, string) {})
			select {}
		},
		// prose writes text and no messages; the reader of it may be gone.
		"prose": func() int {
			for {
				if _, err := fmt.Println("lorem ipsum"); err != nil {
					return 0
				}
			}
		},
		// banner writes a line, and nothing to anything that it is asked.
		"banner": func() int {
			fmt.Println("Server listening on port 3000")
			select {}
		},
		"echo": func() int {
			if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
				return 1
			}
			return 0
		},
		"dead": func() int {
			fmt.Fprintln(os.Stderr, "cannot start: set API_KEY")
			return 7
		},
	}
}

var in = func() *bufio.Scanner {
	s := bufio.NewScanner(os.Stdin)
	s.Buffer(nil, 16<<20)
	return s
}()

func scripted(call func(id, tool string)) int { return scriptedUntil("", call) }

// scriptedUntil is a legacy server that hands tools/call to a function and stays silent on server/discover.
func scriptedUntil(last string, call func(id, tool string)) int {
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			return 1
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`+"\n", m.ID)
		case "tools/call":
			call(string(m.ID), m.Params.Name)
		case last:
			return 0
		}
	}
	return 0
}

func child(name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func overStdio(t *testing.T, tap *Tap, name, version string, handler elicitFunc, opts *ProcessOptions) (*mcp.ClientSession, *Process) {
	t.Helper()
	p := tap.Process(child(name), opts)
	cs, err := newClient(handler).Connect(testCtx(t), p, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v; %v; stderr: %s", err, p.Err(), p.Stderr())
	}
	t.Cleanup(func() { cs.Close() })
	return cs, p
}

func TestProcessCall(t *testing.T) {
	t.Parallel()
	for _, version := range []string{v2025, v2026} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			tap := New(nil)
			cs, p := overStdio(t, tap, "sdk", version, nil, nil)
			if got := cs.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("version = %s", got)
			}
			marks := 0
			x := &Exchange{BeforeSend: func(context.Context) error { marks++; return nil }}
			if _, err := callTool(t, cs, x, "plain"); err != nil {
				t.Fatal(err)
			}
			out := x.Outcome()
			if marks != 1 || !out.Begun || !out.Left || out.Reply == nil || !strings.Contains(string(out.Reply.Result), `"text":"done"`) {
				t.Errorf("marks = %d, outcome = %+v", marks, out)
			}
			veto := errors.New("no")
			x = &Exchange{BeforeSend: func(context.Context) error { return veto }}
			if _, err := callTool(t, cs, x, "plain"); !errors.Is(err, veto) || !errors.Is(err, ErrVetoed) || x.Outcome().Left {
				t.Errorf("vetoed: %v, %+v", err, x.Outcome())
			}
			x = new(Exchange)
			if _, err := callTool(t, cs, x, "plain"); err != nil {
				t.Errorf("after a veto: %v", err)
			}
			if p.Err() != nil {
				t.Errorf("Err while it runs: %v", p.Err())
			}
			cs.Close()
			wait(t, "the exit", p.Exited())
			if e := new(ExitError); !errors.As(p.Err(), &e) || e.State != "exit status 0" {
				t.Errorf("Err = %v", p.Err())
			}
		})
	}
}

func TestProcessRoundModern(t *testing.T) {
	t.Parallel()
	cs, _ := overStdio(t, New(nil), "sdk", v2026, nil, nil)
	x := new(Exchange)
	if _, err := callTool(t, cs, x, "round"); err != nil {
		t.Fatal(err)
	}
	in, asked, err := ParseResult(x.Outcome().Reply.Result)
	if err != nil || !asked || in.State != "s1" || !strings.Contains(string(in.Requests[0].Params), askSchema) {
		t.Errorf("ParseResult = %+v, %v, %v", in, asked, err)
	}
}

func TestProcessAsk(t *testing.T) {
	t.Parallel()
	tap := New(nil)
	var q *Question
	cs, _ := overStdio(t, tap, "asking", v2025, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		q = tap.Question(req.Params.GetMeta())
		q.Answer(json.RawMessage(`{"action":"accept",`+"\n"+`"content":{"zebra":9007199254740993}}`), nil)
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}, nil)
	x := new(Exchange)
	if _, err := callTool(t, cs, x, "ask"); err != nil {
		t.Fatal(err)
	}
	if string(q.ID) != "9007199254740993" || string(q.Params) != `{"requestedSchema":`+askSchema+`}` {
		t.Errorf("question = %s %s", q.ID, q.Params)
	}
	if q.Exact || len(q.Exchanges) != 1 || q.Exchanges[0] != x {
		t.Errorf("exchanges = %v, exact %v", q.Exchanges, q.Exact)
	}
	wait(t, "Done", q.Done())
	if d := q.Delivery(); !d.Accepted || !d.Left || d.Err != nil {
		t.Errorf("delivery = %+v", d)
	}
	sent := `{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"result\":{\"action\":\"accept\", \"content\":{\"zebra\":9007199254740993}}}`
	if got := string(x.Outcome().Reply.Result); !strings.Contains(got, sent) {
		t.Errorf("reply = %s, want it to hold %s", got, sent)
	}
}

func TestProcessJunk(t *testing.T) {
	t.Parallel()
	tap := New(nil)
	cs, _ := overStdio(t, tap, "noisy", v2025, nil, nil)
	x := new(Exchange)
	if _, err := callTool(t, cs, x, "t"); err != nil || x.Outcome().Reply == nil {
		t.Fatalf("call: %v, %+v", err, x.Outcome())
	}
	s := tap.Stats()
	if s.Junk != 5 || len(s.FirstJunk) != keptJunk || s.FirstJunk[0] != "Starting server..." {
		t.Errorf("stats = %+v", s)
	}
}

// What is no server ends the connection; it does not wait for the context's end.
func TestProcessNotServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"prose", "echo", "banner"} {
		for _, version := range []string{v2025, v2026} {
			tap := New(nil)
			p := tap.Process(child(name), &ProcessOptions{Prose: 50 * time.Millisecond})
			if _, err := newClient(nil).Connect(testCtx(t), p, &mcp.ClientSessionOptions{ProtocolVersion: version}); err == nil {
				t.Fatalf("%s: connected", name)
			}
			exit := new(ExitError)
			if err := p.Err(); !errors.As(err, &exit) || !errors.Is(err, ErrNotServer) {
				t.Errorf("%s, %s: %v, want ErrNotServer", name, version, err)
			}
			wait(t, "the exit", p.Exited())
			if s := tap.Stats(); name == "prose" && (s.Messages != 0 || s.FirstJunk[0] != "lorem ipsum") || name == "echo" && s.Junk != 0 {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// A server may number its requests as we do ours, and pings may cross.
func TestProcessSameIDs(t *testing.T) {
	t.Parallel()
	tap := New(nil)
	tap.expect(&call{id: json.RawMessage("1"), method: "ping"})
	tap.expect(&call{id: json.RawMessage("2"), method: "tools/call"})
	for _, raw := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"?"}}`,
	} {
		if out, _, err := tap.incoming([]byte(raw), nil); err != nil || out == nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, _, err := tap.incoming([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`), nil); !errors.Is(err, ErrNotServer) {
		t.Errorf("an echo: %v, want ErrNotServer", err)
	}
}

func TestProcessHugeLine(t *testing.T) {
	t.Parallel()
	cs, p := overStdio(t, New(&Options{MaxMessage: 4096}), "huge", v2025, nil, nil)
	x := new(Exchange)
	_, err := callTool(t, cs, x, "t")
	limit := new(LimitError)
	if !errors.As(err, &limit) || limit.Limit != 4096 {
		t.Errorf("error = %v, want a *LimitError", err)
	}
	if !errors.As(x.Outcome().Fault, &limit) || !x.Outcome().Left {
		t.Errorf("outcome = %+v", x.Outcome())
	}
	cs.Close()
	wait(t, "the exit", p.Exited())
}

func TestProcessCrash(t *testing.T) {
	t.Parallel()
	tap := New(nil)
	cs, p := overStdio(t, tap, "crash", v2025, nil, &ProcessOptions{StderrMax: 64})
	x := new(Exchange)
	_, err := callTool(t, cs, x, "t")
	exit := new(ExitError)
	if !errors.As(err, &exit) || exit.State != "exit status 3" {
		t.Errorf("error = %v", err)
	}
	if !errors.As(x.Outcome().Fault, &exit) || !x.Outcome().Left || x.Outcome().Reply != nil {
		t.Errorf("outcome = %+v", x.Outcome())
	}
	if got := p.Stderr(); !strings.HasSuffix(got, "\nfatal: no API key\n") || len(got) > 64 || !strings.HasPrefix(got, "noise\n") {
		t.Errorf("stderr = %q", got)
	}
	if strings.Contains(exit.Error(), "API key") {
		t.Errorf("the error's text holds the program's words: %v", exit)
	}
	// To a process that is gone, nothing leaves.
	x = new(Exchange)
	if _, err := callTool(t, cs, x, "t"); err == nil || x.Outcome().Left {
		t.Errorf("a call to a dead process: %v, %+v", err, x.Outcome())
	}
	if s := tap.Stats(); s.Junk != 1 {
		t.Errorf("half a line: %+v", s)
	}
}

func TestProcessDead(t *testing.T) {
	t.Parallel()
	p := New(nil).Process(child("dead"), nil)
	if _, err := newClient(nil).Connect(testCtx(t), p, nil); err == nil {
		t.Fatal("connected to a program that exits")
	}
	exit := new(ExitError)
	if !errors.As(p.Err(), &exit) || exit.State != "exit status 7" || exit.Stderr != "cannot start: set API_KEY\n" {
		t.Errorf("Err = %#v", p.Err())
	}
	if _, err := p.Connect(testCtx(t)); err == nil {
		t.Error("connected twice")
	}
	p = New(nil).Process(exec.Command("/nonexistent/program"), nil)
	if _, err := newClient(nil).Connect(testCtx(t), p, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// A server that is silent on server/discover is legacy; the SDK alone would wait until the context ends.
func TestProcessProbe(t *testing.T) {
	t.Parallel()
	cs, _ := overStdio(t, New(nil), "silent", v2026, nil, &ProcessOptions{Probe: 10 * time.Millisecond})
	if got := cs.InitializeResult().ProtocolVersion; got != v2025 {
		t.Errorf("version = %s, want %s", got, v2025)
	}
}

// withChild runs a program that starts a child of its own. The pipe ends when both have ended.
func withChild(t *testing.T, name string) (*mcp.ClientSession, *Process, *os.File) {
	t.Helper()
	alive, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { alive.Close() })
	alive.SetReadDeadline(time.Now().Add(20 * time.Second))
	cmd := child(name)
	cmd.ExtraFiles = []*os.File{held}
	p := New(nil).Process(cmd, &ProcessOptions{Grace: 20 * time.Millisecond})
	cs, err := newClient(nil).Connect(testCtx(t), p, &mcp.ClientSessionOptions{ProtocolVersion: v2025})
	held.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs, p, alive
}

func TestProcessKill(t *testing.T) {
	t.Parallel()
	cs, p, alive := withChild(t, "stubborn")
	if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
		t.Fatal(err)
	}
	cs.Close()
	wait(t, "the exit", p.Exited())
	if e := new(ExitError); !errors.As(p.Err(), &e) || e.State != "signal: killed" {
		t.Errorf("Err = %v", p.Err())
	}
	if _, err := io.ReadAll(alive); err != nil {
		t.Errorf("the program's child was not killed: %v", err)
	}
}

// A program that ends by itself ends the call, and what it left behind does not stay.
func TestProcessLeaves(t *testing.T) {
	t.Parallel()
	cs, p, alive := withChild(t, "leaver")
	x := new(Exchange)
	if _, err := callTool(t, cs, x, "t"); err == nil {
		t.Fatal("no error")
	}
	exit := new(ExitError)
	if !errors.As(x.Outcome().Fault, &exit) || !errors.As(p.Err(), &exit) || exit.State != "exit status 4" {
		t.Errorf("fault = %v, Err = %v", x.Outcome().Fault, p.Err())
	}
	if _, err := io.ReadAll(alive); err != nil {
		t.Errorf("the program's child was not killed: %v", err)
	}
}

// A program that does not read must not hold the caller past its context, and half a line ends the connection.
func TestProcessDeaf(t *testing.T) {
	t.Parallel()
	cs, p := overStdio(t, New(nil), "deaf", v2025, nil, &ProcessOptions{Grace: 10 * time.Millisecond})
	arguments := map[string]any{"a": strings.Repeat("x", 1<<20)}
	for {
		begun := make(chan struct{})
		x := &Exchange{BeforeSend: func(context.Context) error { close(begun); return nil }}
		ctx, cancel := context.WithCancel(With(testCtx(t), x))
		go func() {
			<-begun
			for len(p.write) > 0 && ctx.Err() == nil { // until the line is being written
				runtime.Gosched()
			}
			cancel()
		}()
		_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: arguments})
		cancel()
		if err == nil {
			t.Fatal("a megabyte went into a pipe that nobody reads")
		}
		out := x.Outcome()
		if out.Reply != nil || out.Fault == nil {
			t.Fatalf("outcome = %+v", out)
		}
		if out.Left {
			break
		}
		// The context ended before the first byte: the connection is whole, and the next call tries again.
	}
	wait(t, "the exit", p.Exited())
}

func TestTail(t *testing.T) {
	t.Parallel()
	w := tail{max: 10}
	for _, s := range []string{"abc\n", "defgh\n", "ij\n"} {
		fmt.Fprint(&w, s)
	}
	if got := w.String(); got != "defgh\nij\n" {
		t.Errorf("tail = %q", got)
	}
	fmt.Fprint(&w, strings.Repeat("z", 25))
	if got := w.String(); got != strings.Repeat("z", 10) {
		t.Errorf("tail = %q", got)
	}
}
