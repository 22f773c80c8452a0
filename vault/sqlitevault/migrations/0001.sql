-- Rows of all kinds and principals. Texts sort by their bytes (BINARY, the
-- default). Times are microseconds since 1970 in UTC. content comes last: what is
-- large goes to pages of its own, which nothing else has to read.
CREATE TABLE vault_rows (
	principal TEXT    NOT NULL,
	kind      TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	provider  TEXT    NOT NULL,
	name      TEXT    NOT NULL,
	status    TEXT    NOT NULL,
	version   INTEGER NOT NULL,
	key       INTEGER NOT NULL,
	due       INTEGER,
	created   INTEGER,
	updated   INTEGER,
	detail    BLOB    NOT NULL,
	content   BLOB    NOT NULL,
	UNIQUE (principal, kind, id)
) STRICT;
CREATE INDEX vault_rows_provider ON vault_rows (principal, kind, provider, name, id);
CREATE INDEX vault_rows_due      ON vault_rows (kind, due, principal, id) WHERE due IS NOT NULL;
CREATE INDEX vault_rows_stale    ON vault_rows (principal, kind, id, key) WHERE key <> 0;
CREATE INDEX vault_rows_counts   ON vault_rows (kind, provider, status, key);
