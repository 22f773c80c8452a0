package hosttest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
)

// programVariable names the script that a test binary, run as a program, plays.
const programVariable = "PARLEY_HOSTTEST_PROGRAM"

// Program returns what to run, and with which environment, to have the named
// script played over standard input and output. TestMain must call [RunProgram].
func Program(name string) (command string, env map[string]string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	return exe, map[string]string{programVariable: name}, nil
}

// RunProgram plays a script, or runs any other program, and exits, if this
// process was started through [Program]; otherwise it returns at once. Call it
// first in TestMain.
func RunProgram(scripts map[string]*Script, others map[string]func() error) {
	name, ok := os.LookupEnv(programVariable)
	if !ok {
		return
	}
	if run := others[name]; run != nil {
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	script := scripts[name]
	if script == nil {
		fmt.Fprintf(os.Stderr, "hosttest: no script %q\n", name)
		os.Exit(2)
	}
	play(script)
	os.Exit(0)
}

// A Pipe is the standard output of a program.
type Pipe struct{ mu sync.Mutex }

// Raw writes bytes that need not be a message.
func (p *Pipe) Raw(b string) { p.raw([]byte(b)) }

func (p *Pipe) raw(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = os.Stdout.Write(b)
}

func (p *Pipe) send(msg []byte)         { p.raw(append(slices.Clip(msg), '\n')) }
func (p *Pipe) reply(msg []byte)        { p.send(msg) }
func (p *Pipe) status(int, http.Header) {}
func (p *Pipe) die()                    { os.Exit(3) }

func play(script *Script) {
	out := &Pipe{}
	asking := newAskings()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if script.AtStart != nil {
		script.AtStart(out)
	}
	counts, lists := map[string]int{}, 0
	calls := map[string]context.CancelFunc{} // by the raw id
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	for in.Scan() {
		var m message
		line := append([]byte(nil), in.Bytes()...)
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		switch {
		case m.Method == "":
			asking.answered(string(m.ID), line)
		case m.Method == "notifications/cancelled":
			var p struct {
				RequestID json.RawMessage `json:"requestId"`
			}
			if json.Unmarshal(m.Params, &p) == nil && calls[string(p.RequestID)] != nil {
				calls[string(p.RequestID)]()
			}
		case len(m.ID) == 0:
		case m.Method == "server/discover" && script.SilentDiscover && !script.modern():
		case script.plays(m) != nil:
			callCtx, cancel := context.WithCancel(ctx)
			calls[string(m.ID)] = cancel
			x := script.exchange(callCtx, m, counts[counted(m)], out, asking)
			counts[counted(m)]++
			if tool := script.plays(m); script.inOrder {
				tool(x)
			} else {
				go tool(x)
			}
		default:
			result, ok := script.housekeeping(m, lists)
			if m.Method == "tools/list" {
				lists++
			}
			if ok {
				out.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
			} else {
				out.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID))
			}
		}
	}
}
