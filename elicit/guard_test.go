package elicit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

const metaKey = "io.github.parley-mcp/idempotencyKey"

// spy is a guard that says it is durable, shows what it is given and can fail.
type spy struct {
	*elicit.MemoryGuard
	failTake, failFinish error

	mu       sync.Mutex
	records  []elicit.CallRecord
	outcomes [][]byte
	renewals int
}

func newSpy() *spy { return &spy{MemoryGuard: elicit.NewMemoryGuard(nil)} }

func (s *spy) Durable() bool { return true }

func (s *spy) Take(ctx context.Context, record elicit.CallRecord, lease, keep time.Duration) (elicit.CallRecord, bool, error) {
	if s.failTake != nil {
		return elicit.CallRecord{}, false, s.failTake
	}
	s.mu.Lock()
	s.records = append(s.records, record)
	s.mu.Unlock()
	return s.MemoryGuard.Take(ctx, record, lease, keep)
}

func (s *spy) Renew(ctx context.Context, key string, fence int64, lease time.Duration) error {
	s.mu.Lock()
	s.renewals++
	s.mu.Unlock()
	return s.MemoryGuard.Renew(ctx, key, fence, lease)
}

func (s *spy) Finish(ctx context.Context, key string, fence int64, status elicit.RecordStatus, outcome []byte) error {
	if s.failFinish != nil {
		return s.failFinish
	}
	s.mu.Lock()
	s.outcomes = append(s.outcomes, bytes.Clone(outcome))
	s.mu.Unlock()
	return s.MemoryGuard.Finish(ctx, key, fence, status, outcome)
}

// TestExtension looks for the capability in both handshakes: it is there only
// if a repetition after a restart would find its record.
func TestExtension(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys.json")
	for name, test := range map[string]struct {
		options elicit.Options
		want    string
	}{
		"no guard":        {elicit.Options{Audience: "a", KeysFile: keys}, ""},
		"memory":          {elicit.Options{Audience: "a", KeysFile: keys, Replay: elicit.NewMemoryGuard(nil)}, ""},
		"durable":         {elicit.Options{Audience: "a", KeysFile: keys, Replay: newSpy()}, "168h0m0s"},
		"shorter":         {elicit.Options{Audience: "a", KeysFile: keys, Replay: newSpy(), Lifetime: time.Hour}, "1h0m0s"},
		"keys in memory":  {elicit.Options{Audience: "a", Replay: newSpy()}, ""},
		"beside an other": {elicit.Options{Audience: "a", KeysFile: keys, Replay: newSpy()}, "168h0m0s"},
	} {
		for _, revision := range elicittest.Revisions {
			t.Run(name+"/"+revision, func(t *testing.T) {
				t.Parallel()
				_, handler := newServer(t, &test.options)
				session := connect(t, handler, revision, true, nil)
				settings, _ := session.InitializeResult().Capabilities.Extensions["io.github.parley-mcp/idempotency"].(map[string]any)
				got, _ := settings["retention"].(string)
				if got != test.want {
					t.Fatalf("retention %q, want %q", got, test.want)
				}
				if got != "" {
					if _, err := time.ParseDuration(got); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

func TestDurableGuardNeedsKeys(t *testing.T) {
	t.Parallel()
	_, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "test"}, nil), &elicit.Options{Replay: newSpy()})
	if err == nil {
		t.Error("what a durable guard keeps is sealed with a key that dies with the process")
	}
}

// TestSealedAtRest looks for what people said in what a guard is given.
func TestSealedAtRest(t *testing.T) {
	t.Parallel()
	guard := newSpy()
	person := ada.Clone()
	person.Set("X-Subject", "ada.lovelace") // a short name is in some digest now and then
	server, handler := newServer(t, &elicit.Options{Audience: "a", KeysFile: filepath.Join(t.TempDir(), "keys.json"), Replay: guard, Principal: byHeader})
	elicit.AddTool(server, &mcp.Tool{Name: "tell"}, func(ctx context.Context, call *elicit.Call, in deletion) (deletion, error) {
		said, err := elicit.Ask[deletion](ctx, call, "what", "Secret question?")
		return said, err
	})
	client := elicittest.Connect(t, handler, modern, elicittest.Script(t, elicittest.Accept(json.RawMessage(`{"path":"sesame","count":1}`))),
		&elicittest.Options{Header: person, Meta: map[string]any{metaKey: "open-key"}})
	result, err := client.Call(t.Context(), "tell", map[string]any{"path": "argument"})
	if err != nil || !bytes.Contains(result.Raw, []byte("sesame")) {
		t.Fatalf("result %+v, error %v", result, err)
	}
	if len(guard.records) != 2 || len(guard.outcomes) != 2 || guard.outcomes[0] == nil || guard.outcomes[1] == nil {
		t.Fatalf("%d records and %d outcomes, want 2", len(guard.records), len(guard.outcomes))
	}
	given := fmt.Appendf(nil, "%+v %s", guard.records, bytes.Join(guard.outcomes, nil))
	for _, secret := range []string{"sesame", "Secret", "argument", "lovelace", "id.example", "open-key", "tell", "action", "result"} {
		if bytes.Contains(given, []byte(secret)) {
			t.Errorf("the guard can read %q", secret)
		}
	}
}

// exchanged is a store that gives out the outcome of another record.
type exchanged struct {
	*spy
	outcome []byte
}

func (e *exchanged) Take(ctx context.Context, record elicit.CallRecord, lease, keep time.Duration) (elicit.CallRecord, bool, error) {
	found, taken, err := e.spy.Take(ctx, record, lease, keep)
	if !taken && e.outcome != nil {
		found.Outcome = e.outcome
	}
	return found, taken, err
}

// TestOutcomeOfAnother has the store mix up records: nobody may get what
// another was told.
func TestOutcomeOfAnother(t *testing.T) {
	t.Parallel()
	guard := &exchanged{spy: newSpy()}
	server, handler := newServer(t, &elicit.Options{Audience: "a", KeysFile: filepath.Join(t.TempDir(), "keys.json"), Replay: guard, Principal: byHeader})
	elicit.AddTool(server, &mcp.Tool{Name: "who"}, func(_ context.Context, call *elicit.Call, _ none) (string, error) {
		return call.Principal().Subject, nil
	})
	bob := ada.Clone()
	bob.Set("X-Subject", "bob")
	of := func(header http.Header) *elicittest.Client {
		return elicittest.Connect(t, handler, modern, nil, &elicittest.Options{Header: header, Meta: map[string]any{metaKey: "same"}})
	}
	for _, header := range []http.Header{ada, bob} {
		result, err := of(header).Call(t.Context(), "who", none{})
		if err != nil || string(result.Structured) != `"`+header.Get("X-Subject")+`"` {
			t.Fatalf("result %+v, error %v", result, err)
		}
	}
	guard.outcome = guard.outcomes[0]
	if result, err := of(ada).Call(t.Context(), "who", none{}); err != nil || string(result.Structured) != `"ada"` {
		t.Errorf("result %+v, error %v: this one is her own", result, err)
	}
	_, err := of(bob).Call(t.Context(), "who", none{})
	var refused *elicittest.Error
	if !errors.As(err, &refused) || string(refused.Data) != `{"reason":"outcome_unknown"}` {
		t.Errorf("error %v", err)
	}
}

// TestGuardFails has the store break down before and after the handler runs.
func TestGuardFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("database password wrong")
	for _, when := range []string{"take", "finish"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			guard, runs := newSpy(), 0
			server, handler := newServer(t, &elicit.Options{Audience: "a", KeysFile: filepath.Join(t.TempDir(), "keys.json"), Replay: guard})
			elicit.AddTool(server, &mcp.Tool{Name: "run"}, func(context.Context, *elicit.Call, none) (none, error) {
				runs++
				return none{}, nil
			})
			client := elicittest.Connect(t, handler, modern, nil, &elicittest.Options{Meta: map[string]any{metaKey: "0123456789abcdef"}})
			if when == "finish" {
				guard.failFinish = broken
				if result, err := client.Call(t.Context(), "run", none{}); err != nil || result.IsError || runs != 1 {
					t.Fatalf("ran %d times, error %v: it ran, so the client hears of it", runs, err)
				}
				// While the lease lasts nobody knows that it will not be recorded.
				_, err := client.Call(t.Context(), "run", none{})
				var refused *elicittest.Error
				if !errors.As(err, &refused) || string(refused.Data) != `{"reason":"call_in_progress"}` || runs != 1 {
					t.Errorf("ran %d times, error %v", runs, err)
				}
				return
			}
			guard.failTake = broken
			_, err := client.Call(t.Context(), "run", none{})
			var refused *elicittest.Error
			if !errors.As(err, &refused) || refused.Code != -32603 || strings.Contains(refused.Message, "password") || runs != 0 {
				t.Fatalf("ran %d times, error %v", runs, err)
			}
			guard.failTake = nil
			if _, err := client.Call(t.Context(), "run", none{}); err != nil || runs != 1 {
				t.Errorf("ran %d times, error %v", runs, err)
			}
		})
	}
}

// TestLeaseRenewed runs a handler for much longer than a lease.
func TestLeaseRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := newSpy()
		desk := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		server, err := elicit.NewServer(desk, &elicit.Options{Replay: guard, Audience: "a"})
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		elicit.AddTool(server, &mcp.Tool{Name: "run"}, func(context.Context, *elicit.Call, none) (none, error) {
			runs++
			time.Sleep(10 * time.Minute) //nolint:forbidigo // synctest: of the bubble's clock
			return none{}, nil
		})
		serverSide, clientSide := mcp.NewInMemoryTransports()
		serving, err := desk.Connect(t.Context(), serverSide, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer serving.Close()
		session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(t.Context(), clientSide, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		call := func() (*mcp.CallToolResult, error) {
			return session.CallTool(t.Context(), &mcp.CallToolParams{
				Meta: mcp.Meta{metaKey: "0123456789abcdef"}, Name: "run", Arguments: none{},
			})
		}
		var group sync.WaitGroup
		group.Go(func() {
			if result, err := call(); err != nil || result.IsError {
				t.Errorf("result %+v, error %v", result, err)
			}
		})
		time.Sleep(9 * time.Minute) //nolint:forbidigo // synctest
		_, err = call()
		var wire *jsonrpc.Error
		if !errors.As(err, &wire) || string(wire.Data) != `{"reason":"call_in_progress"}` {
			t.Errorf("error %v", err)
		}
		group.Wait()
		if guard.renewals < 50 || runs != 1 {
			t.Errorf("%d renewals, %d runs", guard.renewals, runs)
		}
		if result, err := call(); err != nil || result.IsError || runs != 1 {
			t.Errorf("result %+v, error %v, %d runs", result, err, runs)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // synctest
		if guard.renewals > 60 {
			t.Errorf("%d renewals: they go on after the end", guard.renewals)
		}
	})
}

// TestMemoryGuardBounds fills a small guard.
func TestMemoryGuardBounds(t *testing.T) {
	t.Parallel()
	now := start
	guard := elicit.NewMemoryGuard(&elicit.MemoryGuardOptions{Records: 3, Outcomes: 10, Now: func() time.Time { return now }})
	take := func(key string) (elicit.CallRecord, bool, error) {
		return guard.Take(t.Context(), elicit.CallRecord{Key: key}, time.Hour, time.Hour)
	}
	for _, key := range []string{"a", "b", "c"} {
		record, taken, err := take(key)
		if err != nil || !taken {
			t.Fatal(taken, err)
		}
		if err := guard.Finish(t.Context(), key, record.Fence, elicit.RecordFinished, []byte("outcome")[:5]); err != nil {
			t.Fatal(err)
		}
	}
	if _, taken, err := take("d"); taken || !errors.Is(err, elicit.ErrGuardFull) {
		t.Errorf("taken %t, error %v", taken, err)
	}
	var kept []string
	for _, key := range []string{"a", "b", "c"} {
		record, taken, err := take(key)
		if err != nil || taken || record.Status != elicit.RecordFinished {
			t.Fatal(record, taken, err)
		}
		kept = append(kept, string(record.Outcome))
	}
	// The oldest outcome went; its record did not.
	if diff := cmp.Diff([]string{"", "outco", "outco"}, kept); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	now = now.Add(time.Hour)
	if _, taken, err := take("d"); !taken || err != nil {
		t.Errorf("taken %t, error %v", taken, err)
	}
	if got := guard.Len(); got != 2 {
		t.Errorf("%d records, want the new one and the one that is still to be forgotten", got)
	}
}
