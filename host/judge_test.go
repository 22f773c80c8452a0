package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/wiretap"
)

// Whatever a server answers gets a verdict, and one that can be recorded.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{
		`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?"}}},"requestState":"s"}`,
		`{"resultType":"input_required","requestState":"s","ttlMs":1e300}`,
		`{"resultType":"task"}`, `{"content":[],"isError":true}`, `{"resultType":5}`, `[]`, `null`, `{"a":1,"a":2}`,
		`{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","message":"m","url":"https://x.example","elicitationId":"e"}]}}`,
		`{"code":-32602,"message":"m","data":{"reason":"invalid_request_state"}}`,
		`{"code":-32000,"message":"m","data":{"reason":5}}`, `{"code":"x"}`,
		`{"resultType":"input_required","inputRequests":{"":{"method":"elicitation/create","params":{"message":"?","mode":null,"_meta":{"io.github.parley-mcp/expiresAt":"9999-99-99T00:00:00Z"}}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !json.Valid(b) {
			return
		}
		for _, era := range []inbox.Era{inbox.Legacy, inbox.Modern} {
			for _, v := range []verdict{
				judgeResult(b, "tools/call", era), judgeError(b, era, true, false), judgeError(b, era, false, true),
			} {
				switch v.judgement {
				case outcomeAsks:
					if len(v.questions) == 0 {
						t.Errorf("%s asks nothing", b)
					}
					seen := map[string]bool{}
					for _, q := range v.questions {
						if seen[q.Key] {
							t.Errorf("%s: two questions with key %q", b, q.Key)
						}
						seen[q.Key] = true
						if !json.Valid(q.Params) {
							t.Errorf("%s: params %s", b, q.Params)
						}
					}
				case outcomeFailed, outcomeLapsed, outcomeUnknown:
					text := explain(v.reason, "Tea shop", v.word)
					if !strings.Contains(text, "Tea shop") || strings.ContainsAny(text, "\n\x1b\x00") || len(text) > 8<<10 {
						t.Errorf("%s: reason %q reads %q", b, v.reason, text)
					}
				case outcomeLater:
					if v.requestState == "" || v.wait > time.Hour {
						t.Errorf("%s: again with state %q after %v", b, v.requestState, v.wait)
					}
				}
			}
		}
	})
}

// Every reason has a sentence that names the server and leaves no gap.
func TestEveryReasonHasASentence(t *testing.T) {
	t.Parallel()
	for reason := range explanations {
		text := explain(reason, "Tea shop", "")
		if !strings.Contains(text, "Tea shop") || strings.ContainsAny(text, "{}%") || !strings.HasSuffix(text, ".") {
			t.Errorf("%s reads %q", reason, text)
		}
	}
	for _, state := range []inbox.CallState{
		inbox.CallNew, inbox.Approving, inbox.Ready, inbox.Claimed, inbox.Sent, inbox.Waiting, inbox.Blocked, inbox.Uncertain,
		inbox.Done, inbox.Failed, inbox.Denied, inbox.Stopped, inbox.CallExpired, inbox.Interrupted, inbox.Lapsed,
	} {
		if text := Explain(&inbox.Call{Server: "Tea shop", State: state}, ""); !strings.Contains(text, "Tea shop") {
			t.Errorf("state %s reads %q", state, text)
		}
	}
	for c, want := range map[*inbox.Call]string{
		{Server: "a", State: inbox.Sent, Held: true}:                                 "Shop asks you something and waits on the line.",
		{Server: "a", State: inbox.CallExpired, Detail: "The server's time passed."}: "Shop's time passed.",
		{Server: "a", State: inbox.Failed, Detail: "As it says."}:                    "As it says.",
		{Server: "a", State: inbox.Stopped, Reason: inbox.ReasonStopped}:             "You stopped this call to Shop.",
	} {
		if got := Explain(c, "Shop"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWatchdog(t *testing.T) {
	t.Parallel()
	fired := make(chan struct{}, 8)
	w := watch(time.Hour, func(error) { fired <- struct{}{} })
	w.pause()
	w.pause()
	w.expired() // a firing that was under way when a person was asked
	w.resume()
	w.expired()
	if len(fired) != 0 {
		t.Error("fired while a person thinks")
	}
	w.resume()
	w.expired()
	if len(fired) != 1 {
		t.Error("did not fire")
	}
	w.stop()
	w.touch()
	w.expired()
	if len(fired) != 1 {
		t.Error("fired after its stop")
	}
}

// However often a server says that it is at work, there is an end; the time in
// which a person thinks does not count.
func TestWatchdogInAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cause error
		w := watch(time.Minute, func(err error) { cause = err })
		defer w.stop()
		for range 20 {
			w.pause()
			time.Sleep(time.Hour) //nolint:forbidigo // synctest
			w.resume()
			time.Sleep(30 * time.Second) //nolint:forbidigo // synctest
			w.touch()
		}
		synctest.Wait()
		if cause != nil {
			t.Fatalf("fired after 10 minutes of work: %v", cause)
		}
		time.Sleep(59 * time.Second) //nolint:forbidigo // synctest
		w.touch()
		time.Sleep(59 * time.Second) //nolint:forbidigo // synctest
		w.touch()
		time.Sleep(2 * time.Second) //nolint:forbidigo // synctest
		synctest.Wait()
		if !errors.Is(cause, errTooLong) {
			t.Errorf("after 12 minutes of work: %v", cause)
		}
	})
}

// What is over a limit is not stored with the call that it ended.
func TestJudgeKeepsNothingTooLarge(t *testing.T) {
	t.Parallel()
	var requests strings.Builder
	for i := range wiretap.MaxInputRequests + 1 {
		fmt.Fprintf(&requests, `,"%d":{"method":"elicitation/create","params":{"message":"?"}}`, i)
	}
	v := judgeResult(json.RawMessage(`{"resultType":"input_required","inputRequests":{`+requests.String()[1:]+`}}`), "tools/call", inbox.Modern)
	if v.judgement != outcomeFailed || v.reason != inbox.ReasonTooLarge || v.result != nil {
		t.Errorf("judged %v, reason %q, %d bytes kept", v.judgement, v.reason, len(v.result))
	}
}
