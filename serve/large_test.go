package serve_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// What a server answers, however much, does not make the pages' own reads large:
// they say how large it is, and the call by its id has it whole.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	const large, medium = 16, 44 // together of more than an answer carries, each kind alone too
	b := setup(t)
	type row struct {
		ID, State, Name string
		Result          json.RawMessage
		Error           json.RawMessage
		Arguments       json.RawMessage
		ResultSize      int `json:"result_size"`
		ErrorSize       int `json:"error_size"`
		ArgumentsSize   int `json:"arguments_size"`
	}
	for range medium {
		b.run("medium", map[string]any{})
	}
	for range large {
		b.run("large", map[string]any{})
	}
	last := b.run("large", map[string]any{"text": strings.Repeat("a", 300<<10)})
	refused := b.run("broken", map[string]any{})
	if last.State != "done" || refused.State != "failed" {
		t.Fatalf("the calls are %s and %s", last.State, refused.State)
	}

	var list struct{ Conversations []struct{ ID, Title string } }
	got := b.get("/v1/conversations").want(http.StatusOK).decode(&list)
	if len(got.body) > 10<<10 || len(list.Conversations) != 1 || list.Conversations[0].Title != "medium" {
		t.Errorf("conversations: %d bytes, %+v", len(got.body), list)
	}

	var snapshot struct {
		Calls []row
		Event int64
	}
	got = b.get("/v1/conversations/v_1").want(http.StatusOK).decode(&snapshot)
	if len(got.body) > 9<<20 {
		t.Errorf("the snapshot has %d bytes", len(got.body))
	}
	if len(snapshot.Calls) != medium+large+2 || snapshot.Event == 0 {
		t.Fatalf("the snapshot has %d calls, event %d", len(snapshot.Calls), snapshot.Event)
	}
	whole := 0
	for i, c := range snapshot.Calls {
		has := string(c.Result) != "null"
		switch c.Name {
		case "large":
			if has || c.ResultSize < largeText || c.ID == last.ID && (string(c.Arguments) != "null" || c.ArgumentsSize < 300<<10) {
				t.Errorf("call %d: %d bytes of result, said to be %d; %d of arguments, said to be %d", i, len(c.Result), c.ResultSize, len(c.Arguments), c.ArgumentsSize)
			}
		case "medium":
			if has == (c.ResultSize > 0) {
				t.Errorf("call %d: %d bytes of result and a size of %d", i, len(c.Result), c.ResultSize)
			}
			if has {
				whole++
			} else if whole > 0 {
				t.Errorf("call %d is without its result, and one that is older has it", i)
			}
		case "broken":
			if string(c.Error) != "null" || c.ErrorSize < largeText {
				t.Errorf("%d bytes of error, said to be %d", len(c.Error), c.ErrorSize)
			}
		}
	}
	if whole == 0 {
		t.Error("no result that fits is in the snapshot")
	}

	var c struct {
		row
		Result struct{ Content []struct{ Text string } }
	}
	b.get("/v1/calls/" + last.ID).want(http.StatusOK).decode(&c)
	if len(c.Result.Content) != 1 || len(c.Result.Content[0].Text) != largeText || len(c.Arguments) < 300<<10 || c.ResultSize+c.ArgumentsSize != 0 {
		t.Errorf("the call by its id is not whole: %d blocks, %d bytes of arguments, sizes %d and %d", len(c.Result.Content), len(c.Arguments), c.ResultSize, c.ArgumentsSize)
	}

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/v1/events?after=0", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for seen := 0; seen < medium+large+2 && lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var c row
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatal(err)
		}
		if len(data) > 300<<10 {
			t.Errorf("an event of %d bytes", len(data))
		}
		seen++
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the events: %v", err)
	}
}
