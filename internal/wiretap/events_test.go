package wiretap

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// split feeds text in pieces of n bytes.
func split(text string, n, limit int) ([]event, error) {
	s := splitter{limit: limit}
	var out []event
	for len(text) > 0 {
		k := min(n, len(text))
		err := s.feed([]byte(text[:k]))
		out = append(out, s.ready...)
		s.ready = nil
		if err != nil {
			return out, err
		}
		text = text[k:]
	}
	return out, nil
}

func TestSplitter(t *testing.T) {
	t.Parallel()
	ev := func(name, id, retry, data string) event {
		e := event{name: name, id: id, retry: retry, has: true}
		if data != "" {
			e.data = []byte(data)
		}
		return e
	}
	for _, tt := range []struct {
		name, text string
		want       []event
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []event{ev("", "", "", "a")}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []event{ev("", "", "", "a"), ev("", "", "", "b")}},
		{"CR", "data: a\r\rdata: b\r\r", []event{ev("", "", "", "a"), ev("", "", "", "b")}},
		{"mixed ends", "data: a\r\n\ndata: b\n\r\n", []event{ev("", "", "", "a"), ev("", "", "", "b")}},
		{"mark", "\uFEFFdata: a\n\n", []event{ev("", "", "", "a")}},
		{"mark only at the start", "data: a\n\n\uFEFFdata: b\n\n", []event{ev("", "", "", "a")}},
		{"lines are joined", "data: a\ndata:b\ndata\ndata:  c\n\n", []event{ev("", "", "", "a\nb\n\n c")}},
		{"comments", ":\n: hi\ndata: a\n:x\n\n", []event{ev("", "", "", "a")}},
		{"fields", "event: e\nid: 7\nretry: 10\ndata: a\nother: x\n\n", []event{ev("e", "7", "10", "a")}},
		{"id alone", "id: 7\n\n", []event{{id: "7"}}},
		{"id with a null is ignored", "id: 7\x00\ndata: a\n\n", []event{ev("", "", "", "a")}},
		{"retry that is no number", "retry: 1s\ndata: a\n\n", []event{ev("", "", "", "a")}},
		{"empty data", "data\n\n", []event{ev("", "", "", "")}},
		{"the incomplete is dropped", "data: a\n\ndata: b\n", []event{ev("", "", "", "a")}},
	} {
		for n := 1; n <= len(tt.text)+1; n++ {
			got, err := split(tt.text, n, 100)
			if err != nil {
				t.Errorf("%s in pieces of %d: %v", tt.name, n, err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(event{})); diff != "" {
				t.Errorf("%s in pieces of %d (-want +got):\n%s", tt.name, n, diff)
			}
		}
	}
}

func TestSplitterLimit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"data: ok\n\n" + strings.Repeat("x", 200),
		"data: ok\n\n" + strings.Repeat("data: x\n", 50),
		"data: ok\n\n" + strings.Repeat("data\n", 200),
		"data: ok\n\n" + strings.Repeat(": comment\n", 50),
	} {
		for _, n := range []int{1, 7, 1000} {
			got, err := split(text, n, 100)
			limit := new(LimitError)
			if !errors.As(err, &limit) || limit.Limit != 100 || len(got) != 1 {
				t.Errorf("%.20q in pieces of %d: %v, %v; want one event and the limit", text[10:], n, got, err)
			}
		}
	}
}

func FuzzSplitter(f *testing.F) {
	f.Add("\uFEFFid: 1\r\ndata: a\rdata: b\n\n: x\n\nretry: 5\nevent: e\n\n", 3)
	f.Fuzz(func(t *testing.T, text string, n int) {
		const limit = 64
		n = max(1, min(n, 100))
		want, wantErr := split(text, len(text)+1, limit)
		got, err := split(text, n, limit)
		// Where the limit strikes may differ by nothing: it is counted per byte.
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("pieces of %d: %v; whole: %v", n, err, wantErr)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{})); diff != "" {
			t.Fatalf("pieces of %d (-whole +pieces):\n%s", n, diff)
		}
		// What is written for the SDK reads back the same, but for the name.
		var out []byte
		for _, e := range got {
			out = appendEvent(out, e)
		}
		back, err := split(string(out), len(out)+1, 10*limit)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].name = ""
			got[i].has = len(got[i].data) > 0
		}
		var kept []event
		for _, e := range got {
			if e.has || e.id != "" || e.retry != "" {
				kept = append(kept, e)
			}
		}
		if diff := cmp.Diff(kept, back, cmp.AllowUnexported(event{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("written and read back (-want +got):\n%s", diff)
		}
	})
}
