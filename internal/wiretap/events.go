package wiretap

import (
	"bytes"
	"strings"
)

// event is one event of an event stream.
type event struct {
	name  string
	id    string
	retry string
	data  []byte
	has   bool // a data field was there, if only an empty one
}

// splitter cuts an event stream into events as its bytes arrive, by the rules of the HTML standard ("Interpreting an
// event stream"): LF, CR and CRLF end a line, a byte order mark at the start is skipped, comments are dropped, data
// lines are joined with LF, and what is incomplete at the end of the stream is discarded. The SDK's own reader knows
// neither CR nor the mark, fails on a line without a colon, and takes a cut event for a whole one.
type splitter struct {
	limit   int // bytes of one event, comments included
	line    []byte
	size    int // bytes read of the current event
	skipLF  bool
	started bool
	now     event
	ready   []event
	err     error
}

var mark = []byte("\xEF\xBB\xBF")

// feed takes the next bytes. Complete events are appended to s.ready. It returns a *LimitError once an event is over
// the limit; events completed before are still in s.ready.
func (s *splitter) feed(p []byte) error {
	for len(p) > 0 && s.err == nil {
		if s.skipLF {
			s.skipLF = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		i := bytes.IndexAny(p, "\r\n")
		part := p
		if i >= 0 {
			part = p[:i]
		}
		if s.size+len(part) > s.limit {
			s.err = &LimitError{What: "an event", Limit: s.limit}
			break
		}
		s.size += len(part)
		s.line = append(s.line, part...)
		if i < 0 {
			break
		}
		s.skipLF = p[i] == '\r'
		p = p[i+1:]
		s.endLine()
	}
	return s.err
}

func (s *splitter) endLine() {
	line := s.line
	s.line = s.line[:0]
	if !s.started {
		s.started = true
		line = bytes.TrimPrefix(line, mark)
	}
	if len(line) == 0 {
		s.dispatch()
		return
	}
	s.size++ // an empty data line still costs a byte
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "event":
		s.now.name = string(value)
	case "data":
		if s.now.has {
			s.now.data = append(s.now.data, '\n')
		}
		s.now.data = append(s.now.data, value...)
		s.now.has = true
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			s.now.id = string(value)
		}
	case "retry":
		if len(value) > 0 && strings.Trim(string(value), "0123456789") == "" {
			s.now.retry = string(value)
		}
	}
}

func (s *splitter) dispatch() {
	e := s.now
	s.now, s.size = event{}, 0
	if e.has || e.id != "" || e.retry != "" {
		s.ready = append(s.ready, e)
	}
}

// rest lets go of what the events took that were read.
func (s *splitter) rest() {
	s.ready = nil
	if len(s.line) == 0 {
		s.line = nil
	}
}

// appendEvent writes an event so that the SDK's reader understands it.
func appendEvent(b []byte, e event) []byte {
	if e.id != "" {
		b = append(append(append(b, "id: "...), e.id...), '\n')
	}
	if e.retry != "" {
		b = append(append(append(b, "retry: "...), e.retry...), '\n')
	}
	if len(e.data) > 0 {
		for line := range bytes.SplitSeq(e.data, []byte{'\n'}) {
			b = append(append(append(b, "data: "...), line...), '\n')
		}
	}
	return append(b, '\n')
}
