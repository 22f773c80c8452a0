package sqlitevault

import "maps"

// Statements are the texts of all statements that the handle has run, beside
// those that begin and end transactions.
func (s *Store) Statements() map[string]bool {
	all := map[string]bool{}
	for _, statements := range []*statements{s.reads, s.writes} {
		statements.mu.RLock()
		for query := range maps.Keys(statements.known) {
			all[query] = true
		}
		statements.mu.RUnlock()
	}
	return all
}

// Sweeps are the statements that cross principals.
var Sweeps = map[string]bool{dueQuery: true, staleQuery: true, countsQuery: true}
