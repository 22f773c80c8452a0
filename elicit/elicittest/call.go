package elicittest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"
)

// finish sends the call until it has a result that does not ask.
func (c *Client) finish(ctx context.Context, method string, params map[string]any) (*Result, error) {
	var header http.Header // whose the next send is
	var copied *twin       // of the next send: see Twice
	for rounds := 1; rounds <= maxRounds; rounds++ {
		raw, err := c.sendAs(ctx, header, method, params)
		if copied != nil && stillRunning(err) {
			// The other one was first: what comes to it is what the call wants.
			mine := Reply{Raw: raw, Err: err}
			<-copied.done
			raw, err, copied.reply = copied.reply.Raw, copied.reply.Err, mine
		}
		copied = nil
		if err != nil {
			return nil, err
		}
		var interim struct {
			ResultType   string `json:"resultType"`
			RequestState string `json:"requestState"`
		}
		if err := json.Unmarshal(raw, &interim); err != nil {
			return nil, fmt.Errorf("elicittest: reading a result: %w", err)
		}
		if interim.ResultType != "input_required" {
			result, err := readResult(raw)
			if err == nil {
				result.Rounds = rounds
			}
			return result, err
		}
		questions, err := Questions(raw)
		if err != nil {
			return nil, err
		}
		responses := make(map[string]json.RawMessage)
		var twice, replay bool
		header = nil
		for _, q := range questions {
			answer, err := c.ask(ctx, q)
			if err != nil {
				return nil, err
			}
			if answer.gone {
				return nil, c.disappear()
			}
			if !answer.Absent {
				responses[q.Key] = answer.result(q)
			}
			twice, replay = twice || answer.twice, replay || answer.replay
			if answer.header != nil {
				header = answer.header
			}
		}
		params = maps.Clone(params)
		params["inputResponses"], params["requestState"] = responses, interim.RequestState
		send, who := params, header
		resend := func(ctx context.Context) Reply {
			raw, err := c.sendAs(ctx, who, method, send)
			return Reply{Raw: raw, Err: err}
		}
		if twice {
			// At once, as after a time-out that was too short: which of the two
			// comes first nobody knows.
			other := &twin{done: make(chan struct{})}
			go func() {
				defer close(other.done)
				other.reply = resend(ctx)
			}()
			c.after.add(func(context.Context) Reply { <-other.done; return other.reply })
			copied = other
		}
		if replay {
			c.after.add(resend)
		}
	}
	return nil, fmt.Errorf("elicittest: no end after %d rounds", maxRounds)
}

// A twin is a second send of the same request, at the same time.
type twin struct {
	done  chan struct{}
	reply Reply // once it is done
}

// stillRunning reports whether the server says that it is busy with an earlier send.
func stillRunning(err error) bool {
	var data struct {
		Reason string `json:"reason"`
	}
	e, ok := errors.AsType[*Error](err)
	return ok && json.Unmarshal(e.Data, &data) == nil && data.Reason == "call_in_progress"
}

// disappear ends the connection, and with it all calls.
func (c *Client) disappear() error {
	c.gone.Store(true)
	c.wire.leave()
	return ErrGone
}

// ask has the person answer, one question at a time.
func (c *Client) ask(ctx context.Context, q Question) (Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.person == nil {
		return Answer{Absent: true}, nil
	}
	answer := c.person(q)
	if answer.slow <= 0 {
		return answer, nil
	}
	select {
	case <-time.After(answer.slow):
		return answer, nil
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("elicittest: the person was too slow: %w", context.Cause(ctx))
	}
}

// reply answers a request of a legacy server.
func (c *Client) reply(ctx context.Context, id json.RawMessage, method string, params json.RawMessage) error {
	reply := map[string]any{"jsonrpc": "2.0", "id": id}
	if method != "elicitation/create" {
		reply["error"] = map[string]any{"code": -32601, "message": "elicittest: only elicitation is answered"}
		return c.wire.notify(ctx, reply, nil)
	}
	question, err := newQuestion("", params)
	if err != nil {
		return err
	}
	answer, err := c.ask(ctx, question)
	if err != nil {
		return err
	}
	switch {
	case answer.gone:
		return c.disappear()
	case answer.Absent:
		reply["error"] = map[string]any{"code": -32603, "message": "elicittest: no answer"}
	default:
		reply["result"] = answer.result(question)
	}
	again := func(ctx context.Context) Reply { return Reply{Err: c.wire.notify(ctx, reply, answer.header)} }
	if answer.replay {
		c.after.add(again) // before the answer leaves: over pipes the call may end meanwhile
	}
	if err := c.wire.notify(ctx, reply, answer.header); err != nil {
		return err
	}
	if answer.twice {
		_ = again(ctx) // one of the two counts; what becomes of the other is the server's
	}
	return nil
}
