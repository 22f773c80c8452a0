package vault

import (
	"context"
	"time"
)

// Store keeps the rows of a vault. It is a thin driver: all rules are in
// [Vault], and package vaulttest holds what every store has to pass. A store
// sees sealed text, never a secret, and has no key.
//
// Every row belongs to one principal, and every statement but those of Due,
// Stale and Counts names that principal in its condition, so nothing can
// cross from one person to another by a rule that forgot to look. Write
// transactions of one principal run one after another (a lock on the
// principal), which is all the isolation that the rules need. A principal is
// given by its [Principal.Key] and is compared byte for byte.
//
// When the last row of a principal is deleted, nothing of that principal is
// left in the store: no table keeps its key.
//
// Times are stored in UTC to the microsecond; the zero time is stored as none.
// Texts are compared and sorted by their bytes. The vault passes valid UTF-8
// without NUL, at most [MaxText] bytes long; a driver may rely on it. Methods
// are safe for concurrent use, by several handles on one database too.
type Store interface {
	// Update runs f in one write transaction and commits if f returns nil.
	// f may run more than once, so it keeps its effects to the Tx and to
	// variables that it sets anew each time, and it does not call the store.
	// After a commit whose success is not known Update returns an error; it
	// never returns nil for a transaction that is not durable.
	Update(ctx context.Context, principal string, f func(Tx) error) error

	// Rows reads the rows that the query selects and the store's time, in one
	// statement: it is what every use of a token pays. No row is no error.
	Rows(ctx context.Context, principal string, query Query) ([]*Row, time.Time, error)

	// Due lists rows of the kind, of all principals, whose Due has passed, in
	// the order of (Due, Principal, ID), beginning after the given one; the
	// zero Ref begins at the first.
	Due(ctx context.Context, kind Kind, after Ref, limit int) ([]Ref, error)

	// Stale lists rows, of all principals and kinds, that hold sealed text
	// (Key is not 0) of another key than this one, in the order of (Principal,
	// Kind, ID), beginning after the given one.
	Stale(ctx context.Context, key uint32, after Ref, limit int) ([]Ref, error)

	// Counts counts the rows of all principals for each combination of kind,
	// provider, status and key, in that order, at most limit of them,
	// beginning after the given one; its N is ignored.
	Counts(ctx context.Context, after Count, limit int) ([]Count, error)

	Close() error
}

// Tx is one write transaction on the rows of one principal. It is used by one
// goroutine. Rows that it returns belong to the caller, and it keeps nothing
// of a row that it was given.
type Tx interface {
	// Now is the time of the store, the same for the whole transaction and,
	// among transactions of one principal, never earlier than that of the one
	// before. Leases and expiries use it, so that the clocks of machines do
	// not matter. On a database server it is read after the principal's lock
	// was taken (PostgreSQL: clock_timestamp(), since now() is the time when the
	// transaction began to wait).
	Now() time.Time

	// Rows lists the rows that the query selects, as this transaction has left them.
	Rows(Query) ([]*Row, error)

	// Put adds the row or replaces the one of its kind and id.
	Put(*Row) error

	// Delete removes the row of this kind and id. None is no error.
	Delete(kind Kind, id string) error
}

// MaxText is the longest text of a row, in bytes: a provider may be the address
// of a server. Ids, names, kinds and statuses are at most 256 bytes. Content is
// at most 1 MiB, Detail 64 KiB.
const MaxText = 2048

// Kind says what a row is.
type Kind string

// The kinds of rows. A store does not distinguish them.
const (
	KindGrant      Kind = "grant"      // credentials of a person at a provider
	KindClient     Kind = "client"     // a client registration at an authorization server
	KindFlow       Kind = "flow"       // something begun and not finished, such as an authorization: single use, with an end
	KindRevocation Kind = "revocation" // a token that is still to be revoked
	KindMachine    Kind = "machine"    // a machine and the keys that it has
	KindWanted     Kind = "wanted"     // scopes that a provider wants beyond what a person has allowed
)

// Row is what a store keeps: columns to search by, and two that only the vault reads.
type Row struct {
	Kind     Kind
	ID       string // unique among the principal's rows of the kind
	Provider string // whose credentials: a provider's key or a server's address; empty for some kinds
	Name     string // a grant's label; never empty
	Status   string
	Version  int64     // rises with each Put; the vault counts it
	Key      uint32    // the id of the key that Content is sealed with; 0: nothing is sealed
	Due      time.Time // when a sweep has to look at it; zero: never
	Created  time.Time
	Updated  time.Time
	Detail   []byte // JSON, without secrets
	Content  []byte // sealed
}

// Query selects rows of one principal. Zero fields do not select; Kind is
// always set. Rows come in the order of their ids.
type Query struct {
	Kind     Kind
	ID       string
	Provider string
	Name     string
	After    string // only ids that sort after it
	Limit    int    // at most so many rows; at least 1
}

// Ref points at a row from outside of its principal's transactions.
type Ref struct {
	Principal string // key
	Kind      Kind
	ID        string
	Due       time.Time // in answers of Due
}

// Count is a number of rows that are alike.
type Count struct {
	Kind     Kind
	Provider string
	Status   string
	Key      uint32
	N        int64
}
