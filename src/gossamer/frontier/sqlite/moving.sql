-- Reading and writing a frontier as a whole, for `gossamer move`. {columns}, {names} and {values} stand for what
-- frontier/moving.py lists. No other process writes meanwhile, so a read may take as long as it needs.

-- name: leave
-- Begins a move, or begins it again after it was interrupted. From here on no other transaction may write.
UPDATE crawl SET standing = 'leaving', move = :move, moved_to = :moved_to WHERE standing IN ('live', 'leaving')

-- name: stay
-- Cancels a move. Changes nothing once the crawl has moved.
UPDATE crawl SET standing = 'live', move = NULL, moved_to = NULL WHERE standing = 'leaving'

-- name: mark_moved
-- The switch. Only the move that made the copy may do it, and only once.
UPDATE crawl SET standing = 'moved' WHERE standing = 'leaving' AND move = :move

-- name: count_owned
-- Counts the owned sites: none may be left when a move begins, since owners are not carried.
SELECT count(*) FROM site WHERE owner IS NOT NULL

-- ---------------------------------------------------------------- reading

-- name: read_crawl
-- Reads the carried columns of the crawl's one row.
SELECT {columns} FROM crawl

-- name: read_counters
-- Reads the clock and the counters, which belong to one another: no transaction writes meanwhile.
SELECT clock_ms, {counters} FROM crawl

-- name: read_site
-- Reads all sites, in the order of their numbers: before all that belongs to them.
SELECT {columns} FROM site ORDER BY site_id

-- name: read_host
-- Reads all hosts. CROSS JOIN fixes the plan: the first table is walked by its key, and the site is looked up for
-- each row.
SELECT site.name, {columns} FROM host CROSS JOIN site USING (site_id) ORDER BY host.site_id, host.name

-- name: read_barred
-- Reads all barred URLs, with the plan of read_host.
SELECT site.name, {columns} FROM barred CROSS JOIN site USING (site_id) ORDER BY barred.site_id, barred.url_hash

-- name: read_seen
-- Reads all accepted URLs, with the plan of read_host.
SELECT site.name, {columns} FROM seen CROSS JOIN site USING (site_id) ORDER BY seen.site_id, seen.url_hash

-- name: read_queue
-- Reads the queue in the order of arrival, which is the order of the rows.
SELECT site.name, {columns} FROM queue CROSS JOIN site USING (site_id) ORDER BY queue.seq

-- name: read_small
-- Reads a whole table that does not grow with the crawl.
SELECT {names} FROM {table}

-- ---------------------------------------------------------------- writing

-- name: indexes
-- Lists the indexes to drop now and to build when all rows are there: one sort, instead of a search for each row.
SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name IN ('site', 'queue') AND sql IS NOT NULL

-- name: write_crawl
-- Writes the carried columns of the crawl's one row, which the migrations created.
UPDATE crawl SET ({names}) = ({values})

-- name: write_site
-- Writes a site under the number that it gets here.
INSERT INTO site (site_id, {names}) VALUES (?, {values})

-- name: site_number
-- Finds the number that a site got here, when it is no longer in memory.
SELECT site_id FROM site WHERE name = ?

-- name: write_host
-- Writes a host under its site's number.
INSERT INTO host (site_id, {names}) VALUES (?, {values})

-- name: write_barred
-- Writes a barred URL under its site's number.
INSERT INTO barred (site_id, {names}) VALUES (?, {values})

-- name: write_seen
-- Writes an accepted URL. A queued one gets its arrival number with its row in the queue; a settled one needs none.
INSERT INTO seen (site_id, seq, {names}) VALUES (?, 0, {values})

-- name: write_queue
-- Writes a queued URL under a new arrival number; the order of arrival stays.
INSERT INTO queue (site_id, seq, {names}) VALUES (?, ?, {values})

-- name: number_seen
-- Gives an accepted URL the arrival number of its row in the queue, which ties the two together.
UPDATE seen SET seq = ? WHERE site_id = ? AND url_hash = ?

-- name: write_worker
-- Writes a worker. All are dead, and their ids are never used again: the next id is greater than all of these.
INSERT INTO worker ({names}, gone) VALUES ({values}, 1)

-- name: write_small
-- Writes a row of a table that does not grow with the crawl.
INSERT INTO {table} ({names}) VALUES ({values})

-- name: write_counters
-- Writes the clock and the counters last. Nothing is claimed in the copy, and the next arrival number is greater than
-- all in the queue.
UPDATE crawl SET clock_ms = :clock_ms, clock_offset_ms = :clock_offset_ms, move = :move,
                 sites = :sites, sites_with_work = :sites_with_work, known = :known, done = :done, pages = :pages,
                 given_up = (SELECT coalesce(sum(urls), 0) FROM given_up), in_hand = 0,
                 next_seq = (SELECT coalesce(max(seq), 0) + 1 FROM queue)
