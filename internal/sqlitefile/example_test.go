package sqlitefile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/parley-mcp/parley/internal/sqlitefile"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	migrations := fstest.MapFS{"migrations/0001.sql": {Data: []byte(`CREATE TABLE notes (text TEXT NOT NULL) STRICT`)}}
	for range 2 { // the second time the work is done
		db, err := sqlitefile.Open(context.Background(), filepath.Join(dir, "notes.db"), "notes_schema", migrations)
		if err != nil {
			fmt.Println(err)
			return
		}
		var version int
		err = db.QueryRow(`SELECT max(version) FROM notes_schema`).Scan(&version)
		fmt.Println(version, err, db.Close())
	}
	_, err = sqlitefile.Open(context.Background(), dir, "notes_schema", migrations)
	fmt.Println(err)
	// Output:
	// 1 <nil> <nil>
	// 1 <nil> <nil>
	// is a directory
}
