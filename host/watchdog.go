package host

import (
	"context"
	"sync"
	"time"
)

// maxTouches is how many times its time a send may take in all, however much
// progress it reports: MCP 2025-11-25 basic/lifecycle, "Timeouts", a maximum
// "regardless of progress notifications".
const maxTouches = 12

// A watchdog fires once: with errTimeout when it was neither touched nor paused
// for its time, with errTooLong when touches have kept it quiet for maxTouches
// times that. What a person takes never counts.
type watchdog struct {
	time time.Duration
	fire context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer
	since  time.Time     // the clock runs since then, unless it is paused
	spent  time.Duration // on the clock before that
	cause  error         // of the next firing
	paused int
	done   bool
}

func watch(d time.Duration, fire context.CancelCauseFunc) *watchdog {
	w := &watchdog{time: d, fire: fire, since: time.Now(), cause: errTimeout}
	w.timer = time.AfterFunc(d, w.expired)
	return w
}

func (w *watchdog) expired() {
	w.mu.Lock()
	// A pause or a touch may have come between the timer and here: the timer
	// was set anew then, and this firing is none.
	stale, cause := w.done || w.paused > 0, w.cause
	w.mu.Unlock()
	if !stale {
		w.fire(cause)
	}
}

// begin sets the timer; w.mu is held.
func (w *watchdog) begin(left time.Duration) {
	next := w.time
	if w.cause = errTimeout; left < next {
		next, w.cause = max(left, 0), errTooLong
	}
	w.timer.Reset(next)
}

// left is what remains of the time in all; w.mu is held, and the clock runs.
func (w *watchdog) left() time.Duration {
	return maxTouches*w.time - w.spent - time.Since(w.since)
}

// touch begins the time anew: the server showed a sign of progress.
func (w *watchdog) touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done && w.paused == 0 {
		w.begin(w.left())
	}
}

// pause stops the clock while a person thinks; each pause needs its resume.
func (w *watchdog) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused++; w.paused == 1 {
		w.spent += time.Since(w.since)
	}
	w.timer.Stop()
}

func (w *watchdog) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused--; w.paused == 0 && !w.done {
		w.since = time.Now()
		w.begin(w.left())
	}
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	w.timer.Stop()
}
