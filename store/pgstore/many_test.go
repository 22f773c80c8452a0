package pgstore_test

import (
	"testing"

	"github.com/parley-mcp/parley/internal/storebench"
)

func TestManyOpenQuestions(t *testing.T) {
	t.Parallel()
	const open = 100_000
	storebench.ManyOpenQuestions(t, filled(t, open), open)
}
