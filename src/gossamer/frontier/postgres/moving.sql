-- Reading and writing a frontier as a whole, for `gossamer move`. {columns} and {names} stand for what
-- frontier/moving.py lists. Large tables are read a few shards at a time, so that transactions stay short.

-- name: find
-- Finds a crawl by its name, and whether it is moving. No row: there is none.
SELECT crawl, identity, standing, move, moved_to FROM gossamer.crawl WHERE name = %(name)s

-- name: lock_move
-- Lets one move at a time begin from or to a crawl: two would mix. The session holds the lock, so it ends with the
-- connection.
SELECT pg_try_advisory_lock(%(move_lock)s, %(crawl)s) AS is_ours

-- ---------------------------------------------------------------- from here

-- name: leave
-- Begins a move. It is one transaction with lock_crawl, which keeps starts and joins out, and with lock_tally, which
-- waits for every transaction that has written its counters, its last statement. A transaction that has not yet
-- written them finds the crawl leaving, and rolls back.
UPDATE crawl SET standing = 'leaving', move = %(move)s, moved_to = %(moved_to)s
WHERE crawl = %(crawl)s AND standing IN ('live', 'leaving') RETURNING 1

-- name: lock_crawl
-- Keeps starts and joining workers out until the move has begun.
SELECT 1 FROM crawl WHERE crawl = %(crawl)s FOR UPDATE

-- name: lock_tally
-- Waits for all transactions that have written their counters; see leave.
LOCK TABLE tally IN SHARE MODE

-- name: count_unsettled
-- Counts live workers and owned sites: a move begins only when there are none.
SELECT (SELECT count(*) FROM worker WHERE crawl = %(crawl)s AND NOT gone) AS workers,
       (SELECT coalesce(sum(owned), 0)::int8 FROM tally WHERE crawl = %(crawl)s) AS owned

-- name: stay
-- Cancels a move. Changes nothing once the crawl has moved.
UPDATE crawl SET standing = 'live', move = NULL, moved_to = NULL
WHERE crawl = %(crawl)s AND standing = 'leaving' RETURNING 1

-- name: mark_moved
-- The switch. Only the move that made the copy may do it, and only once.
UPDATE crawl SET standing = 'moved' WHERE crawl = %(crawl)s AND standing = 'leaving' AND move = %(move)s RETURNING 1

-- ---------------------------------------------------------------- reading

-- name: read_crawl
-- Reads the carried columns of the crawl's row.
SELECT {columns} FROM crawl WHERE crawl = %(crawl)s

-- name: read_counters
-- Reads the clock and the sums of the counters, in the order of COUNTERS.
SELECT coalesce(max(clock_ms), 0)::int8 AS clock_ms, coalesce(sum(sites), 0)::int8 AS sites,
       coalesce(sum(with_work), 0)::int8 AS sites_with_work, coalesce(sum(known), 0)::int8 AS known,
       coalesce(sum(done), 0)::int8 AS done, coalesce(sum(pages), 0)::int8 AS pages
FROM tally WHERE crawl = %(crawl)s

-- name: read_large
-- Reads a large table, a few shards at a time, sorted by key: no transaction writes meanwhile, so nothing is missed
-- between two reads.
SELECT {key}, {columns} FROM {table}
WHERE shard BETWEEN %(first)s AND %(last)s AND crawl = %(crawl)s ORDER BY {key}

-- name: read_worker
-- Reads all workers, in the order of joining.
SELECT worker, label, beats, figures::text FROM worker WHERE crawl = %(crawl)s ORDER BY worker

-- name: read_given_up
-- Reads the URLs that were given up, summed over all workers: the copy has one row per reason.
SELECT reason, sum(urls)::int8 FROM given_up WHERE crawl = %(crawl)s GROUP BY reason HAVING sum(urls) <> 0 ORDER BY reason

-- name: read_seed_outcome
-- Reads the outcomes of seeds, summed over all workers, with one example each.
SELECT outcome, sum(seeds)::int8, min(example) FROM seed_outcome WHERE crawl = %(crawl)s GROUP BY outcome ORDER BY outcome

-- name: read_small
-- Reads a whole table that does not grow with the crawl.
SELECT {names} FROM {table} WHERE crawl = %(crawl)s

-- ---------------------------------------------------------------- to here

-- name: overwrite
-- Takes over a row that this crawl itself left here: a frontier that it was moved away from, or an interrupted copy.
-- The identity and the state say so; any other crawl is left alone.
UPDATE crawl SET standing = 'arriving', move = %(move)s, moved_to = NULL
WHERE crawl = %(crawl)s AND standing IN ('arriving', 'moved') AND identity = %(identity)s RETURNING crawl

-- name: take_arrivals
-- Reserves ranges of arrival numbers. Numbers that are drawn later are greater, even if other crawls draw some in
-- between.
SELECT min(nextval('arrival'))::int8 AS first FROM generate_series(1, %(stretches)s)

-- name: reserve_workers
-- Advances the sequence beyond the ids of dead workers, which must not be used again. Drawn one by one, since other
-- crawls may draw at the same time.
SELECT count(nextval('worker_number')) FROM worker_number w, generate_series(w.last_value, %(greatest)s)

-- name: write_crawl
-- Writes the carried columns of the crawl's row.
UPDATE crawl SET ({names}) = ROW ({values}) WHERE crawl = %(crawl)s

-- name: types
-- Reads the type of each column: a binary COPY has to name them.
SELECT column_name, udt_name FROM information_schema.columns WHERE table_schema = 'gossamer' AND table_name = %(table)s

-- name: copy_large
-- Writes rows of a large table. A binary COPY is the fastest way in.
COPY {table} ({all_columns}) FROM STDIN (FORMAT BINARY)

-- name: write_worker
-- Writes a worker. All are dead, and belong to no folder here.
INSERT INTO worker (shard, crawl, {names}, home, gone) VALUES (%(shard)s, %(crawl)s, {values}, '', true)

-- name: write_given_up
-- Writes the URLs that were given up under number 0, where the counters of dead workers are kept.
INSERT INTO given_up (shard, crawl, worker, {names}) VALUES (0, %(crawl)s, 0, {values})

-- name: write_seed_outcome
-- Writes the outcomes of seeds under number 0, where the counters of dead workers are kept.
INSERT INTO seed_outcome (shard, crawl, worker, {names}) VALUES (0, %(crawl)s, 0, {values})

-- name: write_small
-- Writes a row of a table that does not grow with the crawl.
INSERT INTO {table} (crawl, {names}) VALUES (%(crawl)s, {values})

-- name: open_shards
-- Lists the shards that hold sites. The crawl had none here, so there is no conflict.
INSERT INTO open_shard (crawl, shard) SELECT %(crawl)s, d.shard FROM unnest(%(shards)s::int2[]) AS d (shard)

-- name: write_counters
-- Writes the counters under number 0, where the counters of dead workers are kept.
INSERT INTO tally (shard, crawl, worker, writes, clock_ms, sites, with_work, known, done, pages)
VALUES (0, %(crawl)s, 0, 1, %(clock_ms)s, %(sites)s, %(sites_with_work)s, %(known)s, %(done)s, %(pages)s)

-- name: set_clock
-- Sets the clock: crawl time continues from its saved value. The new run tells every worker to read it.
UPDATE crawl SET offset_ms = %(clock_ms)s - extract(epoch FROM clock_timestamp())::float8 * 1000,
                 clock_runs = clock_runs + 1
WHERE crawl = %(crawl)s

-- name: go_live
-- Lets workers in, if this is still the copy that this move made.
UPDATE crawl SET standing = 'live' WHERE crawl = %(crawl)s AND standing = 'arriving' AND move = %(move)s RETURNING 1

-- name: analyze
-- Gives the planner statistics of what was copied. It leaves out tables that are being vacuumed, since that may take
-- hours.
ANALYZE (SKIP_LOCKED) site, queue, seen, host

-- ---------------------------------------------------------------- removing

-- name: delete_some
-- Deletes a bounded number of rows at a time: no other process uses this crawl, but other crawls use the table.
DELETE FROM {table} WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM {table} WHERE shard = %(shard)s AND crawl = %(crawl)s LIMIT %(rows)s))

-- name: delete_all
-- Deletes all rows of a crawl from a table that does not grow with it.
DELETE FROM {table} WHERE crawl = %(crawl)s

-- name: delete_crawl
-- Deletes a crawl's row, only after it has moved.
DELETE FROM crawl WHERE crawl = %(crawl)s AND standing = 'moved'
