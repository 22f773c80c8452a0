package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// An Event is a row that has changed, whole, as it is now.
type Event struct {
	// Seq is the number of the event: later ones have higher ones.
	Seq int64
	// Kind is "call", "question", "approval" or "refusal", "hello" at the beginning of a stream
	// without a cursor, or "reset": the cursor is too old, so read everything anew.
	Kind string
	Data json.RawMessage
}

// Row reads the row of an event: a *[Call], a *[Question], an *[Approval] or a
// *[Refusal]; nil for other kinds.
func (e *Event) Row() (any, error) {
	var row any
	switch e.Kind {
	case "call":
		row = new(Call)
	case "question":
		row = new(Question)
	case "approval":
		row = new(Approval)
	case "refusal":
		row = new(Refusal)
	default:
		return nil, nil
	}
	if err := json.Unmarshal(e.Data, row); err != nil {
		return nil, fmt.Errorf("client: the row of event %d: %w", e.Seq, err)
	}
	return row, nil
}

const (
	maxEvent  = 40 << 20         // bytes of one
	firstWait = time.Second      // before coming back
	mostWait  = 30 * time.Second // later
	silence   = 60 * time.Second // the host writes each 15 s: longer silence is a dead connection
)

// Events yields what changes after the event with the number after; with 0, from now
// on. When the connection ends it comes back and goes on where it was. It ends with ctx,
// when the loop breaks, or with an *[Error] that coming back would not mend, which it
// yields last.
func (c *Client) Events(ctx context.Context, after int64) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		wait, cursor := firstWait, ""
		if after > 0 {
			cursor = strconv.FormatInt(after, 10)
		}
		for ctx.Err() == nil {
			stop, err := c.stream(ctx, &cursor, func(e *Event) bool {
				wait = firstWait
				return yield(e, nil)
			})
			if stop || ctx.Err() != nil {
				return
			}
			pause := wait
			if e, ok := errors.AsType[*Error](err); ok {
				if e.Status < 500 && e.Status != http.StatusTooManyRequests {
					yield(nil, err)
					return
				}
				pause = max(pause, e.retry)
			}
			if !sleep(ctx, pause) {
				return
			}
			wait = min(2*wait, mostWait)
		}
	}
}

// stream reads one connection's events. It reports whether the reader wants no more.
func (c *Client) stream(ctx context.Context, cursor *string, yield func(*Event) bool) (stop bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := c.send(ctx, http.MethodGet, "/v1/events", func(h http.Header) {
		h.Set("Accept", "text/event-stream")
		if *cursor != "" {
			h.Set("Last-Event-ID", *cursor)
		}
	}, nil)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	dead := time.AfterFunc(silence, cancel)
	defer dead.Stop()
	lines := bufio.NewReaderSize(resp.Body, 64<<10)
	e, size := Event{}, 0
	for {
		line, err := readLine(lines, maxEvent-size)
		if err != nil {
			return false, err
		}
		dead.Reset(silence)
		size += len(line)
		// HTML Standard, "Interpreting an event stream": an empty line dispatches.
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case len(line) == 0:
			if len(e.Data) > 0 {
				*cursor = strconv.FormatInt(e.Seq, 10) // also 0, of a person to whom nothing has happened yet
				done := e
				if !yield(&done) {
					return true, nil
				}
			}
			e, size = Event{}, 0
		case name == "id":
			e.Seq, err = strconv.ParseInt(value, 10, 64)
			if err != nil {
				return false, fmt.Errorf("client: the number of an event: %w", err)
			}
		case name == "event":
			e.Kind = value
		case name == "data":
			if len(e.Data) > 0 {
				e.Data = append(e.Data, '\n')
			}
			e.Data = append(e.Data, value...)
		}
	}
}

// readLine reads one line of at most limit bytes, without its end.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > limit {
			return nil, fmt.Errorf("client: an event has more than %d bytes", maxEvent)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
