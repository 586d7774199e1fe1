-- Every statement that the PostgreSQL engine runs on a crawl, all at READ COMMITTED unless a comment says otherwise.
-- Times are parameters of the crawl clock; the server's clock is read only to compare it (`crawl`) and for display.
--
-- Frequent statements name one shard, `shard = %(shard)s`, for every table that they touch. Those that add a batch of
-- links, and those that read a whole crawl, join on `shard` instead. Either way all tables can be partitioned by it.

-- ---------------------------------------------------------------- the crawl

-- name: crawl
-- Reads the terms of the crawl, at the start of every transaction. The server's clock comes with them: each worker
-- compares it with the time that it carries forward itself.
SELECT state, delay_ms, page_limit, site_limit, scope, exclusions, offset_ms, clock_runs, identity, standing, move,
       moved_to, seed_ports, extract(epoch FROM clock_timestamp())::float8 * 1000 AS server_ms
FROM crawl WHERE crawl = %(crawl)s

-- name: begin_snapshot
-- Gives all statements of a reading transaction one snapshot.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY

-- name: lock_crawl
-- Takes the crawl's row exclusively. With a page limit, claims reserve pages one after the other; a start keeps out
-- other starts and joining workers.
SELECT 1 FROM crawl WHERE crawl = %(crawl)s FOR UPDATE

-- name: correct_offset
-- Corrects the offset after the server's clock jumped, so that workers that join later do not follow the jump. Only
-- the first worker that notices writes: the others find another offset.
UPDATE crawl SET offset_ms = %(offset_ms)s WHERE crawl = %(crawl)s AND offset_ms = %(believed_ms)s

-- name: resume
-- Sets the terms of a start. One row, in one transaction, so that no worker sees half of them. A pause is the operator's:
-- only the operator ends it, not a restart or a further machine.
UPDATE crawl SET state = CASE state WHEN 'paused' THEN state ELSE 'running' END, delay_ms = %(delay_ms)s, page_limit = %(page_limit)s, site_limit = %(site_limit)s,
                 scope = %(scope)s
WHERE crawl = %(crawl)s

-- name: terms
-- Reads the settings that all machines have to share.
SELECT terms FROM crawl WHERE crawl = %(crawl)s

-- name: keep_terms
-- Stores the settings that all machines have to share. lock_crawl was taken before, so no other start writes them
-- meanwhile.
UPDATE crawl SET terms = %(terms)s WHERE crawl = %(crawl)s

-- name: restart_clock
-- Lets the clock continue from its saved value. Only when no worker lives; the new run tells every worker to read it.
UPDATE crawl SET offset_ms = %(offset_ms)s, clock_runs = clock_runs + 1 WHERE crawl = %(crawl)s RETURNING clock_runs

-- name: saved_clock
-- Reads the latest crawl time that was ever saved: nothing was written at a later one.
SELECT coalesce(max(clock_ms), 0)::int8 AS clock_ms FROM tally WHERE crawl = %(crawl)s

-- name: add_seed_ports
-- Adds ports to those of the seeds. One statement: of two at once, the second waits and adds to what the first wrote.
UPDATE crawl SET seed_ports = (
    SELECT string_agg(DISTINCT port, ',') FROM unnest(string_to_array(seed_ports, ',') || %(ports)s::text[]) AS port)
WHERE crawl = %(crawl)s

-- name: order
-- Sets what all workers are told with their next heartbeat.
UPDATE crawl SET state = %(state)s WHERE crawl = %(crawl)s

-- name: save_tally
-- Writes a worker's counters. Each worker writes only its own row, at the end of a transaction, so none waits for
-- another. The clock is saved with every write, so that after a standstill it continues from a time no later than
-- that.
-- No row comes back if the crawl has begun to move since the transaction began. `leave` in moving.sql waits for the
-- transactions that are past this statement; the others see what it has written.
INSERT INTO tally (shard, crawl, worker, writes, clock_ms, sites, with_work, known, done, pages, in_hand, owned)
SELECT %(shard)s, c.crawl, %(worker)s, %(writes)s, %(clock_ms)s, %(sites)s, %(with_work)s, %(known)s, %(done)s,
       %(pages)s, %(in_hand)s, %(owned)s
FROM crawl c WHERE c.crawl = %(crawl)s AND c.standing = 'live'
ON CONFLICT (shard, crawl, worker) DO UPDATE SET
    writes = tally.writes + excluded.writes, clock_ms = greatest(tally.clock_ms, excluded.clock_ms),
    sites = tally.sites + excluded.sites, with_work = tally.with_work + excluded.with_work,
    known = tally.known + excluded.known, done = tally.done + excluded.done, pages = tally.pages + excluded.pages,
    in_hand = tally.in_hand + excluded.in_hand, owned = tally.owned + excluded.owned
RETURNING 1

-- name: count_given_up
-- Adds to the number of URLs that this worker gave up for a reason, in a row of its own.
INSERT INTO given_up (shard, crawl, worker, reason, urls)
VALUES (%(shard)s, %(crawl)s, %(worker)s, %(reason)s, %(urls)s)
ON CONFLICT (shard, crawl, worker, reason) DO UPDATE SET urls = given_up.urls + excluded.urls

-- name: count_seeds
-- Adds to the number of seeds that this worker settled under an outcome, in a row of its own. The first one stays as
-- the example.
INSERT INTO seed_outcome (shard, crawl, worker, outcome, seeds, example)
VALUES (%(shard)s, %(crawl)s, %(worker)s, %(outcome)s, %(seeds)s, %(example)s)
ON CONFLICT (shard, crawl, worker, outcome) DO UPDATE SET seeds = seed_outcome.seeds + excluded.seeds

-- ---------------------------------------------------------------- add

-- name: create_stage
-- Creates the table that holds the keys of a batch; only the links that turn out to be new are sent complete. TEMP:
-- each connection has its own.
CREATE TEMP TABLE stage (
    site_id int8 NOT NULL, n int4 NOT NULL, depth int4 NOT NULL, shard int2 NOT NULL, url_hash bytea NOT NULL
    ) ON COMMIT DELETE ROWS

-- name: begin_links
-- Draws a range of arrival numbers. The lock, which transactions that add links share, makes a change of exclusions
-- come completely before or completely after: otherwise a site that is created meanwhile would miss it.
SELECT nextval('arrival') AS arrival FROM pg_advisory_xact_lock_shared(%(exclusions_lock)s, %(crawl)s)

-- name: stage_links
-- Sends the keys of a batch. A binary COPY is the fastest way in.
COPY stage (n, shard, site_id, url_hash, depth) FROM STDIN (FORMAT BINARY)

-- name: seeded_sites
-- Finds which of these sites are seeded, for the scope `site`; LATERAL as in `unseen`.
SELECT d.site_id FROM unnest(%(shards)s::int2[], %(sites)s::int8[]) AS d (shard, site_id) CROSS JOIN LATERAL (
    SELECT 1 FROM site s WHERE s.shard = d.shard AND s.crawl = %(crawl)s AND s.site_id = d.site_id AND s.seeded LIMIT 1) s

-- name: seeded_names
-- Finds which of these names have a seeded host, whatever its scheme and port, for the scope `host`; LATERAL as in
-- `unseen`. The index finds the hosts of a site: a range of names would need a collation that the database may not have.
SELECT d.site_id, d.name
FROM unnest(%(shards)s::int2[], %(sites)s::int8[], %(names)s::text[]) AS d (shard, site_id, name) CROSS JOIN LATERAL (
    SELECT 1 FROM host h
    WHERE h.shard = d.shard AND h.crawl = %(crawl)s AND h.site_id = d.site_id AND h.seeded AND (
        h.name IN ('http://' || d.name, 'https://' || d.name)
        OR starts_with(h.name, 'http://' || d.name || ':') OR starts_with(h.name, 'https://' || d.name || ':'))
    LIMIT 1) h

-- name: unseen
-- Finds, with one look per link, which are not known yet and which are known at a greater depth. Here and elsewhere
-- LATERAL with a LIMIT leaves no other plan than one search of the index per row, also for a table without
-- statistics.
SELECT g.n, s.depth FROM stage g LEFT JOIN LATERAL (
    SELECT s.depth FROM seen s
    WHERE s.shard = g.shard AND s.crawl = %(crawl)s AND s.site_id = g.site_id AND s.url_hash = g.url_hash LIMIT 1
    ) s ON true
WHERE s.depth IS NULL OR s.depth > g.depth

-- name: missing_sites
-- Finds which sites of a batch do not exist yet. A byte per link says whose site to look for: a list of numbers would
-- be searched for each link.
SELECT g.n FROM stage g LEFT JOIN LATERAL (
    SELECT true AS found FROM site s WHERE s.shard = g.shard AND s.crawl = %(crawl)s AND s.site_id = g.site_id LIMIT 1
    ) s ON true
WHERE get_byte(%(is_first)s::bytea, g.n) = 1 AND s.found IS NULL ORDER BY g.n

-- name: open_shards
-- Records the shards that the crawl uses, before its sites appear there; a known one is left alone.
INSERT INTO open_shard (crawl, shard) SELECT %(crawl)s, d.shard FROM unnest(%(shards)s::int2[]) AS d (shard)
ON CONFLICT DO NOTHING

-- name: add_sites
-- Creates sites before their first URLs: a URL always has a site that can be owned. Sorted by key, so that two
-- transactions that create the same sites wait for, but never deadlock with, each other.
INSERT INTO site (shard, crawl, site_id, name, arrival, paced_at, ready_at, seeded, excluded)
SELECT d.shard, %(crawl)s, d.site_id, d.name, d.arrival, %(now_ms)s, %(now_ms)s, d.seeded,
       EXISTS (SELECT 1 FROM exclusion x WHERE x.crawl = %(crawl)s AND x.site = d.name)
FROM unnest(%(shards)s::int2[], %(sites)s::int8[], %(names)s::text[], %(arrivals)s::int8[], %(seeded)s::bool[])
     AS d (shard, site_id, name, arrival, seeded)
ON CONFLICT DO NOTHING RETURNING site_id

-- name: mark_seeded
-- Marks sites that were known before and are now seeds'. Those that are marked are not written again.
UPDATE site SET seeded = true
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) AND NOT seeded RETURNING 1

-- name: mark_seeded_hosts
-- Marks the hosts of seeds, sorted by key. Those that are marked are not written again.
INSERT INTO host (shard, crawl, site_id, name, seeded)
SELECT d.shard, %(crawl)s, d.site_id, d.name, true
FROM unnest(%(shards)s::int2[], %(sites)s::int8[], %(hosts)s::text[]) AS d (shard, site_id, name)
ON CONFLICT (shard, crawl, site_id, name) DO UPDATE SET seeded = true WHERE NOT host.seeded

-- name: add_seen
-- Accepts new links in key order, which is that of the numbers: each page of the tree is touched once, and two
-- batches with the same links cannot deadlock. A link that another transaction added since `unseen` is not returned.
INSERT INTO seen (shard, crawl, site_id, url_hash, depth)
SELECT g.shard, %(crawl)s, g.site_id, g.url_hash, g.depth FROM stage g WHERE get_byte(%(is_new)s::bytea, g.n) = 1
ORDER BY g.n
ON CONFLICT DO NOTHING RETURNING url_hash

-- name: add_queue
-- Queues exactly the links that add_seen accepted, so each accepted URL has at most one row in the queue.
COPY queue (shard, crawl, site_id, seq, rank, depth, hops, kind, url_hash, via, url, added_at) FROM STDIN (FORMAT BINARY)

-- name: lower_seen
-- Gives an accepted URL a smaller depth. Settled ones keep theirs, and a greater depth never replaces a smaller one.
UPDATE seen SET depth = %(depth)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = %(url_hash)s AND depth > %(depth)s
  AND outcome IS NULL
RETURNING 1

-- name: lower_queue
-- Gives the queued URL the same smaller depth.
UPDATE queue SET depth = %(depth)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = %(url_hash)s AND depth > %(depth)s
RETURNING 1

-- name: hold_awake
-- Locks sites that get new URLs against being put to rest. A transaction that puts a site to rest takes FOR UPDATE
-- and then reads the queue in a second statement. With this lock it comes completely before this one, which then
-- finds the site at rest and wakes it, or completely after its commit, and then finds its links. So a site that is
-- awake here stays awake, and only the others need to be written; a spent site stays at rest.
SELECT site_id, NOT has_work AND NOT spent AS is_idle, has_work AND owner IS NULL AND ready_at > paced_at AS is_deferred
FROM site WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[])
ORDER BY site_id
-- plant: pg-add-without-lock
FOR KEY SHARE

-- name: wake_idle_sites
-- Makes sites at rest claimable that got new URLs. hold_awake has locked them and found them idle.
UPDATE site SET has_work = true, ready_at = paced_at
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) AND NOT has_work
RETURNING site_id

-- name: advance_deferred_sites
-- Makes a free site due at its pace that only waited for deferred URLs: now it has an eligible one.
UPDATE site SET ready_at = paced_at
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) AND owner IS NULL
  AND ready_at > paced_at
RETURNING site_id

-- ---------------------------------------------------------------- claim

-- name: standing
-- Reads what a claim is limited by: whether the worker is dead, how many live, how many sites have work, and what the
-- page limit has left.
SELECT (SELECT w.gone FROM worker w WHERE w.shard = %(shard)s AND w.crawl = %(crawl)s AND w.worker = %(worker)s) AS gone,
       (SELECT count(*) FROM worker w WHERE w.crawl = %(crawl)s AND NOT w.gone) AS live,
       coalesce(sum(with_work), 0)::int8 AS with_work, coalesce(sum(pages), 0)::int8 AS pages,
       coalesce(sum(in_hand), 0)::int8 AS in_hand,
       coalesce(sum(owned) FILTER (WHERE worker = %(worker)s), 0)::int8 AS mine
FROM tally WHERE crawl = %(crawl)s

-- name: first_ready
-- Reads the head of the ready list in every shard that the crawl uses: one index entry each.
SELECT o.shard, f.ready_at FROM open_shard o CROSS JOIN LATERAL (
    SELECT s.ready_at FROM site s
    WHERE s.shard = o.shard AND s.crawl = %(crawl)s AND s.owner IS NULL AND s.has_work AND NOT s.excluded
    ORDER BY s.ready_at, s.arrival LIMIT 1) f
WHERE o.crawl = %(crawl)s

-- name: due_sites
-- Reads what is due in a few shards, to decide how many sites to take from which, the most overdue first.
SELECT c.shard, f.ready_at, f.arrival FROM unnest(%(shards)s::int2[]) AS c (shard) CROSS JOIN LATERAL (
    SELECT s.ready_at, s.arrival FROM site s
    WHERE s.shard = c.shard AND s.crawl = %(crawl)s AND s.owner IS NULL AND s.has_work AND NOT s.excluded
      AND s.ready_at <= %(now_ms)s
    ORDER BY s.ready_at, s.arrival LIMIT %(sites)s) f

-- name: claim
-- Walks the partial index site_ready from its head and locks the site rows themselves, in the statement that takes
-- them: two workers never wait for, nor get, the same site. NO KEY: transactions that add links hold KEY SHARE, and
-- hide no site.
-- A site is taken only if its first URLs are all eligible. A site with URLs that woke up, URLs of a blocked host, or
-- no URLs at all comes back without owner, and is put in order in a transaction of its own. The number of URLs is the
-- rule of `urls_per_claim`, within the limit of a site's pages; `left` is what the page limit leaves, and `most_urls`
-- what it leaves one site.
WITH due AS MATERIALIZED (
    SELECT s.site_id, s.ready_at, s.arrival, greatest(s.delay_ms, %(delay_ms)s) AS delay_ms,
           least(greatest(0, %(site_limit)s - s.pages), %(most_urls)s) AS most_urls
    FROM site s
    WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.owner IS NULL AND s.has_work AND NOT s.excluded
      AND s.ready_at <= %(now_ms)s
    ORDER BY s.ready_at, s.arrival LIMIT %(sites)s
    -- plant: pg-claim-without-lock
    FOR NO KEY UPDATE SKIP LOCKED
), picked AS MATERIALIZED (
    SELECT due.site_id, due.ready_at, due.arrival, u.*,
           u.found = 0 OR u.blocked OR (
               SELECT true FROM queue w WHERE w.shard = %(shard)s AND w.crawl = %(crawl)s AND w.site_id = due.site_id
                 AND w.not_before > 0 AND w.not_before <= %(now_ms)s LIMIT 1) IS NOT NULL AS untidy
    FROM due CROSS JOIN LATERAL (
        SELECT count(*) AS found, coalesce(bool_or(h.blocked_until > %(now_ms)s), false) AS blocked,
               array_agg(q.seq) AS seqs, array_agg(q.rank) AS ranks, array_agg(q.depth) AS depths,
               array_agg(q.hops) AS hops, array_agg(q.tries) AS tries, array_agg(q.kind) AS kinds,
               array_agg(q.via) AS vias, array_agg(q.url_hash) AS hashes, array_agg(q.url) AS urls, array_agg(q.host) AS hosts
        FROM (SELECT q.*, left(q.url, 7 + position('/' IN substr(q.url, 9))) AS host FROM queue q
              WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = due.site_id AND q.not_before = 0
              ORDER BY q.rank, q.depth, q.seq
              LIMIT least(due.most_urls,
                          CASE WHEN due.delay_ms < 100 THEN 50 ELSE least(10, 1 + 60000 / due.delay_ms) END)) q
        LEFT JOIN LATERAL (
            SELECT h.blocked_until FROM host h
            WHERE h.shard = %(shard)s AND h.crawl = %(crawl)s AND h.site_id = due.site_id AND h.name = q.host LIMIT 1
            ) h ON true
    ) u
), counted AS MATERIALIZED (
    SELECT picked.*, coalesce(sum(found) FILTER (WHERE NOT untidy) OVER (ROWS UNBOUNDED PRECEDING), 0)::int8 AS so_far
    FROM picked
), owned AS (
    UPDATE site s SET owner = %(worker)s, epoch = s.epoch + 1, ready_at = s.paced_at,
                      in_hand = least(p.found, %(left)s - (p.so_far - p.found))
    FROM counted p
    WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = p.site_id
      AND NOT p.untidy AND p.so_far - p.found < %(left)s
    RETURNING s.site_id, s.name, s.epoch, s.delay_ms, s.failures, s.pages, s.in_hand, p.ready_at, p.arrival,
              p.seqs, p.ranks, p.depths, p.hops, p.tries, p.kinds, p.vias, p.hashes, p.urls, p.hosts
)
SELECT o.*, (
    -- Also a few hosts that answer and have none of the URLs: a redirect may lead there in the same turn, and they
    -- prove that the site answers.
    SELECT json_agg(json_build_array(h.name, h.rules, h.expires_at, h.failures, h.failing_since, h.blocked_until, h.silent,
                                     h.given_up))
    FROM (SELECT needed.* FROM unnest(o.hosts) WITH ORDINALITY AS u (name, i) CROSS JOIN LATERAL (
              SELECT * FROM host needed WHERE needed.shard = %(shard)s AND needed.crawl = %(crawl)s
                AND needed.site_id = o.site_id AND needed.name = u.name AND needed.rules IS NOT NULL LIMIT 1) needed
          WHERE array_position(o.hosts, u.name) = u.i
          UNION ALL
          (SELECT * FROM host more WHERE more.shard = %(shard)s AND more.crawl = %(crawl)s
             AND more.site_id = o.site_id AND more.rules IS NOT NULL AND more.silent = 0
             AND NOT more.name = ANY (o.hosts)
           LIMIT %(more_hosts)s)) h
    ) AS rules
FROM owned o
UNION ALL
SELECT p.site_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL
FROM counted p WHERE p.untidy

-- name: lock_idle
-- Locks free sites to put their queues in order. FOR UPDATE: what the queue holds after this stays true until the
-- commit, see hold_awake. A busy site is skipped, see lock_to_rest: a later claim finds it again.
SELECT site_id FROM site
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) AND owner IS NULL AND has_work
ORDER BY site_id FOR UPDATE SKIP LOCKED

-- name: wake_deferred
-- Returns retries and formerly blocked URLs to the order when their time has come; a bounded number at a time.
UPDATE queue SET not_before = 0
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = ANY (ARRAY (
    SELECT w.url_hash FROM queue w WHERE w.shard = %(shard)s AND w.crawl = %(crawl)s AND w.site_id = %(site_id)s
      AND w.not_before > 0 AND w.not_before <= %(now_ms)s
    ORDER BY w.not_before, w.rank, w.depth, w.seq LIMIT %(at_most)s))
RETURNING 1

-- name: next_hosts
-- Reads the hosts at the head of a site's queue with their blocks, to decide which URLs leave the order.
SELECT q.host, h.blocked_until, h.given_up
FROM (SELECT left(q.url, 7 + position('/' IN substr(q.url, 9))) AS host FROM queue q
      WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = %(site_id)s AND q.not_before = 0
      ORDER BY q.rank, q.depth, q.seq LIMIT %(urls)s) q
LEFT JOIN LATERAL (
    SELECT h.blocked_until, h.given_up FROM host h
    WHERE h.shard = %(shard)s AND h.crawl = %(crawl)s AND h.site_id = %(site_id)s AND h.name = q.host LIMIT 1) h ON true

-- name: defer_blocked
-- Takes the URLs of a blocked host out of the order until the block ends. It searches only the head of the queue, so
-- that the statement stays short however long the queue is; the rest follows when it becomes the head.
UPDATE queue SET not_before = %(blocked_until)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = ANY (ARRAY (
    SELECT w.url_hash FROM (
        SELECT h.url_hash, h.url FROM queue h WHERE h.shard = %(shard)s AND h.crawl = %(crawl)s
          AND h.site_id = %(site_id)s AND h.not_before = 0 ORDER BY h.rank, h.depth, h.seq LIMIT %(at_most)s) w
    WHERE left(w.url, 7 + position('/' IN substr(w.url, 9))) = %(host)s))
RETURNING 1

-- name: give_up_host
-- Gives up the queued URLs of a host, deferred or not, among the first URLs of its site, for the same reason as
-- defer_blocked. The site's row is locked: a late completion that settles the same URLs comes completely before or
-- completely after.
WITH doomed AS MATERIALIZED (
    SELECT w.url_hash FROM (
        SELECT h.url_hash, h.url FROM queue h WHERE h.shard = %(shard)s AND h.crawl = %(crawl)s
          AND h.site_id = %(site_id)s ORDER BY h.not_before, h.rank, h.depth, h.seq LIMIT %(at_most)s) w
    WHERE left(w.url, 7 + position('/' IN substr(w.url, 9))) = %(host)s
), settled AS (
    UPDATE seen s SET outcome = %(reason)s
    WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = %(site_id)s
      AND s.url_hash = ANY (ARRAY (SELECT url_hash FROM doomed)) AND s.outcome IS NULL
)
DELETE FROM queue q
WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = %(site_id)s
  AND q.url_hash = ANY (ARRAY (SELECT url_hash FROM doomed))
RETURNING CASE WHEN q.depth = 0 THEN q.url END AS seed

-- name: rest_site
-- Lets a site wait until its first URL is eligible, or marks it as having no work. lock_idle holds its row, and the
-- queue was read under that lock.
UPDATE site SET has_work = %(has_work)s, ready_at = %(ready_at)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND owner IS NULL AND has_work
RETURNING site_id

-- ---------------------------------------------------------------- complete

-- name: lock_visited
-- Locks the visited sites, in key order, before anything else changes them. Of two transactions with the same sites,
-- such as a late completion and a recovery, the second waits at its first site, so they cannot deadlock.
SELECT site_id, owner, epoch, in_hand, has_work FROM site
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[])
ORDER BY site_id FOR NO KEY UPDATE

-- name: settle
-- Records outcomes and removes the URLs from the queue. A URL that was settled before, in a repetition after a crash
-- or a late completion, is not returned, so that it is counted once.
WITH settled AS (
    UPDATE seen s SET outcome = d.outcome
    FROM unnest(%(sites)s::int8[], %(hashes)s::bytea[], %(outcomes)s::text[]) AS d (site_id, url_hash, outcome)
    WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = d.site_id AND s.url_hash = d.url_hash
      AND s.outcome IS NULL
    RETURNING s.site_id, s.url_hash
), unqueued AS (
    DELETE FROM queue q USING settled
    WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = settled.site_id AND q.url_hash = settled.url_hash
    RETURNING q.site_id, q.url_hash, CASE WHEN q.depth = 0 THEN q.url END AS seed
)
SELECT url_hash, seed FROM settled LEFT JOIN unqueued USING (site_id, url_hash)

-- name: retry_later
-- Defers queued URLs until their retry, and counts the tries that count. A settled URL has no row in the queue any
-- more and stays settled.
UPDATE queue q SET not_before = d.not_before, tries = q.tries + d.counted
FROM unnest(%(sites)s::int8[], %(hashes)s::bytea[], %(not_before)s::int8[], %(counted)s::int2[])
     AS d (site_id, url_hash, not_before, counted)
WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = d.site_id AND q.url_hash = d.url_hash
RETURNING 1

-- name: keep_host
-- Stores what a host's robots.txt said and how the host answers. The last report replaces all of it, except whether
-- the host is seeded.
INSERT INTO host (shard, crawl, site_id, name, rules, expires_at, failures, failing_since, blocked_until, silent, given_up)
VALUES (%(shard)s, %(crawl)s, %(site_id)s, %(name)s, %(rules)s, %(expires_at)s, %(failures)s, %(failing_since)s,
        %(blocked_until)s, %(silent)s, %(given_up)s)
ON CONFLICT (shard, crawl, site_id, name) DO UPDATE SET rules = excluded.rules, expires_at = excluded.expires_at,
    failures = excluded.failures, failing_since = excluded.failing_since, blocked_until = excluded.blocked_until,
    silent = excluded.silent, given_up = excluded.given_up
RETURNING 1

-- name: keep_delay
-- Raises a site's own delay without releasing the site. A late report can never make it shorter.
UPDATE site SET delay_ms = greatest(delay_ms, %(delay_ms)s)
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s RETURNING 1

-- name: first_queued
-- Tells when each site next has something to fetch. The head of the index queue_order is enough: NULL: nothing is
-- queued; 0: a URL is eligible; else the time when the first one wakes.
SELECT d.site_id, (SELECT q.not_before FROM queue q
                   WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = d.site_id
                   ORDER BY q.not_before LIMIT 1) AS not_before
FROM unnest(%(sites)s::int8[]) AS d (site_id)

-- name: lock_to_rest
-- Locks sites whose queue looked empty or deferred. FOR UPDATE keeps out transactions that would add links, see
-- hold_awake; the next statement reads the queue again, and its snapshot has what they added before. SKIP LOCKED: a
-- transaction that brings links holds other sites awake and must not wait, or two that link to each other's sites
-- would deadlock. IS NOT DISTINCT FROM keeps the planner away from site_owner, as in `release`.
SELECT site_id FROM site
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[])
  AND owner IS NOT DISTINCT FROM %(owner)s
ORDER BY site_id FOR UPDATE SKIP LOCKED

-- name: release
-- Releases sites with their next due times. Owner and epoch fence it: a late or repeated release frees no other
-- worker's site. IS NOT DISTINCT FROM keeps the planner away from site_owner, where it would walk over all sites of the
-- worker for each one.
UPDATE site s SET owner = NULL, in_hand = 0, delay_ms = d.delay_ms, failures = d.failures, paced_at = d.paced_at,
                  has_work = d.has_work AND s.pages + d.pages < %(site_limit)s, ready_at = d.ready_at,
                  pages = s.pages + d.pages, spent = s.pages + d.pages >= %(site_limit)s
FROM unnest(%(sites)s::int8[], %(epochs)s::int8[], %(delays)s::int8[], %(failures)s::int4[], %(paced_at)s::int8[],
            %(has_work)s::bool[], %(ready_at)s::int8[], %(pages)s::int4[])
     AS d (site_id, epoch, delay_ms, failures, paced_at, has_work, ready_at, pages)
WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = d.site_id
  AND s.owner IS NOT DISTINCT FROM %(owner)s AND s.epoch = d.epoch
RETURNING s.site_id, s.has_work

-- ---------------------------------------------------------------- workers

-- name: next_worker
-- Draws a worker's id. The crawl's row is locked, so that a start, which counts live workers, comes completely before
-- or completely after.
SELECT nextval('worker_number')::int4 AS worker FROM (SELECT 1 FROM crawl WHERE crawl = %(crawl)s FOR KEY SHARE) c

-- name: join
-- Adds a worker. A sequence gave its id, so it was never used before. The time of joining is the server's, for
-- display.
INSERT INTO worker (shard, crawl, worker, home, label, beat_at)
VALUES (%(shard)s, %(crawl)s, %(worker)s, %(home)s, %(label)s, clock_timestamp())

-- name: beat
-- Counts a heartbeat. No row comes back if the worker was declared dead: it then learns that it is gone.
UPDATE worker SET beats = beats + 1, figures = %(figures)s, beat_at = clock_timestamp()
WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s AND NOT gone RETURNING beats

-- name: shares
-- Reads this worker's share of each address, how many workers live, and what the others have together: the index
-- worker_live.
SELECT max(share_parts) FILTER (WHERE worker = %(worker)s) AS parts,
       max(share_version) FILTER (WHERE worker = %(worker)s) AS version, count(*) AS live,
       coalesce(sum(share_parts) FILTER (WHERE worker <> %(worker)s), 0)::int8 AS others
FROM worker WHERE crawl = %(crawl)s AND NOT gone

-- name: lock_shares
-- Lets one transaction at a time raise a share: it then sees, in its next statement, all shares that were raised
-- before. A transaction that lowers a share needs no lock: until it commits, the others see the larger one.
SELECT 1 FROM pg_advisory_xact_lock(%(shares_lock)s, %(crawl)s)

-- name: set_share
-- Changes this worker's share. Only its own heartbeats do that.
UPDATE worker SET share_parts = %(parts)s, share_version = %(version)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s

-- name: end_silent
-- Ends a silent worker by compare-and-set: a worker that showed life since the observer looked lives on, and of many
-- observers one ends it.
UPDATE worker SET gone = true
WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s AND beats = %(beats)s AND NOT gone
RETURNING worker

-- name: declare_gone
-- Declares a worker dead. Only its own home can know that; all others leave it to its lease.
UPDATE worker SET gone = true
WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s AND (gone OR home = %(home)s) RETURNING worker

-- name: declare_home_gone
-- Declares all workers of this home dead: the caller holds the lock of their folder, so none can live.
UPDATE worker SET gone = true WHERE crawl = %(crawl)s AND NOT gone AND home = %(home)s

-- name: live_workers
-- Lists the workers that are not declared dead, with their heartbeat counters: the index worker_live.
SELECT worker, beats, home, label FROM worker WHERE crawl = %(crawl)s AND NOT gone

-- name: is_home
-- Returns a row if a worker of this home ever joined the crawl.
SELECT 1 FROM worker WHERE crawl = %(crawl)s AND home = %(home)s LIMIT 1

-- name: dead_owners
-- Finds dead workers that still own sites, by the counters: no scan of the sites.
SELECT t.worker FROM tally t JOIN worker w ON w.shard = t.shard AND w.crawl = t.crawl AND w.worker = t.worker
WHERE t.crawl = %(crawl)s AND t.owned > 0 AND w.gone ORDER BY t.worker

-- name: lock_dead
-- Lets one worker at a time free what a dead worker owns; the others that noticed the death skip it.
SELECT 1 FROM worker WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s FOR NO KEY UPDATE SKIP LOCKED

-- name: owned_sites
-- Finds the sites that a worker owns, to free them or compare them with what it holds. A bounded number, so that a
-- transaction stays short.
SELECT o.shard, s.site_id, s.name, s.epoch, s.in_hand, s.delay_ms, s.failures
FROM open_shard o JOIN site s ON s.shard = o.shard AND s.crawl = %(crawl)s AND s.owner = %(worker)s
WHERE o.crawl = %(crawl)s LIMIT %(at_most)s

-- name: take_tally
-- Takes over a dead worker's counters: deletes its row and returns it, to be added to another. Not while sites of it
-- are still to be freed.
DELETE FROM tally WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s AND owned = 0
RETURNING clock_ms, sites, with_work, known, done, pages, in_hand, owned

-- name: take_given_up
-- Takes over what a dead worker gave up, by reason: deletes the rows and returns them.
DELETE FROM given_up WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s RETURNING reason, urls

-- name: take_seed_outcomes
-- Takes over the seeds that a dead worker settled: deletes the rows and returns them.
DELETE FROM seed_outcome WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s
RETURNING outcome, seeds, example

-- name: workers
-- Lists all workers with the number of sites that each owns. Ages come from one clock, the server's: the clocks of
-- machines differ.
SELECT w.worker, w.label, w.beats, w.gone, w.figures, coalesce(t.owned, 0) AS sites,
       extract(epoch FROM clock_timestamp() - w.beat_at)::float8 AS silent_s
FROM worker w LEFT JOIN tally t ON t.shard = w.shard AND t.crawl = w.crawl AND t.worker = w.worker
WHERE w.crawl = %(crawl)s ORDER BY w.worker

-- ---------------------------------------------------------------- operator

-- name: lock_exclusions
-- Keeps out transactions that create sites, see begin_links.
SELECT 1 FROM pg_advisory_xact_lock(%(exclusions_lock)s, %(crawl)s)

-- name: add_exclusions
-- Adds entries to the list of exclusions; a site that is created later looks itself up there.
INSERT INTO exclusion (crawl, site) SELECT %(crawl)s, d.site FROM unnest(%(names)s::text[]) AS d (site)
ON CONFLICT DO NOTHING

-- name: remove_exclusions
-- Removes entries from the list of exclusions.
DELETE FROM exclusion WHERE crawl = %(crawl)s AND site = ANY (%(names)s::text[])

-- name: mark_excluded
-- Marks known sites as excluded, or removes the mark. Claims leave excluded sites out, and their queues stay.
UPDATE site SET excluded = %(excluded)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) RETURNING 1

-- name: count_exclusion_change
-- Raises the version of the list: a worker that knows an older one gets the whole list with its next heartbeat.
UPDATE crawl SET exclusions = exclusions + 1, readmissions = readmissions + %(readmissions)s WHERE crawl = %(crawl)s

-- name: exclusions
-- Reads the whole list of exclusions.
SELECT site FROM exclusion WHERE crawl = %(crawl)s

-- name: seeds_loaded
-- Returns a row if a seed file with this digest was loaded completely.
SELECT 1 FROM seeds_loaded WHERE crawl = %(crawl)s AND digest = %(digest)s

-- name: mark_seeds_loaded
-- Records that a seed file was loaded completely. Harmless when repeated.
INSERT INTO seeds_loaded (crawl, digest) VALUES (%(crawl)s, %(digest)s) ON CONFLICT DO NOTHING

-- name: analyze
-- Gives the planner statistics after seeds were loaded: until the server does that by itself, it would plan for a
-- handful of rows and read a full shard. It leaves out tables that are being vacuumed, since waiting for that may
-- take hours.
ANALYZE (SKIP_LOCKED) site, queue, seen, host

-- ---------------------------------------------------------------- reads

-- name: known
-- Returns a row if a URL was accepted, by its key.
SELECT 1 FROM seen
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = %(url_hash)s

-- name: find_seen
-- Finds the state of a URL: accepted, and queued if it has a row in the queue.
SELECT s.depth, s.outcome, q.rank, q.tries, q.via, q.not_before, q.added_at
FROM seen s LEFT JOIN queue q ON q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = %(site_id)s
                             AND q.url_hash = s.url_hash
WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = %(site_id)s AND s.url_hash = %(url_hash)s

-- name: find_site
-- Finds the state of a site by its key, and counts its queue.
SELECT s.name, s.ready_at, s.has_work, s.owner, s.epoch, s.delay_ms, s.seeded, s.excluded, s.failures,
       s.pages, s.spent,
       (SELECT count(*) FROM queue q WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = %(site_id)s) AS queued
FROM site s WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = %(site_id)s

-- name: list_sites
-- One step of a walk over all sites of a shard, by key. Their queues are counted only if the reader asks: that reads the
-- index.
SELECT s.site_id, s.name, s.ready_at, s.has_work, s.owner, s.epoch, s.delay_ms, s.seeded, s.excluded, s.failures,
       s.pages, s.spent,
       CASE WHEN %(with_queued)s THEN (SELECT count(*) FROM queue q
                 WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = s.site_id) ELSE 0 END AS queued
FROM site s WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id > %(site_id)s ORDER BY s.site_id LIMIT %(rows)s

-- name: site_hosts
-- Lists the hosts of a site whose robots.txt was requested: a host that is only seeded has no rules yet.
SELECT name, rules, expires_at, failures, failing_since, blocked_until, silent, given_up
FROM host WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND rules IS NOT NULL ORDER BY name

-- name: look_ahead
-- Reads the head of the queue of a site that a worker owns, in the order of fetching, without URLs of blocked hosts.
SELECT q.url, q.url_hash, q.host, q.depth, q.rank, q.hops, q.tries, q.kind, q.via
FROM (SELECT q.*, left(q.url, 7 + position('/' IN substr(q.url, 9))) AS host
      FROM site s CROSS JOIN LATERAL (
          SELECT * FROM queue q
          WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = %(site_id)s AND q.not_before = 0
          ORDER BY q.rank, q.depth, q.seq LIMIT %(urls)s) q
      WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = %(site_id)s
        AND s.owner = %(worker)s AND s.epoch = %(epoch)s) q
LEFT JOIN LATERAL (
    SELECT h.blocked_until FROM host h
    WHERE h.shard = %(shard)s AND h.crawl = %(crawl)s AND h.site_id = %(site_id)s AND h.name = q.host LIMIT 1) h ON true
WHERE coalesce(h.blocked_until, 0) <= %(now_ms)s
ORDER BY q.rank, q.depth, q.seq

-- name: walk_queue
-- One step of a walk over the queue of one site, by key.
SELECT url, url_hash, rank, depth, tries, not_before, via, added_at FROM queue
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash > %(url_hash)s
ORDER BY url_hash LIMIT %(rows)s

-- name: figures
-- Reads the crawl's counters: the sums over all workers, in one snapshot.
SELECT coalesce(sum(writes), 0)::int8 AS writes, coalesce(sum(sites), 0)::int8 AS sites,
       coalesce(sum(with_work), 0)::int8 AS with_work, coalesce(sum(known), 0)::int8 AS known,
       coalesce(sum(done), 0)::int8 AS done, coalesce(sum(pages), 0)::int8 AS pages,
       coalesce(sum(in_hand), 0)::int8 AS in_hand, coalesce(sum(owned), 0)::int8 AS owned
FROM tally WHERE crawl = %(crawl)s

-- name: count_troubled
-- Counts the sites that back off: exactly what the index site_troubled holds. A site backs off from the third failure
-- in a row on (`rules.pace`).
SELECT count(*) AS sites FROM site WHERE crawl = %(crawl)s AND failures >= 3 AND has_work AND NOT excluded

-- name: count_troubled_hosts
-- Counts the hosts that back off: what the index host_blocked holds beyond now. A host of a site that backs off as a
-- whole is counted with that site. LIMIT bounds the cost.
SELECT count(*) AS hosts FROM (
    SELECT 1 FROM host h JOIN site s ON s.shard = h.shard AND s.crawl = h.crawl AND s.site_id = h.site_id
    WHERE h.crawl = %(crawl)s AND h.blocked_until > 0 AND h.blocked_until > %(now_ms)s AND h.given_up IS NULL
      AND s.failures < 3 AND s.has_work AND NOT s.excluded LIMIT 100000) h

-- name: given_up
-- Reads the number of URLs that were given up, by reason, summed over all workers.
SELECT reason, sum(urls)::int8 AS urls FROM given_up WHERE crawl = %(crawl)s GROUP BY reason

-- name: seed_outcomes
-- Reads how many seeds ended how, summed over all workers, with one example each.
SELECT outcome, sum(seeds)::int8 AS seeds, min(example) AS example FROM seed_outcome WHERE crawl = %(crawl)s
GROUP BY outcome ORDER BY outcome

-- name: any_unsettled
-- Tells whether anything is left to settle. The two partial indexes hold every site with something to settle,
-- excluded ones apart. One statement: one snapshot.
SELECT EXISTS (
    SELECT 1 FROM open_shard o WHERE o.crawl = %(crawl)s AND (
        EXISTS (SELECT 1 FROM site s WHERE s.shard = o.shard AND s.crawl = %(crawl)s AND s.owner IS NULL AND s.has_work
                  AND NOT s.excluded)
        OR EXISTS (SELECT 1 FROM site s WHERE s.shard = o.shard AND s.crawl = %(crawl)s AND s.owner IS NOT NULL))
) AS unsettled

-- name: oldest_transaction
-- Finds the transaction that has been open for longest in this database, except our own: vacuum can remove no row that
-- died since then. A user that may not see other sessions gets their ages without their names.
SELECT pid, coalesce(nullif(application_name, ''), 'a session without a name') AS application, coalesce(state, '') AS state,
       extract(epoch FROM clock_timestamp() - xact_start)::float8 AS age_s
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_xmin IS NOT NULL
ORDER BY xact_start LIMIT 1

-- name: dead_rows
-- Reads how many dead rows the statistics know of, in the tables that change most.
SELECT relname AS name, n_dead_tup::int8 AS rows FROM pg_stat_user_tables
WHERE schemaname = 'gossamer' AND relname = ANY (%(names)s)

-- ---------------------------------------------------------------- audit

-- name: shards
-- Lists the shards that the crawl uses, for walks over all of them.
SELECT shard FROM open_shard WHERE crawl = %(crawl)s ORDER BY shard

-- name: walk_seen
-- One step of a walk over all accepted URLs of a shard, by key: rows that are added or settled meanwhile do not
-- disturb it.
SELECT s.site_id, s.url_hash, s.outcome, t.name, q.seq IS NOT NULL AS queued
FROM seen s
LEFT JOIN site t ON t.shard = %(shard)s AND t.crawl = %(crawl)s AND t.site_id = s.site_id
LEFT JOIN queue q ON q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = s.site_id AND q.url_hash = s.url_hash
WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND (s.site_id, s.url_hash) > (%(site_id)s, %(url_hash)s)
ORDER BY s.site_id, s.url_hash LIMIT %(rows)s

-- name: audit_queue
-- One step of a walk over the queue of a shard, each row with its accepted URL.
SELECT q.site_id, q.url_hash, q.url, s.url_hash IS NOT NULL AS known, s.outcome
FROM queue q
LEFT JOIN seen s ON s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = q.site_id AND s.url_hash = q.url_hash
WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND (q.site_id, q.url_hash) > (%(site_id)s, %(url_hash)s)
ORDER BY q.site_id, q.url_hash LIMIT %(rows)s

-- name: audit_sites
-- One step of a walk over all sites of a shard, with what would contradict itself. A free site is due no later than
-- its pace and its first eligible URL allow, or at the next claim if an earlier one had more to move than fits into a
-- transaction. A site that has work while nothing is queued is no contradiction: a late completion settled the last
-- URL, and the next claim puts the site to rest.
SELECT s.site_id, s.name, s.owner, s.has_work, s.spent, s.in_hand,
       EXISTS (SELECT 1 FROM queue q WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = s.site_id)
           AS has_queued,
       s.owner IS NULL AND s.has_work AND s.ready_at > greatest(
           s.paced_at, %(now_ms)s,
           coalesce((SELECT q.not_before FROM queue q
                     WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = s.site_id
                     ORDER BY q.not_before LIMIT 1), s.ready_at)) AS sleeps_too_long,
       s.owner IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM worker w WHERE w.shard = s.owner %% 256 AND w.crawl = %(crawl)s AND w.worker = s.owner)
           AS owner_unknown,
       s.excluded <> EXISTS (SELECT 1 FROM exclusion x WHERE x.crawl = %(crawl)s AND x.site = s.name)
           AS exclusion_differs
FROM site s WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id > %(site_id)s ORDER BY s.site_id LIMIT %(rows)s
