// Package storebench measures stores of package inbox: how fast a cycle is
// beside its floor, how long a resume takes beside many open questions, and
// what a parked call holds. The stores bring what only they can: a floor that
// writes rows, and a database that is full already.
//
//	func BenchmarkCycle(b *testing.B) {
//		storebench.Cycle(b, open(b), func(t *storebench.Transaction) { ... }) // writes its rows and commits
//	}
//
//	func BenchmarkAnswerToResume(b *testing.B) {
//		storebench.AnswerToResume(b, func(open int) inbox.Store { return filled(b, open) })
//	}
package storebench

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// New returns an inbox in which one person may be asked as often as a
// benchmark likes.
func New(store inbox.Store) *inbox.Inbox {
	return inbox.New(store, inbox.NewKeys(), &inbox.Options{OpenQuestions: 1 << 30, QuestionsPerMinute: 1 << 30, Rounds: 1 << 30})
}

// Person is the n-th of those who are asked: how much was asked of one in the
// last minute is counted, and is little, as it is outside of a benchmark.
func Person(n int) inbox.Principal {
	return inbox.Principal{Issuer: "i", Subject: fmt.Sprint("ann ", n)}
}

// Must ends the test or benchmark on an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Waiting composes a call of the person, sends it, and parks what its server asks.
func Waiting(tb testing.TB, in *inbox.Inbox, p inbox.Principal, n int) *inbox.Question {
	tb.Helper()
	ctx := context.Background()
	c, err := in.Compose(ctx, p, inbox.NewCall{Server: "s", Method: "tools/call", Arguments: []byte(`{"to":"Oslo"}`)})
	Must(tb, err)
	claim, _, err := in.Claim(ctx, p, c.ID)
	Must(tb, err)
	_, err = in.Mark(ctx, claim, inbox.Binding{Era: inbox.Modern})
	Must(tb, err)
	park(tb, in, claim, n)
	return asked(tb, in, claim)
}

// park stores the server's n-th round.
func park(tb testing.TB, in *inbox.Inbox, claim *inbox.Claim, n int) {
	tb.Helper()
	_, err := in.Park(context.Background(), claim, inbox.Asked{RequestState: "opaque", Questions: []inbox.NewQuestion{{
		Key: fmt.Sprint("k", n), Params: json.RawMessage(fmt.Sprintf(
			`{"message":"Which seat, time %d?","requestedSchema":{"type":"object","properties":{"seat":{"type":"string"}},"required":["seat"]}}`, n)),
	}}})
	Must(tb, err)
}

// asked is what the person's surface shows.
func asked(tb testing.TB, in *inbox.Inbox, claim *inbox.Claim) *inbox.Question {
	tb.Helper()
	list, err := in.Questions(context.Background(), claim.Principal, inbox.QuestionFilter{Call: claim.Call, Limit: 1})
	Must(tb, err)
	return list[0]
}

// Resume answers and brings the call to the wire again: three transactions.
func Resume(tb testing.TB, in *inbox.Inbox, q *inbox.Question) *inbox.Claim {
	tb.Helper()
	ctx := context.Background()
	_, err := in.Answer(ctx, q.Principal, q.ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"seat":"12A"}`)})
	Must(tb, err)
	claim, _, err := in.ClaimNext(ctx, nil)
	Must(tb, err)
	_, err = in.Answers(ctx, claim)
	Must(tb, err)
	_, err = in.Mark(ctx, claim, inbox.Binding{})
	Must(tb, err)
	return claim
}

const (
	turn   = 20 // cycles
	rounds = 5  // of one call
)

// Cycle parks, answers and resumes one call after the other, in turns with the
// floor: a plain loop that writes the same rows, recorded from a cycle of the
// inbox, in as many durable transactions, and looks at nothing. of-floor is how
// fast the inbox is beside it: 1 is as fast.
func Cycle(b *testing.B, store inbox.Store, floor func(*Transaction)) {
	in := New(store)
	plain := record(b, store)
	var own, least time.Duration
	var ratios []float64
	cycles := 0
	for i := 0; b.Loop(); i++ {
		// A turn of each; what shares the machine meets both alike.
		var took time.Duration
		for n := range turn / rounds {
			q := Waiting(b, in, Person(i*turn+n), 0)
			for round := range rounds {
				start := time.Now()
				claim := Resume(b, in, q)
				park(b, in, claim, round+1)
				took += time.Since(start)
				q = asked(b, in, claim)
			}
		}
		var bare time.Duration
		for n := range turn {
			cycle := plain.cycle(i*turn+n, rounds)
			start := time.Now()
			for _, t := range cycle {
				floor(t)
			}
			bare += time.Since(start)
		}
		own, least = own+took, least+bare
		ratios = append(ratios, float64(bare)/float64(took))
		cycles += turn
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "of-floor") // the median of the turns
	b.ReportMetric(float64(cycles)/own.Seconds(), "cycles/s")
	b.ReportMetric(float64(cycles)/least.Seconds(), "floor-cycles/s")
}

// AnswerToResume measures from the person's answer to the committed mark of
// the resume, while so many other questions are open: in turns, so that what
// shares the machine meets all alike.
func AnswerToResume(b *testing.B, filled func(open int) inbox.Store) {
	sizes := []int{1_000, 100_000, 1_000_000}
	inboxes := make([]*inbox.Inbox, len(sizes))
	for i, open := range sizes {
		inboxes[i] = New(filled(open))
	}
	times := make([][]time.Duration, len(sizes))
	for n := 0; b.Loop(); n++ {
		for turn := range 100 {
			for i, in := range inboxes {
				q := Waiting(b, in, Person(100*n+turn), n)
				start := time.Now()
				Resume(b, in, q)
				times[i] = append(times[i], time.Since(start))
			}
		}
	}
	of := func(i, percent int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])*percent/100].Microseconds())
	}
	for i, open := range sizes {
		b.ReportMetric(of(i, 50), fmt.Sprint("p50-", open, "-µs"))
		b.ReportMetric(of(i, 99), fmt.Sprint("p99-", open, "-µs"))
		b.ReportMetric(of(i, 99)/of(0, 99), fmt.Sprint("p99-", open, "-of-first"))
	}
}

// ParkedTakesNoGoroutine holds that what waits for a person waits in the store
// alone. It counts goroutines, and so runs beside no other test.
func ParkedTakesNoGoroutine(t *testing.T, store inbox.Store) {
	in := New(store)
	Waiting(t, in, Person(0), 0) // connections are open, statements prepared
	before := runtime.NumGoroutine()
	for n := range 100 {
		Waiting(t, in, Person(0), n)
	}
	// Some come and go by themselves (the driver's, the runtime's); one for each
	// call would be a hundred.
	if after := runtime.NumGoroutine(); after > before+10 {
		t.Errorf("100 parked calls: %d goroutines became %d", before, after)
	}
}

// ManyOpenQuestions holds that beside so many open questions a person asks and
// answers as beside none, lists their own and nobody else's, and a machine finds
// what is due.
func ManyOpenQuestions(t *testing.T, store inbox.Store, open int) {
	count := func() int {
		n, err := store.CountQuestions(t.Context(), 10*open)
		Must(t, err)
		return n
	}
	if n := count(); n != open {
		t.Fatalf("%d open questions", n)
	}
	in, p := New(store), Person(1)
	q := Waiting(t, in, p, 1)
	list, err := in.Questions(t.Context(), p, inbox.QuestionFilter{States: []inbox.QuestionState{inbox.Open}})
	Must(t, err)
	if len(list) != 1 || list[0].ID != q.ID {
		t.Errorf("%d questions of the person", len(list))
	}
	if claim := Resume(t, in, q); claim.Call != q.Call {
		t.Errorf("claimed %s, want %s", claim.Call, q.Call)
	}
	next, err := in.Sweep(t.Context())
	Must(t, err)
	if next == 0 {
		t.Error("nothing is planned beside so many questions")
	}
	if n := count(); n != open {
		t.Errorf("%d open questions afterwards", n)
	}
}
