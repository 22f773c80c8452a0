package sqlitestore

import (
	"fmt"

	"github.com/parley-mcp/parley/inbox"
)

// MaxPages bounds the file of the transaction's connection: SQLite then finds no
// room, as on a full disk. It never goes below what the file has already.
func MaxPages(t inbox.Tx, n int) error {
	return t.(*tx).row(fmt.Sprintf(`PRAGMA max_page_count = %d`, n), nil, &n)
}
