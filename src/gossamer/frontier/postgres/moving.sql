-- Reading and writing a frontier as a whole, for `gossamer move`. {columns} and {names} stand for what
-- frontier/moving.py lists. A few shards at a time: a transaction never takes longer than a shard does.

-- name: find
SELECT crawl, identity, standing, move, moved_to FROM gossamer.crawl WHERE name = %(name)s

-- name: lock_move
-- Held by the session: two moves from or to the same crawl would mix.
SELECT pg_try_advisory_lock(%(move_lock)s, %(crawl)s) AS is_ours

-- ---------------------------------------------------------------- from here

-- name: leave
-- In one transaction: lock_crawl keeps out those who start or join; lock_tally waits for all who have written their
-- counters, which comes last, and those who have not will find the crawl on its way, and undo what they did.
UPDATE crawl SET standing = 'leaving', move = %(move)s, moved_to = %(moved_to)s
WHERE crawl = %(crawl)s AND standing IN ('live', 'leaving') RETURNING 1

-- name: lock_crawl
SELECT 1 FROM crawl WHERE crawl = %(crawl)s FOR UPDATE

-- name: lock_tally
LOCK TABLE tally IN SHARE MODE

-- name: count_unsettled
SELECT (SELECT count(*) FROM worker WHERE crawl = %(crawl)s AND NOT gone) AS workers,
       (SELECT coalesce(sum(owned), 0)::int8 FROM tally WHERE crawl = %(crawl)s) AS owned

-- name: stay
UPDATE crawl SET standing = 'live', move = NULL, moved_to = NULL
WHERE crawl = %(crawl)s AND standing = 'leaving' RETURNING 1

-- name: mark_moved
-- The switch. Only the move that made the copy may do it, and only once.
UPDATE crawl SET standing = 'moved' WHERE crawl = %(crawl)s AND standing = 'leaving' AND move = %(move)s RETURNING 1

-- ---------------------------------------------------------------- reading

-- name: read_crawl
SELECT {columns} FROM crawl WHERE crawl = %(crawl)s

-- name: read_counters
-- In the order of COUNTERS.
SELECT coalesce(max(clock_ms), 0)::int8 AS clock_ms, coalesce(sum(sites), 0)::int8 AS sites,
       coalesce(sum(with_work), 0)::int8 AS sites_with_work, coalesce(sum(known), 0)::int8 AS known,
       coalesce(sum(done), 0)::int8 AS done, coalesce(sum(pages), 0)::int8 AS pages
FROM tally WHERE crawl = %(crawl)s

-- name: read_large
SELECT {key}, {columns} FROM {table}
WHERE shard BETWEEN %(first)s AND %(last)s AND crawl = %(crawl)s ORDER BY {key}

-- name: read_worker
SELECT worker, label, beats, figures::text FROM worker WHERE crawl = %(crawl)s ORDER BY worker

-- name: read_given_up
SELECT reason, sum(urls)::int8 FROM given_up WHERE crawl = %(crawl)s GROUP BY reason HAVING sum(urls) <> 0 ORDER BY reason

-- name: read_seed_outcome
SELECT outcome, sum(seeds)::int8, min(example) FROM seed_outcome WHERE crawl = %(crawl)s GROUP BY outcome ORDER BY outcome

-- name: read_small
SELECT {names} FROM {table} WHERE crawl = %(crawl)s

-- ---------------------------------------------------------------- to here

-- name: overwrite
-- Only what this very crawl left behind here: a frontier that it was moved away from, or a copy that was cut off.
UPDATE crawl SET standing = 'arriving', move = %(move)s, moved_to = NULL
WHERE crawl = %(crawl)s AND standing IN ('arriving', 'moved') AND identity = %(identity)s RETURNING crawl

-- name: take_arrivals
-- So many stretches of arrival numbers: what comes later gets greater ones, whoever takes some in between.
SELECT min(nextval('arrival'))::int8 AS first FROM generate_series(1, %(stretches)s)

-- name: reserve_workers
-- Ids of workers that are dead must not be given out again. Drawn one by one, since others may draw at the same time.
SELECT count(nextval('worker_number')) FROM worker_number w, generate_series(w.last_value, %(greatest)s)

-- name: write_crawl
UPDATE crawl SET ({names}) = ROW ({values}) WHERE crawl = %(crawl)s

-- name: types
SELECT column_name, udt_name FROM information_schema.columns WHERE table_schema = 'gossamer' AND table_name = %(table)s

-- name: copy_large
COPY {table} ({all_columns}) FROM STDIN (FORMAT BINARY)

-- name: write_worker
INSERT INTO worker (shard, crawl, {names}, home, gone) VALUES (%(shard)s, %(crawl)s, {values}, '', true)

-- name: write_given_up
-- With number 0 stands what was counted by the dead.
INSERT INTO given_up (shard, crawl, worker, {names}) VALUES (0, %(crawl)s, 0, {values})

-- name: write_seed_outcome
INSERT INTO seed_outcome (shard, crawl, worker, {names}) VALUES (0, %(crawl)s, 0, {values})

-- name: write_small
INSERT INTO {table} (crawl, {names}) VALUES (%(crawl)s, {values})

-- name: open_shards
INSERT INTO open_shard (crawl, shard) SELECT %(crawl)s, d.shard FROM unnest(%(shards)s::int2[]) AS d (shard)

-- name: write_counters
INSERT INTO tally (shard, crawl, worker, writes, clock_ms, sites, with_work, known, done, pages)
VALUES (0, %(crawl)s, 0, 1, %(clock_ms)s, %(sites)s, %(sites_with_work)s, %(known)s, %(done)s, %(pages)s)

-- name: set_clock
-- Crawl time goes on from where it stood.
UPDATE crawl SET offset_ms = %(clock_ms)s - extract(epoch FROM clock_timestamp())::float8 * 1000,
                 clock_runs = clock_runs + 1
WHERE crawl = %(crawl)s

-- name: go_live
UPDATE crawl SET standing = 'live' WHERE crawl = %(crawl)s AND standing = 'arriving' AND move = %(move)s RETURNING 1

-- name: analyze
ANALYZE (SKIP_LOCKED) site, queue, seen, host

-- ---------------------------------------------------------------- removing

-- name: delete_some
-- A bounded number at a time: nobody else of this crawl is here, but other crawls are.
DELETE FROM {table} WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM {table} WHERE shard = %(shard)s AND crawl = %(crawl)s LIMIT %(rows)s))

-- name: delete_all
DELETE FROM {table} WHERE crawl = %(crawl)s

-- name: delete_crawl
DELETE FROM crawl WHERE crawl = %(crawl)s AND standing = 'moved'
