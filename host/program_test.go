package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

func init() {
	programs["legacy"] = legacy("2025-11-25")
	programs["silent"] = &hosttest.Script{Revision: "2025-11-25", Tools: legacyTools, SilentDiscover: true}
	programs["chatty"] = &hosttest.Script{Revision: "2025-11-25", Tools: legacyTools, AtStart: func(p *hosttest.Pipe) {
		p.Raw("starting up\n\n{\"not\": \"json-rpc\"}\n[1,2]\n")
	}}
	programs["hostile"] = &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"die":  func(x *hosttest.Exchange) { _, _ = os.Stderr.WriteString("panic: key sk-secret-1 is bad\n"); x.Die() },
		"half": func(x *hosttest.Exchange) { x.Raw(`{"jsonrpc":"2.0","id":`); x.Die() },
		"junk": func(x *hosttest.Exchange) { x.Raw("debug: here\n"); x.Text("ok") },
		"flood": func(x *hosttest.Exchange) {
			for range 2000 {
				x.Notify("notifications/message", `{"level":"info","data":"`+strings.Repeat("x", 500)+`"}`)
			}
			x.Text("ok")
		},
		"late": func(x *hosttest.Exchange) {
			<-x.Context.Done() // given up by the client
			x.Text("late")
		},
		"mutter": func(x *hosttest.Exchange) { x.Text("ok"); x.Send(elicitation("9", askName)) },
	}}
	programs["modern"] = &hosttest.Script{Tools: map[string]hosttest.Tool{
		"park": func(x *hosttest.Exchange) { // paused work that this process alone knows
			switch {
			case x.State == nil:
				x.Asks("{"+request("q", askName)+"}", pid())
			case *x.State == pid():
				x.Text("same process")
			default:
				x.Error(-32602, "unknown state", `{"reason":"invalid_request_state"}`)
			}
		},
		"die": func(x *hosttest.Exchange) { x.Die() },
		"env": func(x *hosttest.Exchange) { x.Text(strings.Join(os.Environ(), "\n")) },
	}}
	otherPrograms["dies at once"] = func() error { return errors.New("no licence for sk-secret-1") }
	otherPrograms["writes prose"] = func() error {
		for {
			if _, err := fmt.Println("once upon a time, with sk-secret-1, there was"); err != nil {
				return err
			}
		}
	}
	otherPrograms["greets and ends"] = func() error { fmt.Println("usage: greet NAME"); return nil }
	otherPrograms["greets and waits"] = func() error { fmt.Println("Welcome."); select {} }
	otherPrograms["echoes"] = func() error { _, err := io.Copy(os.Stdout, os.Stdin); return err }
	otherPrograms["says nothing"] = func() error { select {} }
}

func pid() string { return strconv.Itoa(os.Getpid()) }

// A legacy program that says nothing to server/discover is found to be one,
// and asked only once.
func TestSilentProgram(t *testing.T) {
	t.Parallel()
	s := program(t, "quiet", "silent")
	r := newRig(t, nil, &rigOptions{host: host.Options{ProbeTimeout: 300 * time.Millisecond}}, s)
	if _, err := r.Tools(t.Context(), ada, "quiet"); err != nil {
		t.Fatal(err)
	}
	if st := r.Servers(ada)[0]; st.Era != inbox.Legacy || st.Revision != "2025-11-25" {
		t.Errorf("status %+v", st)
	}
	r.run()
	// Two more processes, each with a call and a question of its own.
	for range 2 {
		c := r.start("quiet", "ask", "")
		r.answer(r.next(c.ID), inbox.Accept, `{"n":1}`)
		if got := text(t, r.end(c.ID)); got != `{"action":"accept","content":{"n":1}}` {
			t.Errorf("got %s", got)
		}
	}
}

// A modern program that starts more slowly than the probe allows is taken for
// legacy, refuses that, and is asked once more without haste.
func TestSlowProgram(t *testing.T) {
	t.Parallel()
	// No program starts within a nanosecond.
	r := newRig(t, nil, &rigOptions{host: host.Options{ProbeTimeout: time.Nanosecond}}, program(t, "shop", "modern"), program(t, "old", "silent"))
	for range 2 {
		if _, err := r.Tools(t.Context(), ada, "shop"); err != nil {
			t.Fatal(err)
		}
		if st := r.Servers(ada)[0]; st.State != host.Connected || st.Era != inbox.Modern {
			t.Errorf("status %+v", st)
		}
		r.step(r.start("shop", "die", "").ID, host.Uncertain) // the next is another process
	}
	if _, err := r.Tools(t.Context(), ada, "old"); err != nil {
		t.Fatal(err)
	}
	if st := r.Servers(ada)[1]; st.Era != inbox.Legacy {
		t.Errorf("status %+v", st)
	}
}

func TestChattyProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, nil, program(t, "chatty", "chatty"))
	if got := text(t, r.end(r.start("chatty", "done", "").ID)); got != "done" {
		t.Errorf("got %s", got)
	}
	if st := r.Servers(ada)[0]; st.Junk == 0 {
		t.Errorf("status %+v, want junk to be counted", st)
	}
}

func TestProgramEnds(t *testing.T) {
	t.Parallel()
	s := program(t, "shop", "hostile")
	s.Env["API_KEY"] = host.NewSecret("sk-secret-1")
	quick := program(t, "quick", "hostile")
	quick.SendTimeout = 400 * time.Millisecond
	r := newRig(t, nil, nil, s, quick)
	r.step(r.start("shop", "die", "").ID, host.Uncertain)
	if st := r.Servers(ada)[0]; st.State != host.Broken ||
		!strings.Contains(st.Error, "shop cannot be reached: its program ended; it last wrote: panic: key (withheld) is bad") {
		t.Errorf("status %+v", st)
	}
	r.step(r.start("shop", "half", "").ID, host.Uncertain) // a new process was started for it
	for _, tool := range []string{"junk", "flood", "mutter"} {
		if got := text(t, r.end(r.start("shop", tool, "").ID)); got != "ok" {
			t.Errorf("%s: %s", tool, got)
		}
	}
	// A reply that comes after its call was given up is taken.
	// The script answers only once it was told that the call was cancelled.
	late := r.start("quick", "late", "")
	if got := text(t, r.end(late.ID)); got != "late" {
		t.Errorf("got %s", got)
	}
}

func TestProgramCannotStart(t *testing.T) {
	t.Parallel()
	dies := program(t, "dies", "dies at once")
	dies.Env["KEY"] = host.NewSecret("sk-secret-1")
	mute := program(t, "mute", "says nothing")
	prose, echo := program(t, "prose", "writes prose"), program(t, "echo", "echoes")
	prose.Env["KEY"] = host.NewSecret("sk-secret-1")
	usage, banner := program(t, "usage", "greets and ends"), program(t, "banner", "greets and waits")
	missing := &host.Server{ID: "missing", Command: "/nonexistent/program", Args: []string{"--key=sk-secret-1"}}
	const text = "; where messages belong it writes text: "
	for id, want := range map[string]string{
		"dies":    "its program ended (exit status 1)",
		"mute":    "it did not answer in time",
		"missing": "its program is not there",
		"prose":   "its program is not an MCP server" + text + strings.Repeat(" / once upon a time, with (withheld), there was", 3)[3:],
		"echo":    "its program is not an MCP server: it sends back what it is sent",
		"usage":   "its program ended (exit status 0)" + text + "usage: greet NAME",
		"banner":  "it did not answer in time" + text + "Welcome.",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			o := host.Options{ProbeTimeout: 200 * time.Millisecond}
			switch id {
			case "mute":
				o.ConnectTimeout = 3 * time.Second
			case "banner": // it has started and written by then
				o.ConnectTimeout = 10 * time.Second
			}
			r := newRig(t, nil, &rigOptions{host: o}, dies, mute, missing, prose, echo, usage, banner)
			_, err := r.Tools(t.Context(), ada, id)
			var u *host.UnreachableError
			if !errors.As(err, &u) || u.Server != id || u.Why != want {
				t.Fatalf("%v, want %q", err, want)
			}
			if strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("%v holds a secret", err)
			}
			if id == "dies" && u.Stderr != "no licence for (withheld)" {
				t.Errorf("stderr %q", u.Stderr)
			}
		})
	}
}

// Paused work on a pipe belongs to its process; one resume is tried with the
// next, then it has lapsed.
func TestPausedWorkOfAProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, nil, program(t, "shop", "modern"))
	a, b := r.start("shop", "park", ""), r.start("shop", "park", "")
	for _, c := range []*inbox.Call{a, b} {
		r.step(c.ID, host.Asked)
		r.answer(r.one(c.ID), inbox.Accept, `{"name":"Ada"}`)
	}
	if got := text(t, r.end(a.ID)); got != "same process" {
		t.Errorf("got %s", got)
	}
	r.step(r.start("shop", "die", "").ID, host.Uncertain)
	if end := r.end(b.ID); end.State != inbox.Lapsed {
		t.Errorf("ended %s (%s), want lapsed", end.State, end.Detail)
	}
}

// A program gets the few variables that every program gets and its own.
func TestProgramEnvironment(t *testing.T) {
	t.Setenv("PARLEY_TEST_SECRET", "sk-host")
	s := program(t, "shop", "modern")
	s.Env["OWN"] = host.NewSecret("mine")
	r := newRig(t, nil, nil, s)
	got := text(t, r.end(r.start("shop", "env", "").ID))
	if strings.Contains(got, "sk-host") || !strings.Contains(got, "OWN=mine") || !strings.Contains(got, "PATH=") {
		t.Errorf("environment:\n%s", got)
	}
}

// Auto can answer in code, and its callback's error ends it.
func TestAuto(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", legacy("2025-11-25"))
	r := newRig(t, nil, nil, s)
	c := r.start("shop", "twice", "")
	end, err := r.Auto(t.Context(), ada, c.ID, func(ctx context.Context, stop *host.Stop) error {
		return r.declineAll(ctx, stop.Call.ID)
	})
	if err != nil || text(t, end) != `{"action":"decline"} then {"action":"decline"}` {
		t.Errorf("Auto: %v, %s", err, end.Result)
	}
	boom := errors.New("boom")
	c = r.start("shop", "ask", "")
	if _, err := r.Auto(t.Context(), ada, c.ID, func(context.Context, *host.Stop) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("Auto: %v, want the callback's error", err)
	}
}
