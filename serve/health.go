package serve

import (
	"context"
	"net/http"
	"time"
)

// readyTime is how long the store may take to answer.
const readyTime = 2 * time.Second

// health answers probes before all else: they come from whatever runs this machine,
// by an address that is none of its names, and without a session. The body says
// nothing that helps a stranger.
//
//	/healthz   200: the process lives; restarting it would help nobody
//	/readyz    200: the store answers and the host works; 503: send requests elsewhere
func (s *Server) health(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var well func(context.Context) bool
		switch r.URL.Path {
		case "/healthz":
			well = func(context.Context) bool { return true }
		case "/readyz":
			well = s.ready
		default:
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if !well(r.Context()) {
			w.WriteHeader(http.StatusServiceUnavailable)
			w.Write([]byte("not ready\n"))
			return
		}
		w.Write([]byte("ok\n"))
	})
}

// ready asks the store once at a time, whoever asks and however often: a probe is no
// way to keep a database busy.
func (s *Server) ready(ctx context.Context) bool {
	if !s.host.Running() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	select {
	case s.pinging <- struct{}{}:
		defer func() { <-s.pinging }()
	case <-ctx.Done():
		return false
	}
	if err := s.inbox.Ping(ctx); err != nil {
		s.log.WarnContext(ctx, "serve: not ready: the store does not answer", "err", err)
		return false
	}
	return true
}
