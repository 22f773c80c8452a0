package wiretap

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

// readLine reads one line without its end. A line over the limit is an error.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit+2 {
			return nil, &LimitError{What: "a line", Limit: limit}
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return line, err
		}
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	max int
	mu  sync.Mutex
	buf []byte
	cut bool
}

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if len(p) > t.max {
		p, t.cut = p[len(p)-t.max:], true
	}
	if over := len(t.buf) + len(p) - t.max; over > 0 {
		t.buf, t.cut = append(t.buf[:0], t.buf[over:]...), true
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// String is the kept text, from the start of a line if there is one.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buf
	if t.cut {
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
			b = b[i+1:]
		}
	}
	return string(valid(b))
}
