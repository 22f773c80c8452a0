-- oldest: 1
--
-- Times are the database's. A key is taken with a fence that no taking had
-- before, also of rows that are gone.

CREATE TABLE elicit_records (
	key       text COLLATE "C" PRIMARY KEY,
	principal text COLLATE "C" NOT NULL,
	digest    text COLLATE "C" NOT NULL,
	status    text COLLATE "C" NOT NULL,
	fence     bigint GENERATED ALWAYS AS IDENTITY,
	lease     timestamptz NOT NULL,
	expires   timestamptz NOT NULL,
	outcome   bytea
);
CREATE INDEX elicit_records_expires ON elicit_records (expires);
-- Sealed bytes do not compress.
ALTER TABLE elicit_records ALTER COLUMN outcome SET STORAGE EXTERNAL;
