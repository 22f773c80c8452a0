-- oldest: 1
--
-- What happened, and who may go on. Rows of an erased person are gone but for one
-- of which principal is NULL. A number is never given twice; which of two
-- transactions got the lower one says nothing about which was committed first.

CREATE TABLE inbox_audit (
	id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	principal bigint REFERENCES inbox_principals ON DELETE CASCADE,
	at        timestamptz NOT NULL,
	kind      text COLLATE "C" NOT NULL,
	call      text COLLATE "C" NOT NULL,
	detail    bytea NOT NULL
);
CREATE INDEX inbox_audit_page ON inbox_audit (principal, id);

ALTER TABLE inbox_principals ADD COLUMN disabled boolean NOT NULL DEFAULT false;
