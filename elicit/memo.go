package elicit

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Memo returns what lookup returned earlier in this call, or runs it. It keeps
// the value with the call, so that a search is paid once and not once per
// round, and the person chooses among the same offers that the next run sees.
//
// A value older than maxAge, which must be positive, is looked up again; then
// questions that change with it are asked again. T must survive a trip through
// JSON, and that trip is made even the first time. All memos of a call share
// [Limits.Memos]; they travel through the client, sealed, and compressed where
// that makes them shorter. Each is compressed by itself, so that its length tells
// nothing about another or about answers; still, what a client may not even guess
// at belongs into a store of your own, with its id in the memo.
//
// Memo is not "once": lookup runs again after an error, for another client,
// for a repeated call. Never use it for side effects (see
// [Call.IdempotencyKey]) and never for a decision about what somebody may do.
func Memo[T any](ctx context.Context, call *Call, key string, maxAge time.Duration, lookup func(context.Context) (T, error)) (T, error) {
	var zero T
	r := call.run
	if err := checkKey(key); err != nil {
		return zero, err
	}
	if maxAge <= 0 {
		return zero, fmt.Errorf("elicit: memo %q: maximum age %s is not positive", key, maxAge)
	}
	if err := r.pendingError(); err != nil {
		return zero, err
	}
	defer r.lock("memo " + key)()
	if raw, ok := r.remembered(key, maxAge); ok {
		var value T
		if json.Unmarshal(raw, &value) == nil {
			return value, nil
		}
		// A deploy has changed T since: look it up again.
	}
	found, err := lookup(ctx)
	if err != nil {
		return zero, err
	}
	raw, err := json.Marshal(found)
	if err != nil {
		return zero, fmt.Errorf("elicit: memo %q: %w", key, err)
	}
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		return zero, fmt.Errorf("elicit: memo %q does not survive JSON: %T cannot be read back", key, found)
	}
	if err := r.remember(key, raw); err != nil {
		return zero, err
	}
	return value, nil
}

func (r *run) remembered(key string, maxAge time.Duration) (json.RawMessage, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.cont.Memos[key]
	if !ok || r.server.now().Sub(m.At) > maxAge {
		return nil, false
	}
	return m.unpack()
}

func (r *run) remember(key string, raw json.RawMessage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errOver
	}
	made := newMemo(raw, r.server.now())
	size := made.size()
	for other, m := range r.cont.Memos {
		if other != key {
			size += m.size()
		}
	}
	if limit := r.server.limits.Memos; size > limit {
		return &LimitError{Limit: "memos", Max: limit, Unit: "bytes"}
	}
	if r.cont.Memos == nil {
		r.cont.Memos = make(map[string]memo)
	}
	r.cont.Memos[key] = made
	return nil
}

// minPacked is from where on compressing a memo is worth its time.
const minPacked = 512

func newMemo(raw json.RawMessage, at time.Time) memo {
	if len(raw) < minPacked {
		return memo{Value: raw, At: at}
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		return memo{Value: raw, At: at}
	}
	_, err = w.Write(raw)
	if err = errors.Join(err, w.Close()); err != nil || base64.StdEncoding.EncodedLen(packed.Len()) >= len(raw) {
		return memo{Value: raw, At: at}
	}
	return memo{Packed: packed.Bytes(), At: at}
}

// size is what the memo takes of [Limits.Memos].
func (m memo) size() int { return len(m.Value) + len(m.Packed) }

// unpack returns the value. What is packed came out of the server's own seal,
// and DEFLATE makes at most a thousand times as much of it.
func (m memo) unpack() (json.RawMessage, bool) {
	if m.Packed == nil {
		return m.Value, true
	}
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(m.Packed)))
	return raw, err == nil
}
