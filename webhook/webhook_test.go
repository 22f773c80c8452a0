package webhook

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/memstore"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

var secret = secretPrefix + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789"))

var ann = inbox.Principal{Issuer: "https://id.example", Tenant: "t", Subject: "ann"}

// A clock stands until it is moved; the store has the same.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// A receiver takes what is sent, and answers as the test wants.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []*http.Request
	bodies []string
	answer func(w http.ResponseWriter)
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.got, r.bodies = append(r.got, req), append(r.bodies, string(body))
		answer := r.answer
		r.mu.Unlock()
		if answer != nil {
			answer(w)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answers(status int, header ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = func(w http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

func (r *receiver) messages(t *testing.T) (list []Message) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, body := range r.bodies {
		var m Message
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

func (r *receiver) ids() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, req := range r.got {
		list = append(list, req.Header.Get(headerID))
	}
	return list
}

// A desk is an inbox whose log a sender reads.
type desk struct {
	t     *testing.T
	clock *clock
	store inbox.Store
	inbox *inbox.Inbox
	came  []string // of what was sent
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, clock: &clock{t: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}}
	d.store = memstore.New(&memstore.Options{Now: d.clock.now})
	d.inbox = inbox.New(d.store, inbox.NewKeys(), &inbox.Options{QuestionsPerMinute: 1000, OpenQuestions: 1000})
	return d
}

func (d *desk) sender(machine string, endpoints ...*Endpoint) *Sender {
	d.t.Helper()
	s, err := New(d.inbox, d.store, endpoints, &Options{
		PublicURL: "https://parley.example", Machine: machine, now: d.clock.now, Log: slog.New(slog.DiscardHandler),
		Observe: func(endpoint string, o Outcome) { d.came = append(d.came, endpoint+" "+string(o)) },
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// ask lets a server ask p something, with sentinels in all that it says.
func (d *desk) ask(p inbox.Principal) inbox.QuestionID {
	d.t.Helper()
	return d.askIn(p, "c")
}

func (d *desk) askIn(p inbox.Principal, conversation string) inbox.QuestionID {
	d.t.Helper()
	ctx := d.t.Context()
	c, err := d.inbox.Compose(ctx, p, inbox.NewCall{
		Conversation: conversation, Server: "travel", Method: "tools/call", Name: "book", Arguments: json.RawMessage(`{"a":"sentinel-argument"}`),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	claim, _, err := d.inbox.Claim(ctx, p, c.ID)
	if err == nil {
		_, err = d.inbox.Mark(ctx, claim, inbox.Binding{Era: inbox.Modern})
	}
	if err == nil {
		_, err = d.inbox.Park(ctx, claim, inbox.Asked{RequestState: "sentinel-state", Questions: []inbox.NewQuestion{{
			Key: "k", Params: json.RawMessage(`{"message":"sentinel-message","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`),
		}}})
	}
	if err != nil {
		d.t.Fatal(err)
	}
	list, err := d.inbox.Questions(ctx, p, inbox.QuestionFilter{Call: c.ID})
	if err != nil || len(list) != 1 {
		d.t.Fatalf("%d questions, %v", len(list), err)
	}
	return list[0].ID
}

func (d *desk) round(s *Sender, e *Endpoint) bool {
	d.t.Helper()
	gone, err := s.round(d.t.Context(), e)
	if err != nil {
		d.t.Fatal(err)
	}
	return gone
}

// What is not delivered is tried again, later and later, with the same id; then it is a
// dead letter, until somebody wants it sent again.
func TestRetries(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "r", URL: r.URL + "?token=sentinel-url", Secret: secret}
	s := d.sender("m1", e)
	d.round(s, e)
	r.answers(http.StatusInternalServerError)
	d.ask(ann)
	for i, wait := range backoff {
		d.round(s, e)
		d.clock.advance(wait - time.Millisecond)
		d.round(s, e)
		if n := len(r.ids()); n != i+1 {
			t.Fatalf("%d tries before the wait %d was over", n, i+1)
		}
		d.clock.advance(time.Millisecond)
	}
	d.round(s, e)
	ids := r.ids()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("ids %v", ids)
		}
	}
	status, err := s.Status(t.Context())
	if err != nil || len(status[0].Dead) != 1 || status[0].Waits != 0 || status[0].Dead[0].Tries != len(backoff)+1 ||
		status[0].Dead[0].Why != "it answered 500" {
		t.Fatalf("%+v, %v", status, err)
	}
	if text := fmt.Sprintf("%+v %v", status, e); strings.Contains(text, "sentinel") || strings.Contains(text, "whsec") {
		t.Errorf("secrets: %s", text)
	}
	want := append(slices.Repeat([]string{"r failed"}, len(backoff)), "r dead")
	if diff := cmp.Diff(want, d.came); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	r.answers(http.StatusNoContent)
	if n, err := s.Redeliver(t.Context(), "r"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	d.round(s, e)
	if status, err := s.Status(t.Context()); err != nil || len(status[0].Dead)+status[0].Waits != 0 {
		t.Errorf("%+v, %v", status, err)
	}
	if last := d.came[len(d.came)-1]; last != "r delivered" || len(d.came) != len(want)+1 {
		t.Errorf("observed %q", d.came)
	}
	if _, err := s.Redeliver(t.Context(), "other"); !errors.Is(err, inbox.ErrNotFound) {
		t.Error(err)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "r", URL: r.URL, Secret: secret}
	s := d.sender("m1", e)
	d.round(s, e)
	d.ask(ann)
	r.answers(http.StatusTooManyRequests, "Retry-After", "60")
	d.round(s, e)
	d.clock.advance(59 * time.Second)
	d.round(s, e)
	if n := len(r.ids()); n != 1 {
		t.Errorf("%d tries before its time", n)
	}
	d.clock.advance(time.Second)
	r.answers(http.StatusOK)
	d.round(s, e)
	if n := len(r.ids()); n != 2 {
		t.Errorf("%d tries", n)
	}
}

// A redirect is no delivery, and nothing goes to where it points.
func TestNoRedirect(t *testing.T) {
	t.Parallel()
	d, r, elsewhere := newDesk(t), newReceiver(t), newReceiver(t)
	e := &Endpoint{ID: "g", URL: r.URL, Secret: secret}
	s := d.sender("m1", e)
	d.round(s, e)
	d.ask(ann)
	r.answers(http.StatusTemporaryRedirect, "Location", elsewhere.URL)
	d.round(s, e)
	if st, err := s.Status(t.Context()); err != nil || st[0].Waits != 1 || len(elsewhere.ids()) != 0 {
		t.Errorf("%+v, %v, %d elsewhere", st, err, len(elsewhere.ids()))
	}
}

// A machine that dies between the answer and its record sends the message once more,
// with the same id.
func TestDiesBeforeRecord(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "l", URL: r.URL, Secret: secret}
	one := d.sender("m1", e)
	d.round(one, e)
	d.ask(ann)
	ctx, die := context.WithCancel(t.Context())
	r.mu.Lock()
	r.answer = func(http.ResponseWriter) { die() }
	r.mu.Unlock()
	if _, err := one.round(ctx, e); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r.answers(http.StatusOK)
	d.clock.advance(lease + DefaultTimeout)
	d.round(d.sender("m2", e), e)
	if ids := r.ids(); len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("ids %v", ids)
	}
}

// Run sends while the program runs, and ends with it.
func TestRun(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	arrived := make(chan struct{}, 1)
	r.answer = func(http.ResponseWriter) { arrived <- struct{}{} }
	e := &Endpoint{ID: "run", URL: r.URL, Secret: secret}
	s, err := New(d.inbox, d.store, []*Endpoint{e}, &Options{Poll: time.Millisecond, now: d.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	d.round(s, e)
	d.ask(ann)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	<-arrived
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	s.client.CloseIdleConnections()
}

func TestVerify(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_600_000_000, 0) // has passed, so Verify refuses it for ever
	body := []byte(`{"type":"asked"}`)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		t.Fatal(err)
	}
	header := func(id, at string) http.Header {
		return http.Header{headerID: {id}, headerTimestamp: {at}, headerSignature: {sign(key, id, at, body)}}
	}
	good := header("msg_1", "1600000000")
	if err := verify(secret, good, body, now); err != nil {
		t.Fatal(err)
	}
	two := good.Clone()
	two.Set(headerSignature, "v1,AAAA v2,x "+two.Get(headerSignature))
	if err := verify(secret, two, body, now); err != nil {
		t.Errorf("several signatures: %v", err)
	}
	changed := func(name, value string) http.Header {
		h := good.Clone()
		h.Set(name, value)
		return h
	}
	for name, h := range map[string]http.Header{
		"another id": changed(headerID, "msg_2"), "another time": changed(headerTimestamp, "1600000001"), "no time": changed(headerTimestamp, ""),
		"no signature": changed(headerSignature, ""), "another version": changed(headerSignature, "v2"+good.Get(headerSignature)[2:]),
		"old": header("msg_1", "1599999699"), "of the future": header("msg_1", "1600000301"), "nothing": {},
	} {
		if err := verify(secret, h, body, now); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range body {
		bad := append([]byte{}, body...)
		bad[i] ^= 1
		if err := verify(secret, good, bad, now); !errors.Is(err, ErrSignature) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	other := secretPrefix + base64.StdEncoding.EncodeToString(make([]byte, 32))
	if err := verify(other, good, body, now); !errors.Is(err, ErrSignature) {
		t.Errorf("another secret: %v", err)
	}
	if err := Verify(secret, good, body); !errors.Is(err, ErrSignature) {
		t.Errorf("of another year: %v", err)
	}
}

func TestReadEndpoints(t *testing.T) {
	t.Parallel()
	env := map[string]string{"SECRET": secret, "HOST": "hooks.example"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	one := func(more string) string {
		return `{"endpoints":[{"id":"a","url":"https://${HOST}/x","secret":"${SECRET}"` + more + `}]}`
	}
	for name, test := range map[string]struct{ text, want string }{
		"good":              {one(`,"events":["asked"],"issuers":["i"]`), ""},
		"an odd event":      {one(`,"events":["sent"]`), "no event"},
		"an unknown word":   {one(`,"event":["asked"]`), "unknown field"},
		"a short secret":    {`{"endpoints":[{"id":"a","url":"https://x.example","secret":"whsec_AAAA"}]}`, "secret"},
		"no prefix":         {`{"endpoints":[{"id":"a","url":"https://x.example","secret":"` + strings.TrimPrefix(secret, secretPrefix) + `"}]}`, "secret"},
		"an address":        {`{"endpoints":[{"id":"a","url":"file:///sentinel","secret":"${SECRET}"}]}`, "no address"},
		"a missing value":   {`{"endpoints":[{"id":"a","url":"https://${NOT_SET}","secret":"${SECRET}"}]}`, "NOT_SET is not set"},
		"an open variable":  {`{"endpoints":[{"id":"a","url":"https://${HOST","secret":"${SECRET}"}]}`, "without its }"},
		"twice":             {`{"endpoints":[{"id":"a","url":"https://x.example","secret":"${SECRET}"},{"id":"a","url":"https://x.example","secret":"${SECRET}"}]}`, "two endpoints"},
		"no id":             {`{"endpoints":[{"url":"https://x.example","secret":"${SECRET}"}]}`, "id"},
		"null":              {`{"endpoints":[null]}`, "null"},
		"no JSON":           {`endpoints:`, "invalid character"},
		"no object":         {`[]`, "cannot unmarshal"},
		"more than a value": {one("") + `{"endpoints":[]}`, "goes on"},
		"a dot in the id":   {`{"endpoints":[{"id":"a.1","url":"https://x.example","secret":"${SECRET}"}]}`, "letters"},
		"a line in the id":  {`{"endpoints":[{"id":"a\r\nx","url":"https://x.example","secret":"${SECRET}"}]}`, "letters"},
	} {
		path := filepath.Join(t.TempDir(), "webhooks.json")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := ReadEndpoints(path, lookup)
		switch {
		case test.want == "" && (err != nil || len(list) != 1 || list[0].URL != "https://hooks.example/x"):
			t.Errorf("%s: %v, %v", name, list, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		case err != nil && (strings.Contains(err.Error(), "sentinel") || strings.Contains(err.Error(), "whsec_AAAA")):
			t.Errorf("%s tells secrets: %v", name, err)
		}
	}
}
