package elicit

import (
	"sync"
	"time"
)

// Limits bound what one call or one person can make the server do. A zero
// field has the default in its comment.
type Limits struct {
	Rounds       int           // rounds of one call that ask: 25. Clients on go-sdk stop at 10
	Age          time.Duration // of a call, from its first request until its last question ends: 30 days
	Message      int           // bytes of a question's message: 8 KiB
	Schema       int           // bytes of a question's schema: 64 KiB
	RequestState int           // bytes of the sealed state: 64 KiB
	Answers      int           // bytes of the answers of one round: 64 KiB
	Memos        int           // bytes of all memos of a call, compressed: 16 KiB
	Outcome      int           // bytes of an outcome that the replay guard keeps: 1 MiB

	// QuestionsPerMinute is how much one principal is asked: 20. Anonymous
	// callers are counted by the address that they come from
	// ([http.Request.RemoteAddr]; IPv6 by its first 64 bits), or by connection
	// where there is none. Loopback and Unix sockets are not counted: there stands
	// the person at this machine, or a proxy in front of everybody, and then a
	// middleware that knows the proxy has to set RemoteAddr.
	QuestionsPerMinute int
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	if l.Age == 0 {
		l.Age = 30 * 24 * time.Hour
	}
	set(&l.Rounds, 25)
	set(&l.QuestionsPerMinute, 20)
	set(&l.Message, 8<<10)
	set(&l.Schema, 64<<10)
	set(&l.RequestState, 64<<10)
	set(&l.Answers, 64<<10)
	set(&l.Memos, 16<<10)
	set(&l.Outcome, 1<<20)
	return l
}

// warnRounds is where the log warns: go-sdk clients give up at their tenth
// round, with a constant that their users cannot change.
const warnRounds = 8

// meter counts the questions of each caller in the current minute.
type meter struct {
	mu     sync.Mutex
	minute time.Time
	count  map[any]int // by callerOf
}

// take reports whether the caller may be asked n more questions now.
func (m *meter) take(caller any, n, perMinute int, now time.Time) bool {
	if caller == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// One window for all keeps the map as small as a minute's callers.
	if minute := now.Truncate(time.Minute); !minute.Equal(m.minute) {
		m.minute, m.count = minute, make(map[any]int)
	}
	if m.count[caller]+n > perMinute {
		return false
	}
	m.count[caller] += n
	return true
}
