package serve

import "time"

// SetBodyTime shortens the time that a body may take.
func (s *Server) SetBodyTime(d time.Duration) { s.bodyTime = d }
