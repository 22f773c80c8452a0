package wiretap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestAskLegacy(t *testing.T) {
	t.Parallel()
	url, rec := serveSDK(t, nil)
	tap := New(nil)
	x := &Exchange{Call: "c1"}
	var q *Question
	var marked bool
	handler := func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		q = tap.Question(req.Params.GetMeta())
		if q == nil {
			return nil, errors.New("no question")
		}
		q.Answer(json.RawMessage("{\n\"action\":\"accept\",\"content\":{\"zebra\":9007199254740993}}"), func(context.Context) error {
			marked = rec.find("9007199254740993}}") == ""
			return nil
		})
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	cs := overHTTP(t, tap, url, v2025, handler)
	if _, err := callTool(t, cs, x, "ask"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(q.Params), `"requestedSchema":`+askSchema) {
		t.Errorf("params = %s, want the schema's bytes", q.Params)
	}
	if !q.Exact || !slices.Equal(q.Exchanges, []*Exchange{x}) {
		t.Errorf("exchanges = %v (exact %v), want x", q.Exchanges, q.Exact)
	}
	wait(t, "Done", q.Done())
	if d := q.Delivery(); !d.Accepted || !d.Left || d.Status != http.StatusAccepted || d.Err != nil || !marked {
		t.Errorf("delivery = %+v, marked before the first byte: %v", d, marked)
	}
	want := `{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":{ "action":"accept","content":{"zebra":9007199254740993}}}`
	if got := rec.find(`"accept"`); got != want {
		t.Errorf("answer on the wire:\n got %s\nwant %s", got, want)
	}
	if tap.Question(map[string]any{MarkerKey: "parley-1"}) != nil {
		t.Error("an answered question is still open")
	}
	if s := tap.Stats(); s.Questions != 1 || s.OpenAsks != 0 {
		t.Errorf("stats = %+v", s)
	}
}

// Content of the handler's own result reaches the wire as exactly as its values marshal: the reduced request has no
// schema that the SDK could check against, so json.Number and json.RawMessage pass, from a handler and from a
// receiving middleware. What is lost is only an empty content, which the SDK omits.
func TestAnswerThroughSDK(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		content map[string]any
		want    string
	}{
		{"raw", map[string]any{"zebra": json.RawMessage("9007199254740993")}, `"result":{"action":"accept","content":{"zebra":9007199254740993}}`},
		{"number", map[string]any{"zebra": json.Number("1e400")}, `"result":{"action":"accept","content":{"zebra":1e400}}`},
		{"empty", map[string]any{}, `"result":{"action":"accept"}`},
	} {
		for _, middleware := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/middleware=%v", tt.name, middleware), func(t *testing.T) {
				t.Parallel()
				asked := rawAsk(`"q-7"`, `{"message":"m","requestedSchema":`+askSchema+`}`)
				srv := newRaw(t, asked)
				answer := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { //nolint:unparam // the SDK has such a function
					return &mcp.ElicitResult{Action: "accept", Content: tt.content}, nil
				}
				handler := answer
				if middleware {
					handler = nil
				}
				client := newClient(handler)
				if middleware {
					client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
						return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
							if r, ok := req.(*mcp.ElicitRequest); ok {
								return answer(ctx, r)
							}
							return next(ctx, method, req)
						}
					})
				}
				tap := New(nil)
				cs, err := client.Connect(testCtx(t), &mcp.StreamableClientTransport{
					Endpoint: srv.url, HTTPClient: &http.Client{Transport: tap.RoundTripper(srv.transport)}, DisableStandaloneSSE: true, MaxRetries: -1,
				}, &mcp.ClientSessionOptions{ProtocolVersion: v2025})
				if err != nil {
					t.Fatal(err)
				}
				defer cs.Close()
				if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
					t.Fatal(err)
				}
				if got, want := srv.answer(), `{"jsonrpc":"2.0","id":"q-7",`+tt.want+`}`; got != want {
					t.Errorf("answer:\n got %s\nwant %s", got, want)
				}
			})
		}
	}
}

// An id is put back as the server wrote it, and withdrawn by it, whatever its type and size.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`"q-7"`, `7`, `9007199254740993`, `""`, `1.5`, `"7"`} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			tap := New(nil)
			asked := make(chan *Question, 1)
			srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, call string, s *rawServer) {
				ask := "data: {\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"elicitation/create\",\"params\":{}}\n\n"
				events(w, ask, ask) // the second is a repeat
				select {
				case q := <-asked:
					asked <- q
				case <-r.Context().Done():
					return
				}
				events(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"other\"}}\n\n",
					"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"+id+"}}\n\n",
					"data: "+result(call)+"\n\n")
			})
			returned := make(chan struct{})
			cs := srv.connect(t, tap, func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				defer close(returned)
				q := tap.Question(req.Params.GetMeta())
				q.Answer(nil, func(context.Context) error { t.Error("the hook of a withdrawn question ran"); return nil })
				asked <- q
				<-ctx.Done()
				return &mcp.ElicitResult{Action: "cancel"}, nil
			})
			if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
				t.Fatal(err)
			}
			q := <-asked
			if string(q.ID) != id {
				t.Errorf("id = %s, want %s", q.ID, id)
			}
			wait(t, "Withdrawn", q.Withdrawn())
			wait(t, "Done", q.Done())
			wait(t, "the handler", returned)
			if d := q.Delivery(); !errors.Is(d.Err, ErrWithdrawn) || d.Left || d.Accepted {
				t.Errorf("delivery = %+v", d)
			}
			cs.Close()
			select {
			case a := <-srv.answers:
				t.Errorf("answered a withdrawn question: %s", a)
			default:
			}
			if s := tap.Stats(); s.Repeated != 1 || s.Questions != 1 {
				t.Errorf("stats = %+v", s)
			}
		})
	}
}

// What the SDK would refuse to decode, or to hand to a handler, reaches the handler.
func TestUndecodableQuestions(t *testing.T) {
	t.Parallel()
	for _, params := range []string{
		`{"message":5,"requestedSchema":"not a schema"}`,
		`{"mode":"file","message":"m"}`,
		`{"mode":"form","message":"m","url":"https://x.test","requestedSchema":{"type":"array"}}`,
		`{"mode":"url","message":"m"}`,
		`{"_meta":[],"message":"m"}`,
		`{"_meta":{"io.github.parley-mcp/tap":"parley-9"},"message":"m"}`,
		`[1]`, `null`,
	} {
		t.Run(params, func(t *testing.T) {
			t.Parallel()
			tap := New(nil)
			srv := newRaw(t, rawAsk(`3`, params))
			var got json.RawMessage
			cs := srv.connect(t, tap, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				got = tap.Question(req.Params.GetMeta()).Params
				return &mcp.ElicitResult{Action: "decline"}, nil
			})
			if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
				t.Fatal(err)
			}
			if string(got) != params {
				t.Errorf("params = %s", got)
			}
			if got, want := srv.answer(), `{"jsonrpc":"2.0","id":3,"result":{"action":"decline"}}`; got != want {
				t.Errorf("answer = %s, want %s", got, want)
			}
		})
	}
}

func TestAnswerVetoed(t *testing.T) {
	t.Parallel()
	tap := New(nil)
	done := make(chan *Question, 1)
	srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, call string, s *rawServer) {
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\"}\n\n")
		select {
		case q := <-done:
			done <- q
		case <-r.Context().Done():
			return
		}
		events(w, "data: "+result(call)+"\n\n")
	})
	errMark := errors.New("no mark")
	cs := srv.connect(t, tap, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		q := tap.Question(req.Params.GetMeta())
		q.Answer(nil, func(context.Context) error { return errMark })
		go func() { <-q.Done(); done <- q }()
		return &mcp.ElicitResult{Action: "cancel"}, nil
	})
	if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
		t.Fatal(err)
	}
	q := <-done
	if d := q.Delivery(); !errors.Is(d.Err, ErrVetoed) || !errors.Is(d.Err, errMark) || d.Left {
		t.Errorf("delivery = %+v", d)
	}
	if len(srv.answers) != 0 {
		t.Error("a vetoed answer was sent")
	}
}

func TestOverflow(t *testing.T) {
	t.Parallel()
	tap := New(&Options{MaxOpen: 2})
	for i := range 6 {
		out, _, err := tap.incoming(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"elicitation/create"}`, i), nil)
		if err != nil || (out != nil) != (i < 4) {
			t.Errorf("request %d: %s, %v", i, out, err)
		}
	}
	if s := tap.Stats(); s.Overflow != 4 || s.OpenAsks != 4 || s.Questions != 2 {
		t.Errorf("stats = %+v", s)
	}
	q := tap.Question(map[string]any{MarkerKey: "parley-1"})
	tap.Close()
	wait(t, "Done", q.Done())
	if d := q.Delivery(); !errors.Is(d.Err, ErrClosed) {
		t.Errorf("delivery = %+v", d)
	}
}

// A server that asks more than is taken is told so, and its questions that are open stay.
func TestOverflowIsRefused(t *testing.T) {
	t.Parallel()
	tap := New(&Options{MaxOpen: 1})
	refused := make(chan string)
	srv := newRaw(t, func(w http.ResponseWriter, _ *http.Request, call string, s *rawServer) {
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{}}\n\n",
			"data: {\"jsonrpc\":\"2.0\",\"id\":\"two\",\"method\":\"elicitation/create\",\"params\":{}}\n\n")
		refused <- s.answer()
		if got, want := s.answer(), `{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`; got != want {
			t.Errorf("answer %s, want %s", got, want)
		}
		events(w, "data: "+result(call)+"\n\n")
	})
	cs := srv.connect(t, tap, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		want := `{"jsonrpc":"2.0","id":"two","error":{"code":-32000,"message":"more than this host accepts","data":{"reason":"too_many_questions"}}}`
		if got := <-refused; got != want {
			t.Errorf("refused with %s, want %s", got, want)
		}
		return &mcp.ElicitResult{Action: "decline"}, nil
	})
	if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
		t.Fatal(err)
	}
}
