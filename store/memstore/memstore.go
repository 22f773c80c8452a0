// Package memstore is an [inbox.Store] in memory: for tests, examples and
// programs whose questions need not survive them.
//
// It behaves like the stores on disk, its copies included: a row that was read
// or stored shares no memory with the store. What a process that restarts is to
// a database, [Store.Reopen] is here: another handle on the same rows.
package memstore

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// ErrStoreClosed is the answer of a handle that was closed.
var ErrStoreClosed = errors.New("memstore: closed")

var errReadOnly = errors.New("memstore: writing in a view")

// Options of a [Store]; zero fields are the defaults.
type Options struct {
	Now func() time.Time // default time.Now
}

// Store is one handle on rows in memory. It is safe for concurrent use.
type Store struct {
	db   *database
	now  func() time.Time
	done chan struct{}
	once sync.Once
}

// database holds the rows. turn is a lock that can be waited for together with
// a context; it is held for a whole transaction, so that all of them run one
// after another.
type database struct {
	turn       chan struct{}
	principals map[string]*rows
	audit      []*inbox.AuditRow // in the order of their numbers; those of the erased have no principal
	audited    int64             // the last number
}

// rows are those of one principal.
type rows struct {
	calls     map[inbox.CallID]*inbox.CallRow
	questions map[inbox.QuestionID]*inbox.QuestionRow
	approvals map[inbox.ApprovalID]*inbox.ApprovalRow
	keys      map[string]remembered
	events    []inbox.Event // in order, without gaps
	last      int64         // number of the last event
	disabled  bool
}

type remembered struct {
	value   []byte
	expires time.Time
}

func newRows() *rows {
	return &rows{
		calls:     map[inbox.CallID]*inbox.CallRow{},
		questions: map[inbox.QuestionID]*inbox.QuestionRow{},
		approvals: map[inbox.ApprovalID]*inbox.ApprovalRow{},
		keys:      map[string]remembered{},
	}
}

// New returns an empty store.
func New(options *Options) *Store {
	return open(&database{turn: make(chan struct{}, 1), principals: map[string]*rows{}}, options)
}

// Reopen returns another handle on the same rows, which is open even if s is closed.
func (s *Store) Reopen(options *Options) *Store { return open(s.db, options) }

func open(db *database, options *Options) *Store {
	s := &Store{db: db, now: time.Now, done: make(chan struct{})}
	if options != nil && options.Now != nil {
		s.now = options.Now
	}
	return s
}

// Clone returns a store of its own with the rows as they are now, for tests
// that try from one point in several ways what comes next.
func (s *Store) Clone(options *Options) *Store {
	s.db.turn <- struct{}{}
	defer s.unlock()
	db := &database{
		turn: make(chan struct{}, 1), principals: make(map[string]*rows, len(s.db.principals)),
		audit: slices.Clip(s.db.audit), audited: s.db.audited,
	}
	for key, r := range s.db.principals {
		// Rows, values and events are replaced, never changed, so they are shared.
		db.principals[key] = &rows{
			calls: maps.Clone(r.calls), questions: maps.Clone(r.questions), approvals: maps.Clone(r.approvals), keys: maps.Clone(r.keys),
			events: slices.Clip(r.events), last: r.last, disabled: r.disabled,
		}
	}
	return open(db, options)
}

// Close closes the handle. The rows stay for other handles.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

// lock waits for the turn. The caller gives it back with unlock.
func (s *Store) lock(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	select {
	case s.db.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrStoreClosed
	}
	if err := s.check(ctx); err != nil { // the select may have had a choice
		s.unlock()
		return err
	}
	return nil
}

func (s *Store) unlock() { <-s.db.turn }

func (s *Store) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.done:
		return ErrStoreClosed
	default:
		return nil
	}
}

func (s *Store) clock() time.Time { return stored(s.now()) }

// stored is a time as a database keeps it.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

// Update implements [inbox.Store].
func (s *Store) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	tx := s.begin(ctx, principal)
	tx.added = newRows()
	if err := f(tx); err != nil {
		return err
	}
	if err := s.check(ctx); err != nil {
		return err
	}
	tx.commit(s.db)
	return nil
}

// View implements [inbox.Store].
func (s *Store) View(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	return f(s.begin(ctx, principal))
}

func (s *Store) begin(ctx context.Context, principal string) *tx {
	base := s.db.principals[principal]
	if base == nil {
		base = newRows()
	}
	return &tx{
		ctx: ctx, principal: principal, db: s.db, base: base, now: s.clock(), last: base.last,
		first: base.last + 1 - int64(len(base.events)), disabled: base.disabled,
	}
}

// Ready implements [inbox.Store].
func (s *Store) Ready(ctx context.Context, servers []string, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	now := s.clock()
	var refs []inbox.Ref
	for principal, rows := range s.db.principals {
		for id, c := range rows.calls {
			if c.State != inbox.Ready || now.Before(c.NotBefore) || len(servers) > 0 && !slices.Contains(servers, c.Server) {
				continue
			}
			ref := inbox.Ref{Principal: principal, Call: id, Due: c.Updated}
			if after.ID() == "" || byTime(ref, after) > 0 {
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, byTime)
	return refs[:min(limit, len(refs))], nil
}

// Due implements [inbox.Store].
func (s *Store) Due(ctx context.Context, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	now := s.clock()
	var refs []inbox.Ref
	add := func(ref inbox.Ref) {
		if !ref.Due.IsZero() && !ref.Due.After(now) && (after.ID() == "" || byTime(ref, after) > 0) {
			refs = append(refs, ref)
		}
	}
	for principal, rows := range s.db.principals {
		for id, c := range rows.calls {
			add(inbox.Ref{Principal: principal, Call: id, Due: c.Due})
		}
		for id, q := range rows.questions {
			add(inbox.Ref{Principal: principal, Call: q.Call, Question: id, Due: q.Due})
		}
		for id, a := range rows.approvals {
			add(inbox.Ref{Principal: principal, Call: a.Call, Approval: id, Due: a.Due})
		}
	}
	slices.SortFunc(refs, byTime)
	return refs[:min(limit, len(refs))], nil
}

// NextDue implements [inbox.Store].
func (s *Store) NextDue(ctx context.Context) (time.Duration, error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.unlock()
	now := s.clock()
	var next time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, rows := range s.db.principals {
		for _, c := range rows.calls {
			sooner(c.Due)
			if c.State == inbox.Ready {
				sooner(c.NotBefore)
			}
		}
		for _, q := range rows.questions {
			sooner(q.Due)
		}
		for _, a := range rows.approvals {
			sooner(a.Due)
		}
	}
	if next.IsZero() {
		return 0, nil
	}
	return next.Sub(now), nil
}

// Ended implements [inbox.Store].
func (s *Store) Ended(ctx context.Context, age time.Duration, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	end := s.clock().Add(-age)
	var refs []inbox.Ref
	for principal, rows := range s.db.principals {
		for id, c := range rows.calls {
			ref := inbox.Ref{Principal: principal, Call: id, Due: c.Ended}
			if !c.Ended.IsZero() && !c.Ended.After(end) && (after.ID() == "" || byTime(ref, after) > 0) {
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, byTime)
	return refs[:min(limit, len(refs))], nil
}

// Servers implements [inbox.Store].
func (s *Store) Servers(ctx context.Context, states []inbox.CallState) ([]string, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	found := map[string]struct{}{}
	for _, rows := range s.db.principals {
		for _, c := range rows.calls {
			if slices.Contains(states, c.State) {
				found[c.Server] = struct{}{}
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// CountCalls implements [inbox.Store].
func (s *Store) CountCalls(ctx context.Context, server string, state inbox.CallState, most int) (n int, err error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.unlock()
	for _, rows := range s.db.principals {
		for _, c := range rows.calls {
			if c.Server == server && c.State == state {
				n++
			}
		}
	}
	return min(n, most), nil
}

// CountQuestions implements [inbox.Store].
func (s *Store) CountQuestions(ctx context.Context, most int) (n int, err error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.unlock()
	for _, rows := range s.db.principals {
		for _, q := range rows.questions {
			if !q.State.Closed() {
				n++
			}
		}
	}
	return min(n, most), nil
}

// Assigned implements [inbox.Store].
func (s *Store) Assigned(ctx context.Context, q inbox.AssignedQuery) ([]inbox.Ref, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	after := inbox.Ref{Approval: q.After, Due: stored(q.AfterTime)}
	var refs []inbox.Ref
	for principal, rows := range s.db.principals {
		for id, a := range rows.approvals {
			ref := inbox.Ref{Principal: principal, Call: a.Call, Approval: id, Due: a.Created}
			if a.Assignee != "" && slices.Contains(q.Assignees, a.Assignee) && (q.ID == "" || id == q.ID) &&
				(!q.Open || a.State == inbox.ApprovalOpen) && (q.After == "" || byTime(ref, after) > 0) {
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, byTime)
	return refs[:min(q.Limit, len(refs))], nil
}

// byTime is the order of Due, Ended and Assigned.
func byTime(a, b inbox.Ref) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID(), b.ID())) }

// Owned implements [inbox.Store].
func (s *Store) Owned(ctx context.Context, prefix string, after inbox.CallID, limit int) ([]inbox.Ref, error) {
	return s.find(ctx, after, limit, func(c *inbox.CallRow) bool {
		return c.Owner != "" && strings.HasPrefix(c.Owner, prefix)
	})
}

// Find implements [inbox.Store].
func (s *Store) Find(ctx context.Context, server string, state inbox.CallState, after inbox.CallID, limit int) ([]inbox.Ref, error) {
	return s.find(ctx, after, limit, func(c *inbox.CallRow) bool { return c.Server == server && c.State == state })
}

func (s *Store) find(ctx context.Context, after inbox.CallID, limit int, match func(*inbox.CallRow) bool) ([]inbox.Ref, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	var refs []inbox.Ref
	for principal, rows := range s.db.principals {
		for id, c := range rows.calls {
			if id > after && match(c) {
				refs = append(refs, inbox.Ref{Principal: principal, Call: id})
			}
		}
	}
	slices.SortFunc(refs, func(a, b inbox.Ref) int { return cmp.Compare(a.Call, b.Call) })
	return refs[:min(limit, len(refs))], nil
}
