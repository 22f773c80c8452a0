package sqlitestore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// unlimited lets one person be asked as often as a benchmark likes.
var unlimited = &inbox.Options{OpenQuestions: 1 << 30, QuestionsPerMinute: 1 << 30, Rounds: 1 << 30}

// person is the n-th of those who are asked: how much was asked of one in the
// last minute is counted, and is little, as it is outside of a benchmark.
func person(n int) inbox.Principal {
	return inbox.Principal{Issuer: "i", Subject: fmt.Sprint("ann ", n)}
}

// asking is a server's n-th round.
func asking(n int) inbox.Asked {
	return inbox.Asked{RequestState: "opaque", Questions: []inbox.NewQuestion{{Key: fmt.Sprint("k", n), Params: json.RawMessage(fmt.Sprintf(
		`{"message":"Which seat, time %d?","requestedSchema":{"type":"object","properties":{"seat":{"type":"string"}},"required":["seat"]}}`, n))}}}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// waiting parks a call and returns its question.
func waiting(tb testing.TB, in *inbox.Inbox, p inbox.Principal, n int) *inbox.Question {
	tb.Helper()
	ctx := context.Background()
	c, err := in.Compose(ctx, p, inbox.NewCall{Server: "s", Method: "tools/call", Arguments: []byte(`{"to":"Oslo"}`)})
	must(tb, err)
	claim, _, err := in.Claim(ctx, p, c.ID)
	must(tb, err)
	_, err = in.Mark(ctx, claim, inbox.Binding{Era: inbox.Modern})
	must(tb, err)
	return park(tb, in, claim, n)
}

func park(tb testing.TB, in *inbox.Inbox, claim *inbox.Claim, n int) *inbox.Question {
	tb.Helper()
	_, err := in.Park(context.Background(), claim, asking(n))
	must(tb, err)
	list, err := in.Questions(context.Background(), claim.Principal, inbox.QuestionFilter{Call: claim.Call, Limit: 1})
	must(tb, err)
	return list[0]
}

// resume answers and brings the call to the wire again: three transactions.
func resume(tb testing.TB, in *inbox.Inbox, q *inbox.Question) *inbox.Claim {
	tb.Helper()
	ctx := context.Background()
	_, err := in.Answer(ctx, q.Principal, q.ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"seat":"12A"}`)})
	must(tb, err)
	claim, _, err := in.ClaimNext(ctx, nil)
	must(tb, err)
	_, err = in.Answers(ctx, claim)
	must(tb, err)
	_, err = in.Mark(ctx, claim, inbox.Binding{})
	must(tb, err)
	return claim
}

// BenchmarkCycle parks, answers and resumes one call after the other, in turns
// with the floor: a plain loop on the same driver, with the same settings, that
// writes as many bytes into the same tables in as many durable transactions.
// of-floor is how fast it is beside the floor: 1 is as fast.
func BenchmarkCycle(b *testing.B) {
	store, err := sqlitestore.Open(filepath.Join(b.TempDir(), "inbox.db"), nil)
	must(b, err)
	defer store.Close()
	in := inbox.New(store, inbox.NewKeys(), unlimited)
	q := waiting(b, in, person(0), 0)
	floor := newFloor(b, store, q)
	const turn = 20
	var own, least time.Duration
	var ratios []float64
	cycles := 0
	for i := 0; b.Loop(); i++ {
		// A turn of each; what shares the machine meets both alike.
		start := time.Now()
		for n := range turn {
			if n == 0 { // a call with few questions, as calls are
				q = waiting(b, in, person(i+1), n)
				start = time.Now()
			}
			q = park(b, in, resume(b, in, q), n+1)
		}
		took := time.Since(start)
		start = time.Now()
		for n := range turn {
			floor.cycle(b, i*turn+n)
		}
		plain := time.Since(start)
		own, least = own+took, least+plain
		ratios = append(ratios, float64(plain)/float64(took))
		cycles += turn
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "of-floor") // the median of the turns
	b.ReportMetric(float64(cycles)/own.Seconds(), "cycles/s")
	b.ReportMetric(float64(cycles)/least.Seconds(), "floor-cycles/s")
}

// floor writes rows without looking at them.
type floor struct {
	conn                       *sql.Conn
	call, question, seq, event *sql.Stmt
	detail, content            [2][]byte
}

func newFloor(b *testing.B, store *sqlitestore.Store, q *inbox.Question) *floor {
	path := filepath.Join(b.TempDir(), "floor.db")
	empty, err := sqlitestore.Open(path, nil) // the same tables
	must(b, err)
	must(b, empty.Close())
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=synchronous(full)&_pragma=foreign_keys(1)")
	must(b, err)
	b.Cleanup(func() { db.Close() })
	ctx := context.Background()
	f := &floor{}
	f.conn, err = db.Conn(ctx)
	must(b, err)
	b.Cleanup(func() { f.conn.Close() })
	_, err = f.conn.ExecContext(ctx, `INSERT INTO inbox_principals (id, key) VALUES (1, 'ann')`)
	must(b, err)
	for query, stmt := range map[string]**sql.Stmt{
		`INSERT INTO inbox_calls VALUES (?, 1, ?, '', 's', ?, 1, '', NULL, NULL, 1, 1, NULL, ?, ?)
			ON CONFLICT (id) DO UPDATE SET state = excluded.state, detail = excluded.detail, content = excluded.content`: &f.call,
		`INSERT INTO inbox_questions VALUES (?, 1, ?, ?, '', 's', ?, 1, ?, 1, NULL, ?, ?)
			ON CONFLICT (id) DO UPDATE SET state = excluded.state, due = excluded.due, detail = excluded.detail, content = excluded.content`: &f.question,
		`UPDATE inbox_principals SET last_event = last_event + 1 WHERE id = 1`:                        &f.seq,
		`INSERT INTO inbox_events SELECT 1, last_event, 'call', ? FROM inbox_principals WHERE id = 1`: &f.event,
	} {
		*stmt, err = f.conn.PrepareContext(ctx, query)
		must(b, err)
	}
	must(b, store.View(ctx, q.Principal.Key(), func(tx inbox.Tx) error {
		call, err := tx.Call(q.Call)
		must(b, err)
		question, err := tx.Question(q.ID)
		must(b, err)
		f.detail, f.content = [2][]byte{call.Detail, question.Detail}, [2][]byte{call.Content, question.Content}
		return nil
	}))
	return f
}

// cycle is answer (call and question), claim (call), mark (call), park (call
// and question): what a cycle of the inbox stores.
func (f *floor) cycle(b *testing.B, n int) {
	for i, question := range []bool{true, false, false, true} {
		ctx := context.Background()
		exec := func(stmt *sql.Stmt, args ...any) {
			_, err := stmt.ExecContext(ctx, args...)
			must(b, err)
		}
		_, err := f.conn.ExecContext(ctx, `BEGIN IMMEDIATE`)
		must(b, err)
		call := fmt.Sprint("c_", n/20)
		exec(f.seq)
		exec(f.event, call)
		exec(f.call, call, n, []string{"ready", "claimed", "sent", "waiting"}[i], f.detail[0], f.content[0])
		if question {
			id := fmt.Sprint("q_", n+i/3)
			exec(f.seq)
			exec(f.event, id)
			exec(f.question, id, call, n, []string{"accepted", "open"}[i/3], time.Now().UnixMicro(), f.detail[1], f.content[1])
		}
		_, err = f.conn.ExecContext(ctx, `COMMIT`)
		must(b, err)
	}
}

// BenchmarkAnswerToResume measures from the person's answer to the committed
// mark of the resume, while so many other questions are open: in turns, so that
// what shares the machine meets all alike.
func BenchmarkAnswerToResume(b *testing.B) {
	sizes := []int{1_000, 100_000, 1_000_000}
	inboxes := make([]*inbox.Inbox, len(sizes))
	for i, open := range sizes {
		store := filled(b, open)
		defer store.Close()
		inboxes[i] = inbox.New(store, inbox.NewKeys(), unlimited)
	}
	times := make([][]time.Duration, len(sizes))
	for n := 0; b.Loop(); n++ {
		for turn := range 100 {
			for i, in := range inboxes {
				q := waiting(b, in, person(100*n+turn), n)
				start := time.Now()
				resume(b, in, q)
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

// filled returns a store with so many waiting calls, with an open question each,
// of a hundred people. Their ids lie as far apart as random ones. Nobody opens
// their seals.
func filled(b testing.TB, open int) *sqlitestore.Store {
	path := filepath.Join(b.TempDir(), "inbox.db")
	store, err := sqlitestore.Open(path, nil) // makes the tables
	must(b, err)
	must(b, store.Close())
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(off)&_pragma=cache_size(-1500000)")
	must(b, err)
	run := func(query string, args ...any) {
		_, err := db.ExecContext(b.Context(), query, args...)
		must(b, err)
	}
	const to = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) `
	run(to+`INSERT INTO inbox_principals (id, key, last_event) SELECT i, 'i||p' || i, ?2 FROM n`, 100, 2*open/100)
	const id = `printf('_%08x', (i * 2654435761) & 4294967295)`
	now := time.Now()
	run(to+`INSERT INTO inbox_calls SELECT 'c' || `+id+`, 1 + i % 100, 2 * (i / 100) + 1, '', 's', 'waiting', 1, '', NULL, NULL,
		?2, ?2, NULL, x'7b7d', zeroblob(300) FROM n`, open, now.UnixMicro())
	run(to+`INSERT INTO inbox_questions SELECT 'q' || `+id+`, 1 + i % 100, 'c' || `+id+`, 2 * (i / 100) + 2, '', 's', 'open', 1,
		?2 + (1 + i % 100) * 3600000000, ?2, NULL, x'7b7d', zeroblob(500) FROM n`, open, now.UnixMicro())
	must(b, db.Close())
	file, err := os.OpenFile(path, os.O_RDWR, 0) // what was written meanwhile is not to be waited for later
	must(b, err)
	must(b, errors.Join(file.Sync(), file.Close()))
	store, err = sqlitestore.Open(path, nil)
	must(b, err)
	return store
}

// TestParkedTakesNoGoroutine: what waits for a person waits in the store alone.
func TestParkedTakesNoGoroutine(t *testing.T) { // beside no other test
	store := mustOpen(t, filepath.Join(t.TempDir(), "inbox.db"))
	in := inbox.New(store, inbox.NewKeys(), unlimited)
	waiting(t, in, person(0), 0) // connections are open, statements prepared
	before := runtime.NumGoroutine()
	for n := range 100 {
		waiting(t, in, person(0), n)
	}
	// Some come and go by themselves (the database's, the runtime's); one for each
	// call would be a hundred.
	if after := runtime.NumGoroutine(); after > before+10 {
		t.Errorf("100 parked calls: %d goroutines became %d", before, after)
	}
}
