package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func (p *parley) bearer() string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.data, "token"))
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// A reply is what the API answered.
type reply struct {
	Status int
	Body   string
	Header http.Header
}

func (r *reply) decode(t *testing.T, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), to); err != nil {
		t.Fatalf("the answer %d %q is no JSON: %v", r.Status, r.Body, err)
	}
}

// A trouble is a problem+json.
type trouble struct {
	Status   int    `json:"status"`
	Code     string `json:"code"`
	Title    string `json:"title"`
	Detail   string `json:"detail"`
	ClosedBy string `json:"closed_by"`
	Errors   []struct {
		Field   string `json:"field"`
		Pointer string `json:"pointer"`
		Code    string `json:"code"`
		Text    string `json:"text"`
	} `json:"errors"`
}

func (r *reply) trouble(t *testing.T) trouble {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("an error of type %q: %s", got, r.Body)
	}
	var out trouble
	r.decode(t, &out)
	if out.Status != r.Status {
		t.Errorf("the problem says status %d, the answer is %d", out.Status, r.Status)
	}
	return out
}

// api sends one request as the signed-in person. A body that is no string is
// sent as JSON.
func (p *parley) api(method, path string, body any) *reply {
	p.t.Helper()
	return p.send(method, path, body, http.Header{"Authorization": {"Bearer " + p.bearer()}})
}

func (p *parley) send(method, path string, body any, header http.Header) *reply {
	p.t.Helper()
	var reader io.Reader = http.NoBody
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	default:
		b, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		reader = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, reader)
	if err != nil {
		p.t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return &reply{Status: resp.StatusCode, Body: string(b), Header: resp.Header}
}

// A call as the API shows it, as far as tests look.
type call struct {
	ID        string          `json:"id"`
	Version   int64           `json:"version"`
	State     string          `json:"state"`
	Reason    string          `json:"reason"`
	Text      string          `json:"text"`
	Result    json.RawMessage `json:"result"`
	Questions []string        `json:"questions"`
	Replaces  string          `json:"replaces"`
}

// A question as the API shows it, as far as tests look.
type question struct {
	ID       string `json:"id"`
	Call     string `json:"call"`
	State    string `json:"state"`
	Message  string `json:"message"`
	Position int    `json:"position"`
	Of       int    `json:"of"`
	View     *struct {
		Problem string `json:"problem"`
		Fields  []struct {
			Name    string          `json:"name"`
			Label   string          `json:"label"`
			Control string          `json:"control"`
			Default json.RawMessage `json:"default"`
			Options []struct {
				Value string `json:"value"`
			} `json:"options"`
		} `json:"fields"`
	} `json:"view"`
}

// run starts a tool through the API.
func (p *parley) run(conversation, server, tool, arguments string) call {
	p.t.Helper()
	got := p.api("POST", "/v1/calls", map[string]any{
		"conversation": conversation, "server": server, "tool": tool, "arguments": json.RawMessage(arguments),
	})
	if got.Status != http.StatusCreated {
		p.t.Fatalf("running %s: %d %s", tool, got.Status, got.Body)
	}
	var c call
	got.decode(p.t, &c)
	return c
}

// await waits until the call is in one of these states.
func (p *parley) await(id string, states ...string) call {
	p.t.Helper()
	var c call
	eventually(p.t, "the call to be "+strings.Join(states, " or "), func() bool {
		since := strconv.FormatInt(c.Version, 10)
		p.api("GET", "/v1/calls/"+id+"?wait=1&since="+since, nil).decode(p.t, &c)
		return slices.Contains(states, c.State)
	})
	return c
}

// open waits until n questions are open, and returns them, oldest first.
func (p *parley) open(n int) []question {
	p.t.Helper()
	var list struct {
		Questions []question `json:"questions"`
	}
	eventually(p.t, strconv.Itoa(n)+" open questions", func() bool {
		p.api("GET", "/v1/questions?state=open", nil).decode(p.t, &list)
		return len(list.Questions) == n
	})
	return list.Questions
}

// calls returns all calls of all conversations.
func (p *parley) calls() []call {
	p.t.Helper()
	var conversations struct {
		Conversations []struct {
			ID string `json:"id"`
		} `json:"conversations"`
	}
	p.api("GET", "/v1/conversations", nil).decode(p.t, &conversations)
	var all []call
	for _, c := range conversations.Conversations {
		var one struct {
			Calls []call `json:"calls"`
		}
		p.api("GET", "/v1/conversations/"+c.ID, nil).decode(p.t, &one)
		all = append(all, one.Calls...)
	}
	return all
}
