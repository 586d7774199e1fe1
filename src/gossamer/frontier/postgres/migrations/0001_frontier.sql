-- The frontier as of its first version: many crawls in one database, told apart by a small number.
-- Times (…_at, not_before, blocked_until, …_ms) are milliseconds of a crawl's clock, passed in by workers; nothing
-- here is compared with wall time except what a host row says about robots expiry.
--
-- `shard` (0 to 255) comes from a hash of crawl and site, stands in every key, and joins whatever belongs together:
-- all of it can be partitioned, or distributed by Citus, by that one column (docs/decisions/0006).

-- One row per crawl: its terms. Read by every transaction, written when the operator changes something.
CREATE TABLE crawl (
    crawl       int2 PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    normaliser  text NOT NULL,                  -- whoever names pages or sites differently may not join
    suffix_list text NOT NULL,
    state       text NOT NULL DEFAULT 'running',
    delay_ms    int8 NOT NULL DEFAULT 70000,
    page_limit  int8,                           -- NULL: none
    scope       text NOT NULL DEFAULT 'web',
    exclusions  int8 NOT NULL DEFAULT 0,        -- rises with every change to `exclusion`
    offset_ms   float8 NOT NULL DEFAULT 0,      -- crawl time minus the server's clock, as the living last saw it
    clock_runs  int8 NOT NULL DEFAULT 0         -- how often the clock was set going again after a standstill
);

-- Arrival numbers: each batch of links takes a stretch of them, so that they are never used twice.
CREATE SEQUENCE arrival INCREMENT BY 1048576;
CREATE SEQUENCE worker_number AS int4;          -- ids are never reused

-- The shards in which a crawl has sites, so that a small one is not looked for in all 256.
CREATE TABLE open_shard (
    crawl int2 NOT NULL,
    shard int2 NOT NULL,
    PRIMARY KEY (crawl, shard)
);

-- Hot and narrow: one row per registrable domain or address. A claim and a release rewrite the row, so there is room
-- for that in every page, and vacuum comes early.
CREATE TABLE site (
    site_id  int8 NOT NULL,                     -- 64 bits of a hash of crawl and name that `shard` does not use
    arrival  int8 NOT NULL,
    paced_at int8 NOT NULL,                     -- from when politeness allows the next turn
    ready_at int8 NOT NULL,                     -- the later of paced_at and its earliest eligible URL
    delay_ms int8 NOT NULL DEFAULT 0,           -- what the site itself asks for; the crawl's holds if longer
    epoch    int8 NOT NULL DEFAULT 0,           -- rises with every claim
    owner    int4,                              -- the worker that has it in hand
    in_hand  int4 NOT NULL DEFAULT 0,           -- URLs handed out with the claim
    failures int4 NOT NULL DEFAULT 0,           -- in a row, as its last owner saw it
    shard    int2 NOT NULL,
    crawl    int2 NOT NULL,
    has_work bool NOT NULL DEFAULT true,        -- a free site: something is queued; an owned one: true
    seeded   bool NOT NULL DEFAULT false,
    excluded bool NOT NULL DEFAULT false,
    name     text NOT NULL,
    PRIMARY KEY (shard, crawl, site_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05);

-- The ready list itself: a claim walks its head, never a sort, never a scan.
CREATE INDEX site_ready ON site (shard, crawl, ready_at, arrival) WHERE owner IS NULL AND has_work AND NOT excluded;
CREATE INDEX site_owner ON site (shard, crawl, owner) WHERE owner IS NOT NULL;

-- What is still to be settled. Rows come and go: vacuum comes early here too.
CREATE TABLE queue (
    site_id    int8 NOT NULL,
    seq        int8 NOT NULL,                   -- arrival number
    not_before int8 NOT NULL DEFAULT 0,         -- 0: eligible; else deferred until then
    rank       int4 NOT NULL,
    depth      int4 NOT NULL,
    shard      int2 NOT NULL,
    crawl      int2 NOT NULL,
    hops       int2 NOT NULL,
    tries      int2 NOT NULL DEFAULT 0,
    kind       int2 NOT NULL,
    url_hash   bytea NOT NULL,
    via        bytea,
    url        text NOT NULL,
    PRIMARY KEY (shard, crawl, site_id, url_hash)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- A site's eligible URLs first, in the order of fetching; then its deferred ones by when they wake.
CREATE INDEX queue_order ON queue (shard, crawl, site_id, not_before, rank, depth, seq);

-- Every URL ever accepted, and what became of it: NULL while queued, '' when done, else the reason it was given up.
-- Settling changes no indexed column; the room left in each page lets most of those updates stay in it.
CREATE TABLE seen (
    site_id  int8 NOT NULL,
    depth    int4 NOT NULL,
    shard    int2 NOT NULL,
    crawl    int2 NOT NULL,
    url_hash bytea NOT NULL,
    outcome  text,
    PRIMARY KEY (shard, crawl, site_id, url_hash)
) WITH (fillfactor = 90, autovacuum_vacuum_insert_scale_factor = 0.05);

CREATE TABLE host (
    site_id       int8 NOT NULL,
    expires_at    float8 NOT NULL DEFAULT 0,    -- Unix seconds
    failing_since float8,                       -- Unix seconds
    blocked_until int8 NOT NULL DEFAULT 0,
    failures      int4 NOT NULL DEFAULT 0,
    shard         int2 NOT NULL,
    crawl         int2 NOT NULL,
    seeded        bool NOT NULL DEFAULT false,
    name          text NOT NULL,
    rules         text,                         -- NULL: its robots.txt was never asked for
    PRIMARY KEY (shard, crawl, site_id, name)
) WITH (fillfactor = 90);

CREATE TABLE worker (
    shard   int2 NOT NULL,                      -- of its number
    crawl   int2 NOT NULL,
    worker  int4 NOT NULL,
    beats   int8 NOT NULL DEFAULT 0,
    gone    bool NOT NULL DEFAULT false,
    home    text NOT NULL,                      -- whose death proves this worker's: one machine's crawl folder, say
    label   text NOT NULL,
    figures json NOT NULL DEFAULT '{}',
    PRIMARY KEY (shard, crawl, worker)
) WITH (fillfactor = 50);
CREATE INDEX worker_live ON worker (crawl) WHERE NOT gone;

-- Counters, a row per worker and one (number 0) for everybody else and for the dead: nobody waits for another's row.
CREATE TABLE tally (
    shard     int2 NOT NULL,
    crawl     int2 NOT NULL,
    worker    int4 NOT NULL,
    writes    int8 NOT NULL DEFAULT 0,          -- transactions
    clock_ms  int8 NOT NULL DEFAULT 0,          -- crawl time when one last wrote
    sites     int8 NOT NULL DEFAULT 0,
    with_work int8 NOT NULL DEFAULT 0,
    known     int8 NOT NULL DEFAULT 0,
    done      int8 NOT NULL DEFAULT 0,
    pages     int8 NOT NULL DEFAULT 0,          -- of those, what counts against the page limit
    in_hand   int8 NOT NULL DEFAULT 0,          -- URLs reserved from the page limit by this worker's claims
    owned     int8 NOT NULL DEFAULT 0,          -- sites that this worker has in hand
    PRIMARY KEY (shard, crawl, worker)
) WITH (fillfactor = 30, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);
CREATE INDEX tally_crawl ON tally (crawl);

CREATE TABLE given_up (
    shard  int2 NOT NULL,
    crawl  int2 NOT NULL,
    worker int4 NOT NULL,
    reason text NOT NULL,
    urls   int8 NOT NULL,
    PRIMARY KEY (shard, crawl, worker, reason)
) WITH (fillfactor = 50);
CREATE INDEX given_up_crawl ON given_up (crawl);

CREATE TABLE exclusion (crawl int2 NOT NULL, site text NOT NULL, PRIMARY KEY (crawl, site));
CREATE TABLE seeds_loaded (crawl int2 NOT NULL, digest text NOT NULL, PRIMARY KEY (crawl, digest));
