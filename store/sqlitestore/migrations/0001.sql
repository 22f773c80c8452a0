-- Times are microseconds since 1970 in UTC; NULL is none. Which states a call, a
-- question or an approval can have, and which may follow which, is said by
-- package inbox alone: a newer version that shares the database may add one.

CREATE TABLE inbox_principals (
	id         INTEGER PRIMARY KEY,
	key        TEXT NOT NULL UNIQUE,
	last_event INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE inbox_calls (
	id           TEXT PRIMARY KEY,
	principal    INTEGER NOT NULL REFERENCES inbox_principals,
	seq          INTEGER NOT NULL,
	conversation TEXT NOT NULL,
	server       TEXT NOT NULL,
	state        TEXT NOT NULL,
	version      INTEGER NOT NULL,
	owner        TEXT NOT NULL,
	due          INTEGER,
	not_before   INTEGER,
	created      INTEGER NOT NULL,
	updated      INTEGER NOT NULL,
	ended        INTEGER,
	detail       BLOB NOT NULL,
	content      BLOB NOT NULL
) STRICT;
CREATE INDEX inbox_calls_page         ON inbox_calls (principal, seq);
CREATE INDEX inbox_calls_conversation ON inbox_calls (principal, conversation, seq);
CREATE INDEX inbox_calls_server       ON inbox_calls (server, state, id);
CREATE INDEX inbox_calls_ready        ON inbox_calls (updated, id) WHERE state = 'ready';
CREATE INDEX inbox_calls_later        ON inbox_calls (not_before) WHERE state = 'ready' AND not_before IS NOT NULL;
CREATE INDEX inbox_calls_due          ON inbox_calls (due, id) WHERE due IS NOT NULL;
CREATE INDEX inbox_calls_owner        ON inbox_calls (id) WHERE owner <> '';
CREATE INDEX inbox_calls_ended        ON inbox_calls (ended) WHERE ended IS NOT NULL;

CREATE TABLE inbox_questions (
	id           TEXT PRIMARY KEY,
	principal    INTEGER NOT NULL REFERENCES inbox_principals,
	call         TEXT NOT NULL,
	seq          INTEGER NOT NULL,
	conversation TEXT NOT NULL,
	server       TEXT NOT NULL,
	state        TEXT NOT NULL,
	version      INTEGER NOT NULL,
	due          INTEGER,
	created      INTEGER NOT NULL,
	closed       INTEGER,
	detail       BLOB NOT NULL,
	content      BLOB NOT NULL
) STRICT;
CREATE INDEX inbox_questions_page         ON inbox_questions (principal, seq);
CREATE INDEX inbox_questions_call         ON inbox_questions (call, seq);
CREATE INDEX inbox_questions_conversation ON inbox_questions (principal, conversation, seq);
CREATE INDEX inbox_questions_recent       ON inbox_questions (principal, server, created);
CREATE INDEX inbox_questions_open         ON inbox_questions (principal, server) WHERE state IN ('open', 'opened');
CREATE INDEX inbox_questions_due          ON inbox_questions (due, id) WHERE due IS NOT NULL;

-- Idempotency keys of composing and answering.
CREATE TABLE inbox_keys (
	principal INTEGER NOT NULL REFERENCES inbox_principals,
	key       TEXT NOT NULL,
	value     BLOB NOT NULL,
	expires   INTEGER NOT NULL,
	PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_keys_expires ON inbox_keys (principal, expires);

CREATE TABLE inbox_events (
	principal INTEGER NOT NULL REFERENCES inbox_principals,
	seq       INTEGER NOT NULL,
	kind      TEXT NOT NULL,
	id        TEXT NOT NULL,
	PRIMARY KEY (principal, seq)
) STRICT, WITHOUT ROWID;
