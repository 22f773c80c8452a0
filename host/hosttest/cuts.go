package hosttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// A cutOff is a server that ends its response before the reply, after an event
// with an id. The client may go on with it by a GET.
type cutOff struct {
	first string // the events before the cut
	// then answers the nth GET. It gets the id of the call, and what the client's
	// answer to its request 5 comes on.
	then func(w http.ResponseWriter, r *http.Request, n int, id json.RawMessage, answer <-chan json.RawMessage)

	mu     sync.Mutex
	id     json.RawMessage
	answer <-chan json.RawMessage
	gets   int
}

func (c *cutOff) script() *Script {
	s := inOlder(func(x *Exchange) {
		c.mu.Lock()
		c.id, c.answer = x.ID, x.Expect("5")
		c.mu.Unlock()
		x.Raw(c.first)
	})
	s.Intercept = func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Header.Get("Last-Event-ID") == "" {
			return false
		}
		c.mu.Lock()
		n, id, answer := c.gets, c.id, c.answer
		c.gets++
		c.mu.Unlock()
		c.then(w, r, n, id, answer)
		return true
	}
	return s
}

// goesOn writes events to a response that is an event stream.
func goesOn(w http.ResponseWriter, events string) {
	w.Header().Set("Content-Type", kindEvents)
	_, _ = io.WriteString(w, events)
}

func endsWith(w http.ResponseWriter, id json.RawMessage) {
	goesOn(w, fmt.Sprintf("id: last\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}}\n\n", id))
}

// cuts is what a server of the older era can do with responses that are resumed.
func cuts() map[string]*Script {
	asks := "data: " + elicitation("5", askForm) + "\n\n"
	says := func(status int) func(http.ResponseWriter, *http.Request, int, json.RawMessage, <-chan json.RawMessage) {
		return func(w http.ResponseWriter, _ *http.Request, _ int, _ json.RawMessage, _ <-chan json.RawMessage) {
			w.WriteHeader(status)
		}
	}
	refuses := func(status int) *Script { return (&cutOff{first: "id: e\n\n", then: says(status)}).script() }
	var answered json.RawMessage
	return map[string]*Script{
		"cuts its response again and again": (&cutOff{first: "id: e\n" + asks,
			then: func(w http.ResponseWriter, r *http.Request, n int, id json.RawMessage, answer <-chan json.RawMessage) {
				if n < 2 {
					goesOn(w, "")
					return
				}
				select {
				case <-answer:
					endsWith(w, id)
				case <-r.Context().Done():
				}
			}}).script(),
		"asks again when it is resumed": (&cutOff{first: "id: e\n" + asks,
			then: func(w http.ResponseWriter, r *http.Request, n int, id json.RawMessage, answer <-chan json.RawMessage) {
				for answered == nil { // one request at a time resumes
					select {
					case answered = <-answer:
					case <-r.Context().Done():
						return
					}
				}
				if n < 3 {
					goesOn(w, fmt.Sprintf("id: e%d\n", n)+asks)
					return
				}
				endsWith(w, id)
			}}).script(),
		"cuts its response and cannot resume it":    refuses(http.StatusMethodNotAllowed),
		"cuts its response and knows no session":    refuses(http.StatusNotFound),
		"cuts its response and is broken from then": refuses(http.StatusInternalServerError),
		"wants to be resumed for ever": (&cutOff{first: "id: e\nretry: 1\n\n",
			then: func(w http.ResponseWriter, _ *http.Request, n int, _ json.RawMessage, _ <-chan json.RawMessage) {
				goesOn(w, fmt.Sprintf("id: e%d\nretry: 1\n\n", n))
			}}).script(),
	}
}
