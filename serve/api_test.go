package serve_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
)

func TestAnswerAForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.run("seat", map[string]any{})
	if c.State != "waiting" || len(c.Questions) != 1 {
		t.Fatalf("the call is %+v, want it waiting with one question", c)
	}
	q := b.question(c.Questions[0])
	if strings.ContainsRune(q.Message, '\u202e') || len(q.Findings) == 0 {
		t.Errorf("message %q, findings %q: the hidden character must be visible and said", q.Message, q.Findings)
	}
	var order []string
	for _, f := range q.View.Fields {
		order = append(order, f.Name+":"+f.Control)
	}
	if got := strings.Join(order, " "); got != "seat:choice bags:integer" {
		t.Errorf("fields %q are not in the server's order", got)
	}

	path := "/v1/questions/" + q.ID
	t.Run("wrong input names the fields", func(t *testing.T) {
		var p struct {
			Errors []struct{ Field, Pointer, Code, Text string }
		}
		for _, route := range []string{"/check", "/answer"} {
			b.post(path+route, map[string]any{"action": "accept", "input": map[string]any{"seat": "x", "bags": "1,234"}}).
				code(http.StatusUnprocessableEntity, "check_failed").decode(&p)
			if len(p.Errors) != 2 || p.Errors[0].Pointer != "/seat" || p.Errors[1].Code != "ambiguous_number" || p.Errors[1].Text == "" {
				t.Errorf("%s: errors %+v", route, p.Errors)
			}
		}
		// JSON from a program is judged by the same rules.
		b.post(path+"/answer", map[string]any{"action": "accept", "content": map[string]any{"seat": 4}}).
			code(http.StatusUnprocessableEntity, "check_failed").decode(&p)
		if len(p.Errors) == 0 || p.Errors[0].Pointer != "/seat" {
			t.Errorf("content: errors %+v", p.Errors)
		}
	})

	// 2^53+1 and more: JavaScript and float64 would round it.
	const bags = "90071992547409929"
	var review struct {
		Content map[string]any
		Review  []struct{ Name, Label, Value, From string }
	}
	b.post(path+"/check", map[string]any{"input": map[string]any{"seat": "w", "bags": bags}}).want(http.StatusOK).decode(&review)
	if len(review.Review) != 2 || review.Review[0].Value != "Window" || review.Review[1].Value != bags || review.Review[1].From != "you" {
		t.Errorf("review %+v", review.Review)
	}
	var answered question
	b.post(path+"/answer", map[string]any{"action": "accept", "input": map[string]any{"seat": "w", "bags": bags}, "via": "chat"}).
		want(http.StatusOK).decode(&answered)
	if answered.State != "accepted" || answered.Answer == nil || answered.Answer.Via != "chat" {
		t.Errorf("the question is %+v", answered)
	}
	var end call
	b.get("/v1/calls/" + c.ID).want(http.StatusOK).decode(&end)
	end = b.settle(end)
	if end.State != "done" || len(end.Result.Content) != 1 || !strings.Contains(end.Result.Content[0].Text, bags) {
		t.Errorf("the call ended as %+v: the server must get every digit", end)
	}
	var p struct{ Detail string }
	b.post(path+"/answer", map[string]any{"action": "decline"}).code(http.StatusConflict, "question_closed").decode(&p)
	if p.Detail == "" {
		t.Error("an answer that came too late is not told why")
	}
}

// Whatever shows a call shows the same title of its tool, beside the name.
func TestTitles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.run("seat", map[string]any{})
	q := b.question(c.Questions[0])
	var list struct{ Conversations []struct{ Title string } }
	b.get("/v1/conversations").want(http.StatusOK).decode(&list)
	var tools struct {
		Tools []struct{ Name, Title string }
	}
	b.get("/v1/servers/desk/tools").want(http.StatusOK).decode(&tools)
	picked := ""
	for _, tool := range tools.Tools {
		if tool.Name == "seat" {
			picked = tool.Title
		}
	}
	if strings.ContainsRune(picked, '\u202e') || !strings.HasPrefix(picked, "Pick a seat") {
		t.Errorf("the picker says %q", picked)
	}
	if len(list.Conversations) != 1 || c.Title != picked || q.ToolTitle != picked || list.Conversations[0].Title != picked {
		t.Errorf("call %q, question %q, conversations %+v, want %q", c.Title, q.ToolTitle, list, picked)
	}
	if c.Name != "seat" || q.Tool != "seat" {
		t.Errorf("names %q and %q", c.Name, q.Tool)
	}
	if c := b.run("two", map[string]any{}); c.Title != "two" {
		t.Errorf("a tool without a title is called %q", c.Title)
	}
}

func TestArgumentsAreAForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var c call
	b.post("/v1/calls", map[string]any{
		"conversation": "v_1", "server": "desk", "tool": "plain",
		"input": map[string]any{"n": "9007199254740993", "deep": `{"a": [1.0]}`},
	}).want(http.StatusCreated).decode(&c)
	if got := string(c.Arguments); !strings.Contains(got, "9007199254740993") || !strings.Contains(got, "1.0") {
		t.Errorf("arguments %s lost their digits", got)
	}
	if c = b.settle(c); c.State != "done" {
		t.Errorf("the call is %+v", c)
	}
	var p struct{ Errors []struct{ Field string } }
	b.post("/v1/calls", map[string]any{
		"conversation": "v_1", "server": "desk", "tool": "plain", "input": map[string]any{"n": ""},
	}).code(http.StatusUnprocessableEntity, "check_failed").decode(&p)
	if len(p.Errors) != 1 || p.Errors[0].Field != "n" {
		t.Errorf("errors %+v", p.Errors)
	}
}

// A person is warned of fields that ask for a secret, in questions and arguments alike.
func TestSecretsAreMarked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	marked := func(tool string) (names string) {
		for _, f := range b.question(b.run(tool, map[string]any{}).Questions[0]).View.Fields {
			if f.Secret {
				names += " " + f.Name
			}
		}
		return names
	}
	if got := marked("login"); got != " zugang" {
		t.Errorf("marked are%s, want zugang alone", got)
	}
	// What is too much to be judged is marked, if one can type into it.
	if got := marked("wordy"); got != " two" {
		t.Errorf("marked are%s, want two alone", got)
	}
	var list struct {
		Tools []struct {
			Name string
			View struct {
				Fields []struct {
					Name   string
					Secret bool
				}
			}
		}
	}
	b.get("/v1/servers/desk/tools").want(http.StatusOK).decode(&list)
	for _, tool := range list.Tools {
		for _, f := range tool.View.Fields {
			if want := f.Name == "zugang"; f.Secret != want {
				t.Errorf("argument %s of %s: secret is %v", f.Name, tool.Name, f.Secret)
			}
		}
	}
}

func TestOpenAnAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.run("page", map[string]any{})
	q := b.question(c.Questions[0])
	if q.URL == nil || q.URL.Href != "https://example.com/b" || q.URL.Domain != "example.com" {
		t.Fatalf("the address is shown as %+v", q.URL)
	}
	path := "/v1/questions/" + q.ID
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	b.post(path+"/open", map[string]string{"url_sha256": sum("https://example.com/other")}).code(http.StatusConflict, "url_changed")
	b.post(path+"/answer", map[string]string{"action": "accept"}).code(http.StatusConflict, "not_opened")
	b.post(path+"/open", map[string]string{"url_sha256": sum(q.URL.Href)}).want(http.StatusOK).decode(&q)
	if q.State != "opened" {
		t.Errorf("the question is %s", q.State)
	}
	b.post(path+"/answer", map[string]string{"action": "accept"}).want(http.StatusOK)

	trap := b.question(b.run("trap", map[string]any{}).Questions[0])
	if trap.URL.Verdict != "refuse" || trap.URL.Href != "" {
		t.Errorf("the trap is shown as %+v", trap.URL)
	}
	b.post("/v1/questions/"+trap.ID+"/open", map[string]string{"url_sha256": sum("")}).code(http.StatusBadRequest, "bad_request")
}

func TestSeveralQuestionsInARound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.run("two", map[string]any{})
	if len(c.Questions) != 2 || !c.Can.DeclineRest {
		t.Fatalf("the call is %+v", c)
	}
	first := b.question(c.Questions[0])
	if first.Position != 1 || first.Of != 2 || first.Message != "One?" {
		t.Errorf("the first question is %+v", first)
	}
	path := "/v1/questions/" + first.ID
	var q question
	b.post(path+"/answer", map[string]any{"action": "accept", "input": map[string]any{"n": "1"}}).want(http.StatusOK).decode(&q)
	if !q.CanTakeBack {
		t.Error("the answer cannot be taken back although the round is open")
	}
	b.post(path+"/take-back", map[string]any{}).want(http.StatusOK).decode(&q)
	if q.State != "open" {
		t.Errorf("the question is %s after it was taken back", q.State)
	}
	b.post(path+"/answer", map[string]any{"action": "cancel"}).want(http.StatusOK)
	b.post("/v1/calls/"+c.ID+"/decline-rest", map[string]any{}).want(http.StatusOK).decode(&c)
	if c = b.settle(c); c.State != "done" {
		t.Errorf("the call is %+v", c)
	}
	b.post(path+"/take-back", map[string]any{}).code(http.StatusConflict, "too_late")
	if got := b.question(c.Questions[1]); got.State != "declined" {
		t.Errorf("the second question is %s", got.State)
	}
}

func TestStopAndRunAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.run("seat", map[string]any{})
	b.post("/v1/calls/"+c.ID+"/run-again", map[string]any{}).code(http.StatusConflict, "wrong_state")
	b.post("/v1/calls/"+c.ID+"/stop", map[string]any{}).want(http.StatusOK).decode(&c)
	if c.State != "stopped" || !c.Can.RunAgain || c.Can.Stop {
		t.Fatalf("the call is %+v", c)
	}
	if q := b.question(c.Questions[0]); q.State != "withdrawn" || q.ClosedBy != "stop" {
		t.Errorf("its question is %+v", q)
	}
	b.post("/v1/calls/"+c.ID+"/resolve", map[string]string{"how": "send_again"}).code(http.StatusConflict, "wrong_state")
	b.post("/v1/calls/"+c.ID+"/resolve", map[string]string{"how": "hope"}).code(http.StatusBadRequest, "bad_request")
	var again call
	b.post("/v1/calls/"+c.ID+"/run-again", map[string]any{}).want(http.StatusCreated).decode(&again)
	if again.ID == c.ID {
		t.Error("run again gave the same call")
	}
	if again = b.settle(again); again.State != "waiting" {
		t.Errorf("the new call is %+v", again)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := http.Header{"Idempotency-Key": {"k1"}}
	body := map[string]any{"conversation": "v_1", "server": "desk", "tool": "seat", "arguments": map[string]any{}}
	var first, second call
	b.do(http.MethodPost, "/v1/calls", body, key).want(http.StatusCreated).decode(&first)
	b.do(http.MethodPost, "/v1/calls", body, key).want(http.StatusCreated).decode(&second)
	if first.ID != second.ID {
		t.Error("one key made two calls")
	}
	body["tool"] = "two"
	b.do(http.MethodPost, "/v1/calls", body, key).code(http.StatusConflict, "key_reused")

	first = b.settle(first)
	answer := map[string]any{"action": "decline"}
	for range 2 { // the same answer again is no second answer
		b.do(http.MethodPost, "/v1/questions/"+first.Questions[0]+"/answer", answer, key).want(http.StatusOK)
	}
}

func TestServersAndTools(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var servers struct {
		Servers []struct {
			ID, Kind, Status string
			Local            bool
		}
	}
	b.get("/v1/servers").want(http.StatusOK).decode(&servers)
	if len(servers.Servers) != 2 || servers.Servers[0].ID != "desk" || !servers.Servers[0].Local || servers.Servers[0].Kind != "http" {
		t.Errorf("servers %+v", servers.Servers)
	}
	var tools struct {
		Tools []struct {
			Name string
			View struct {
				Fields []struct{ Name, Control string }
			}
		}
	}
	b.get("/v1/servers/desk/tools").want(http.StatusOK).decode(&tools)
	found := false
	for _, tool := range tools.Tools {
		if tool.Name == "plain" {
			found = len(tool.View.Fields) == 2 && tool.View.Fields[1].Control == "json"
		}
	}
	if !found {
		t.Errorf("tools %+v", tools.Tools)
	}
	b.get("/v1/servers/nowhere/tools").code(http.StatusNotFound, "unknown_server")
	var p struct{ Detail string }
	b.get("/v1/servers/gone/tools").code(http.StatusBadGateway, "unreachable").decode(&p)
	if !strings.Contains(p.Detail, "gone") {
		t.Errorf("detail %q does not name the server", p.Detail)
	}
	b.post("/v1/calls", map[string]any{"conversation": "v_1", "server": "desk", "tool": "nothing", "arguments": map[string]any{}}).
		code(http.StatusNotFound, "unknown_tool")
}

func TestConversations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.run("seat", map[string]any{})
	var list struct {
		Conversations []struct {
			ID   string
			Open int `json:"open_questions"`
		}
	}
	b.get("/v1/conversations").want(http.StatusOK).decode(&list)
	if len(list.Conversations) != 1 || list.Conversations[0].ID != "v_1" || list.Conversations[0].Open != 1 {
		t.Errorf("conversations %+v", list.Conversations)
	}
	var whole struct {
		Calls     []call
		Questions []question
		Event     int64
	}
	b.get("/v1/conversations/v_1").want(http.StatusOK).decode(&whole)
	if len(whole.Calls) != 1 || len(whole.Questions) != 1 || whole.Calls[0].ID != c.ID || whole.Event == 0 {
		t.Errorf("conversation %+v", whole)
	}
	b.get("/v1/conversations/v_2").want(http.StatusOK).decode(&whole)
	if len(whole.Calls) != 0 {
		t.Error("an unused conversation is not empty")
	}
	var open struct{ Questions []question }
	b.get("/v1/questions?state=open").want(http.StatusOK).decode(&open)
	if len(open.Questions) != 1 {
		t.Errorf("open questions %+v", open.Questions)
	}
	b.get("/v1/questions?state=shut").code(http.StatusBadRequest, "bad_request")
}
