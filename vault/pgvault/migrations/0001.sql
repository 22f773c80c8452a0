-- oldest: 1
--
-- Rows of all kinds and principals. Texts sort by their bytes, as everywhere in
-- Parley. An index entry has a limit of some 2,700 bytes, so one takes the first
-- 64 characters of a provider, which may be a long address.
CREATE TABLE vault_rows (
	principal text COLLATE "C" NOT NULL,
	kind      text COLLATE "C" NOT NULL,
	id        text COLLATE "C" NOT NULL,
	provider  text COLLATE "C" NOT NULL,
	name      text COLLATE "C" NOT NULL,
	status    text COLLATE "C" NOT NULL,
	version   bigint NOT NULL,
	key       bigint NOT NULL,
	due       timestamptz,
	created   timestamptz,
	updated   timestamptz,
	detail    bytea NOT NULL,
	content   bytea NOT NULL,
	PRIMARY KEY (principal, kind, id)
) WITH (fillfactor = 80);
-- With the id, since rows are wanted in its order: a planner would else walk along
-- the primary key for it.
CREATE INDEX vault_rows_provider ON vault_rows (principal, kind, left(provider, 64), name, id);
CREATE INDEX vault_rows_due      ON vault_rows (kind, due, principal, id) WHERE due IS NOT NULL;
-- There is no index for counts, which operators ask for now and then: a planner
-- that takes a provider for rare would prefer it to those that begin with the
-- principal.
-- What is sealed does not compress.
ALTER TABLE vault_rows ALTER COLUMN content SET STORAGE EXTERNAL;
