-- How much of the requests to one address each worker may send, in millionths, and how often that was changed.

ALTER TABLE worker ADD COLUMN share_parts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE worker ADD COLUMN share_version INTEGER NOT NULL DEFAULT 0;
