package inbox_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
)

// exploreDeep in the environment makes TestExplore go further: more rounds,
// more questions, more deaths. It takes some three minutes on two cores that
// have nothing else to do.
const exploreDeep = "PARLEY_EXPLORE_DEEP"

// maxStates bounds a scene, and with it the time and the memory that the test
// takes: a scene that has more is to be made smaller, or its states told apart
// by less. The largest has some 80,000; 15,000 steps are judged in a second.
const maxStates = 200_000

// scene is a small world: one call, two machines that may carry it, two
// answerers of its person at two pages, a server, and the time.
type scene struct {
	name   string
	era    inbox.Era
	asks   [][]inbox.NewQuestion // what the server may ask: at first the first, then one of these
	blocks bool                  // calls may be blocked
	alone  bool                  // there is one machine, not two
	rounds int                   // how often it may ask
	agains int                   // how often it may send state without questions
	limit  time.Duration         // the server's deadline for each round; zero: none
	resend int                   // how often a machine may send again by itself
	known  time.Duration         // how long after the call was composed it may; zero: for ever
	deaths int                   // at most so many of a claim in a row, beside those of the beginning
	lost   int                   // deaths at the beginning
	begins inbox.CallState       // as which the call is composed; empty: ready
	policy bool                  // it may change at any time: allow, ask or deny
	leaves bool                  // the person may be disabled, and enabled again
	stands bool                  // an approval that was given for always covers the call, and may be revoked
	pages  bool                  // a legacy server wants pages visited (-32042), and says when a person is done there
}

// reach is an arrow that a step went along. A completion is a question that its
// server closed as accepted.
type reach struct{ kind, from, to string }

func scenes(deep bool) []scene {
	a, b := formQuestion("a"), formQuestion("b")
	if deep {
		return []scene{
			{name: "parked", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, blocks: true, rounds: 2, agains: 1, resend: 1, deaths: 1},
			{name: "two questions", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a, b}}, blocks: true, rounds: 1},
			{name: "deadline", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, blocks: true, rounds: 1, agains: 1, resend: 1, limit: time.Minute, deaths: 1},
			{name: "address", era: inbox.Modern, asks: [][]inbox.NewQuestion{{urlQuestion(1)}, {urlQuestion(2)}}, blocks: true, rounds: 2},
			// Two questions on one connection, each answered, delivered or not when its
			// owner dies; and a second machine that takes over. Both at once are
			// millions of states, and a connection has one owner.
			{name: "held", era: inbox.Legacy, asks: [][]inbox.NewQuestion{{a}, {b}}, alone: true, rounds: 2},
			{name: "pages", era: inbox.Legacy, asks: [][]inbox.NewQuestion{{pageQuestion(1)}, {pageQuestion(2)}}, pages: true, rounds: 2},
			{name: "approval", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, begins: inbox.Approving, policy: true, rounds: 1},
			{name: "held approval", era: inbox.Legacy, asks: [][]inbox.NewQuestion{{a}}, policy: true, alone: true, rounds: 1},
			{name: "disabled", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, begins: inbox.Approving, policy: true, leaves: true, alone: true, blocks: true, rounds: 1},
			{name: "held, disabled", era: inbox.Legacy, asks: [][]inbox.NewQuestion{{a}}, leaves: true, alone: true, rounds: 1},
			{name: "standing", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, policy: true, stands: true, rounds: 1},
			{name: "held, standing", era: inbox.Legacy, asks: [][]inbox.NewQuestion{{a}}, policy: true, stands: true, alone: true, rounds: 1},
			{name: "sent again", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, blocks: true, rounds: 1, agains: 1, resend: 2, known: time.Minute},
			{name: "forbidden", begins: inbox.Denied},
			{name: "held, taken over", era: inbox.Legacy, asks: [][]inbox.NewQuestion{{a}}, rounds: 1, deaths: 1},
		}
	}
	return []scene{
		{name: "parked", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, blocks: true, rounds: 1, lost: 7},
		{name: "deadline", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, blocks: true, rounds: 1, limit: time.Minute},
		{name: "address", era: inbox.Modern, asks: [][]inbox.NewQuestion{{urlQuestion(1)}, {urlQuestion(2)}}, alone: true, rounds: 2},
		{name: "held", era: inbox.Legacy, asks: [][]inbox.NewQuestion{{a}}, alone: true, rounds: 1, policy: true},
		{name: "pages", era: inbox.Legacy, asks: [][]inbox.NewQuestion{{pageQuestion(1)}}, pages: true, alone: true, rounds: 2},
		{name: "approval", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, begins: inbox.Approving, policy: true, alone: true, rounds: 1},
		{name: "disabled", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, begins: inbox.Approving, leaves: true, alone: true, blocks: true, rounds: 1},
		{name: "standing", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, stands: true, alone: true, rounds: 1},
		{name: "held, standing", era: inbox.Legacy, asks: [][]inbox.NewQuestion{{a}}, stands: true, alone: true, rounds: 1},
		{name: "sent again", era: inbox.Modern, asks: [][]inbox.NewQuestion{{a}}, blocks: true, alone: true, rounds: 1, resend: 2, known: time.Minute},
		{name: "forbidden", begins: inbox.Denied},
	}
}

// TestExplore goes through all interleavings of everything that can happen in
// a scene, transaction by transaction, and holds each step against the rules
// that no sequence of events may break. States that differ in nothing that a
// rule looks at are one.
func TestExplore(t *testing.T) {
	t.Parallel()
	deep := os.Getenv(exploreDeep) != ""
	var mu sync.Mutex
	reached := map[reach]bool{}
	states, steps := 0, 0
	t.Run("scene", func(t *testing.T) {
		for _, s := range scenes(deep) {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				e := newExplorer(t, s)
				e.run()
				if t.Failed() {
					return
				}
				e.ends()
				t.Logf("%d states, %d steps; the longest way has %d", len(e.points), e.steps, e.points[len(e.points)-1].depth)
				mu.Lock()
				defer mu.Unlock()
				for arrow := range e.reached {
					reached[arrow] = true
				}
				states, steps = states+len(e.points), steps+e.steps
			})
		}
	})
	// Every arrow can be seen.
	seen, all := 0, 0
	for kind, arrows := range map[string][]inbox.Arrow{
		"call": inbox.CallArrows(), "question": inbox.QuestionArrows(), "approval": inbox.ApprovalArrows(),
		"completion": {{From: string(inbox.Open), To: string(inbox.Accepted)}, {From: string(inbox.Opened), To: string(inbox.Accepted)}},
	} {
		for _, a := range arrows {
			all++
			if reached[reach{kind, a.From, a.To}] {
				seen++
			} else {
				t.Errorf("no way leads along %s: %s -> %s (%s)", kind, a.From, a.To, a.Why)
			}
		}
	}
	t.Logf("%d states, %d steps, %d of %d arrows", states, steps, seen, all)
}

// point is one state of the scene.
type point struct {
	world
	depth int
	from  *point // the state that it was first reached from
	op    string // by this step
	ended bool
	cut   bool // it has steps that were left out to keep the scene small
}

type edge struct {
	to int
	op string
}

type explorer struct {
	t       *testing.T
	scene   scene
	keys    *inbox.Keys
	hints   inbox.Notifier
	ann     inbox.Principal
	points  []*point
	index   map[[sha256.Size]byte]int
	edges   [][]edge
	steps   int
	reached map[reach]bool
}

func newExplorer(t *testing.T, s scene) *explorer {
	e := &explorer{
		t: t, scene: s, keys: inbox.NewKeys(), hints: inbox.NewLocal(), ann: inbox.Principal{Issuer: "i", Subject: "ann"},
		index: map[[sha256.Size]byte]int{}, reached: map[reach]bool{},
	}
	w := world{store: memstore.New(nil), now: time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC)}
	w = e.enter(w)
	n := inbox.NewCall{Server: "s", Method: "tools/call", Name: "n"}
	switch s.begins {
	case inbox.Approving:
		n.Ask = &policyAsk
	case inbox.Denied:
		n.Deny = &inbox.Denial{Rule: "never"}
	}
	if s.stands {
		n.Ask = &policyAsk
		w.standing = e.standing(&w, n)
	}
	c, err := w.in[0].Compose(t.Context(), e.ann, n)
	if err != nil {
		t.Fatal(err)
	}
	w.call = c.ID
	e.reached[reach{"call", string(inbox.CallNew), string(c.State)}] = true
	for range s.lost {
		if _, _, err := w.in[1].Claim(t.Context(), e.ann, c.ID); err != nil {
			t.Fatal(err)
		}
		w.ghost.claims++
		w = e.later(w, w.now.Add(time.Minute))
		if _, err := w.in[0].Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.seen = e.look(&w)
	e.add(&point{world: w})
	return e
}

// run visits every state once, nearest first, so that the way to a fault is
// the shortest.
func (e *explorer) run() {
	for next := 0; next < len(e.points) && !e.t.Failed(); next++ {
		if len(e.points) > maxStates {
			e.t.Fatalf("%d states and no end, at %s: the scene is too large", len(e.points), e.points[next].way())
		}
		p := e.points[next]
		list, cut := e.stepsAt(p)
		p.cut = cut
		for _, s := range list {
			to := &point{world: e.enter(p.world), depth: p.depth + 1, from: p, op: s.name}
			err := s.do(&to.world)
			e.steps++
			if to.written() { // most steps are refused and leave everything as it was
				to.seen = e.look(&to.world)
				to.doubt(p)
			}
			e.judge(p, to, err)
			if e.t.Failed() {
				return
			}
			e.edges[next] = append(e.edges[next], edge{e.add(to), s.name})
		}
		p.world = world{} // only what is ahead needs its rows
	}
}

// add returns the number of the state, which may be an old one.
func (e *explorer) add(p *point) int {
	key := sha256.Sum256([]byte(e.key(p)))
	if i, ok := e.index[key]; ok {
		return i
	}
	p.ended = p.seen.call.State.Ended()
	e.index[key] = len(e.points)
	e.points = append(e.points, p)
	e.edges = append(e.edges, nil)
	return len(e.points) - 1
}

// ends checks that from every state an end can be reached, and without help
// of a person who stops the call.
func (e *explorer) ends() {
	before := make([][]int, len(e.points))
	for from, list := range e.edges {
		for _, edge := range list {
			if edge.op != "stop" {
				before[edge.to] = append(before[edge.to], from)
			}
		}
	}
	ends := make([]bool, len(e.points))
	var queue []int
	for i, p := range e.points {
		if p.ended || p.cut {
			ends[i] = true
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, from := range before[i] {
			if !ends[from] {
				ends[from] = true
				queue = append(queue, from)
			}
		}
	}
	for i, p := range e.points {
		if !ends[i] {
			e.t.Fatalf("no way leads to an end after %s", p.way())
		}
	}
}

// way tells how the state was reached.
func (p *point) way() string {
	var ops []string
	for q := p; q.from != nil; q = q.from {
		ops = append(ops, q.op)
	}
	slices.Reverse(ops)
	return fmt.Sprintf("%d steps %q", len(ops), ops)
}
