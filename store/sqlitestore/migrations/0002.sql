-- Approvals. An approval of a call lives with the call's principal, whoever
-- decides it: assignee is the key of a principal or a group, standing names what
-- it covers beyond its call, and both are empty for none.

CREATE TABLE inbox_approvals (
	id           TEXT PRIMARY KEY,
	principal    INTEGER NOT NULL REFERENCES inbox_principals ON DELETE CASCADE,
	call         TEXT NOT NULL,
	seq          INTEGER NOT NULL,
	conversation TEXT NOT NULL,
	server       TEXT NOT NULL,
	state        TEXT NOT NULL,
	version      INTEGER NOT NULL,
	assignee     TEXT NOT NULL,
	standing     TEXT NOT NULL,
	due          INTEGER,
	created      INTEGER NOT NULL,
	closed       INTEGER,
	detail       BLOB NOT NULL,
	content      BLOB NOT NULL
) STRICT;
CREATE INDEX inbox_approvals_page     ON inbox_approvals (principal, seq);
CREATE INDEX inbox_approvals_call     ON inbox_approvals (call, seq);
CREATE INDEX inbox_approvals_standing ON inbox_approvals (principal, standing, seq) WHERE standing <> '';
CREATE INDEX inbox_approvals_assigned ON inbox_approvals (assignee, created, id) WHERE assignee <> '';
CREATE INDEX inbox_approvals_due      ON inbox_approvals (due, id) WHERE due IS NOT NULL;
