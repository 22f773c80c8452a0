package elicit

import (
	"bytes"
	"maps"
	"net/http"
	"sync"
	"time"
)

// While a call waits for a person, nothing is sent. Proxies and clients give
// up on a response that never starts, or that is silent for a minute.
const (
	firstBeat = 5 * time.Second  // then the headers of a call go out
	getBeat   = time.Second      // and those of a GET, which clients wait for
	nextBeat  = 15 * time.Second // then a comment, and again
)

// heartbeat is a ResponseWriter that breaks the silence of an event stream.
// The SDK does not flush headers before the first message and has no comments
// of its own. It is for responses that are an event stream unless they fail at
// once.
type heartbeat struct {
	w      http.ResponseWriter
	header http.Header // the SDK's, so that a beat never reads what it writes

	mu      sync.Mutex // guards what follows and w
	timer   *time.Timer
	started bool // headers are out
	inEvent bool // the last bytes did not end an event
	framed  bool // an error status came too late: frame its body
	done    bool
}

func newHeartbeat(w http.ResponseWriter, first time.Duration) *heartbeat {
	h := &heartbeat{w: w, header: w.Header().Clone()}
	if h.header == nil {
		h.header = make(http.Header)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(first, h.beat)
	return h
}

func (h *heartbeat) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return
	}
	if !h.inEvent {
		if !h.started {
			h.started = true
			h.w.Header().Set("Content-Type", "text/event-stream")
			h.w.Header().Set("Cache-Control", "no-cache, no-transform")
		}
		// HTML "Server-sent events": a line that starts with a colon is a comment.
		if _, err := h.w.Write([]byte(":\n\n")); err != nil {
			return // the client is gone; the SDK sees that too
		}
		h.flush()
	}
	h.timer.Reset(nextBeat)
}

// Header implements [http.ResponseWriter].
func (h *heartbeat) Header() http.Header { return h.header }

// start sends the SDK's headers. h.mu is held.
func (h *heartbeat) start() {
	h.started = true
	maps.Copy(h.w.Header(), h.header)
}

// WriteHeader implements [http.ResponseWriter].
func (h *heartbeat) WriteHeader(status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started {
		// The SDK reports some JSON-RPC errors by HTTP status, with a bare
		// body. The stream has begun, so the error must be an event of it.
		h.framed = status >= 400
		return
	}
	h.start()
	h.w.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (h *heartbeat) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.started {
		h.start()
	}
	if !h.done {
		h.timer.Reset(nextBeat)
	}
	if h.framed {
		if _, err := h.w.Write([]byte("event: message\ndata: " + string(bytes.TrimSpace(p)) + "\n\n")); err != nil {
			return 0, err
		}
		h.flush()
		return len(p), nil
	}
	n, err := h.w.Write(p)
	h.inEvent = !bytes.HasSuffix(p[:n], []byte("\n\n"))
	return n, err
}

// Flush implements [http.Flusher].
func (h *heartbeat) Flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.started {
		h.start()
	}
	h.flush()
}

func (h *heartbeat) flush() {
	if f, ok := h.w.(http.Flusher); ok {
		f.Flush()
	}
}

// end stops the beats. The writer must not be used by then.
func (h *heartbeat) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = true
	h.timer.Stop()
}
