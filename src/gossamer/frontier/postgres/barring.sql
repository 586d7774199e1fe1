-- The effects of the operator's rules and of the page limit per site. Rare, except count_pages.

-- name: bar
-- Moves queued URLs to the barred ones. What was settled before, or barred by another worker, is not returned, so
-- that it is counted once. A URL that was barred before keeps the row that it had.
WITH gone AS (
    DELETE FROM seen s
    USING unnest(%(sites)s::int8[], %(hashes)s::bytea[], %(reasons)s::text[]) AS d (site_id, url_hash, reason)
    WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = d.site_id AND s.url_hash = d.url_hash
      AND s.outcome IS NULL
    RETURNING s.site_id, s.url_hash, d.reason
), unqueued AS (
    DELETE FROM queue q USING gone
    WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND q.site_id = gone.site_id AND q.url_hash = gone.url_hash
    RETURNING q.site_id, q.url_hash, q.rank, q.depth, q.hops, q.kind, q.via, q.url, gone.reason
), kept AS (
    INSERT INTO barred (shard, crawl, site_id, url_hash, rank, depth, hops, kind, via, url, reason)
    SELECT %(shard)s, %(crawl)s, u.site_id, u.url_hash, u.rank, u.depth, u.hops, u.kind, u.via, u.url, u.reason
    FROM unqueued u
    ON CONFLICT DO NOTHING RETURNING site_id, url_hash
)
SELECT gone.reason, kept.url_hash IS NOT NULL AS is_new FROM gone LEFT JOIN kept USING (site_id, url_hash)

-- name: unbar
-- Removes barred URLs, each if it is still barred for this reason; returns one row per URL, to be counted.
DELETE FROM barred b
USING unnest(%(sites)s::int8[], %(hashes)s::bytea[], %(reasons)s::text[]) AS d (site_id, url_hash, reason)
WHERE b.shard = %(shard)s AND b.crawl = %(crawl)s AND b.site_id = d.site_id AND b.url_hash = d.url_hash
  AND b.reason = d.reason
RETURNING b.reason

-- name: forget_done
-- Removes done pages from the accepted URLs, because their rows in the store are lost: they are added again.
DELETE FROM seen s
USING unnest(%(sites)s::int8[], %(hashes)s::bytea[]) AS d (site_id, url_hash)
WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = d.site_id AND s.url_hash = d.url_hash
  AND s.outcome = ''
RETURNING s.site_id, s.url_hash

-- name: walk_all_queued
-- One step of a walk over the queue of a shard, by key: rows that come or go meanwhile do not disturb it.
SELECT q.site_id, q.url_hash, s.name, q.url, q.rank, q.depth, q.hops, q.kind, q.via, q.tries, q.not_before, q.added_at
FROM queue q JOIN site s ON s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = q.site_id
WHERE q.shard = %(shard)s AND q.crawl = %(crawl)s AND (q.site_id, q.url_hash) > (%(site_id)s, %(url_hash)s)
ORDER BY q.site_id, q.url_hash LIMIT %(rows)s

-- name: walk_barred
-- One step of a walk over the barred URLs of a shard, by key: rows that come or go meanwhile do not disturb it.
SELECT b.site_id, b.url_hash, s.name, b.url, b.rank, b.depth, b.hops, b.kind, b.via, b.reason
FROM barred b JOIN site s ON s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = b.site_id
WHERE b.shard = %(shard)s AND b.crawl = %(crawl)s AND (b.site_id, b.url_hash) > (%(site_id)s, %(url_hash)s)
ORDER BY b.site_id, b.url_hash LIMIT %(rows)s

-- name: find_barred
-- Finds a URL among the barred ones, by its key.
SELECT depth, reason FROM barred
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = %(site_id)s AND url_hash = %(url_hash)s

-- name: audit_barred
-- Counts the barred URLs by reason, in one snapshot.
SELECT reason, count(*) AS urls FROM barred WHERE crawl = %(crawl)s GROUP BY reason

-- name: readmissions
-- Reads how often exclusions were removed.
SELECT readmissions FROM crawl WHERE crawl = %(crawl)s

-- name: count_pages
-- Counts the stored pages of sites that are not released in the same report: for those, `release` counts.
UPDATE site s SET pages = s.pages + d.pages FROM unnest(%(sites)s::int8[], %(pages)s::int4[]) AS d (site_id, pages)
WHERE s.shard = %(shard)s AND s.crawl = %(crawl)s AND s.site_id = d.site_id RETURNING 1

-- name: spend_sites
-- Lets free sites rest that have reached their page limit. It needs no lock against transactions that add links: they
-- wake no spent site, and a larger limit wakes it whatever is queued.
UPDATE site SET has_work = false, spent = true
WHERE shard = %(shard)s AND crawl = %(crawl)s AND site_id = ANY (%(sites)s::int8[]) AND owner IS NULL AND has_work
  AND pages >= %(site_limit)s
RETURNING site_id

-- name: wake_spent
-- Wakes sites at rest that a larger limit leaves pages; the next claim reads what is queued of them. Sorted by key,
-- so that two machines that start wait for, but never deadlock with, each other.
UPDATE site s SET spent = false, has_work = true, ready_at = s.paced_at
FROM (SELECT w.shard, w.site_id FROM site w WHERE w.crawl = %(crawl)s AND w.spent AND w.pages < %(site_limit)s
      ORDER BY w.shard, w.site_id LIMIT %(at_most)s FOR UPDATE) w
WHERE s.shard = w.shard AND s.crawl = %(crawl)s AND s.site_id = w.site_id AND s.spent RETURNING 1

-- name: count_spent
-- Counts the sites that have reached their page limit: exactly what the index site_spent holds.
SELECT count(*) AS sites FROM site WHERE crawl = %(crawl)s AND spent
