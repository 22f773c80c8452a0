package elicit

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressBeat is how often progress is reported while a legacy question is
// open. SDKs end a request after a minute, or after a minute without progress.
const progressBeat = 15 * time.Second

// progress tells a client how far its call is. A nil one tells nobody.
type progress struct {
	send func(ctx context.Context, done, total float64, message string)

	mu    sync.Mutex // guards what follows, and the order of the sends
	begun bool
	done  float64 // what was sent last
	total float64
}

// newProgress returns nil if the client wants none.
func newProgress(in incoming) *progress {
	if in.token == nil {
		return nil
	}
	token, session := in.token, in.session
	return &progress{send: func(ctx context.Context, done, total float64, message string) {
		_ = session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: done, Total: total, Message: message,
		})
	}}
}

// report sends what is more than before. MCP 2025-11-25 progress, "Progress Flow":
// the value MUST increase with each notification.
func (p *progress) report(ctx context.Context, done, total float64, message string) {
	if p == nil || math.IsNaN(done) || math.IsInf(done, 0) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun && done <= p.done {
		return
	}
	p.begun, p.done, p.total = true, done, total
	p.send(ctx, done, total, message)
}

// beat reports, until it is ended, that the call is alive and waits for a person.
func (p *progress) beat(ctx context.Context) (end func()) {
	if p == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressBeat)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				p.nudge(ctx)
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// nudge reports the smallest step that every reader of JSON sees as one.
func (p *progress) nudge(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.done + 1e-6
	if next <= p.done {
		next = math.Nextafter(p.done, math.Inf(1))
	}
	p.begun, p.done = true, next
	p.send(ctx, next, p.total, "waiting for an answer")
}
