package host_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

func init() {
	for _, m := range hosttest.Misbehaviours() {
		if m.Stdio {
			programs["misbehaves: "+m.Name] = m.Script
		}
	}
}

// An end is where a call to a misbehaving server comes to rest, for a person
// who answers all that they are asked.
type end struct {
	state    inbox.CallState // empty: no call can be made
	reason   string          // of a call that failed, lapsed or is blocked
	sentence string          // what the person is told, or the beginning of it; of a call that is done, a part of its result
}

const noReply = inbox.ReasonNoReply // what the inbox says of every uncertain call

var (
	cut       = end{inbox.Uncertain, noReply, "The connection to shop ended before it answered; whether the work was done is not known."}
	silence   = end{inbox.Uncertain, noReply, "shop gave no sign of life for too long; whether the work was done is not known."}
	endless   = end{inbox.Uncertain, noReply, "shop said for too long that it was at work; whether the work was done is not known."}
	tooMuch   = end{inbox.Uncertain, noReply, "shop answered with more than is accepted, so its answer was not read; whether the work was done is not known."}
	noMessage = end{inbox.Uncertain, noReply, "shop answered with something that is no message of the protocol; whether the work was done is not known."}
	changed   = end{inbox.Blocked, inbox.ReasonServerChanged, "shop, or its tool, has changed since the call was made, so the call cannot go on; run it again to start anew."}
	rounds    = end{inbox.Failed, inbox.ReasonTooManyRounds, "shop asked "}
	works     = end{inbox.Done, "", `"text":"ok"`}

	mute       = cannot("it did not answer in time")
	large      = cannot("it sent more than is accepted")
	noServer   = cannot("it did not answer as an MCP server")
	noRevision = cannot("it speaks no revision of the protocol that is known here")
)

func cannot(why string) end { return end{"", "", why} }

func failed(reason, sentence string) end { return end{inbox.Failed, reason, sentence} }

// late reports whether it takes the host's patience to get there.
func (e end) late() bool { return e == silence || e == endless || e == mute }

// outcomes has a row for each misbehaviour; a name that begins with "program: "
// is what becomes of it there, where that differs.
var outcomes = map[string]end{
	"dies when it is asked what it is":                cannot("it closed the connection"),
	"program: dies when it is asked what it is":       cannot("its program ended (exit status 3)"),
	"dies of a first message that is not initialize":  works, // it is older, and gets another process
	"dies while its question is open":                 cut,
	"state, and says that it is done":                 failed(host.ReasonAskedInVain, "shop asked a further question in a place where it cannot be answered"),
	"one page for ever, older":                        rounds,
	"other pages for ever, older":                     rounds,
	"dies when its tools are listed":                  cannot("it closed the connection"),
	"program: dies when its tools are listed":         cannot("its program ended (exit status 3)"),
	"dies in a call":                                  cut,
	"dies in a call, older":                           cut,
	"dies when it goes on":                            cut,
	"dies when it has the answer":                     cut,
	"half a frame, then it dies":                      cut,
	"closes its output and stays":                     cut,
	"silent when it is asked what it is":              mute,
	"silent on discover alone":                        works, // it is older
	"floods with pings":                               works,
	"floods with pings, older":                        works,
	"floods with cancellations":                       works,
	"floods with completions":                         works,
	"202 when it is asked what it is":                 noServer,
	"a page when it is asked what it is":              noServer,
	"202 in the place of a reply":                     noMessage,
	"slow when it is first asked what it is":          works,
	"answers discover in a stream that stays open":    works,
	"202 on discover alone":                           works,
	"204 on discover alone":                           works,
	"a page on discover alone":                        works,
	"prose on discover alone":                         works,
	"an empty stream on discover alone":               works,
	"comments for ever on discover alone":             works,
	"headers for ever on discover alone":              works,
	"a body byte by byte on discover alone":           works,
	"an error byte by byte on discover alone":         works,
	"dies on discover alone":                          works,
	"silent when its tools are listed":                mute,
	"silent in a call":                                silence,
	"silent when it goes on":                          silence,
	"half a frame, then silence":                      silence,
	"progress for ever":                               endless,
	"junk for ever":                                   silence,
	"answers twice":                                   {inbox.Done, "", `"text":"first"`},
	"answers another request":                         noMessage,
	"program: answers another request":                silence,
	"answers under an id like ours":                   noMessage,
	"program: answers under an id like ours":          silence,
	"answers and fails at once":                       noMessage,
	"answers with a batch":                            noMessage,
	"program: answers with a batch":                   silence,
	"answers with prose":                              noMessage,
	"program: answers with prose":                     silence,
	"a page in the place of a reply":                  noMessage,
	"asks for ever":                                   rounds,
	"asks the same for ever":                          rounds,
	"asks for ever, older":                            rounds,
	"wants to be asked for ever":                      rounds,
	"asks after the end":                              works,
	"asks twice under one id":                         {inbox.Done, "", `accept`},
	"takes its question back":                         works,
	"asks a hundred things at once":                   failed(inbox.ReasonTooManyQuestions, "shop asks too many questions at once."),
	"asks a thousand at once":                         failed(inbox.ReasonTooLarge, "shop sent more than is accepted; the call has ended."),
	"floods with questions":                           rounds,
	"floods with notifications":                       works,
	"talks without end on its standard error":         works,
	"a huge schema":                                   tooMuch,
	"a huge schema, older":                            tooMuch,
	"a large schema":                                  works, // nobody can answer it, but decline
	"a deep schema":                                   works,
	"a deeper schema":                                 tooMuch,
	"a schema of many fields":                         works,
	"a huge request state":                            tooMuch,
	"a huge result":                                   tooMuch,
	"a deep result":                                   tooMuch,
	"a huge error":                                    tooMuch,
	"a deep error":                                    tooMuch,
	"modern, and calls back":                          {inbox.Done, "", `-32601`},
	"older, and asks in its result":                   failed(host.ReasonAskedInVain, "shop asked a further question in a place where it cannot be answered"),
	"discovers a revision of its own":                 noRevision,
	"initializes a revision of its own":               noRevision,
	"initializes as modern":                           noServer,
	"program: initializes as modern":                  works, // it does speak it
	"forgets what it speaks":                          failed(host.ReasonServerError, "shop answered with an error: unsupported protocol version."),
	"becomes a server of an older revision":           changed,
	"refuses the revision of before":                  changed,
	"changes its tools":                               changed,
	"loses its tools":                                 changed,
	"loses its key":                                   {inbox.Lapsed, host.ReasonLapsed, "shop no longer accepts this paused work; run it again to start anew."},
	"lists pages for ever":                            cannot("its list of tools has more than 100 pages"),
	"lists the same page for ever":                    cannot("its list of tools has more than 100 pages"),
	"lists too many tools":                            cannot("it lists more than 5000 tools"),
	"lists heavy pages for ever":                      cannot("its list of tools is larger than 8 MiB"),
	"lists a huge page":                               large,
	"lists a deep schema":                             large,
	"lists what is no list":                           noServer,
	"program: lists what is no list":                  cannot("its program did not answer as an MCP server"),
	"headers for ever when it is asked what it is":    mute,
	"a body byte by byte when it is asked what it is": mute,
	"comments for ever when it is asked what it is":   mute,
	"a line byte by byte when it is asked what it is": mute,
	"a body without end when it is asked what it is":  large,
	"a gzip bomb when it is asked what it is":         large,
	"headers for ever when its tools are listed":      mute,
	"a body byte by byte when its tools are listed":   mute,
	"a line byte by byte when its tools are listed":   mute,
	"a gzip bomb when its tools are listed":           large,
	"headers for ever in a call":                      silence,
	"headers for ever when it goes on":                silence,
	"a body byte by byte in a call":                   silence,
	"a line byte by byte in a call":                   silence,
	"an error byte by byte":                           silence,
	"comments for ever in a call":                     silence,
	"a body that promises more than comes":            silence,
	"a comment without end in a call":                 tooMuch,
	"an event without end in a call":                  tooMuch,
	"a body without end in a call":                    tooMuch,
	"a line without end in a call":                    tooMuch,
	"a gzip bomb in a call":                           tooMuch,
	"a gzip bomb of events in a call":                 tooMuch,
	"a gzip bomb of an error":                         cut,
	"an error without end":                            cut,
	"cuts its response again and again":               works,
	"asks again when it is resumed":                   works,
	"cuts its response and cannot resume it":          cut,
	"cuts its response and knows no session":          cut,
	"cuts its response and is broken from then":       silence,
	"wants to be resumed for ever":                    silence,
}

// TestMisbehaviour plays every misbehaviour of hosttest on every transport that
// it has: nothing hangs, what is read is bounded, and where the call comes to
// rest is one of the states of the design, with a sentence for the person.
// It is not parallel, so that what is allocated meanwhile is its own.
func TestMisbehaviour(t *testing.T) { //nolint:paralleltest // see above
	seen := map[string]bool{}
	late := map[string]func(t *testing.T){}
	for _, m := range hosttest.Misbehaviours() {
		play := func(kind string, want end, server func(t *testing.T) *host.Server) {
			name, run := kind+"/"+m.Name, func(t *testing.T) { misbehaves(t, server(t), want) }
			if want.late() {
				late[name] = run
				return
			}
			t.Run(name, func(t *testing.T) { bounded(t, run) })
		}
		want, ok := outcomes[m.Name]
		if !ok {
			t.Errorf("%q has no row", m.Name)
		}
		seen[m.Name] = true
		if m.HTTP {
			play("http", want, func(t *testing.T) *host.Server { s, _ := web(t, "shop", m.Script); return s })
		}
		if m.Stdio {
			if other, ok := outcomes["program: "+m.Name]; ok {
				want = other
				seen["program: "+m.Name] = true
			}
			play("stdio", want, func(t *testing.T) *host.Server { return program(t, "shop", "misbehaves: "+m.Name) })
		}
	}
	for name := range outcomes {
		if !seen[name] {
			t.Errorf("a row for %q, which is no misbehaviour", name)
		}
	}
	bounded(t, func(t *testing.T) { // those that wait do so together
		t.Run("late", func(t *testing.T) {
			for name, run := range late {
				t.Run(name, func(t *testing.T) { t.Parallel(); run(t) })
			}
		})
	})
}

// readAtMost is what the host of the test reads of one message, in bytes.
const readAtMost = 1 << 20

// bounded runs f and looks at all that was allocated meanwhile, by the servers
// over HTTP too. What has no end in the scripts goes far beyond.
func bounded(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	const most = 400 << 20
	before := allocated()
	f(t)
	if now := allocated() - before; now > most {
		t.Errorf("allocated %d MiB", now>>20)
	}
}

func misbehaves(t *testing.T, s *host.Server, want end) {
	t.Helper()
	// Where time is not what ends it, there is enough of it, and if it hangs the test fails.
	send, list, start := time.Minute, time.Minute, time.Minute
	switch want {
	case silence:
		send = 250 * time.Millisecond
	case endless: // signs of progress come in time, also where all tests run at once
		send = 2 * time.Second
	case mute:
		list, start = 250*time.Millisecond, time.Second
		if s.Kind() == host.Stdio { // it starts first
			start = 3 * time.Second
		}
	}
	s.SendTimeout = send
	r := newRig(t, nil, &rigOptions{
		host:  host.Options{MaxMessage: readAtMost, ConnectTimeout: start, ListTimeout: list, ProbeTimeout: 500 * time.Millisecond, Grace: 100 * time.Millisecond},
		inbox: inbox.Options{Rounds: 2, OpenQuestions: 20},
	}, s)
	got := r.rests(s.ID)
	fits := strings.HasPrefix(got.sentence, want.sentence)
	if want.state == inbox.Done {
		fits = strings.Contains(got.sentence, want.sentence)
	}
	if got.state != want.state || got.reason != want.reason || want.sentence == "" || !fits {
		t.Errorf("%#v\nwant %#v", got, want)
	}
	if want.state != inbox.Done && (len(got.sentence) > 500 || strings.ContainsAny(got.sentence, "\n\x1b")) {
		t.Errorf("no sentence: %q", got.sentence)
	}
	if n := len(r.open("")); n != 0 && got.state != inbox.Blocked {
		t.Errorf("%d questions are still open", n)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// rests makes a call and answers all questions until nobody has anything to do.
func (r *rig) rests(server string) end {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute) // what is endless takes 24 seconds
	defer cancel()
	call, err := r.Start(ctx, ada, host.NewCall{Conversation: "v_1", Server: server, Name: "tool"})
	if u := (*host.UnreachableError)(nil); errors.As(err, &u) {
		return cannot(u.Why)
	} else if err != nil {
		r.t.Fatalf("Start: %v", err)
	}
	for {
		stop, err := r.Step(ctx, ada, call.ID)
		if err != nil {
			r.t.Fatalf("Step: %v", err)
		}
		c := stop.Call
		switch {
		case stop.Why == host.Asked || stop.Why == host.Held:
			for _, q := range r.open(call.ID) {
				r.reply(ctx, q)
			}
		case c.State == inbox.Done:
			return end{c.State, "", string(c.Result)}
		default:
			return end{c.State, c.Reason, host.Explain(c, "")}
		}
	}
}

// reply answers a question, and declines what cannot be answered.
func (r *rig) reply(ctx context.Context, q *inbox.Question) {
	r.t.Helper()
	if q.Mode == inbox.URL {
		if _, err := r.in.Open(ctx, ada, q.ID, digestOf(q.URL)); err != nil {
			r.t.Fatalf("Open: %v", err)
		}
	}
	var err error
	for _, a := range []inbox.Answer{
		{Action: inbox.Accept, Content: []byte(`{"name":"Ada"}`)}, {Action: inbox.Accept, Content: []byte(`{}`)},
		{Action: inbox.Accept}, {Action: inbox.Decline},
	} {
		a.Via = "test"
		if _, err = r.in.Answer(ctx, ada, q.ID, a); err == nil || errors.Is(err, inbox.ErrClosed) {
			return
		}
	}
	r.t.Fatalf("Answer: %v", err)
}
