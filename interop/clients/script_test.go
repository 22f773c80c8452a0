package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/interop/stranger"
)

// scripted returns a client that is a script of interop/node: see lines.mjs
// for what it and this function say to each other.
func scripted(name string) func(*testing.T, *link) func(request) outcome {
	return func(t *testing.T, l *link) func(request) outcome {
		t.Helper()
		command, err := stranger.Node(context.WithoutCancel(t.Context()), "../"+name) // it ends with its input
		if err != nil {
			t.Fatal(err)
		}
		command.Stderr = t.Output()
		in, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		s := &scriptSession{t: t, link: l, to: json.NewEncoder(in), lines: bufio.NewScanner(out)}
		s.lines.Buffer(nil, 1<<20)
		t.Cleanup(func() {
			in.Close()
			if err := command.Wait(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		_, failed := s.order(map[string]any{"server": l.server, "revision": l.revision, "capabilities": l.capabilities()})
		if failed != nil {
			t.Fatalf("connecting: %s", failed.Error)
		}
		return func(r request) outcome {
			text, failed := s.order(map[string]any{"tool": r.tool, "prompt": r.prompt, "resource": r.resource, "list": r.list, "arguments": r.arguments})
			if failed != nil {
				return *failed
			}
			return result(t, text)
		}
	}
}

type scriptSession struct {
	t     *testing.T
	link  *link
	lines *bufio.Scanner

	mu sync.Mutex // one line at a time
	to *json.Encoder
}

func (s *scriptSession) say(message any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.to.Encode(message); err != nil {
		s.t.Error(err)
	}
}

// order says something to the script, and answers its questions until it has
// a result or an error.
func (s *scriptSession) order(message any) (json.RawMessage, *outcome) {
	s.t.Helper()
	var answers sync.WaitGroup
	defer answers.Wait()
	s.say(message)
	for s.lines.Scan() {
		var said struct {
			Question *struct {
				ID     int      `json:"id"`
				Params question `json:"params"`
			} `json:"question"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(s.lines.Bytes(), &said); err != nil {
			s.t.Fatalf("%v in %q", err, s.lines.Text())
		}
		if said.Error != nil {
			return nil, &outcome{Code: said.Error.Code, Error: said.Error.Message}
		}
		if said.Question == nil {
			return said.Result, nil
		}
		asked := said.Question
		answers.Go(func() { // another may come meanwhile
			reply, err := s.link.answer(s.t.Context(), asked.Params)
			if err != nil {
				s.t.Error(err)
				reply = answer{Action: "cancel"}
			}
			s.say(map[string]any{"id": asked.ID, "answer": reply})
		})
	}
	s.t.Fatalf("the script ended without a word: %v", s.lines.Err())
	return nil, nil
}
