-- Reading and writing a frontier as a whole, for `gossamer move`. {columns}, {names} and {values} stand for what
-- frontier/moving.py lists. Nobody else writes meanwhile, so a read may take as long as it takes.

-- name: leave
-- Whoever begins a move, or begins it anew after it was cut off.
UPDATE crawl SET standing = 'leaving', move = :move, moved_to = :moved_to WHERE standing IN ('live', 'leaving')

-- name: stay
UPDATE crawl SET standing = 'live', move = NULL, moved_to = NULL WHERE standing = 'leaving'

-- name: mark_moved
-- The switch. Only the move that made the copy may do it, and only once.
UPDATE crawl SET standing = 'moved' WHERE standing = 'leaving' AND move = :move

-- name: count_owned
SELECT count(*) FROM site WHERE owner IS NOT NULL

-- ---------------------------------------------------------------- reading

-- name: read_crawl
SELECT {columns} FROM crawl

-- name: read_counters
SELECT clock_ms, {counters} FROM crawl

-- name: read_site
SELECT {columns} FROM site ORDER BY site_id

-- name: read_host
-- CROSS JOIN: the first table is walked by its key, and the site is looked up for each row.
SELECT site.name, {columns} FROM host CROSS JOIN site USING (site_id) ORDER BY host.site_id, host.name

-- name: read_barred
SELECT site.name, {columns} FROM barred CROSS JOIN site USING (site_id) ORDER BY barred.site_id, barred.url_hash

-- name: read_seen
SELECT site.name, {columns} FROM seen CROSS JOIN site USING (site_id) ORDER BY seen.site_id, seen.url_hash

-- name: read_queue
-- In the order of arrival, which is that of the rows.
SELECT site.name, {columns} FROM queue CROSS JOIN site USING (site_id) ORDER BY queue.seq

-- name: read_small
SELECT {names} FROM {table}

-- ---------------------------------------------------------------- writing

-- name: indexes
-- Built when all rows are there: one sort, instead of a search for each row.
SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name IN ('site', 'queue') AND sql IS NOT NULL

-- name: write_crawl
UPDATE crawl SET ({names}) = ({values})

-- name: write_site
INSERT INTO site (site_id, {names}) VALUES (?, {values})

-- name: site_number
SELECT site_id FROM site WHERE name = ?

-- name: write_host
INSERT INTO host (site_id, {names}) VALUES (?, {values})

-- name: write_barred
INSERT INTO barred (site_id, {names}) VALUES (?, {values})

-- name: write_seen
-- What is queued gets its arrival number with its row in the queue; a settled URL needs none.
INSERT INTO seen (site_id, seq, {names}) VALUES (?, 0, {values})

-- name: write_queue
INSERT INTO queue (site_id, seq, {names}) VALUES (?, ?, {values})

-- name: number_seen
UPDATE seen SET seq = ? WHERE site_id = ? AND url_hash = ?

-- name: write_worker
-- All are dead. Their ids are never used again: the next one is greater than all of these.
INSERT INTO worker ({names}, gone) VALUES ({values}, 1)

-- name: write_small
INSERT INTO {table} ({names}) VALUES ({values})

-- name: write_counters
UPDATE crawl SET clock_ms = :clock_ms, clock_offset_ms = :clock_offset_ms, move = :move,
                 sites = :sites, sites_with_work = :sites_with_work, known = :known, done = :done, pages = :pages,
                 given_up = (SELECT coalesce(sum(urls), 0) FROM given_up), in_hand = 0,
                 next_seq = (SELECT coalesce(max(seq), 0) + 1 FROM queue)
