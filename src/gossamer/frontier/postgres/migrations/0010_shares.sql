-- How much of the requests to one address each worker may send, in millionths, and how often that was changed.

ALTER TABLE worker ADD COLUMN share_parts int4 NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN share_version int4 NOT NULL DEFAULT 0;
