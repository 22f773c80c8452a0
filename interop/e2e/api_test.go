package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// routes are those of the source that need a session, as "GET /v1/...".
func routes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../serve/*.go")
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`"((?:GET|POST|PUT|DELETE|PATCH) /v1/[^"]*)"`)
	var list []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pattern.FindAllStringSubmatch(string(b), -1) {
			// Sign-in and the document are for strangers, and tokens are for API keys, of which there are none here.
			if match[1] != "POST /v1/sign-in" && !strings.HasPrefix(match[1], "POST /v1/embed-tokens") && match[1] != "GET /v1/openapi.json" {
				list = append(list, match[1])
			}
		}
	}
	if len(list) < 15 {
		t.Fatalf("%d routes found in the source: %q", len(list), list)
	}
	return list
}

func TestStrangersGetNothing(t *testing.T) {
	t.Parallel()
	p, _ := recorder(t, "2026-07-28")
	c := p.run("v_mine", "recorder", "ask", `{}`)
	p.await(c.ID, "waiting")
	id := p.open(1)[0].ID

	for _, route := range routes(t) {
		method, path, _ := strings.Cut(route, " ")
		real := strings.NewReplacer("/v1/calls/{id}", "/v1/calls/"+c.ID, "/v1/questions/{id}", "/v1/questions/"+id,
			"/v1/servers/{id}", "/v1/servers/recorder", "/v1/conversations/{id}", "/v1/conversations/v_mine").Replace(path)
		unknown := strings.ReplaceAll(path, "{id}", "nobody")
		bearer := "Bearer " + p.bearer()
		for _, test := range []struct {
			what, path string
			header     http.Header
			status     int
			code       string
		}{
			{"no bearer", real, http.Header{}, 401, "signed_out"},
			{"a wrong bearer", real, http.Header{"Authorization": {"Bearer " + strings.Repeat("A", 43)}}, 401, "signed_out"},
			{"the bearer as a password", real, http.Header{"Authorization": {"Basic " + p.bearer()}}, 401, "signed_out"},
			{"another site's origin", real, http.Header{"Authorization": {bearer}, "Origin": {"https://evil.example"}}, 403, "cross_origin"},
			{"another site's page", real, http.Header{"Authorization": {bearer}, "Sec-Fetch-Site": {"cross-site"}}, 403, "cross_origin"},
			{"another name of this machine", real, http.Header{"Authorization": {bearer}, "Host": {"evil.example"}}, 421, "wrong_host"},
			{"an unknown id", unknown, http.Header{"Authorization": {bearer}}, 404, ""},
		} {
			switch {
			case test.code == "cross_origin" && method == "GET":
				continue // reading across origins is what browsers refuse themselves
			case test.status == 404 && (unknown == path || path == "/v1/conversations/{id}" || path == "/v1/servers/{id}/stop"):
				continue // no id; or one that the page makes up; or a server that left the file, of which nothing runs
			}
			got := p.send(method, test.path, body(method), test.header)
			if tr := got.trouble(t); tr.Status != test.status || test.code != "" && tr.Code != test.code || tr.Title == "" {
				t.Errorf("%s with %s: %d %s, want %d %s", route, test.what, got.Status, got.Body, test.status, test.code)
			}
		}
	}
	if got := p.open(1)[0]; got.ID != id || got.State != "open" {
		t.Errorf("after all that the question is %+v, want it open", got)
	}
	if got := p.send("GET", "/v1/no-such-thing", nil, http.Header{"Authorization": {"Bearer " + p.bearer()}}); got.Status != 404 {
		t.Errorf("an unknown route: %d, want 404", got.Status)
	}
}

// body is one that every route can read.
func body(method string) any {
	if method != "POST" {
		return nil
	}
	return `{"action":"decline","how":"give_up","allow":false,"conversation":"v_mine","server":"nobody","tool":"ask","arguments":{},"input":null}`
}

func TestClosedQuestion(t *testing.T) {
	t.Parallel()
	p, s := recorder(t, "2026-07-28")
	c := p.run("v_mine", "recorder", "ask", `{}`)
	id := p.open(1)[0].ID
	if got := p.api("POST", "/v1/calls/"+c.ID+"/stop", nil); got.Status != 200 {
		t.Fatalf("stopping: %d %s", got.Status, got.Body)
	}
	got := p.api("POST", "/v1/questions/"+id+"/answer", `{"action":"accept","content":{"word":"late"}}`)
	if tr := got.trouble(t); tr.Status != 409 || tr.Code != "question_closed" || tr.ClosedBy != "stop" || tr.Detail == "" {
		t.Errorf("an answer after the end: %d %s, want 409 question_closed by stop", got.Status, got.Body)
	}
	if n := len(s.Calls()); n != 1 {
		t.Errorf("the server was called %d times, want once", n)
	}
}

func TestWritesAreIdempotent(t *testing.T) {
	t.Parallel()
	p, s := recorder(t, "2026-07-28")
	key := func(k string) http.Header {
		return http.Header{"Authorization": {"Bearer " + p.bearer()}, "Idempotency-Key": {k}}
	}
	const compose = `{"conversation":"v_mine","server":"recorder","tool":"ask","arguments":{}}`
	var ids []string
	for range 2 {
		got := p.send("POST", "/v1/calls", compose, key("one"))
		var c call
		got.decode(t, &c)
		ids = append(ids, c.ID)
	}
	if ids = slices.Compact(ids); len(ids) != 1 {
		t.Errorf("the same request twice made the calls %q", ids)
	}
	got := p.send("POST", "/v1/calls", strings.Replace(compose, `"ask"`, `"two"`, 1), key("one"))
	if tr := got.trouble(t); tr.Status != 409 || tr.Code != "key_reused" {
		t.Errorf("another request with the same key: %d %s, want 409 key_reused", got.Status, got.Body)
	}
	id := p.open(1)[0].ID
	for range 2 {
		if got := p.send("POST", "/v1/questions/"+id+"/answer", `{"action":"accept","content":{"word":"x"}}`, key("two")); got.Status != 200 {
			t.Errorf("the same answer again: %d %s, want 200", got.Status, got.Body)
		}
	}
	p.await(ids[0], "done")
	if n := len(s.Calls()); n != 2 {
		t.Errorf("the server was called %d times, want twice", n)
	}
}
