-- oldest: 1
--
-- Approvals. An approval of a call lives with the call's principal, whoever
-- decides it: assignee is the key of a principal or a group, standing names what
-- it covers beyond its call, and both are empty for none.

CREATE TABLE inbox_approvals (
	id           text COLLATE "C" PRIMARY KEY,
	principal    bigint NOT NULL REFERENCES inbox_principals ON DELETE CASCADE,
	call         text COLLATE "C" NOT NULL,
	seq          bigint NOT NULL,
	conversation text COLLATE "C" NOT NULL,
	server       text COLLATE "C" NOT NULL,
	state        text COLLATE "C" NOT NULL,
	version      bigint NOT NULL,
	assignee     text COLLATE "C" NOT NULL,
	standing     text COLLATE "C" NOT NULL,
	due          timestamptz,
	created      timestamptz NOT NULL,
	closed       timestamptz,
	detail       bytea NOT NULL,
	content      bytea NOT NULL
);
CREATE INDEX inbox_approvals_page     ON inbox_approvals (principal, seq);
CREATE INDEX inbox_approvals_call     ON inbox_approvals (call, seq);
CREATE INDEX inbox_approvals_standing ON inbox_approvals (principal, standing, seq) WHERE standing <> '';
CREATE INDEX inbox_approvals_assigned ON inbox_approvals (assignee, created, id) WHERE assignee <> '';
CREATE INDEX inbox_approvals_due      ON inbox_approvals (due, id) WHERE due IS NOT NULL;
