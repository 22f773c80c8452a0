package pgschema_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/parley-mcp/parley/internal/pgschema"
)

func Example() {
	migrations := fstest.MapFS{"migrations/0001.sql": {Data: []byte("-- oldest: 1\nCREATE TABLE notes (text text NOT NULL);")}}
	pool, schema, err := pgschema.Open(context.Background(),
		"postgres://parley:not-shown@127.0.0.1:1/parley?sslmode=disable&connect_timeout=5",
		pgschema.Options{Table: "notes_schema", Migrations: migrations})
	if err != nil {
		fmt.Println("nobody listens there")
		return
	}
	defer pool.Close()
	fmt.Println("the tables are in", schema)
	// Output: nobody listens there
}
