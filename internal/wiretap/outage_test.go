package wiretap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An answer that is given while the server cannot be reached is sent once it can, and once; what ends the call, or the
// question, ends that too. What may have left is never sent again.
func TestAnswerInAnOutage(t *testing.T) {
	t.Parallel()
	const (
		asked     = "id: e1\ndata: " + aQuery + "\n\n"
		cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`
		outage    = 10 * time.Minute
	)
	refused := errors.New("connection refused")
	for _, tt := range []struct {
		name   string
		call   string
		answer string
		leaves bool   // a byte, with the failure
		while  string // what the resumed streams bring during the outage; empty: there are none
		ends   func(tap *Tap, cancel func())
		want   bool          // the answer arrives
		within time.Duration // until the request with the answer is over
	}{
		{"comes back", asked, anAnswer, false, "", nil, true, outage + mostPause*9/8},
		{"for the answer later", asked, anAnswer, false, ": alive\n\n", nil, true, outage + mostPause*9/8},
		{"has left", asked, anAnswer, true, "", nil, false, 0},
		{"no resumption", "data: " + aQuery + "\n\n", anAnswer, false, "", nil, false, 0},
		{"an error", asked, `{"jsonrpc":"2.0","id":"parley-1","error":{"code":-32603,"message":"m"}}`, false, "", nil, false, 0},
		{"stopped", asked, anAnswer, false, "", func(_ *Tap, cancel func()) { cancel() }, false, time.Minute},
		{"closed", asked, anAnswer, false, "", func(tap *Tap, _ func()) { tap.Close() }, false, time.Minute},
		{"withdrawn", asked, anAnswer, false, "id: e2\ndata: " + cancelled + "\n\n", nil, false, time.Minute},
		{"replied", asked, anAnswer, false, "id: e2\ndata: " + result("7") + "\n\n", nil, false, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				tap, x, marks := New(nil), new(Exchange), 0
				p := &polled{call: tt.call}
				down := func() bool { return time.Since(p.began) < outage }
				p.answer = func(int) (bool, error) {
					if down() {
						return tt.leaves, refused
					}
					return true, nil
				}
				p.get = func(int) (*http.Response, error) {
					switch {
					case len(p.sent) > 0:
						return streamed(200, "id: e9\ndata: "+result("7")+"\n\n"), nil
					case !down():
						return streamed(200, ""), nil
					case tt.while != "":
						return streamed(200, tt.while), nil
					}
					return nil, refused
				}
				read := make(chan string, 1)
				go func() { read <- p.send(With(ctx, x), t, tap, v2025, aCall) }()
				synctest.Wait()
				q := tap.Question(map[string]any{MarkerKey: "parley-1"})
				if q == nil {
					t.Fatal("no question")
				}
				q.Answer(nil, func(context.Context) error { marks++; return nil })
				if tt.ends != nil {
					time.AfterFunc(59*time.Second, func() { tt.ends(tap, cancel) })
				}
				// As the SDK sends it: under a context that never ends.
				req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, "http://x.example/mcp", strings.NewReader(tt.answer))
				if err != nil {
					t.Fatal(err)
				}
				req.Header = http.Header{headerVersion: {v2025}, headerSession: {"s-1"}}
				began := time.Now()
				resp, err := tap.RoundTripper(p).RoundTrip(req)
				if took := time.Since(began); took > tt.within {
					t.Errorf("the answer took %v", took)
				}
				if err == nil {
					resp.Body.Close()
				}
				d := q.Delivery()
				if (err == nil) != tt.want || d.Accepted != tt.want || marks != 1 {
					t.Errorf("err = %v, delivery %+v, %d marks", err, d, marks)
				}
				if n := len(p.sent); tt.want != (n == 1) || n > 1 || tt.want && p.sent[0] != `{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}` {
					t.Errorf("sent %q", p.sent)
				}
				if !tt.want && d.Left != tt.leaves || p.tries > 40 || tt.within == 0 && p.tries != 1 {
					t.Errorf("%d tries, delivery %+v", p.tries, d)
				}
				if tt.want && (<-read == "" || x.Outcome().Reply == nil) {
					t.Errorf("outcome = %+v", x.Outcome())
				}
				cancel()
			})
		})
	}
}

// A question that was answered is not asked again when a standalone stream, opened anew with Last-Event-ID, repeats it.
func TestRepeatedOnTheStandaloneStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tap := New(nil)
		query := func(n int) string { return strings.Replace(aQuery, `"q"`, strconv.Itoa(n), 1) }
		next := ""
		p := &polled{get: func(int) (*http.Response, error) { return streamed(200, next), nil }}
		open := func(last, brings string) string {
			t.Helper()
			next = brings
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.example/mcp", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if last != "" {
				req.Header.Set(headerLastEvent, last)
			}
			resp, err := tap.RoundTripper(p).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		asks := func(last string, n int) bool {
			t.Helper()
			return strings.Contains(open(last, fmt.Sprintf("id: s%d\ndata: %s\n\n", n, query(n))), "elicitation/create")
		}
		answer := func(seq int) {
			t.Helper()
			p.send(t.Context(), t, tap, v2025, strings.Replace(anAnswer, "parley-1", fmt.Sprint("parley-", seq), 1))
		}
		if !asks("", 1) || asks("s0", 1) {
			t.Fatal("a question that is open is asked once")
		}
		answer(1)
		if asks("s0", 1) {
			t.Error("an answered question is asked again")
		}
		if !asks("s1", 2) {
			t.Error("another question is not asked")
		}
		open("s2", `data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n\n")
		answer(2) // of the handler, to nobody
		if asks("s1", 2) || len(p.sent) != 1 {
			t.Errorf("a withdrawn question is asked again, or answered: %q", p.sent)
		}
		if !asks("", 1) {
			t.Error("on a stream that is none of before it is another question")
		}
		answer(3)
		for n := range 2 * maxSettled {
			if !asks("s1", 10+n) {
				t.Fatalf("question %d is not asked", n)
			}
			answer(4 + n)
		}
		if n := len(tap.settled); n != maxSettled || asks("s1", 9+2*maxSettled) {
			t.Errorf("%d questions are known", n)
		}
		if s := tap.Stats(); s.OpenAsks != 0 || s.Questions != 3+2*maxSettled {
			t.Errorf("stats = %+v", s)
		}
	})
}
