-- A budget of pages per site, URLs that the operator's rules bar and may bring back, and since when a URL is queued.

ALTER TABLE crawl ADD COLUMN site_limit int8;                           -- pages of one site; NULL: none
ALTER TABLE crawl ADD COLUMN readmissions int8 NOT NULL DEFAULT 0;      -- rises when exclusions are taken back

ALTER TABLE site ADD COLUMN pages int4 NOT NULL DEFAULT 0;              -- kept, as far as this version counted them
ALTER TABLE site ADD COLUMN spent bool NOT NULL DEFAULT false;          -- it has given all: it rests whatever is queued
CREATE INDEX site_spent ON site (crawl, shard) WHERE spent;

ALTER TABLE queue ADD COLUMN added_at int4 NOT NULL DEFAULT 0;          -- Unix seconds, for people; 0: not known

-- What left the queue because of the operator's rules, whole, so that other rules can bring it back. It leaves `seen`
-- too: a shorter way, or a site that became a seed's, may lead to it again.
CREATE TABLE barred (
    site_id  int8 NOT NULL,
    rank     int4 NOT NULL,
    depth    int4 NOT NULL,
    shard    int2 NOT NULL,
    crawl    int2 NOT NULL,
    hops     int2 NOT NULL,
    kind     int2 NOT NULL,
    url_hash bytea NOT NULL,
    via      bytea,
    reason   text NOT NULL,
    url      text NOT NULL,
    PRIMARY KEY (shard, crawl, site_id, url_hash)
);
