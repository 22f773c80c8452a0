package serve_test

import (
	"bufio"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/internal/conform"
	"github.com/parley-mcp/parley/store/memstore"
)

const (
	sentinelAnswer  = "only-the-person-wrote-this"
	sentinelAddress = "https://pages.example/only-the-person-goes-here"
)

// confiding is a server that asks for an answer and for a visit, and in ways that are no
// questions, with the same address in them.
func confiding() *hosttest.Script {
	const page = `{"mode":"url","message":"Sign in","url":"` + sentinelAddress + `","elicitationId":"e"}`
	const form = `{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"who":{"type":"string"}}}}`
	ask := func(params string) string { return `{"method":"elicitation/create","params":` + params + `}` }
	return &hosttest.Script{Tools: map[string]hosttest.Tool{
		"plain": func(x *hosttest.Exchange) { x.Text("done") },
		"asks": func(x *hosttest.Exchange) {
			if x.Responses == nil {
				x.Asks(`{"form":`+ask(form)+`,"other":`+ask(strings.Replace(form, "Who?", "Who else?", 1))+`,"page":`+ask(page)+`}`, "state")
				return
			}
			x.Text("thanks")
		},
		// Refused by the host, and kept as what the server answered.
		"pages": func(x *hosttest.Exchange) { x.Error(-32042, "pages", `{"elicitations":[`+page+`,`+form+`]}`) },
		"foreign": func(x *hosttest.Exchange) {
			x.Asks(`{"page":`+ask(page)+`,"model":{"method":"sampling/createMessage","params":{}}}`, "state")
		},
	}}
}

// What a person answered, and the address that they are asked to go to, are in no answer
// of any route, nor in the stream, to a model. Where the servers file shows answers to
// models they are there; addresses are not.
func TestModelLearnsNoAnswers(t *testing.T) {
	t.Parallel()
	for name, visible := range map[string]bool{"by default": false, "answersVisibleToModel": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := confides(t, visible)
			c := b.run("asks", map[string]any{})
			var answered, takenBack string
			for _, id := range c.Questions {
				switch q := b.question(id); {
				case q.Mode == "url":
				case q.Message == "Who?":
					answered = id
				default:
					takenBack = id
				}
			}
			body := map[string]any{"action": "accept", "content": map[string]any{"who": sentinelAnswer}}
			b.post("/v1/questions/"+answered+"/answer", body).want(http.StatusOK)
			b.post("/v1/questions/"+takenBack+"/answer", body).want(http.StatusOK)
			b.post("/v1/questions/"+takenBack+"/take-back", nil).want(http.StatusOK)
			calls := []string{c.ID, b.run("pages", map[string]any{}).ID, b.run("foreign", map[string]any{}).ID}

			person := b.everything(nil, calls, c.Questions)
			model := b.everything(http.Header{"Actor": {"model"}}, calls, c.Questions)
			for route, text := range person {
				got, told := model[route], strings.Contains(text, sentinelAnswer)
				if strings.Contains(got, sentinelAddress) {
					t.Errorf("%s tells a model the address: %s", route, got)
				}
				if has := strings.Contains(got, sentinelAnswer); has != (visible && told) {
					t.Errorf("%s tells a model the answer: %v, the person: %v: %s", route, has, told, got)
				}
				told = told && !visible || strings.Contains(text, sentinelAddress)
				if told != strings.Contains(got, `"withheld":true`) || strings.Contains(text, `"withheld"`) {
					t.Errorf("%s does not say that something is missing: %s", route, got)
				}
			}
			for _, route := range []string{"/v1/events", "/v1/questions", "/v1/questions?state=open", "/v1/conversations/v_1", "/v1/questions/" + answered, "/v1/questions/" + takenBack} {
				if !strings.Contains(person[route], sentinelAnswer) {
					t.Errorf("%s does not tell the person the answer", route)
				}
			}
			for _, route := range []string{"/v1/events", "/v1/questions", "/v1/conversations/v_1", "/v1/calls/" + calls[1], "/v1/calls/" + calls[2]} {
				if !strings.Contains(person[route], sentinelAddress) {
					t.Errorf("%s does not tell the person the address", route)
				}
			}
		})
	}
}

// confides is a host of such a server, where a header says who asks for the person.
func confides(t *testing.T, visible bool) *bench {
	t.Helper()
	in := inbox.New(memstore.New(nil), seal.NewRing(), nil)
	desk := hosttest.NewServer(t, confiding())
	h, err := host.New(in, []*host.Server{{ID: "desk", URL: desk.URL, AnswersVisibleToModel: visible}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- h.Run(ctx) }()
	api := httptest.NewServer(serve.New(h, in, &serve.Options{Identify: func(r *http.Request) (*serve.Session, error) {
		return &serve.Session{Principal: annOfAcme, Actor: inbox.Actor(r.Header.Get("Actor"))}, nil
	}}).Handler())
	t.Cleanup(func() {
		cancel()
		<-ran
		api.CloseClientConnections()
		api.Close()
	})
	return &bench{t: t, base: api.URL, inbox: in, host: h}
}

// everything is what each route that reads answers, by its path, for these rows.
func (b *bench) everything(header http.Header, calls, questions []string) map[string]string {
	b.t.Helper()
	approvals, err := b.inbox.Approvals(b.t.Context(), annOfAcme, inbox.ApprovalFilter{})
	if err != nil {
		b.t.Fatal(err)
	}
	if len(approvals) == 0 {
		_, a := asked(b.t, b.inbox, annOfAcme, inbox.Ask{})
		approvals = append(approvals, a)
	}
	ids := map[string][]string{"calls": calls, "questions": questions, "approvals": {string(approvals[0].ID)}, "conversations": {"v_1"}, "servers": {"desk"}}
	got := map[string]string{}
	for path, methods := range conform.Read(b.t).Paths {
		op, reads := methods["get"]
		if !reads || op.Scope == "operator" || path == "/v1/openapi.json" {
			continue
		}
		list := []string{path}
		if kind := strings.Split(path, "/")[2]; strings.Contains(path, "{id}") {
			if list = nil; len(ids[kind]) == 0 {
				b.t.Fatalf("no row of %s is made by this test", path)
			}
			for _, id := range ids[kind] {
				list = append(list, strings.Replace(path, "{id}", id, 1))
			}
		}
		for _, p := range op.Parameters {
			if p.Name == "state" {
				list = append(list, path+"?state=open")
			}
		}
		for _, at := range list {
			if at == "/v1/events" {
				got[at] = b.pastEvents(header)
				continue
			}
			got[at] = string(b.do(http.MethodGet, at, nil, header).body)
		}
	}
	if len(got) < 15 {
		b.t.Errorf("only %d answers", len(got))
	}
	return got
}

// pastEvents reads the stream from the beginning to what has happened so far.
func (b *bench) pastEvents(header http.Header) string {
	b.t.Helper()
	last, err := b.inbox.LastEvent(b.t.Context(), annOfAcme)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, leave := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+"/v1/events?after=0", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	var text strings.Builder
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for at := ""; lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			at = id
		}
		if lines.Text() == "" && at == jsonText(last) {
			return text.String()
		}
	}
	b.t.Fatalf("the stream ended: %v", lines.Err())
	return ""
}
