-- Every statement the PostgreSQL engine runs on a crawl, all at READ COMMITTED unless said otherwise. Times are
-- parameters; the only clock function stands in `crawl`.
--
-- Hot statements name one shard, `shard = %(shard)s`, for every table they touch. Those that take in a batch of links,
-- and those that look over a whole crawl, join on `shard` instead. Either way all can be partitioned by that column.

-- ---------------------------------------------------------------- the crawl

-- name: crawl
-- The server's clock comes with it: each worker compares it with the time that it carries forward itself.
SELECT state, delay_ms, page_limit, site_limit, scope, exclusions, offset_ms, clock_runs, identity, standing, move,
       moved_to, extract(epoch FROM clock_timestamp())::float8 * 1000 AS server_ms
FROM crawl WHERE crawl = %(crawl)s

-- name: begin_snapshot
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY

-- name: lock_crawl
-- With a page limit, claims reserve from it one after the other; a start excludes others, and those who join.
SELECT 1 FROM crawl WHERE crawl = %(crawl)s FOR UPDATE

-- name: mend_offset
-- The server's clock jumped while we lived: whoever joins next must not follow it. Only the first to notice writes.
UPDATE crawl SET offset_ms = %(offset_ms)s WHERE crawl = %(crawl)s AND offset_ms = %(believed_ms)s

-- name: resume
UPDATE crawl SET state = 'running', delay_ms = %(delay_ms)s, page_limit = %(page_limit)s, site_limit = %(site_limit)s,
                 scope = %(scope)s
WHERE crawl = %(crawl)s

-- name: terms
SELECT terms FROM crawl WHERE crawl = %(crawl)s

-- name: keep_terms
UPDATE crawl SET terms = %(terms)s WHERE crawl = %(crawl)s

-- name: restart_clock
UPDATE crawl SET offset_ms = %(offset_ms)s, clock_runs = clock_runs + 1 WHERE crawl = %(crawl)s RETURNING clock_runs

-- name: saved_clock
SELECT coalesce(max(clock_ms), 0)::int8 AS clock_ms FROM tally WHERE crawl = %(crawl)s

-- name: order
UPDATE crawl SET state = %(state)s WHERE crawl = %(crawl)s

-- name: save_tally
-- Each worker writes only its own row, at the end of a transaction, so nobody waits. The clock is saved with whatever
-- was written by it: after a standstill it goes on from no later than that.
-- No row comes back if the crawl has begun to move elsewhere since the transaction began. `leave` in moving.sql waits for
-- those who are past this statement, and those who are not see what it has written.
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
INSERT INTO given_up (shard, crawl, worker, reason, urls)
VALUES (%(shard)s, %(crawl)s, %(worker)s, %(reason)s, %(urls)s)
ON CONFLICT (shard, crawl, worker, reason) DO UPDATE SET urls = given_up.urls + excluded.urls

-- name: count_seeds
INSERT INTO seed_outcome (shard, crawl, worker, outcome, seeds, example)
VALUES (%(shard)s, %(crawl)s, %(worker)s, %(outcome)s, %(seeds)s, %(example)s)
ON CONFLICT (shard, crawl, worker, outcome) DO UPDATE SET seeds = seed_outcome.seeds + excluded.seeds

-- ---------------------------------------------------------------- add

-- name: create_stage
-- The keys of a batch; only what turns out to be new is sent whole.
CREATE TEMP TABLE stage (
    site_id int8 NOT NULL, n int4 NOT NULL, depth int4 NOT NULL, shard int2 NOT NULL, url_hash bytea NOT NULL
    ) ON COMMIT DELETE ROWS

-- name: begin_links
-- A stretch of arrival numbers. The lock, shared among those who add, lets a change of exclusions come wholly before
-- or wholly after: a site that is created meanwhile would miss it.
SELECT nextval('arrival') AS arrival FROM pg_advisory_xact_lock_shared(%(exclusions_lock)s, %(crawl)s)

-- name: stage_links
COPY stage (n, shard, site_id, url_hash, depth) FROM STDIN (FORMAT BINARY)

-- name: seeded_sites
SELECT d.site_id FROM unnest(%(shards)s::int2[], %(sites)s::int8[]) AS d (shard, site_id) CROSS JOIN LATERAL (
    SELECT 1 FROM site s WHERE s.shard = d.shard AND s.crawl = %(crawl)s AND s.site_id = d.site_id AND s.seeded LIMIT 1) s

-- name: seeded_hosts
SELECT d.site_id, d.name
FROM unnest(%(shards)s::int2[], %(sites)s::int8[], %(hosts)s::text[]) AS d (shard, site_id, name) CROSS JOIN LATERAL (
    SELECT 1 FROM host h
    WHERE h.shard = d.shard AND h.crawl = %(crawl)s AND h.site_id = d.site_id AND h.name = d.name AND h.seeded LIMIT 1) h

-- name: unseen
-- One look per link tells both: what is not known yet, and what is known at a greater depth. Here and elsewhere LATERAL
-- with a LIMIT leaves no other plan than one search of the index per row, also for a table without statistics.
SELECT g.n, s.depth FROM stage g LEFT JOIN LATERAL (
    SELECT s.depth FROM seen s
    WHERE s.shard = g.shard AND s.crawl = %(crawl)s AND s.site_id = g.site_id AND s.url_hash = g.url_hash LIMIT 1
    ) s ON true
WHERE s.depth IS NULL OR s.depth > g.depth

-- name: missing_sites
-- A byte per link says of which to look for the site: a list of numbers would be searched for each.
SELECT g.n FROM stage g LEFT JOIN LATERAL (
    SELECT true AS found FROM site s WHERE s.shard = g.shard AND s.crawl = %(crawl)s AND s.site_id = g.site_id LIMIT 1
    ) s ON true
WHERE get_byte(%(is_first)s::bytea, g.n) = 1 AND s.found IS NULL ORDER BY g.n

-- name: open_shards
INSERT INTO open_shard (crawl, shard) SELECT %(crawl)s, d.shard FROM unnest(%(shards)s::int2[]) AS d (shard)
ON CONFLICT DO NOTHING

-- name: add_sites
-- A site row exists before its first URL: there is always something to own. Sorted by key, so that two who create the
-- same sites wait for, but never deadlock with, each other.
INSERT INTO site (shard, crawl, site_id, name, arrival, paced_at, ready_at, seeded, excluded)
SELECT d.shard, %(crawl)s, d.site_id, d.name, d.arrival, %(now_ms)s, %(now_ms)s, d.seeded,
       EXISTS (SELECT 1 FROM exclusion x WHERE x.crawl = %(crawl)s AND x.site = d.name)
FROM unnest(%(shards)s::int2[], %(sites)s::int8[], %(names)s::text[], %(arrivals)s::int8[], %(seeded)s::bool[])
     AS d (shard, site_id, name, arrival, seeded)
ON CONFLICT DO NOTHING RETURNING site_id

-- name: mark_seeded
UPDATE site SET seeded = true
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) AND NOT seeded RETURNING 1

-- name: mark_seeded_hosts
INSERT INTO host (shard, crawl, site_id, name, seeded)
SELECT d.shard, %(crawl)s, d.site_id, d.name, true
FROM unnest(%(shards)s::int2[], %(sites)s::int8[], %(hosts)s::text[]) AS d (shard, site_id, name)
ON CONFLICT (shard, crawl, site_id, name) DO UPDATE SET seeded = true WHERE NOT host.seeded

-- name: add_seen
-- In key order, which is that of the numbers: neighbouring pages of the tree are touched once, and two batches with the
-- same links cannot deadlock. What somebody else added since we looked is not returned.
INSERT INTO seen (shard, crawl, site_id, url_hash, depth)
SELECT g.shard, %(crawl)s, g.site_id, g.url_hash, g.depth FROM stage g WHERE get_byte(%(is_new)s::bytea, g.n) = 1
ORDER BY g.n
ON CONFLICT DO NOTHING RETURNING url_hash

-- name: add_queue
COPY queue (shard, crawl, site_id, seq, rank, depth, hops, kind, url_hash, via, url, added_at) FROM STDIN (FORMAT BINARY)

-- name: lower_seen
UPDATE seen SET depth = %(depth)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = %(url_hash)s AND depth > %(depth)s
  AND outcome IS NULL
RETURNING 1

-- name: lower_queue
UPDATE queue SET depth = %(depth)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = %(url_hash)s AND depth > %(depth)s
RETURNING 1

-- name: hold_awake
-- Whoever puts a site to rest takes FOR UPDATE and then looks at the queue in a second statement. With this lock that
-- comes wholly before us, and we see the site at rest and wake it, or wholly after our commit, and finds our links.
-- So what is awake by then stays awake, and only the others need to be written to; a site that is spent stays at rest.
SELECT site_id, NOT has_work AND NOT spent AS is_idle, has_work AND owner IS NULL AND ready_at > paced_at AS is_deferred
FROM site WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[])
ORDER BY site_id
-- plant: pg-add-without-lock
FOR KEY SHARE

-- name: wake_idle_sites
UPDATE site SET has_work = true, ready_at = paced_at
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) AND NOT has_work
RETURNING site_id

-- name: advance_deferred_sites
-- A free site that only waited for deferred URLs now has an eligible one.
UPDATE site SET ready_at = paced_at
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) AND owner IS NULL
  AND ready_at > paced_at
RETURNING site_id

-- ---------------------------------------------------------------- claim

-- name: standing
SELECT (SELECT w.gone FROM worker w WHERE w.shard = %(shard)s AND w.crawl = %(crawl)s AND w.worker = %(worker)s) AS gone,
       (SELECT count(*) FROM worker w WHERE w.crawl = %(crawl)s AND NOT w.gone) AS live,
       coalesce(sum(with_work), 0)::int8 AS with_work, coalesce(sum(pages), 0)::int8 AS pages,
       coalesce(sum(in_hand), 0)::int8 AS in_hand,
       coalesce(sum(owned) FILTER (WHERE worker = %(worker)s), 0)::int8 AS mine
FROM tally WHERE crawl = %(crawl)s

-- name: first_ready
-- The head of the ready list in every shard that the crawl uses: a look at one index entry each.
SELECT o.shard, f.ready_at FROM open_shard o CROSS JOIN LATERAL (
    SELECT s.ready_at FROM site s
    WHERE s.shard = o.shard AND s.crawl = %(crawl)s AND s.owner IS NULL AND s.has_work AND NOT s.excluded
    ORDER BY s.ready_at, s.arrival LIMIT 1) f
WHERE o.crawl = %(crawl)s

-- name: due_sites
-- What is due in a few shards, to see how many to take from which, most overdue first.
SELECT c.shard, f.ready_at, f.arrival FROM unnest(%(shards)s::int2[]) AS c (shard) CROSS JOIN LATERAL (
    SELECT s.ready_at, s.arrival FROM site s
    WHERE s.shard = c.shard AND s.crawl = %(crawl)s AND s.owner IS NULL AND s.has_work AND NOT s.excluded
      AND s.ready_at <= %(now_ms)s
    ORDER BY s.ready_at, s.arrival LIMIT %(sites)s) f

-- name: claim
-- Walks the partial index site_ready from its head and locks the site rows themselves, in the statement that takes
-- them: two workers never wait for, nor get, the same site. NO KEY: those who add links hold KEY SHARE and hide nothing.
-- A site is taken only if its first URLs are all eligible. One with URLs that woke up, URLs of a blocked host, or none
-- at all comes back without owner, to be put in order in a transaction of its own. The number of URLs is the rule of
-- `urls_per_claim`, as far as the limit of a site's pages leaves any; `left` is what the page limit leaves.
WITH due AS MATERIALIZED (
    SELECT s.site_id, s.ready_at, s.arrival, greatest(s.delay_ms, %(delay_ms)s) AS delay_ms,
           greatest(0, %(site_limit)s - s.pages) AS most_urls
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
               array_agg(q.url_hash) AS hashes, array_agg(q.url) AS urls, array_agg(q.host) AS hosts
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
              p.seqs, p.ranks, p.depths, p.hops, p.tries, p.kinds, p.hashes, p.urls, p.hosts
)
SELECT o.*, (
    -- Also a few hosts that none of the URLs lies on and that answer: a redirect may lead there in the same turn, and
    -- they prove that the site answers.
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
       NULL
FROM counted p WHERE p.untidy

-- name: lock_idle
-- FOR UPDATE: whatever is found in the queue after this stays true until we commit, see hold_awake. What is busy is
-- left as it is, see lock_to_rest: a later claim finds it again.
SELECT site_id FROM site
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) AND owner IS NULL AND has_work
ORDER BY site_id FOR UPDATE SKIP LOCKED

-- name: wake_deferred
-- Retries and formerly blocked URLs whose time has come rejoin the order; a bounded number at a time.
UPDATE queue SET not_before = 0
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = ANY (ARRAY (
    SELECT w.url_hash FROM queue w WHERE w.shard = %(shard)s AND w.crawl = %(crawl)s AND w.site_id = %(site_id)s
      AND w.not_before > 0 AND w.not_before <= %(now_ms)s
    ORDER BY w.not_before, w.rank, w.depth, w.seq LIMIT %(at_most)s))
RETURNING 1

-- name: next_hosts
SELECT q.host, h.blocked_until, h.given_up
FROM (SELECT left(q.url, 7 + position('/' IN substr(q.url, 9))) AS host FROM queue q
      WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = %(site_id)s AND q.not_before = 0
      ORDER BY q.rank, q.depth, q.seq LIMIT %(urls)s) q
LEFT JOIN LATERAL (
    SELECT h.blocked_until, h.given_up FROM host h
    WHERE h.shard = %(shard)s AND h.crawl = %(crawl)s AND h.site_id = %(site_id)s AND h.name = q.host LIMIT 1) h ON true

-- name: defer_blocked
-- A blocked host's URLs leave the order until the block ends. Only the head of the queue is searched, so that the
-- statement stays short however long the queue is; the rest follows when it becomes the head.
UPDATE queue SET not_before = %(blocked_until)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = ANY (ARRAY (
    SELECT w.url_hash FROM (
        SELECT h.url_hash, h.url FROM queue h WHERE h.shard = %(shard)s AND h.crawl = %(crawl)s
          AND h.site_id = %(site_id)s AND h.not_before = 0 ORDER BY h.rank, h.depth, h.seq LIMIT %(at_most)s) w
    WHERE left(w.url, 7 + position('/' IN substr(w.url, 9))) = %(host)s))
RETURNING 1

-- name: give_up_host
-- Gives up what is queued of a host, deferred or not, among the first URLs of its site: see defer_blocked. The site's
-- row is locked: a late completion that settles the same URLs comes wholly before or wholly after.
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
UPDATE site SET has_work = %(has_work)s, ready_at = %(ready_at)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND owner IS NULL AND has_work
RETURNING site_id

-- ---------------------------------------------------------------- complete

-- name: lock_visited
-- Before anything else is done to these sites, in key order: of two who do something to the same ones, such as a late
-- completion and a recovery, or two recoveries, the second waits at the first site and neither for the other.
SELECT site_id, owner, epoch, in_hand, has_work FROM site
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[])
ORDER BY site_id FOR NO KEY UPDATE

-- name: settle
-- What was settled before, in a repeat after a crash or a late completion, is not returned.
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
UPDATE queue q SET not_before = d.not_before, tries = q.tries + d.counted
FROM unnest(%(sites)s::int8[], %(hashes)s::bytea[], %(not_before)s::int8[], %(counted)s::int2[])
     AS d (site_id, url_hash, not_before, counted)
WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = d.site_id AND q.url_hash = d.url_hash
RETURNING 1

-- name: keep_host
INSERT INTO host (shard, crawl, site_id, name, rules, expires_at, failures, failing_since, blocked_until, silent, given_up)
VALUES (%(shard)s, %(crawl)s, %(site_id)s, %(name)s, %(rules)s, %(expires_at)s, %(failures)s, %(failing_since)s,
        %(blocked_until)s, %(silent)s, %(given_up)s)
ON CONFLICT (shard, crawl, site_id, name) DO UPDATE SET rules = excluded.rules, expires_at = excluded.expires_at,
    failures = excluded.failures, failing_since = excluded.failing_since, blocked_until = excluded.blocked_until,
    silent = excluded.silent, given_up = excluded.given_up
RETURNING 1

-- name: keep_delay
UPDATE site SET delay_ms = greatest(delay_ms, %(delay_ms)s)
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s RETURNING 1

-- name: first_queued
-- The head of queue_order tells all: NULL: nothing queued; 0: something eligible; else when the first one wakes.
SELECT d.site_id, (SELECT q.not_before FROM queue q
                   WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = d.site_id
                   ORDER BY q.not_before LIMIT 1) AS not_before
FROM unnest(%(sites)s::int8[]) AS d (site_id)

-- name: lock_to_rest
-- For sites whose queue looked empty or deferred. FOR UPDATE keeps those out who would add, see hold_awake; the queue
-- is looked at again in the next statement, whose snapshot has what they added before. SKIP LOCKED: who brings links
-- holds other sites awake and must not wait, or two that link to each other's sites would wait for each other.
SELECT site_id FROM site
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) AND owner = %(owner)s
ORDER BY site_id FOR UPDATE SKIP LOCKED

-- name: release
-- Fenced by owner and epoch: a late or repeated release frees nobody else's site.
UPDATE site s SET owner = NULL, in_hand = 0, delay_ms = d.delay_ms, failures = d.failures, paced_at = d.paced_at,
                  has_work = d.has_work AND s.pages + d.pages < %(site_limit)s, ready_at = d.ready_at,
                  pages = s.pages + d.pages, spent = s.pages + d.pages >= %(site_limit)s
FROM unnest(%(sites)s::int8[], %(epochs)s::int8[], %(delays)s::int8[], %(failures)s::int4[], %(paced_at)s::int8[],
            %(has_work)s::bool[], %(ready_at)s::int8[], %(pages)s::int4[])
     AS d (site_id, epoch, delay_ms, failures, paced_at, has_work, ready_at, pages)
WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = d.site_id AND s.owner = %(owner)s AND s.epoch = d.epoch
RETURNING s.site_id, s.has_work

-- ---------------------------------------------------------------- workers

-- name: next_worker
-- The crawl row is locked so that a start, which counts the living, comes wholly before or after.
SELECT nextval('worker_number')::int4 AS worker FROM (SELECT 1 FROM crawl WHERE crawl = %(crawl)s FOR KEY SHARE) c

-- name: join
INSERT INTO worker (shard, crawl, worker, home, label, beat_at)
VALUES (%(shard)s, %(crawl)s, %(worker)s, %(home)s, %(label)s, clock_timestamp())

-- name: beat
UPDATE worker SET beats = beats + 1, figures = %(figures)s, beat_at = clock_timestamp()
WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s AND NOT gone RETURNING beats

-- name: end_silent
-- Compare and set: whoever showed life since we looked lives on, and of many observers one ends it.
UPDATE worker SET gone = true
WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s AND beats = %(beats)s AND NOT gone
RETURNING worker

-- name: declare_gone
-- Nobody but its own home knows that a worker is dead, whatever its label; all others leave it to its lease.
UPDATE worker SET gone = true
WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s AND (gone OR home = %(home)s) RETURNING worker

-- name: declare_home_gone
UPDATE worker SET gone = true WHERE crawl = %(crawl)s AND NOT gone AND home = %(home)s

-- name: live_workers
SELECT worker, beats, home, label FROM worker WHERE crawl = %(crawl)s AND NOT gone

-- name: is_home
SELECT 1 FROM worker WHERE crawl = %(crawl)s AND home = %(home)s LIMIT 1

-- name: dead_owners
SELECT t.worker FROM tally t JOIN worker w ON w.shard = t.shard AND w.crawl = t.crawl AND w.worker = t.worker
WHERE t.crawl = %(crawl)s AND t.owned > 0 AND w.gone ORDER BY t.worker

-- name: lock_dead
-- One at a time frees what a dead worker owns: others who noticed its death too leave that to whoever came first.
SELECT 1 FROM worker WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s FOR NO KEY UPDATE SKIP LOCKED

-- name: owned_sites
SELECT o.shard, s.site_id, s.name, s.epoch, s.in_hand, s.delay_ms, s.failures
FROM open_shard o JOIN site s ON s.shard = o.shard AND s.crawl = %(crawl)s AND s.owner = %(worker)s
WHERE o.crawl = %(crawl)s LIMIT %(at_most)s

-- name: take_tally
-- Not the acting worker's own row, and not while sites of it are still to be freed.
DELETE FROM tally WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s AND owned = 0
RETURNING clock_ms, sites, with_work, known, done, pages, in_hand, owned

-- name: take_given_up
DELETE FROM given_up WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s RETURNING reason, urls

-- name: take_seed_outcomes
DELETE FROM seed_outcome WHERE shard = %(shard)s AND crawl = %(crawl)s AND worker = %(worker)s
RETURNING outcome, seeds, example

-- name: workers
-- Ages by one clock, the server's: the clocks of machines differ.
SELECT w.worker, w.label, w.beats, w.gone, w.figures, coalesce(t.owned, 0) AS sites,
       extract(epoch FROM clock_timestamp() - w.beat_at)::float8 AS silent_s
FROM worker w LEFT JOIN tally t ON t.shard = w.shard AND t.crawl = w.crawl AND t.worker = w.worker
WHERE w.crawl = %(crawl)s ORDER BY w.worker

-- ---------------------------------------------------------------- operator

-- name: lock_exclusions
-- Excludes those who are creating sites, see begin_links.
SELECT 1 FROM pg_advisory_xact_lock(%(exclusions_lock)s, %(crawl)s)

-- name: add_exclusions
INSERT INTO exclusion (crawl, site) SELECT %(crawl)s, d.site FROM unnest(%(names)s::text[]) AS d (site)
ON CONFLICT DO NOTHING

-- name: remove_exclusions
DELETE FROM exclusion WHERE crawl = %(crawl)s AND site = ANY (%(names)s::text[])

-- name: mark_excluded
UPDATE site SET excluded = %(excluded)s
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) RETURNING 1

-- name: count_exclusion_change
UPDATE crawl SET exclusions = exclusions + 1, readmissions = readmissions + %(readmissions)s WHERE crawl = %(crawl)s

-- name: exclusions
SELECT site FROM exclusion WHERE crawl = %(crawl)s

-- name: seeds_loaded
SELECT 1 FROM seeds_loaded WHERE crawl = %(crawl)s AND digest = %(digest)s

-- name: mark_seeds_loaded
INSERT INTO seeds_loaded (crawl, digest) VALUES (%(crawl)s, %(digest)s) ON CONFLICT DO NOTHING

-- name: analyze
-- After seeds were loaded: until the server gets to it by itself, it would take a full shard for a handful of rows.
-- Tables that are being vacuumed are left out: who must not be disturbed there may take hours.
ANALYZE (SKIP_LOCKED) site, queue, seen, host

-- ---------------------------------------------------------------- reads

-- name: known
SELECT 1 FROM seen
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = %(url_hash)s

-- name: find_seen
SELECT s.depth, s.outcome, q.rank, q.tries, q.via, q.not_before, q.added_at
FROM seen s LEFT JOIN queue q ON q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = %(site_id)s
                             AND q.url_hash = s.url_hash
WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = %(site_id)s AND s.url_hash = %(url_hash)s

-- name: find_site
SELECT s.name, s.ready_at, s.has_work, s.owner, s.epoch, s.delay_ms, s.seeded, s.excluded, s.failures,
       s.pages, s.spent,
       (SELECT count(*) FROM queue q WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = %(site_id)s) AS queued
FROM site s WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = %(site_id)s

-- name: site_hosts
SELECT name, rules, expires_at, failures, failing_since, blocked_until, silent, given_up
FROM host WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND rules IS NOT NULL ORDER BY name

-- name: walk_queue
-- One step of a walk over the queue of one site, by key.
SELECT url, url_hash FROM queue
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash > %(url_hash)s
ORDER BY url_hash LIMIT %(rows)s

-- name: figures
SELECT coalesce(sum(writes), 0)::int8 AS writes, coalesce(sum(sites), 0)::int8 AS sites,
       coalesce(sum(with_work), 0)::int8 AS with_work, coalesce(sum(known), 0)::int8 AS known,
       coalesce(sum(done), 0)::int8 AS done, coalesce(sum(pages), 0)::int8 AS pages,
       coalesce(sum(in_hand), 0)::int8 AS in_hand, coalesce(sum(owned), 0)::int8 AS owned
FROM tally WHERE crawl = %(crawl)s

-- name: count_troubled
-- Exactly what the index site_troubled holds. From the third failure in a row on, a site backs off (`rules.pace`).
SELECT count(*) AS sites FROM site WHERE crawl = %(crawl)s AND failures >= 3 AND has_work AND NOT excluded

-- name: count_troubled_hosts
-- What the index host_blocked holds beyond now; those of a site that is in trouble as a whole are counted with it.
SELECT count(*) AS hosts FROM (
    SELECT 1 FROM host h JOIN site s ON s.shard = h.shard AND s.crawl = h.crawl AND s.site_id = h.site_id
    WHERE h.crawl = %(crawl)s AND h.blocked_until > 0 AND h.blocked_until > %(now_ms)s AND h.given_up IS NULL
      AND s.failures < 3 AND s.has_work AND NOT s.excluded LIMIT 100000) h

-- name: given_up
SELECT reason, sum(urls)::int8 AS urls FROM given_up WHERE crawl = %(crawl)s GROUP BY reason

-- name: seed_outcomes
SELECT outcome, sum(seeds)::int8 AS seeds, min(example) AS example FROM seed_outcome WHERE crawl = %(crawl)s
GROUP BY outcome ORDER BY outcome

-- name: any_unsettled
-- The two partial indexes hold every site with something to settle, excluded ones apart. One statement: one snapshot.
SELECT EXISTS (
    SELECT 1 FROM open_shard o WHERE o.crawl = %(crawl)s AND (
        EXISTS (SELECT 1 FROM site s WHERE s.shard = o.shard AND s.crawl = %(crawl)s AND s.owner IS NULL AND s.has_work
                  AND NOT s.excluded)
        OR EXISTS (SELECT 1 FROM site s WHERE s.shard = o.shard AND s.crawl = %(crawl)s AND s.owner IS NOT NULL))
) AS unsettled

-- ---------------------------------------------------------------- audit

-- name: shards
SELECT shard FROM open_shard WHERE crawl = %(crawl)s ORDER BY shard

-- name: walk_seen
-- One step of a walk over all accepted URLs of a shard, by key: what others add or settle meanwhile does not disturb it.
SELECT s.site_id, s.url_hash, s.outcome, t.name, q.seq IS NOT NULL AS queued
FROM seen s
LEFT JOIN site t ON t.shard = %(shard)s AND t.crawl = %(crawl)s AND t.site_id = s.site_id
LEFT JOIN queue q ON q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = s.site_id AND q.url_hash = s.url_hash
WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND (s.site_id, s.url_hash) > (%(site_id)s, %(url_hash)s)
ORDER BY s.site_id, s.url_hash LIMIT %(rows)s

-- name: audit_queue
SELECT q.site_id, q.url_hash, q.url, s.url_hash IS NOT NULL AS known, s.outcome
FROM queue q
LEFT JOIN seen s ON s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = q.site_id AND s.url_hash = q.url_hash
WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND (q.site_id, q.url_hash) > (%(site_id)s, %(url_hash)s)
ORDER BY q.site_id, q.url_hash LIMIT %(rows)s

-- name: audit_sites
-- A free site is due no later than its pace and its first eligible URL allow, or at the next claim if an earlier one
-- had more to move than fits into a transaction. That it has work while nothing is queued is no contradiction: a late
-- completion settled the last URL, and the next claim puts the site to rest.
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
