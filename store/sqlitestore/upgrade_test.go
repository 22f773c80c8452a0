package sqlitestore_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/sqlitefile"
)

var upgradePerson = inbox.Principal{Issuer: "i", Subject: "ann"}

// TestUpgrade opens files of every older version, with a call that waits for its
// person, and goes on with it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("."), "migrations/*.sql")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	keys := inbox.NewKeys()
	source := filepath.Join(t.TempDir(), "source.db")
	store := mustOpen(t, source)
	parkOne(t, inbox.New(store, keys, nil))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for version := 1; version < len(files); version++ {
		t.Run(fmt.Sprint("from ", version), func(t *testing.T) {
			t.Parallel()
			then := fstest.MapFS{}
			for _, name := range files[:version] {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				then[name] = &fstest.MapFile{Data: text}
			}
			path := filepath.Join(t.TempDir(), "old.db")
			db, err := sqlitefile.Open(t.Context(), path, "inbox_schema", then)
			if err != nil {
				t.Fatal(err)
			}
			copyRows(t, db, source)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			goesOn(t, inbox.New(mustOpen(t, path), keys, nil))
		})
	}
}

// parkOne leaves a call with an open question.
func parkOne(t *testing.T, in *inbox.Inbox) {
	t.Helper()
	call, err := in.Compose(t.Context(), upgradePerson, inbox.NewCall{Server: "s", Method: "tools/call", Name: "n", Arguments: []byte(`{"a":1}`), Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	claim, _, err := in.Claim(t.Context(), upgradePerson, call.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern}); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Park(t.Context(), claim, inbox.Asked{RequestState: "state", Questions: []inbox.NewQuestion{{
		Key: "q", Params: json.RawMessage(`{"message":"Sure?","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`),
	}}}); err != nil {
		t.Fatal(err)
	}
}

// goesOn answers the question and takes the call to its end.
func goesOn(t *testing.T, in *inbox.Inbox) {
	t.Helper()
	questions, err := in.Questions(t.Context(), upgradePerson, inbox.QuestionFilter{})
	if err != nil || len(questions) != 1 || questions[0].Message != "Sure?" {
		t.Fatalf("the questions: %+v, %v", questions, err)
	}
	if _, err := in.Answer(t.Context(), upgradePerson, questions[0].ID, inbox.Answer{Action: inbox.Accept, Content: []byte(`{"x":"yes"}`), Via: "test"}); err != nil {
		t.Fatal(err)
	}
	claim, call, err := in.ClaimNext(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if call.RequestState != "state" || string(call.Arguments) != `{"a":1}` {
		t.Errorf("the call: %+v", call)
	}
	if _, err := in.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern}); err != nil {
		t.Fatal(err)
	}
	wire, err := in.Answers(t.Context(), claim)
	if err != nil || string(wire["q"]) != `{"action":"accept","content":{"x":"yes"}}` {
		t.Errorf("the answer: %s, %v", wire["q"], err)
	}
	if _, err := in.Finish(t.Context(), claim, inbox.Outcome{State: inbox.Done, Result: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	events, err := in.Events(t.Context(), upgradePerson, 0, 100)
	if err != nil || len(events) == 0 || events[len(events)-1].Seq != int64(len(events)) {
		t.Errorf("the events: %v, %v", events, err)
	}
}

// copyRows copies the rows of a store, in the tables and columns that db has.
func copyRows(t *testing.T, db *sql.DB, from string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), `ATTACH ? AS source`, from); err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), `
		SELECT m.name, group_concat(c.name, ', ') FROM main.sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name LIKE 'inbox_%' AND m.name <> 'inbox_schema'
		GROUP BY m.name ORDER BY m.name <> 'inbox_principals', m.name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var statements []string
	for rows.Next() {
		var table, columns string
		if err := rows.Scan(&table, &columns); err != nil {
			t.Fatal(err)
		}
		statements = append(statements, fmt.Sprintf(`INSERT INTO main.%s (%s) SELECT %[2]s FROM source.%[1]s`, table, columns))
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(statements) == 0 {
		t.Fatalf("%d tables, %v", len(statements), err)
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
