//go:build proof

package sqlitestore_test

import (
	"testing"

	"github.com/parley-mcp/parley/inbox"
)

// TestManyOpenQuestions: beside a hundred thousand open questions a person asks and
// answers as beside none, lists their own and nobody else's, and a machine finds what is
// due.
func TestManyOpenQuestions(t *testing.T) {
	t.Parallel()
	const open = 100_000
	store := filled(t, open)
	t.Cleanup(func() { must(t, store.Close()) })
	in := inbox.New(store, inbox.NewKeys(), unlimited)
	before, err := store.CountQuestions(t.Context(), 1_000_000)
	must(t, err)
	if before != open {
		t.Fatalf("%d open questions", before)
	}
	p := person(1)
	q := waiting(t, in, p, 1)
	list, err := in.Questions(t.Context(), p, inbox.QuestionFilter{States: []inbox.QuestionState{inbox.Open}})
	must(t, err)
	if len(list) != 1 || list[0].ID != q.ID {
		t.Errorf("%d questions of the person", len(list))
	}
	claim := resume(t, in, q)
	if claim.Call != q.Call {
		t.Errorf("claimed %s, want %s", claim.Call, q.Call)
	}
	next, err := in.Sweep(t.Context())
	must(t, err)
	if next.IsZero() {
		t.Error("nothing is planned beside a hundred thousand questions")
	}
	after, err := store.CountQuestions(t.Context(), 1_000_000)
	must(t, err)
	if after != open {
		t.Errorf("%d open questions afterwards", after)
	}
}
