package main

import (
	"testing"

	"github.com/parley-mcp/parley/elicit/elicittest"
)

func TestReserve(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			handler, err := newHandler()
			if err != nil {
				t.Fatal(err)
			}
			client := elicittest.Connect(t, handler, revision, elicittest.Script(t,
				elicittest.Accept(map[string]any{"desk": "4.07", "day": "2027-03-27"})), nil)
			result, err := client.Call(t.Context(), "reserve_desk", map[string]any{"office": "Hamburg"})
			if err != nil || result.IsError {
				t.Fatalf("%+v, %v", result, err)
			}
			if got, want := string(result.Structured), `{"desk":"4.07","day":"2027-03-27"}`; got != want {
				t.Errorf("result %s, want %s", got, want)
			}
		})
	}
}

func TestTakenInTheMeantime(t *testing.T) {
	t.Parallel()
	handler, err := newHandler()
	if err != nil {
		t.Fatal(err)
	}
	client := elicittest.Connect(t, handler, "2026-07-28", func(elicittest.Question) elicittest.Answer {
		return elicittest.Accept(map[string]any{"desk": "4.01", "day": "2027-03-27"})
	}, nil)
	for i, name := range []string{"Hamburg", "Hamburg, Elbe"} {
		result, err := client.Call(t.Context(), "reserve_desk", map[string]any{"office": name})
		if err != nil || result.IsError != (i == 1) {
			t.Errorf("call %d: %+v, %v", i, result, err)
		}
	}
}
