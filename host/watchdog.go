package host

import (
	"sync"
	"time"
)

// A watchdog fires once, when it was neither touched nor paused for its time.
type watchdog struct {
	time time.Duration
	fire func()

	mu     sync.Mutex
	timer  *time.Timer
	paused int
	done   bool
}

func watch(d time.Duration, fire func()) *watchdog {
	w := &watchdog{time: d, fire: fire}
	w.timer = time.AfterFunc(d, w.expired)
	return w
}

func (w *watchdog) expired() {
	w.mu.Lock()
	// A pause or a touch may have come between the timer and here: the timer
	// was set anew then, and this firing is none.
	stale := w.done || w.paused > 0
	w.mu.Unlock()
	if !stale {
		w.fire()
	}
}

// touch begins the time anew: the server showed a sign of progress.
func (w *watchdog) touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done && w.paused == 0 {
		w.timer.Reset(w.time)
	}
}

// pause stops the clock while a person thinks; each pause needs its resume.
func (w *watchdog) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused++
	w.timer.Stop()
}

func (w *watchdog) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused--; w.paused == 0 && !w.done {
		w.timer.Reset(w.time)
	}
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	w.timer.Stop()
}
