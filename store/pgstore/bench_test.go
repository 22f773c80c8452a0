package pgstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
)

// unlimited lets one person be asked as often as a benchmark likes.
var unlimited = &inbox.Options{OpenQuestions: 1 << 30, QuestionsPerMinute: 1 << 30, Rounds: 1 << 30}

var benchPerson = inbox.Principal{Issuer: "i", Subject: "ann"}

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
func waiting(tb testing.TB, in *inbox.Inbox, n int) *inbox.Question {
	tb.Helper()
	ctx := context.Background()
	c, err := in.Compose(ctx, benchPerson, inbox.NewCall{Server: "s", Method: "tools/call", Arguments: []byte(`{"to":"Oslo"}`)})
	must(tb, err)
	claim, _, err := in.Claim(ctx, benchPerson, c.ID)
	must(tb, err)
	_, err = in.Mark(ctx, claim, inbox.Binding{Era: inbox.Modern})
	must(tb, err)
	return park(tb, in, claim, n)
}

func park(tb testing.TB, in *inbox.Inbox, claim *inbox.Claim, n int) *inbox.Question {
	tb.Helper()
	_, err := in.Park(context.Background(), claim, asking(n))
	must(tb, err)
	list, err := in.Questions(context.Background(), benchPerson, inbox.QuestionFilter{Call: claim.Call, Limit: 1})
	must(tb, err)
	return list[0]
}

// resume answers and brings the call to the wire again: three transactions.
func resume(tb testing.TB, in *inbox.Inbox, q *inbox.Question) *inbox.Claim {
	tb.Helper()
	ctx := context.Background()
	_, err := in.Answer(ctx, benchPerson, q.ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"seat":"12A"}`)})
	must(tb, err)
	claim, _, err := in.ClaimNext(ctx, nil)
	must(tb, err)
	_, err = in.Answers(ctx, claim)
	must(tb, err)
	_, err = in.Mark(ctx, claim, inbox.Binding{})
	must(tb, err)
	return claim
}

// BenchmarkAnswerToResume measures from the person's answer to the committed
// mark of the resume, while so many other questions are open.
func BenchmarkAnswerToResume(b *testing.B) {
	for _, open := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(open), func(b *testing.B) {
			store, err := pgstore.Open(b.Context(), servicetest.Postgres(b), nil)
			must(b, err)
			defer store.Close()
			fill(b, store, open)
			in := inbox.New(store, inbox.NewKeys(), unlimited)
			var times []time.Duration
			for n := 0; b.Loop(); n++ {
				for range 200 {
					q := waiting(b, in, n)
					start := time.Now()
					resume(b, in, q)
					times = append(times, time.Since(start))
				}
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// fill stores waiting calls with an open question each, of a hundred people.
// Nobody opens their seals.
func fill(b *testing.B, store *pgstore.Store, open int) {
	for p := range 100 {
		must(b, store.Update(context.Background(), fmt.Sprintf("i||p%d", p), func(tx inbox.Tx) error {
			for n := range open / 100 {
				id := fmt.Sprintf("%d_%d", p, n)
				due := tx.Now().Add(time.Hour * time.Duration(1+n%100))
				if err := tx.PutCall(&inbox.CallRow{ID: inbox.CallID("c_" + id), Seq: int64(2*n + 1), Server: "s", State: inbox.Waiting,
					Created: tx.Now(), Updated: tx.Now(), Detail: []byte(`{}`), Content: make([]byte, 300)}); err != nil {
					return err
				}
				if err := tx.PutQuestion(&inbox.QuestionRow{ID: inbox.QuestionID("q_" + id), Call: inbox.CallID("c_" + id), Seq: int64(2*n + 2), Server: "s",
					State: inbox.Open, Due: due, Created: tx.Now(), Detail: []byte(`{}`), Content: make([]byte, 500)}); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}
