// Package inboxtest holds the suites that every [inbox.Store] and every
// [inbox.Notifier] has to pass. There are no exemptions: a store whose database
// behaves differently makes up for it.
//
// The test of a store, here in a file of its own for each test:
//
//	func TestStore(t *testing.T) {
//		inboxtest.TestStore(t, func(t *testing.T, now func() time.Time) func() inbox.Store {
//			path := filepath.Join(t.TempDir(), "inbox.db")
//			return func() inbox.Store {
//				store, err := sqlitestore.Open(path, &sqlitestore.Options{Now: now})
//				if err != nil {
//					t.Fatal(err)
//				}
//				return store
//			}
//		})
//	}
package inboxtest
