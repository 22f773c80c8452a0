package elicittest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// errPipeClosed ends the requests that are open when a pipe closes.
var errPipeClosed = errors.New("elicittest: the connection was closed")

// pipeWire is stdio: one message a line.
type pipeWire struct {
	out io.WriteCloser
	in  io.ReadCloser

	writing sync.Mutex // one line at a time
	ended   context.Context
	end     context.CancelCauseFunc // why the connection is over
	readers sync.WaitGroup

	mu      sync.Mutex // guards waiting
	waiting map[string]chan []byte
}

func newPipeWire(out io.WriteCloser, in io.ReadCloser) *pipeWire {
	ended, end := context.WithCancelCause(context.Background())
	return &pipeWire{out: out, in: in, ended: ended, end: end, waiting: make(map[string]chan []byte)}
}

// serve reads until the pipe closes. Requests of the server go to asked, each in
// a goroutine of its own: the person may be slow.
func (w *pipeWire) serve(asked func(context.Context, []byte) error) {
	w.readers.Go(func() {
		defer w.end(errPipeClosed)
		lines := bufio.NewScanner(w.in)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			text := append([]byte(nil), lines.Bytes()...)
			var message struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if json.Unmarshal(text, &message) != nil {
				continue
			}
			if message.Method != "" {
				w.readers.Go(func() {
					if err := asked(w.ended, text); err != nil {
						w.end(err) // which call it belongs to nobody knows
					}
				})
				continue
			}
			w.mu.Lock()
			waiter := w.waiting[string(message.ID)]
			delete(w.waiting, string(message.ID))
			w.mu.Unlock()
			if waiter != nil {
				waiter <- text
			}
		}
	})
}

func (w *pipeWire) request(ctx context.Context, id string, message map[string]any, header http.Header, receive receiver) (json.RawMessage, error) {
	waiter := make(chan []byte, 1)
	w.mu.Lock()
	w.waiting[id] = waiter
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting, id)
	}()
	if err := w.notify(ctx, message, header); err != nil {
		return nil, err
	}
	select {
	case text := <-waiter:
		result, _, err := receive(ctx, text, id, 0)
		return result, err
	case <-w.ended.Done():
		return nil, context.Cause(w.ended)
	case <-ctx.Done():
		cancelled := map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": message["id"]}}
		return nil, errors.Join(fmt.Errorf("elicittest: %w", context.Cause(ctx)), w.notify(context.WithoutCancel(ctx), cancelled, nil))
	}
}

func (w *pipeWire) notify(_ context.Context, message map[string]any, header http.Header) error {
	if header != nil {
		return errors.New("elicittest: over pipes there is one user")
	}
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("elicittest: %w", err)
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	if _, err := w.out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("elicittest: %w", err)
	}
	return nil
}

func (w *pipeWire) leave() {
	w.out.Close()
	w.in.Close()
	w.end(errPipeClosed)
}

func (w *pipeWire) close() {
	w.leave()
	w.readers.Wait()
}
