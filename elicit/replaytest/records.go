package replaytest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/elicit"
)

const (
	long = time.Hour // outlives every test
	gone = 0         // is over at once
)

func hexDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// newRecord names a request that nobody has sent before.
func newRecord() elicit.CallRecord {
	return elicit.CallRecord{Key: hexDigest(rand.Text()), Principal: hexDigest("ada"), Digest: hexDigest("request")}
}

// take takes the record, which must be free.
func take(t testing.TB, guard elicit.ReplayGuard, record elicit.CallRecord, lease, keep time.Duration) elicit.CallRecord {
	t.Helper()
	taken, ok, err := guard.Take(t.Context(), record, lease, keep)
	if err != nil || !ok {
		t.Fatalf("taken %t, error %v", ok, err)
	}
	want := record
	want.Status, want.Outcome, want.Fence, want.Version = elicit.RecordRunning, nil, taken.Fence, 1
	if diff := cmp.Diff(want, taken); diff != "" {
		t.Fatalf("taken record (-want +got):\n%s", diff)
	}
	return taken
}

// find takes the record, which must be there, and compares it.
func find(t testing.TB, guard elicit.ReplayGuard, want elicit.CallRecord) {
	t.Helper()
	other := elicit.CallRecord{Key: want.Key, Principal: hexDigest("bob"), Digest: hexDigest("another")}
	got, ok, err := guard.Take(t.Context(), other, long, long)
	if err != nil || ok {
		t.Fatalf("taken %t, error %v: the record is there", ok, err)
	}
	if !bytes.Equal(want.Outcome, got.Outcome) || (want.Outcome == nil) != (got.Outcome == nil) {
		t.Errorf("an outcome of %d bytes, want %d (nil: %t, want %t)", len(got.Outcome), len(want.Outcome), got.Outcome == nil, want.Outcome == nil)
	}
	want.Outcome, got.Outcome = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("record (-want +got):\n%s", diff)
	}
}

func fenced(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, elicit.ErrFenced) {
		t.Errorf("error %v, want ErrFenced", err)
	}
}

func testTake(t *testing.T, store Store) {
	address := store.New(t)
	guard, other := store.Open(t, address), store.Open(t, address)
	named := newRecord()
	named.Continuation = []byte("sealed\x00")
	record := take(t, guard, named, long, long)
	find(t, guard, record)
	find(t, other, record)
	if err := guard.Finish(t.Context(), record.Key, record.Fence, elicit.RecordFinished, []byte("outcome")); err != nil {
		t.Fatal(err)
	}
	record.Status, record.Outcome, record.Version = elicit.RecordFinished, []byte("outcome"), 2
	find(t, other, record)
	find(t, guard, record)
	take(t, other, newRecord(), long, long) // another key is another record
}

func testLease(t *testing.T, store Store) {
	guard := store.open(t)
	record := take(t, guard, newRecord(), gone, long)
	unknown := record
	unknown.Status = elicit.RecordUnknown
	find(t, guard, unknown)
	find(t, guard, unknown)
	// Its holder was only slow: it can go on, and its outcome counts.
	if err := guard.Renew(t.Context(), record.Key, record.Fence, long); err != nil {
		t.Fatal(err)
	}
	find(t, guard, record)
	if err := guard.Renew(t.Context(), record.Key, record.Fence, gone); err != nil {
		t.Fatal(err)
	}
	find(t, guard, unknown)
	if err := guard.Finish(t.Context(), record.Key, record.Fence, elicit.RecordFinished, []byte("late")); err != nil {
		t.Fatal(err)
	}
	record.Status, record.Outcome, record.Version = elicit.RecordFinished, []byte("late"), 2
	find(t, guard, record)
}

func testKeep(t *testing.T, store Store) {
	guard := store.open(t)
	for _, end := range []func(elicit.CallRecord) error{
		func(elicit.CallRecord) error { return nil },
		func(r elicit.CallRecord) error {
			return guard.Finish(t.Context(), r.Key, r.Fence, elicit.RecordFinished, []byte("outcome"))
		},
	} {
		first := take(t, guard, newRecord(), gone, gone)
		if err := end(first); err != nil {
			t.Fatal(err)
		}
		again := elicit.CallRecord{Key: first.Key, Principal: hexDigest("bob"), Digest: hexDigest("another")}
		second := take(t, guard, again, long, long)
		if second.Fence <= first.Fence {
			t.Errorf("fences %d, then %d", first.Fence, second.Fence)
		}
		fenced(t, guard.Renew(t.Context(), first.Key, first.Fence, long))
		fenced(t, guard.Finish(t.Context(), first.Key, first.Fence, elicit.RecordFinished, []byte("of the first")))
		find(t, guard, second)
	}
	// What runs is kept as long as its lease, however long it takes.
	held := take(t, guard, newRecord(), long, gone)
	find(t, guard, held)
	held = take(t, guard, newRecord(), gone, gone)
	if err := guard.Renew(t.Context(), held.Key, held.Fence, long); err != nil {
		t.Fatal(err)
	}
	find(t, guard, held)
}

func testFence(t *testing.T, store Store) {
	guard := store.open(t)
	record := take(t, guard, newRecord(), long, long)
	for _, fence := range []int64{record.Fence - 1, record.Fence + 1, 0, -1} {
		fenced(t, guard.Renew(t.Context(), record.Key, fence, gone))
		fenced(t, guard.Finish(t.Context(), record.Key, fence, elicit.RecordFinished, nil))
	}
	find(t, guard, record)
	absent := newRecord()
	fenced(t, guard.Renew(t.Context(), absent.Key, record.Fence, long))
	fenced(t, guard.Finish(t.Context(), absent.Key, record.Fence, elicit.RecordFinished, nil))
	if err := guard.Finish(t.Context(), record.Key, record.Fence, elicit.RecordUnknown, nil); err != nil {
		t.Fatal(err)
	}
	fenced(t, guard.Renew(t.Context(), record.Key, record.Fence, long))
	fenced(t, guard.Finish(t.Context(), record.Key, record.Fence, elicit.RecordFinished, []byte("second")))
	record.Status, record.Version = elicit.RecordUnknown, 2
	find(t, guard, record)
}

func testOutcomes(t *testing.T, store Store) {
	guard := store.open(t)
	large := make([]byte, 1<<20)
	rand.Read(large)
	for name, outcome := range map[string][]byte{
		"none": nil, "zero bytes": make([]byte, 100), "no text": {0xff, 0xfe, 0, 1}, "large": large,
	} {
		record := take(t, guard, newRecord(), long, long)
		if err := guard.Finish(t.Context(), record.Key, record.Fence, elicit.RecordFinished, bytes.Clone(outcome)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		record.Status, record.Outcome, record.Version = elicit.RecordFinished, outcome, 2
		find(t, guard, record)
	}
}

func testCancelled(t *testing.T, store Store) {
	guard := store.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	record := newRecord()
	if _, taken, err := guard.Take(ctx, record, long, long); taken || !errors.Is(err, context.Canceled) {
		t.Errorf("taken %t, error %v", taken, err)
	}
	record = take(t, guard, record, long, long)
	if err := guard.Renew(ctx, record.Key, record.Fence, long); !errors.Is(err, context.Canceled) {
		t.Errorf("renew: %v", err)
	}
	if err := guard.Finish(ctx, record.Key, record.Fence, elicit.RecordFinished, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("finish: %v", err)
	}
	find(t, guard, record)
}

// testRace has many take the same few keys at once. Half of the keys hold a
// record that is over.
func testRace(t *testing.T, store Store) {
	address := store.New(t)
	guards := []elicit.ReplayGuard{store.Open(t, address), store.Open(t, address)}
	records := make([]elicit.CallRecord, 8)
	fences := make([]int64, len(records)) // before the race
	for i := range records {
		records[i] = newRecord()
		if i%2 == 0 {
			fences[i] = take(t, guards[0], records[i], gone, gone).Fence
		}
	}
	const racers = 16
	taken := make([]atomic.Int64, len(records))
	var group sync.WaitGroup
	for racer := range racers {
		group.Go(func() {
			for i, record := range records {
				got, ok, err := guards[racer%2].Take(t.Context(), record, long, long)
				switch {
				case err != nil:
					t.Error(err)
				case ok:
					taken[i].Add(1)
					if got.Fence <= fences[i] {
						t.Errorf("fence %d after %d", got.Fence, fences[i])
					}
				case got.Status != elicit.RecordRunning || got.Digest != record.Digest:
					t.Errorf("found %+v", got)
				}
			}
		})
	}
	group.Wait()
	for i := range taken {
		if n := taken[i].Load(); n != 1 {
			t.Errorf("taken %d times", n)
		}
	}
}

// testForgetting checks that what is over does not stay for ever.
func testForgetting(t *testing.T, store Store) {
	address := store.New(t)
	guard := store.Open(t, address)
	const n = 40
	kept := take(t, guard, newRecord(), long, long)
	for range n {
		take(t, guard, newRecord(), gone, gone)
	}
	for range n {
		take(t, guard, newRecord(), long, long)
	}
	if got := store.Count(t, address); got != n+1 {
		t.Errorf("%d records are stored, want the %d that count", got, n+1)
	}
	find(t, guard, kept)
}

// model is a guard for one key in a few lines.
type model struct {
	elicit.CallRecord
	leased bool
	there  bool // kept, or leased at some time
}

// testModel compares random histories with the model.
func testModel(t *testing.T, store Store) {
	guard := store.open(t)
	durations := rapid.SampledFrom([]time.Duration{gone, long})
	rapid.Check(t, func(r *rapid.T) {
		models := map[string]*model{newRecord().Key: {}, newRecord().Key: {}}
		keys := slices.Sorted(maps.Keys(models))
		var last int64 // fence
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			key := rapid.SampledFrom(keys).Draw(r, "key")
			m, lease := models[key], durations.Draw(r, "lease")
			fence := rapid.SampledFrom([]int64{m.Fence, m.Fence, m.Fence, m.Fence - 1, last}).Draw(r, "fence")
			mine := m.Fence > 0 && fence == m.Fence && m.Status == elicit.RecordRunning
			switch rapid.SampledFrom([]string{"take", "take", "renew", "finish"}).Draw(r, "step") {
			case "take":
				m.take(t.Context(), r, guard, key, last, lease, durations.Draw(r, "keep"))
				last = max(last, m.Fence)
			case "renew":
				if m.check(r, mine, guard.Renew(t.Context(), key, fence, lease)) {
					m.leased = lease == long
					m.there = m.there || m.leased
				}
			case "finish":
				outcome := rapid.SampledFrom([][]byte{nil, []byte("outcome")}).Draw(r, "outcome")
				if m.check(r, mine, guard.Finish(t.Context(), key, fence, elicit.RecordFinished, outcome)) {
					m.Status, m.Outcome, m.Version = elicit.RecordFinished, outcome, 2
				}
			}
		}
	})
}

func (m *model) take(ctx context.Context, r *rapid.T, guard elicit.ReplayGuard, key string, last int64, lease, keep time.Duration) {
	want := elicit.CallRecord{Key: key, Principal: hexDigest("ada"), Digest: hexDigest(rapid.StringN(1, 1, 1).Draw(r, "request"))}
	want.Continuation = rapid.SampledFrom([][]byte{nil, []byte("sealed")}).Draw(r, "continuation")
	got, taken, err := guard.Take(ctx, want, lease, keep)
	if err != nil || taken == m.there {
		r.Fatalf("taken %t, error %v; there: %t", taken, err, m.there)
	}
	if taken {
		if got.Fence <= last {
			r.Fatalf("fence %d after %d", got.Fence, last)
		}
		want.Status, want.Fence, want.Version = elicit.RecordRunning, got.Fence, 1
		*m = model{CallRecord: want, leased: lease == long, there: lease == long || keep == long}
	} else if want = m.CallRecord; want.Status == elicit.RecordRunning && !m.leased {
		want.Status = elicit.RecordUnknown
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("record (-want +got):\n%s", diff)
	}
}

// check checks the error of a change and reports whether it was made. A record
// that is over may be there still, or not.
func (m *model) check(r *rapid.T, mine bool, err error) bool {
	if err != nil && !errors.Is(err, elicit.ErrFenced) || err == nil && !mine || err != nil && mine && m.there {
		r.Fatalf("error %v; mine: %t, there: %t", err, mine, m.there)
	}
	return err == nil
}
