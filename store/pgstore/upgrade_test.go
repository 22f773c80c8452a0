package pgstore_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/pgschema"
	"github.com/parley-mcp/parley/internal/servicetest"
)

var upgradePerson = inbox.Principal{Issuer: "i", Subject: "ann"}

// TestUpgrade opens tables of every older version, with a call that waits for
// its person, and goes on with it. Then what a program of that version writes,
// which knows no later column, is written into tables of today: both run on one
// database while an upgrade goes on.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("."), "migrations/*.sql")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	keys := inbox.NewKeys()
	source := servicetest.Postgres(t)
	parkOne(t, inbox.New(mustOpen(t, source, nil), keys, nil))
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
			old, today := servicetest.Postgres(t), servicetest.Postgres(t)
			if _, to, err := pgschema.Migrate(t.Context(), old, pgschema.Options{Table: "inbox_schema", Migrations: then}); err != nil || to != version {
				t.Fatalf("the tables of then have version %d, %v", to, err)
			}
			mustOpen(t, today, nil)
			conn := servicetest.Conn(t, source)
			copyRows(t, conn, old, source, today)
			copyRows(t, conn, old, source, old)
			for _, store := range []string{old, today} {
				goesOn(t, inbox.New(mustOpen(t, store, nil), keys, nil))
			}
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

// copyRows copies the rows of a store, in the tables and columns that old has.
func copyRows(t *testing.T, conn *pgx.Conn, old, from, to string) {
	t.Helper()
	schema := func(dsn string) string {
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return config.RuntimeParams["search_path"]
	}
	rows, err := conn.Query(t.Context(), `
		SELECT table_name, string_agg(column_name, ', ') FROM information_schema.columns
		WHERE table_schema = $1 AND table_name <> 'inbox_schema'
		GROUP BY table_name ORDER BY table_name <> 'inbox_principals', table_name`, schema(old))
	if err != nil {
		t.Fatal(err)
	}
	var statements []string
	for rows.Next() {
		var table, columns string
		if err := rows.Scan(&table, &columns); err != nil {
			t.Fatal(err)
		}
		statements = append(statements, fmt.Sprintf(`INSERT INTO %s.%s (%s) OVERRIDING SYSTEM VALUE SELECT %[3]s FROM %[4]s.%[2]s`,
			schema(to), table, columns, schema(from)))
	}
	if err := rows.Err(); err != nil || len(statements) == 0 {
		t.Fatalf("%d tables, %v", len(statements), err)
	}
	for _, statement := range statements {
		execute(t, conn, statement)
	}
}
