-- Times are microseconds since 1970 in UTC. The fence is the number of the
-- taking: AUTOINCREMENT never gives one again, also after rows are deleted.

CREATE TABLE elicit_records (
	fence     INTEGER PRIMARY KEY AUTOINCREMENT,
	key       TEXT NOT NULL UNIQUE,
	principal TEXT NOT NULL,
	digest    TEXT NOT NULL,
	status    TEXT NOT NULL,
	lease     INTEGER NOT NULL,
	expires   INTEGER NOT NULL,
	outcome   BLOB
) STRICT;
CREATE INDEX elicit_records_expires ON elicit_records (expires);
