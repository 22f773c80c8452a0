-- oldest: 1
--
-- What a call needs to go on that its client does not carry; and a number that
-- rises when the record changes. Programs of version 1 go on beside those of this
-- one: their records have the defaults.

ALTER TABLE elicit_records ADD COLUMN continuation bytea, ADD COLUMN version bigint NOT NULL DEFAULT 1;
ALTER TABLE elicit_records ALTER COLUMN continuation SET STORAGE EXTERNAL;
