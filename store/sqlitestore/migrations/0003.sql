-- What happened, and who may go on. Rows of an erased person are gone but for one
-- of which principal is NULL. No number is given twice.

CREATE TABLE inbox_audit (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	principal INTEGER REFERENCES inbox_principals ON DELETE CASCADE,
	at        INTEGER NOT NULL,
	kind      TEXT NOT NULL,
	call      TEXT NOT NULL,
	detail    BLOB NOT NULL
) STRICT;
CREATE INDEX inbox_audit_page ON inbox_audit (principal, id);

ALTER TABLE inbox_principals ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;
