-- What a call needs to go on that its client does not carry; and a number that
-- rises when the record changes. Programs of version 1 that have the file open go
-- on with it: their records have the defaults.

ALTER TABLE elicit_records ADD COLUMN continuation BLOB;
ALTER TABLE elicit_records ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
