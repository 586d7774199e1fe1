-- A host that does not answer backs off by itself; after its last try its URLs are given up together.

ALTER TABLE host ADD COLUMN silent INTEGER NOT NULL DEFAULT 0;           -- tries in a row without any answer
ALTER TABLE host ADD COLUMN given_up TEXT;                               -- until blocked_until its URLs get this reason
CREATE INDEX host_blocked ON host (blocked_until) WHERE blocked_until > 0 AND given_up IS NULL;
