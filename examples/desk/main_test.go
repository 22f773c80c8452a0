package main

import (
	"testing"

	"github.com/parley-mcp/parley/elicit/elicittest"
)

func TestReserve(t *testing.T) {
	t.Parallel()
	handler, err := newHandler()
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			client := elicittest.Connect(t, handler, revision, elicittest.Script(t,
				elicittest.Accept(map[string]any{"desk": "4.07", "day": "2027-03-27"})), nil)
			result, err := client.Call(t.Context(), "reserve_desk", map[string]any{"office": "Hamburg"})
			if err != nil || result.IsError {
				t.Fatalf("%+v, %v", result, err)
			}
			if got, want := string(result.Structured), `{"day":"2027-03-27","desk":"4.07"}`; got != want {
				t.Errorf("result %s, want %s", got, want)
			}
		})
	}
}
