package wiretap

import "time"

// waits reports whether an answer whose request has failed for the nth time is to be sent again, and waits before that.
// The response that asks is resumed after an outage, and its server still waits: an answer given meanwhile must not be
// lost, since nobody would be asked again. It is one delivery: nothing has left, and nothing is sent a second time.
//
// The context of the request is no bound: the SDK sends its answers under one that never ends.
func (t *Tap) waits(s sending, n int) bool {
	q, c := s.ask.q, s.ask.on
	if q == nil || c == nil || c.life == nil || !s.result || q.Delivery().Left || !t.wanted(s.ask) {
		return false
	}
	_, most := (&resumption{brief: n}).pause(t.leastPause)
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-c.life.Done():
	case <-q.withdrawn:
	case <-q.done:
	case <-timer.C:
	}
	return t.wanted(s.ask)
}

// wanted reports whether a request of the server may still be answered, on a response that is still read.
func (t *Tap) wanted(a *ask) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.closed && !a.gone && !a.on.replied && a.on.life.Err() == nil
}
