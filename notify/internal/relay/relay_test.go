package relay

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

func hint(i int) inbox.Hint {
	return inbox.Hint{Principal: "ann", Call: inbox.CallID(fmt.Sprint("c_", i))}
}

func decode(t *testing.T, messages [][]byte) []inbox.Hint {
	t.Helper()
	var list []inbox.Hint
	for _, m := range messages {
		if len(m) > MaxMessage {
			t.Errorf("a message of %d bytes", len(m))
		}
		var hints []wireHint
		if err := json.Unmarshal(m, &hints); err != nil {
			t.Fatalf("message %.40q: %v", m, err)
		}
		for _, h := range hints {
			list = append(list, inbox.Hint{Principal: h.Principal, Call: inbox.CallID(h.Call), Question: inbox.QuestionID(h.Question), Ready: h.Ready, Removed: h.Removed})
		}
	}
	return list
}

// TestCoalesce: what waits to be sent is there once, and ready if one of them was.
func TestCoalesce(t *testing.T) {
	t.Parallel()
	r := New()
	defer r.Close()
	ready, question := hint(1), hint(1)
	ready.Ready, question.Question = true, "q_1"
	removed := hint(2)
	removed.Removed = true
	for _, h := range []inbox.Hint{hint(1), hint(2), ready, hint(1), question, removed, hint(2)} {
		if err := r.Notify(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	if !r.Wait() {
		t.Fatal("nothing to send")
	}
	if diff := cmp.Diff([]inbox.Hint{ready, removed, question}, decode(t, r.Take())); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if rest := r.Take(); len(rest) != 0 {
		t.Errorf("sent again: %q", rest)
	}
	if err := r.Notify(t.Context(), hint(1)); err != nil {
		t.Fatal(err)
	}
	if got := decode(t, r.Take()); len(got) != 1 {
		t.Errorf("after it was sent, the same hint is sent %d times, want once more", len(got))
	}
}

func TestOverflow(t *testing.T) {
	t.Parallel()
	r := New()
	defer r.Close()
	for i := range maxQueue + 10 {
		if err := r.Notify(t.Context(), hint(i)); err != nil {
			t.Fatal(err)
		}
	}
	got := r.Take()
	if len(got) != 1 || string(got[0]) != everybody {
		t.Fatalf("%d messages, the first %.40q; want one that wakes everybody", len(got), got[0])
	}
	// The other end.
	other := New()
	defer other.Close()
	ann, err := other.Subscribe(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	all, err := other.Subscribe(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	other.Receive(got[0])
	if h := <-ann; h.Principal != "ann" || !h.Ready {
		t.Errorf("ann got %+v", h)
	}
	if h := <-all; !h.Ready {
		t.Errorf("the machine got %+v", h)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	var hints []inbox.Hint
	for i := range 1000 {
		hints = append(hints, hint(i))
	}
	messages := Encode(hints)
	if diff := cmp.Diff(hints, decode(t, messages)); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
	if len(messages) > 10 {
		t.Errorf("%d messages for 1000 hints", len(messages))
	}
	long := inbox.Hint{Principal: strings.Repeat("p", MaxMessage)}
	messages = Encode([]inbox.Hint{hint(1), long, hint(2)})
	if len(messages) != 3 || string(messages[1]) != everybody {
		t.Errorf("a hint that fits in no message became %.60q", messages)
	}
}

// FuzzReceive: whoever may write to the channel can at most wake people.
func FuzzReceive(f *testing.F) {
	for _, m := range []string{everybody, `[]`, `[{"p":"ann","c":"c_1","q":"q_1","r":true}]`, `{`, `[{"p":1}]`, `null`, `[null]`, "\xff"} {
		f.Add([]byte(m))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		r := New()
		defer r.Close()
		ann, err := r.Subscribe(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		r.Receive(message)
		for {
			select {
			case h := <-ann:
				if h.Principal != "ann" {
					t.Fatalf("ann got %+v", h)
				}
				continue
			default:
			}
			break
		}
		var hints []wireHint
		if json.Unmarshal(message, &hints) != nil {
			return
		}
		var list []inbox.Hint
		for _, h := range hints {
			if utf8.ValidString(h.Principal) {
				list = append(list, inbox.Hint{Principal: h.Principal, Call: inbox.CallID(h.Call), Question: inbox.QuestionID(h.Question), Ready: h.Ready, Removed: h.Removed})
			}
		}
		for _, m := range Encode(list) {
			if len(m) > MaxMessage {
				t.Fatalf("a message of %d bytes", len(m))
			}
		}
	})
}

// TestClose ends what is open, and refuses what comes after it.
func TestClose(t *testing.T) {
	t.Parallel()
	r := New()
	ch, err := r.Subscribe(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan bool)
	go func() { waited <- r.Wait() }()
	r.Close()
	r.Close()
	if <-waited {
		t.Error("Wait reports something to send after Close")
	}
	for range ch { // until it is closed
	}
	if _, err := r.Subscribe(t.Context(), "ann"); err == nil {
		t.Error("Subscribe after Close was accepted")
	}
	if err := r.Notify(t.Context(), hint(1)); err == nil {
		t.Error("Notify after Close was accepted")
	}
}
