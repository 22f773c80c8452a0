package elicit

import (
	"context"
	"errors"
	"time"
)

// ReplayGuard keeps a [CallRecord] of each request that must not run twice. One
// that lives in memory is [NewMemoryGuard]; packages sqlitereplay and pgreplay
// have those that survive a restart, and replaytest the suite that all of them
// pass. The package documentation says what a guard does for a server.
//
// Its methods are safe for concurrent use. All times are those of the store's
// own clock: the callers' clocks do not matter, only their durations.
type ReplayGuard interface {
	// Take makes the record, running and with a new fence, and returns it and
	// true: from now the caller runs the request, and for as long as the lease
	// nobody takes it for dead. If there is a record under the key, Take changes
	// nothing and returns that one and false. A record is kept for keep, and as
	// long as its lease; then it is none. Each taking has a higher fence than all
	// before it.
	//
	// Of record, Take reads Key, Principal, Digest and Continuation. When it
	// returns true the record is as durable as the guard can make it.
	Take(ctx context.Context, record CallRecord, lease, keep time.Duration) (CallRecord, bool, error)

	// Renew makes the lease of a running record end so long from now. The error
	// is ErrFenced if the record is not the caller's any more.
	Renew(ctx context.Context, key string, fence int64, lease time.Duration) error

	// Finish ends a running record, also after its lease. Status is
	// RecordFinished or RecordUnknown; a nil outcome says that none is kept. The
	// error is ErrFenced if the record is not the caller's any more.
	Finish(ctx context.Context, key string, fence int64, status RecordStatus, outcome []byte) error

	// Durable reports whether records survive the process.
	Durable() bool
}

// ErrFenced is the answer of a [ReplayGuard] to the holder of a record that has
// ended, is not kept any more or has passed to another.
var ErrFenced = errors.New("elicit: the record of the call has passed to another")

// CallRecord is what a [ReplayGuard] keeps about one request. Nothing in it
// tells who sent what: names are digests, and what was said is sealed.
type CallRecord struct {
	Key       string       // names the request: 64 hexadecimal digits
	Principal string       // digest of who sent it: 64 hexadecimal digits
	Digest    string       // of what else must be the same: 64 hexadecimal digits
	Status    RecordStatus // how far it is
	Outcome   []byte       // sealed; nil if there is none, or none was kept
	Fence     int64        // which taking this is
	Version   int64        // 1 when it is taken, and 1 more when it ends

	// Continuation is what a call needs to go on that its client does not carry
	// along, sealed and bound to the record. Requests of the modern era have theirs
	// in the request state and those of the legacy era on the stack, so
	// for them it is nil; it is of the record, so that calls which go on by
	// themselves can share the store.
	Continuation []byte
}

// RecordStatus says how far a request is.
type RecordStatus string

// The statuses of a [CallRecord].
const (
	RecordRunning  RecordStatus = "running"  // somebody runs it and holds the lease
	RecordFinished RecordStatus = "finished" // it ran to its end
	RecordUnknown  RecordStatus = "unknown"  // it began, and how it ended nobody knows: its lease passed, or it was cancelled
)
