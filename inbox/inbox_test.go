package inbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/inbox/inboxtest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/memstore"
)

func TestMain(m *testing.M) {
	// Long runs reach states that short ones do not; the command line still wins.
	flag.Set("rapid.steps", "100")
	flag.Set("rapid.checks", "60")
	servicetest.VerifyTestMain(m)
}

func TestLocal(t *testing.T) {
	t.Parallel()
	inboxtest.TestNotifier(t, func(t *testing.T) (a, b inbox.Notifier) {
		n := inbox.NewLocal()
		return n, n
	})
}

func TestPrincipalKey(t *testing.T) {
	t.Parallel()
	seen := map[string]inbox.Principal{}
	for _, p := range []inbox.Principal{
		{}, {Issuer: "a"}, {Tenant: "a"}, {Subject: "a"}, {Issuer: "a", Tenant: "b"}, {Issuer: "a|b"}, {Issuer: "a%7Cb"},
		{Issuer: "a", Subject: "b|"}, {Issuer: "ü\x00\xff", Tenant: " +", Subject: "%"},
	} {
		key := p.Key()
		if other, ok := seen[key]; ok {
			t.Errorf("%q is the key of %+v and %+v", key, p, other)
		}
		seen[key] = p
		if got, err := inbox.ParsePrincipal(key); got != p || err != nil {
			t.Errorf("ParsePrincipal(%q) = %+v, %v; want %+v", key, got, err, p)
		}
	}
	for _, key := range []string{"", "a", "a|b", "a|b|c|d", "%zz||"} {
		if _, err := inbox.ParsePrincipal(key); err == nil {
			t.Errorf("ParsePrincipal(%q) was accepted", key)
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	same := [][]string{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1.0 } `, `{"a":10e-1,"b":[true,null]}`, `{"a":1,"b":[true,null],"_meta":{"x":1},"elicitationId":"e"}`},
		{`{"a":0}`, `{"a":-0.0}`, `{"a":0e99}`},
		{`{"a":1e3}`, `{"a":1000}`, `{"a":1.000E+3}`},
		{`{"a":-1.5e400}`, `{"a":-15e399}`},
		{`{"a":"é"}`, `{"a":"\u00e9"}`},
	}
	different := []string{
		`{"a":1,"b":[true,null]}`, `{"a":"1","b":[true,null]}`, `{"a":1,"b":[null,true]}`, `{"a":1}`, `{"a":-1}`, `{"a":10}`,
		`{"a":9007199254740993}`, `{"a":9007199254740992}`, `{"a":{"_meta":1}}`, `{"a":{}}`, `{"a":[]}`, `{"a":""}`, `{"a":null}`, `{}`,
		`{"a":"x\",\"b\":\"y"}`, `{"a":"x","b":"y"}`, `{"a":1e999999999999999999}`, `{"a":1e999999999999999998}`,
	}
	for _, group := range same {
		first, err := inbox.Digest([]byte(group[0]))
		if err != nil {
			t.Fatalf("Digest(%s): %v", group[0], err)
		}
		for _, other := range group[1:] {
			if got, err := inbox.Digest([]byte(other)); got != first || err != nil {
				t.Errorf("%s and %s differ (%v)", group[0], other, err)
			}
		}
	}
	seen := map[string]string{}
	for _, params := range different {
		got, err := inbox.Digest([]byte(params))
		if err != nil {
			t.Errorf("Digest(%s): %v", params, err)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s are the same", params, other)
		}
		seen[got] = params
	}
	deep := strings.Repeat(`{"a":`, 20_000) + `1` + strings.Repeat(`}`, 20_000)
	for _, params := range []string{``, `1`, `[]`, `null`, `{`, `{}x`, deep} {
		if _, err := inbox.Digest([]byte(params)); err == nil {
			t.Errorf("Digest(%.20s) was accepted", params)
		}
	}
}

func TestBaseKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"": "", "a": "a", "a#2": "a", "a#12": "a", "a#": "a#", "a#x": "a#x", "#2": "", "a#2#3": "a#2", "a#2 ": "a#2 ", //nolint:gocritic // the space is what it is about
	} {
		if got := inbox.BaseKey(key); got != want {
			t.Errorf("baseKey(%q) = %q, want %q", key, got, want)
		}
	}
}

// deaf is a notifier that fails.
type deaf struct{}

func (deaf) Notify(context.Context, inbox.Hint) error { return errors.New("no") }
func (deaf) Subscribe(context.Context, string) (<-chan inbox.Hint, error) {
	return nil, errors.New("no")
}

// TestWithoutHints waits with a notifier that never works: the store is asked
// each Poll.
func TestWithoutHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := inbox.New(memstore.New(nil), inbox.NewKeys(), &inbox.Options{Notifier: deaf{}})
		ann := inbox.Principal{Issuer: "i", Subject: "ann"}
		c, err := in.Compose(t.Context(), ann, inbox.NewCall{Server: "s", Method: "tools/call"})
		if err != nil {
			t.Fatalf("Compose with a notifier that fails: %v", err)
		}
		time.AfterFunc(7*time.Second, func() {
			if _, err := in.Stop(t.Context(), ann, c.ID); err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
		start := time.Now()
		if c, err = in.Wait(t.Context(), ann, c.ID, c.Version); err != nil || c.State != inbox.Stopped {
			t.Errorf("Wait = %+v, %v", c, err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("noticed after %v, want the second look, at 10 s", took)
		}
	})
}

// TestHints waits with the notifier of the process: nothing is polled for.
func TestHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := inbox.New(memstore.New(nil), inbox.NewKeys(), &inbox.Options{Poll: 1000 * time.Hour})
		ann := inbox.Principal{Issuer: "i", Subject: "ann"}
		all, err := in.SubscribeAll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c, err := in.Compose(t.Context(), ann, inbox.NewCall{Server: "s", Method: "tools/call"})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := <-all, (inbox.Hint{Principal: ann.Key(), Call: c.ID, Ready: true}); got != want {
			t.Errorf("hint = %+v, want %+v", got, want)
		}
		time.AfterFunc(time.Minute, func() {
			if _, err := in.Stop(t.Context(), ann, c.ID); err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
		start := time.Now()
		if _, err := in.Wait(t.Context(), ann, c.ID, c.Version); err != nil {
			t.Errorf("Wait: %v", err)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("noticed after %v, want at once", took)
		}
		if _, err := in.Subscribe(t.Context(), inbox.Principal{}); !errors.Is(err, inbox.ErrInvalid) {
			t.Errorf("Subscribe of nobody: %v", err)
		}
	})
}

// TestOtherKeys: a machine with other keys is told which row it cannot open.
func FuzzDigest(f *testing.F) {
	f.Add([]byte(`{"a":[1.50e3,{"b":"\u00e9"}],"_meta":{}}`))
	f.Add([]byte(`{"n":-0.000120e-7}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		got, err := inbox.Digest(params)
		if err != nil {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, params); err != nil {
			t.Fatalf("%q has a digest and is no JSON: %v", params, err)
		}
		if again, err := inbox.Digest(compact.Bytes()); again != got || err != nil {
			t.Errorf("%q and %q differ (%v)", params, compact.Bytes(), err)
		}
	})
}

// TestNewerVersion stores a row again that a newer version has written: what
// this one does not know stays.
func TestNewerVersion(t *testing.T) {
	t.Parallel()
	store, ring := memstore.New(nil), inbox.NewKeys()
	in := inbox.New(store, ring, nil)
	ann := inbox.Principal{Issuer: "i", Subject: "ann"}
	c, err := in.Compose(t.Context(), ann, inbox.NewCall{Server: "s", Method: "tools/call"})
	if err != nil {
		t.Fatal(err)
	}
	claim, _, err := in.Claim(t.Context(), ann, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Mark(t.Context(), claim, inbox.Binding{}); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Park(t.Context(), claim, inbox.Asked{Questions: []inbox.NewQuestion{{Key: "a", Params: json.RawMessage(`{"message":"A?"}`)}}}); err != nil {
		t.Fatal(err)
	}
	questions, err := in.Questions(t.Context(), ann, inbox.QuestionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	q := questions[0]
	const newer = `,"newer":{"n":9007199254740993}}`
	extend := func(object []byte) []byte { return []byte(strings.TrimSuffix(string(object), "}") + newer) }
	reseal := func(purpose, id string, sealed []byte) []byte {
		plain, err := ring.Open(purpose, []string{ann.Key(), id}, sealed)
		if err != nil {
			t.Fatal(err)
		}
		return ring.Seal(purpose, []string{ann.Key(), id}, extend(plain))
	}
	both := func(f func(*inbox.CallRow, *inbox.QuestionRow)) {
		t.Helper()
		err := store.Update(t.Context(), ann.Key(), func(tx inbox.Tx) error {
			call, err := tx.Call(c.ID)
			if err != nil {
				return err
			}
			question, err := tx.Question(q.ID)
			if err != nil {
				return err
			}
			f(call, question)
			return errors.Join(tx.PutCall(call), tx.PutQuestion(question))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	both(func(call *inbox.CallRow, question *inbox.QuestionRow) {
		call.Detail, question.Detail = extend(call.Detail), extend(question.Detail)
		call.Content = reseal("inbox call", string(c.ID), call.Content)
		question.Content = reseal("inbox question", string(q.ID), question.Content)
	})
	if _, err := in.Answer(t.Context(), ann, q.ID, inbox.Answer{Action: inbox.Decline}); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Stop(t.Context(), ann, c.ID); err != nil {
		t.Fatal(err)
	}
	both(func(call *inbox.CallRow, question *inbox.QuestionRow) {
		plainCall, _ := ring.Open("inbox call", []string{ann.Key(), string(c.ID)}, call.Content)
		plainQuestion, _ := ring.Open("inbox question", []string{ann.Key(), string(q.ID)}, question.Content)
		for name, text := range map[string][]byte{
			"call": call.Detail, "question": question.Detail, "call's content": plainCall, "question's content": plainQuestion,
		} {
			if !strings.Contains(string(text), `"newer":{"n":9007199254740993}`) {
				t.Errorf("the %s lost what a newer version wrote: %s", name, text)
			}
		}
		if call.State != inbox.Stopped || question.State != inbox.Declined {
			t.Errorf("the call is %s and the question %s", call.State, question.State)
		}
	})
}

// Who waits, however many they are, keeps nothing of the call meanwhile.
// It is not parallel, so that what is on the heap is its own.
func TestWaitKeepsNothing(t *testing.T) { //nolint:paralleltest // see above
	const waits, size = 64, 500 << 10
	synctest.Test(t, func(t *testing.T) {
		in := inbox.New(memstore.New(nil), inbox.NewKeys(), &inbox.Options{Poll: 1000 * time.Hour})
		ann := inbox.Principal{Issuer: "i", Subject: "ann"}
		c, err := in.Compose(t.Context(), ann, inbox.NewCall{Server: "s", Method: "tools/call", Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", size) + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		heap := func() uint64 {
			runtime.GC()
			runtime.GC() // what pools kept
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		done := make(chan error, waits)
		for range waits {
			go func() {
				now, err := in.Wait(t.Context(), ann, c.ID, c.Version)
				if err == nil && len(now.Arguments) < size {
					err = errors.New("it has no arguments")
				}
				done <- err
			}()
		}
		synctest.Wait()
		if now := heap(); now > before+waits*size/4 {
			t.Errorf("%d who wait keep %d KiB", waits, (now-before)>>10)
		}
		if _, err := in.Stop(t.Context(), ann, c.ID); err != nil {
			t.Fatal(err)
		}
		for range waits {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// broken is a store that panics.
type broken struct{ inbox.Store }

func (broken) View(context.Context, string, func(inbox.Tx) error) error { panic("broken") }

// What panics while somebody waits panics where they wait: a handler's is recovered there.
func TestPanicWhileWaiting(t *testing.T) {
	t.Parallel()
	in := inbox.New(broken{memstore.New(nil)}, inbox.NewKeys(), nil)
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("recovered %v", got)
		}
	}()
	_, err := in.Wait(t.Context(), inbox.Principal{Issuer: "test", Subject: "ada"}, "c_1", 0)
	t.Errorf("it went on: %v", err)
}
