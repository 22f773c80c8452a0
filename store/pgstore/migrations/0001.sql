-- oldest: 1
--
-- Texts sort by their bytes, as everywhere in Parley. An index on a text that a
-- stranger chose takes its first 64 characters only: an entry has a limit of some
-- 2,700 bytes. Which states a call, a question or an approval can have, and which
-- may follow which, is said by package inbox alone: a newer version that shares
-- the database may add one.

CREATE TABLE inbox_principals (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	key        text COLLATE "C" NOT NULL UNIQUE,
	last_event bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 80);

CREATE TABLE inbox_calls (
	id           text COLLATE "C" PRIMARY KEY,
	principal    bigint NOT NULL REFERENCES inbox_principals,
	seq          bigint NOT NULL,
	conversation text COLLATE "C" NOT NULL,
	server       text COLLATE "C" NOT NULL,
	state        text COLLATE "C" NOT NULL,
	version      bigint NOT NULL,
	owner        text COLLATE "C" NOT NULL,
	due          timestamptz,
	not_before   timestamptz,
	created      timestamptz NOT NULL,
	updated      timestamptz NOT NULL,
	ended        timestamptz,
	detail       bytea NOT NULL,
	content      bytea NOT NULL
);
CREATE INDEX inbox_calls_page         ON inbox_calls (principal, seq);
CREATE INDEX inbox_calls_conversation ON inbox_calls (principal, left(conversation, 64), seq);
CREATE INDEX inbox_calls_server       ON inbox_calls (left(server, 64), state, id);
CREATE INDEX inbox_calls_ready        ON inbox_calls (updated, id) WHERE state = 'ready';
CREATE INDEX inbox_calls_later        ON inbox_calls (not_before) WHERE state = 'ready' AND not_before IS NOT NULL;
CREATE INDEX inbox_calls_due          ON inbox_calls (due, id) WHERE due IS NOT NULL;
CREATE INDEX inbox_calls_owner        ON inbox_calls (id) WHERE owner <> '';
CREATE INDEX inbox_calls_ended        ON inbox_calls (ended, id) WHERE ended IS NOT NULL;

CREATE TABLE inbox_questions (
	id           text COLLATE "C" PRIMARY KEY,
	principal    bigint NOT NULL REFERENCES inbox_principals,
	call         text COLLATE "C" NOT NULL,
	seq          bigint NOT NULL,
	conversation text COLLATE "C" NOT NULL,
	server       text COLLATE "C" NOT NULL,
	state        text COLLATE "C" NOT NULL,
	version      bigint NOT NULL,
	due          timestamptz,
	created      timestamptz NOT NULL,
	closed       timestamptz,
	detail       bytea NOT NULL,
	content      bytea NOT NULL
);
CREATE INDEX inbox_questions_page         ON inbox_questions (principal, seq);
CREATE INDEX inbox_questions_call         ON inbox_questions (call, seq);
CREATE INDEX inbox_questions_conversation ON inbox_questions (principal, left(conversation, 64), seq);
CREATE INDEX inbox_questions_recent       ON inbox_questions (principal, left(server, 64), created);
CREATE INDEX inbox_questions_open         ON inbox_questions (principal, left(server, 64)) WHERE state IN ('open', 'opened');
CREATE INDEX inbox_questions_due          ON inbox_questions (due, id) WHERE due IS NOT NULL;

-- Idempotency keys of composing and answering, as their SHA-256.
CREATE TABLE inbox_keys (
	principal bigint NOT NULL REFERENCES inbox_principals,
	key       bytea NOT NULL,
	value     bytea NOT NULL,
	expires   timestamptz NOT NULL,
	PRIMARY KEY (principal, key)
);
CREATE INDEX inbox_keys_expires ON inbox_keys (principal, expires);

CREATE TABLE inbox_events (
	principal bigint NOT NULL REFERENCES inbox_principals,
	seq       bigint NOT NULL,
	kind      text COLLATE "C" NOT NULL,
	id        text COLLATE "C" NOT NULL,
	PRIMARY KEY (principal, seq)
);
