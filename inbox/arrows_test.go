package inbox_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

var update = flag.Bool("update", false, "rewrite the tables in doc.go")

// TestDocumentedArrows holds the tables in the package documentation against
// those that the code uses.
func TestDocumentedArrows(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "// Call:\n//\n", "//\n// # Who owns the next step\n"
	head, rest, ok := bytes.Cut(source, []byte(begin))
	_, tail, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatal("doc.go has lost the place of its tables")
	}
	var b strings.Builder
	table(&b, inbox.CallArrows())
	b.WriteString("//\n// Question (opened only in url mode):\n//\n")
	table(&b, inbox.QuestionArrows())
	b.WriteString("//\n// Approval:\n//\n")
	table(&b, inbox.ApprovalArrows())
	want := string(head) + begin + b.String() + end + string(tail)
	if *update {
		if err := os.WriteFile("doc.go", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(source)); diff != "" {
		t.Errorf("doc.go differs from the tables (run with -update):\n%s", diff)
	}
}

func table(b *strings.Builder, arrows []inbox.Arrow) {
	last := ""
	for _, a := range arrows {
		from := a.From
		if from == last {
			from = ""
		}
		last = a.From
		fmt.Fprintf(b, "//\t%-9s -> %-11s  %s\n", from, a.To, a.Why)
	}
}

// TestArrows checks the tables themselves.
func TestArrows(t *testing.T) {
	t.Parallel()
	states := map[string]bool{}
	for _, s := range []inbox.CallState{
		inbox.CallNew, inbox.Approving, inbox.Ready, inbox.Claimed, inbox.Sent, inbox.Waiting, inbox.Blocked, inbox.Uncertain,
		inbox.Done, inbox.Failed, inbox.Denied, inbox.Stopped, inbox.CallExpired, inbox.Interrupted, inbox.Lapsed,
	} {
		states[string(s)] = true
	}
	seen, left := map[[2]string]bool{}, map[string]bool{}
	reached := map[string]bool{string(inbox.CallNew): true}
	for _, a := range inbox.CallArrows() {
		if seen[[2]string{a.From, a.To}] {
			t.Errorf("%s -> %s is there twice", a.From, a.To)
		}
		seen[[2]string{a.From, a.To}] = true
		if !states[a.From] || !states[a.To] {
			t.Errorf("%s -> %s names an unknown state", a.From, a.To)
		}
		if inbox.CallState(a.From).Ended() {
			t.Errorf("%s is an end and leads to %s", a.From, a.To)
		}
		left[a.From], reached[a.To] = true, true
	}
	for s := range states {
		if !inbox.CallState(s).Ended() && !left[s] {
			t.Errorf("nothing leads out of %s", s)
		}
		if !reached[s] {
			t.Errorf("nothing leads to %s", s)
		}
	}
	for _, a := range inbox.QuestionArrows() {
		if from := inbox.QuestionState(a.From); from == inbox.Expired || from == inbox.Withdrawn {
			t.Errorf("%s leads to %s", a.From, a.To)
		}
	}
}
