-- The frontier as of its first version. Times (…_at, not_before, blocked_until) are milliseconds of the crawl
-- clock; nothing here is ever compared with wall time except what a host row says about robots expiry.
-- There is no shard column: one file is one shard (docs/decisions/0001).

-- One row: the crawl's terms, its clock and its counters. Writers are serialised, so counters cost nothing.
CREATE TABLE crawl (
    only_row        INTEGER PRIMARY KEY CHECK (only_row = 1),
    normaliser      TEXT    NOT NULL,             -- whoever names pages or sites differently may not join
    suffix_list     TEXT    NOT NULL,
    state           TEXT    NOT NULL DEFAULT 'running',
    delay_ms        INTEGER NOT NULL DEFAULT 70000,
    page_limit      INTEGER,                      -- NULL: none
    scope           TEXT    NOT NULL DEFAULT 'web',
    clock_ms        INTEGER NOT NULL DEFAULT 0,   -- crawl time when a transaction last wrote
    clock_offset_ms INTEGER NOT NULL DEFAULT 0,   -- crawl time minus boot time, since the last start
    exclusions      INTEGER NOT NULL DEFAULT 0,   -- rises with every change to `exclusion`
    next_seq        INTEGER NOT NULL DEFAULT 1,   -- arrival numbers are never used twice
    sites           INTEGER NOT NULL DEFAULT 0,
    sites_with_work INTEGER NOT NULL DEFAULT 0,
    known           INTEGER NOT NULL DEFAULT 0,
    done            INTEGER NOT NULL DEFAULT 0,
    pages           INTEGER NOT NULL DEFAULT 0,   -- of those, what counts against the page limit
    given_up        INTEGER NOT NULL DEFAULT 0,
    in_hand         INTEGER NOT NULL DEFAULT 0    -- URLs reserved from the page limit
);

-- Hot and narrow: one row per registrable domain or address. Numbered by arrival, not by a hash, so that what
-- belongs to new sites is appended to every tree: a seed costs a third of the CPU (docs/decisions/0001).
CREATE TABLE site (
    site_id   INTEGER PRIMARY KEY,
    name      TEXT    NOT NULL UNIQUE,
    paced_at  INTEGER NOT NULL,                   -- from when politeness allows the next turn
    ready_at  INTEGER NOT NULL,                   -- the later of paced_at and its earliest eligible URL
    has_work  INTEGER NOT NULL DEFAULT 0,         -- a free site: something is queued; an owned one: 1
    owner     INTEGER,                            -- the worker that has it in hand
    epoch     INTEGER NOT NULL DEFAULT 0,         -- rises with every claim
    in_hand   INTEGER NOT NULL DEFAULT 0,         -- URLs handed out with the claim
    delay_ms  INTEGER NOT NULL DEFAULT 0,         -- what the site itself asks for; the crawl's holds if longer
    failures  INTEGER NOT NULL DEFAULT 0,         -- in a row, as its last owner saw it
    seeded    INTEGER NOT NULL DEFAULT 0,
    excluded  INTEGER NOT NULL DEFAULT 0
);

-- The ready list itself: a claim walks its head, never a sort, never a scan.
CREATE INDEX site_ready ON site (ready_at) WHERE owner IS NULL AND has_work = 1 AND excluded = 0;
CREATE INDEX site_owner ON site (owner) WHERE owner IS NOT NULL;

-- What is still to be settled. Arrival order is the row id, so inserts append.
CREATE TABLE queue (
    seq        INTEGER PRIMARY KEY,
    site_id    INTEGER NOT NULL,
    not_before INTEGER NOT NULL DEFAULT 0,        -- 0: eligible; else deferred until then
    rank       INTEGER NOT NULL,
    depth      INTEGER NOT NULL,
    hops       INTEGER NOT NULL,
    tries      INTEGER NOT NULL DEFAULT 0,
    kind       INTEGER NOT NULL,
    url_hash   BLOB    NOT NULL,
    via        BLOB,
    url        TEXT    NOT NULL,
    -- Scheme, name and port: all before the first slash of the path. Derived, so that it takes no room.
    host       TEXT    GENERATED ALWAYS AS (substr(url, 1, 7 + instr(substr(url, 9), '/'))) VIRTUAL
);

-- A site's eligible URLs first, in the order of fetching; then its deferred ones by when they wake.
CREATE INDEX queue_order ON queue (site_id, not_before, rank, depth, seq);

-- Every URL ever accepted, and what became of it: NULL while queued, '' when done, else the reason it was given up.
CREATE TABLE seen (
    site_id  INTEGER NOT NULL,
    url_hash BLOB    NOT NULL,
    seq      INTEGER NOT NULL,
    depth    INTEGER NOT NULL,
    outcome  TEXT,
    PRIMARY KEY (site_id, url_hash)
) WITHOUT ROWID;

CREATE TABLE host (
    site_id       INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    seeded        INTEGER NOT NULL DEFAULT 0,
    rules         TEXT,                           -- NULL: its robots.txt was never asked for
    expires_at    REAL    NOT NULL DEFAULT 0,     -- Unix seconds
    failures      INTEGER NOT NULL DEFAULT 0,
    failing_since REAL,                           -- Unix seconds
    blocked_until INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (site_id, name)
) WITHOUT ROWID;

CREATE TABLE worker (
    worker  INTEGER PRIMARY KEY AUTOINCREMENT,    -- ids are never reused
    label   TEXT    NOT NULL,
    beats   INTEGER NOT NULL DEFAULT 0,
    gone    INTEGER NOT NULL DEFAULT 0,
    figures TEXT    NOT NULL DEFAULT '{}'
);

CREATE TABLE exclusion (site TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE seeds_loaded (digest TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE given_up (reason TEXT PRIMARY KEY, urls INTEGER NOT NULL) WITHOUT ROWID;
