package clients

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/memstore"
)

var ada = inbox.Principal{Issuer: "example", Subject: "ada"}

// A hostDesk is a host with one server, whose inbox outlives it.
type hostDesk struct {
	foreign
	t        *testing.T
	in       *inbox.Inbox
	standing *standing

	h   *host.Host
	end func() // of the host
}

func newHostDesk(t *testing.T, f foreign) *hostDesk {
	t.Helper()
	d := &hostDesk{foreign: f, t: t, in: inbox.New(memstore.New(nil), seal.NewRing(), &inbox.Options{QuestionsPerMinute: 1000})}
	d.standing = f.start(t)
	d.open()
	t.Cleanup(func() { d.end() })
	return d
}

func (d *hostDesk) legacy() bool { return d.revision < "2026-07-28" }

func (d *hostDesk) open() {
	d.t.Helper()
	// None of the servers is silent when it is asked what it speaks. A busy machine takes
	// more than the default 3 s to start some, and a server that is silent for so long
	// counts as legacy, which some also speak: the test would be one of another era.
	options := &host.Options{Poll: 100 * time.Millisecond, ProbeTimeout: time.Minute}
	h, err := host.New(d.in, []*host.Server{d.standing.server}, options)
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	d.h, d.end = h, func() {
		d.t.Helper()
		cancel()
		if err := errors.Join(<-ended, h.Close()); err != nil {
			d.t.Error(err)
		}
	}
}

func (d *hostDesk) restart() {
	d.end()
	d.open()
}

func (d *hostDesk) start(p play) *inbox.Call {
	d.t.Helper()
	call, err := d.h.Start(d.t.Context(), ada, host.NewCall{Server: "desk", Name: p.tool, Arguments: p.arguments})
	if err != nil {
		d.t.Fatal(err)
	}
	return call
}

// A play is a call, what the person answers, and what must come of it.
type play struct {
	tool      string
	arguments json.RawMessage
	answers   map[string]inbox.Answer // by message
	together  bool                    // the questions are open at the same time

	value  string // the result's JSON, structured or as its first text
	text   string // or a part of its texts
	failed bool   // the tool says that it failed
}

// A run is a play once, with one host or two.
type run struct {
	*hostDesk
	play
	pause   func()
	pauseAt int // the question at which to pause, from 1; 0: never

	answered  []string // the questions that were answered, by message
	paused    bool
	suggested map[string]string // what must be filled in by now, by message
}

func (d *hostDesk) newRun(p play) *run { return &run{hostDesk: d, play: p} }

var errPause = errors.New("time for a pause")

// carry answers the call's questions until it has ended, or is uncertain.
func (r *run) carry(call *inbox.Call) *inbox.Call {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute) // far above what it takes: a hang fails
	defer cancel()
	end, err := r.h.Auto(ctx, ada, call.ID, r.answer)
	if errors.Is(err, errPause) {
		r.pause()
		r.paused = true
		end, err = r.h.Auto(ctx, ada, call.ID, r.answer)
	}
	if err != nil && !errors.Is(err, errUncertain) {
		state := "gone"
		if end != nil {
			state = fmt.Sprintf("%s: %s", end.State, host.Explain(end, ""))
		}
		r.t.Fatalf("%v (%s)", err, state)
	}
	return end
}

var errUncertain = errors.New("what became of the call is not known")

// answer is what the person does at a stop.
func (r *run) answer(ctx context.Context, stop *host.Stop) error {
	switch {
	case stop.Why == host.Uncertain:
		return errUncertain
	case stop.Why == host.Blocked && stop.Call.Reason == inbox.ReasonUnreachable:
		return nil // the host tries again
	case stop.Why == host.Held && r.paused:
		return nil // the connection is gone, and the host is about to see it
	case stop.Why != host.Asked && stop.Why != host.Held:
		return fmt.Errorf("the call stands still: %s: %s", stop.Why, host.Explain(stop.Call, ""))
	}
	open, err := r.in.Questions(ctx, ada, inbox.QuestionFilter{Call: stop.Call.ID, States: []inbox.QuestionState{inbox.Open, inbox.Opened}})
	if err != nil {
		return err
	}
	if r.together && len(r.answered)+len(open) < len(r.answers) {
		if stop.Why == host.Held {
			return nil // the other one is on its way
		}
		return fmt.Errorf("%d questions in the round, want %d", len(open), len(r.answers))
	}
	for _, q := range open {
		if r.pauseAt == len(r.answered)+1 && !r.paused {
			return errPause
		}
		if err := r.reply(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) reply(ctx context.Context, q *inbox.Question) error {
	reply, ok := r.answers[q.Message]
	if !ok {
		return fmt.Errorf("nobody expects the question %q", q.Message)
	}
	if want := r.suggested[q.Message]; want != "" && !sameJSON(r.t, q.Suggested, want) {
		return fmt.Errorf("%q comes with %s filled in, want %s", q.Message, q.Suggested, want)
	}
	if q.Mode == inbox.URL && reply.Action == inbox.Accept {
		if strings.HasPrefix(q.URL, "http://127.0.0.1:") { // else it is a page of the world's, and none of this test's
			if err := goTo(ctx, q.URL); err != nil {
				return err
			}
		}
		digest := sha256.Sum256([]byte(q.URL))
		if _, err := r.in.Open(ctx, ada, q.ID, hex.EncodeToString(digest[:])); err != nil {
			return err
		}
	}
	_, err := r.in.Answer(ctx, ada, q.ID, reply)
	if closed, err := r.in.Question(ctx, ada, q.ID); err == nil && closed.State == inbox.Expired {
		return nil // too late, as the card said
	}
	if err != nil {
		return err
	}
	r.answered = append(r.answered, q.Message)
	return nil
}

// goTo goes to a page, as a browser would.
func goTo(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// check reports whether the call ended as the play says.
func (r *run) check(end *inbox.Call) bool {
	r.t.Helper()
	want := inbox.Done
	if r.failed {
		want = inbox.Failed
	}
	if end.State != want || !r.isResult(end.Result) {
		r.t.Errorf("%s: %s %s, want %s with %s%s", end.State, host.Explain(end, ""), end.Result, want, r.value, r.text)
		return false
	}
	if len(r.answered) < len(r.answers) {
		r.t.Errorf("only %q were asked", r.answered)
		return false
	}
	return true
}

func (r *run) isResult(raw json.RawMessage) bool {
	r.t.Helper()
	if r.value == "" {
		return strings.Contains(string(raw), r.text)
	}
	got := result(r.t, raw)
	if got.Value == nil {
		got.Value = json.RawMessage(got.Text)
	}
	return sameJSON(r.t, got.Value, r.value)
}

// became says what became of a call that was cut: one of the designed ends.
func (r *run) became(end *inbox.Call) string {
	r.t.Helper()
	switch {
	case end.State == inbox.Done:
		if r.check(end) {
			return "goes on"
		}
		return "no"
	case end.State == inbox.Lapsed && end.Reason == host.ReasonLapsed && !r.legacy(),
		end.State == inbox.CallExpired && !r.legacy(),
		end.State == inbox.Interrupted && r.legacy(),
		end.State == inbox.Uncertain && r.legacy(),
		// The host told the server that it leaves, and the tool, or the server, gave up.
		end.State == inbox.Failed && r.legacy() && (end.Reason == host.ReasonToolError || end.Reason == host.ReasonServerError):
		return string(end.State)
	}
	r.t.Errorf("the call is %s (%s: %s)", end.State, end.Reason, host.Explain(end, ""))
	return "no"
}

// again does what the person can do with a call that did not go on, and reports
// whether that ends as the play says, with the answers of before filled in.
func (r *run) again(end *inbox.Call) bool {
	r.t.Helper()
	if words := host.Explain(end, ""); !strings.Contains(words, "desk") {
		r.t.Errorf("the person is told %q", words)
	}
	var next *inbox.Call
	var err error
	if end.State == inbox.Uncertain {
		next, err = r.in.Resolve(r.t.Context(), ada, end.ID, inbox.SendAgain, "")
	} else {
		next, err = r.in.RunAgain(r.t.Context(), ada, end.ID, "")
	}
	if err != nil {
		r.t.Errorf("running it again: %v", err)
		return false
	}
	second := r.newRun(r.play)
	second.suggested = map[string]string{}
	for message, reply := range r.answers {
		if slices.Contains(r.answered, message) {
			second.suggested[message] = string(reply.Content)
		}
	}
	return second.check(second.carry(next))
}
