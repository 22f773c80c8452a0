package memstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/parley-mcp/parley/inbox"
)

// sealPrefix is the beginning of a content.
func sealPrefix(content []byte) string {
	return string(content[:min(inbox.SealPrefix, len(content))])
}

// Seals implements [inbox.Store].
func (s *Store) Seals(ctx context.Context, limit int) ([]inbox.Seal, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	counted := map[string]int64{}
	for _, rows := range s.db.principals {
		for _, c := range rows.calls {
			counted[sealPrefix(c.Content)]++
		}
		for _, q := range rows.questions {
			counted[sealPrefix(q.Content)]++
		}
		for _, a := range rows.approvals {
			counted[sealPrefix(a.Content)]++
		}
	}
	delete(counted, "")
	var seals []inbox.Seal
	for prefix, n := range counted {
		seals = append(seals, inbox.Seal{Prefix: []byte(prefix), Rows: n})
	}
	slices.SortFunc(seals, func(a, b inbox.Seal) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), bytes.Compare(a.Prefix, b.Prefix))
	})
	return seals[:min(limit, len(seals))], nil
}

// Stale implements [inbox.Store].
func (s *Store) Stale(ctx context.Context, prefix []byte, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	var refs []inbox.Ref
	add := func(ref inbox.Ref, content []byte) {
		if len(content) > 0 && sealPrefix(content) != string(prefix) && (after.ID() == "" || byKind(ref, after) > 0) {
			refs = append(refs, ref)
		}
	}
	for principal, rows := range s.db.principals {
		for id, c := range rows.calls {
			add(inbox.Ref{Principal: principal, Call: id}, c.Content)
		}
		for id, q := range rows.questions {
			add(inbox.Ref{Principal: principal, Call: q.Call, Question: id}, q.Content)
		}
		for id, a := range rows.approvals {
			add(inbox.Ref{Principal: principal, Call: a.Call, Approval: id}, a.Content)
		}
	}
	slices.SortFunc(refs, byKind)
	return refs[:min(limit, len(refs))], nil
}

// byKind is the order of Stale.
func byKind(a, b inbox.Ref) int {
	kind := func(r inbox.Ref) int {
		switch {
		case r.Question != "":
			return 1
		case r.Approval != "":
			return 2
		}
		return 0
	}
	return cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(a.ID(), b.ID()))
}
