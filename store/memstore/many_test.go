package memstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/storebench"
	"github.com/parley-mcp/parley/store/memstore"
)

func TestManyOpenQuestions(t *testing.T) {
	t.Parallel()
	const open, people = 100_000, 100
	store := memstore.New(nil)
	for p := range people {
		storebench.Must(t, store.Update(t.Context(), fmt.Sprintf("i||p%d", p), func(tx inbox.Tx) error {
			for n := range open / people {
				call, question := inbox.CallID(fmt.Sprintf("c_%d_%d", p, n)), inbox.QuestionID(fmt.Sprintf("q_%d_%d", p, n))
				if err := tx.PutCall(&inbox.CallRow{ID: call, Seq: int64(2*n + 1), Server: "s", State: inbox.Waiting, Version: 1, Created: tx.Now(), Updated: tx.Now()}); err != nil {
					return err
				}
				if err := tx.PutQuestion(&inbox.QuestionRow{
					ID: question, Call: call, Seq: int64(2*n + 2), Server: "s", State: inbox.Open, Version: 1, Created: tx.Now(), Due: tx.Now().Add(time.Hour),
				}); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	storebench.ManyOpenQuestions(t, store, open)
}
