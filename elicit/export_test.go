package elicit

import (
	"net/http"
	"time"
)

// SetNow gives the server another clock.
func (s *Server) SetNow(now func() time.Time) { s.now = now }

// NewHeartbeat returns a heartbeat and its end.
func NewHeartbeat(w http.ResponseWriter) (http.ResponseWriter, func()) {
	h := newHeartbeat(w, firstBeat)
	return h, h.end
}

// SetVisitWait changes how long a modern round waits for a page.
func (s *Server) SetVisitWait(wait time.Duration) { s.visitWait = wait }

// Len returns how many records the guard holds.
func (g *MemoryGuard) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.records)
}
