package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/internal/travel"
)

// Questions that scripts ask: the params of elicitation/create.
const (
	askWord = `{"mode":"form","message":"Say a word","requestedSchema":{"type":"object","properties":{"word":{"type":"string","title":"Word"}},"required":["word"]}}`
	askSize = `{"mode":"form","message":"Which size?","requestedSchema":{"type":"object","properties":{
		"size":{"type":"integer","title":"Size","minimum":1,"maximum":9},"gift":{"type":"boolean","title":"Gift"}},"required":["size"]}}`
)

// say is the text of a tool that reports what the client answered.
func say(raw any) string { return fmt.Sprintf("got %s", raw) }

// modern wraps the params of a question for input_required.
func modern(key, params string) string {
	return fmt.Sprintf(`%q:{"method":"elicitation/create","params":%s}`, key, params)
}

// legacyTools ask while the call is open.
var legacyTools = map[string]hosttest.Tool{
	"ask": func(x *hosttest.Exchange) { x.Text(say(x.Elicit(askWord))) },
	"twice": func(x *hosttest.Exchange) {
		first := x.Elicit(askWord)
		x.Text(say(first) + " then " + say(x.Elicit(askSize)))
	},
}

// modernTools end the round to ask.
var modernTools = map[string]hosttest.Tool{
	"ask": func(x *hosttest.Exchange) {
		if x.State == nil {
			x.Asks("{"+modern("word", askWord)+"}", "waits")
			return
		}
		x.Text(say(x.Responses["word"]))
	},
	"two": func(x *hosttest.Exchange) {
		if x.State == nil {
			x.Asks("{"+modern("word", askWord)+","+modern("size", askSize)+"}", "waits")
			return
		}
		x.Text(say(x.Responses["word"]) + " and " + say(x.Responses["size"]))
	},
	"fails": func(x *hosttest.Exchange) {
		x.Result(`{"resultType":"complete","content":[{"type":"text","text":"the printer is on fire"}],"isError":true}`)
	},
	"refuses": func(x *hosttest.Exchange) { x.Error(-32000, "the shop is closed", "") },
	"nested": func(x *hosttest.Exchange) {
		if x.State == nil {
			x.Asks("{"+modern("where", `{"mode":"form","message":"Where to?","requestedSchema":{"type":"object","properties":{
				"name":{"type":"string","title":"Name"},
				"address":{"type":"object","title":"Address","properties":{"street":{"type":"string"}}}},"required":["address"]}}`)+"}", "waits")
			return
		}
		x.Text(say(x.Responses["where"]))
	},
}

// scripts are what this binary plays over standard input and output.
var scripts = map[string]*hosttest.Script{
	"legacy": {Revision: "2025-11-25", Tools: legacyTools},
	"mortal": {Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"die":  func(x *hosttest.Exchange) { x.Die() },
		"live": func(x *hosttest.Exchange) { x.Text("alive and well") },
	}},
}

// playQuits is a program that starts and ends without a word of protocol.
func playQuits() error { return errors.New("the licence file is missing") }

// program is the entry of the servers file for a role of this binary.
func program(t *testing.T, role string) map[string]any {
	t.Helper()
	command, env, err := hosttest.Program(role)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"command": command, "env": env}
}

// Variables of the role travel.
const (
	travelAddr  = "PARLEY_E2E_TRAVEL_ADDR"
	travelDir   = "PARLEY_E2E_TRAVEL_DIR"
	travelPause = "PARLEY_E2E_TRAVEL_PAUSE" // "before" or "after" the booking
)

// playTravel serves the travel desk over HTTP. Where it is told to pause it
// prints the word and goes on when a line comes in.
func playTravel() error {
	lines := bufio.NewReader(os.Stdin)
	pause := func(where string) func(context.Context) error {
		if os.Getenv(travelPause) != where {
			return nil
		}
		return func(context.Context) error {
			fmt.Println(where)
			_, err := lines.ReadString('\n')
			return err
		}
	}
	dir := os.Getenv(travelDir)
	guard, err := travelGuarded()
	if err != nil {
		return err
	}
	desk, err := travel.New(&travel.Options{
		Kit:     elicit.Options{Replay: guard},
		LogFile: filepath.Join(dir, "bookings.jsonl"), KeysFile: filepath.Join(dir, "keys.json"),
		BeforeBook: pause("before"), AfterBook: pause("after"),
	})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", os.Getenv(travelAddr))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	mux := http.NewServeMux()
	mux.Handle("/mcp", desk)
	return http.Serve(ln, mux)
}

// desk is the travel desk in a process of its own.
type desk struct {
	t       *testing.T
	dir     string
	addr    string
	guard   string // see travelGuard
	cmd     *exec.Cmd
	said    *bufio.Reader
	control io.WriteCloser
}

// newDesk starts a desk that pauses "before" or "after" each booking, or "never".
func newDesk(t *testing.T, pause string) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), addr: servicetest.FreeAddr(t)}
	d.again(pause)
	return d
}

func (d *desk) url() string { return "http://" + d.addr + "/mcp" }

// again starts the process, after kill with the files that it left behind.
func (d *desk) again(pause string) {
	d.t.Helper()
	command, env, err := hosttest.Program("travel")
	if err != nil {
		d.t.Fatal(err)
	}
	d.cmd = exec.Command(command)
	d.cmd.Env = append(os.Environ(), travelAddr+"="+d.addr, travelDir+"="+d.dir, travelPause+"="+pause, travelGuard+"="+d.guard)
	for name, value := range env {
		d.cmd.Env = append(d.cmd.Env, name+"="+value)
	}
	stderr := &buffer{}
	d.cmd.Stderr = stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if d.control, err = d.cmd.StdinPipe(); err != nil {
		d.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	command2 := d.cmd
	d.t.Cleanup(func() {
		_ = command2.Process.Kill()
		_ = command2.Wait()
		if d.t.Failed() {
			d.t.Logf("travel wrote:\n%s", stderr)
		}
	})
	d.said = bufio.NewReader(out)
	d.wait("ready")
}

// wait waits until the desk says a word: "ready", "before" or "after".
func (d *desk) wait(word string) {
	d.t.Helper()
	line := make(chan string, 1)
	go func() {
		text, err := d.said.ReadString('\n')
		if err != nil {
			text = err.Error()
		}
		line <- strings.TrimSpace(text)
	}()
	var got string
	eventually(d.t, "travel to say "+word, func() bool {
		select {
		case got = <-line:
			return true
		default:
			return false
		}
	})
	if got != word {
		d.t.Fatalf("travel said %q, want %q", got, word)
	}
}

// resume lets the desk go on after a pause.
func (d *desk) resume() {
	d.t.Helper()
	if _, err := io.WriteString(d.control, "go on\n"); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) kill() {
	d.t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	_ = d.cmd.Wait() // it says that it was killed
}

// bookings is what really happened.
func (d *desk) bookings() int {
	d.t.Helper()
	return bookings(d.t, filepath.Join(d.dir, "bookings.jsonl"))
}

// bookings counts the executions in a log of travel.
func bookings(t *testing.T, path string) int {
	t.Helper()
	entries, err := travel.ReadLog(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(entries)
}
