package serve

import "time"

// SetNow replaces the clock, before l is used.
func (l *Local) SetNow(now func() time.Time) { l.now = now }

// FreshLife is how long an address that was asked for signs in.
const FreshLife = freshLife

// SetKeepAlive is before the server is used.
func (s *Server) SetKeepAlive(d time.Duration) { s.keepAlive = d }

// SetBodyTime shortens the time that a body may take.
func (s *Server) SetBodyTime(d time.Duration) { s.bodyTime = d }

// SetAssignedPace is before the server is used.
func (s *Server) SetAssignedPace(d time.Duration) { s.assignedPace = d }
