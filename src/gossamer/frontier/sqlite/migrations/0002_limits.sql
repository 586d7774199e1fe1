-- A budget of pages per site, URLs that the operator's rules bar and may bring back, and since when a URL is queued.

ALTER TABLE crawl ADD COLUMN site_limit INTEGER;                         -- pages of one site; NULL: none
ALTER TABLE crawl ADD COLUMN readmissions INTEGER NOT NULL DEFAULT 0;    -- rises when exclusions are taken back

ALTER TABLE site ADD COLUMN pages INTEGER NOT NULL DEFAULT 0;            -- kept, as far as this version counted them
ALTER TABLE site ADD COLUMN spent INTEGER NOT NULL DEFAULT 0;            -- it has given all: it rests whatever is queued
CREATE INDEX site_spent ON site (site_id) WHERE spent = 1;

ALTER TABLE queue ADD COLUMN added_at INTEGER NOT NULL DEFAULT 0;        -- Unix seconds, for people; 0: not known

-- What left the queue because of the operator's rules, whole, so that other rules can bring it back. It leaves `seen`
-- too: a shorter way, or a site that became a seed's, may lead to it again.
CREATE TABLE barred (
    site_id  INTEGER NOT NULL,
    url_hash BLOB    NOT NULL,
    rank     INTEGER NOT NULL,
    depth    INTEGER NOT NULL,
    hops     INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    via      BLOB,
    reason   TEXT    NOT NULL,
    url      TEXT    NOT NULL,
    PRIMARY KEY (site_id, url_hash)
) WITHOUT ROWID;
