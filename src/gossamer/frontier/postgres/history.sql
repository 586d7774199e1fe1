-- The history that machines share: small statements, each found by the primary key (crawl, home, at, worker).

-- name: share_figures
-- Adds the figures of some processes. They may have come before, if the last answer was lost.
INSERT INTO history (crawl, home, at, worker, figures)
SELECT %(crawl)s, %(home)s, d.at, d.worker, d.figures
FROM unnest(%(ats)s::int8[], %(workers)s::text[], %(figures)s::bytea[]) AS d (at, worker, figures)
ON CONFLICT DO NOTHING

-- name: history_homes
-- Lists the machines that shared figures, with their first and last moments. Each step jumps over all rows of a machine in
-- the index, so that the cost grows with the machines and not with the rows.
WITH RECURSIVE machine AS (
    (SELECT h.home FROM history h WHERE h.crawl = %(crawl)s ORDER BY h.home LIMIT 1)
    UNION ALL
    SELECT (SELECT h.home FROM history h WHERE h.crawl = %(crawl)s AND h.home > m.home ORDER BY h.home LIMIT 1)
    FROM machine m WHERE m.home IS NOT NULL
)
SELECT m.home,
       (SELECT h.at FROM history h WHERE h.crawl = %(crawl)s AND h.home = m.home ORDER BY h.at LIMIT 1) AS first_at,
       (SELECT h.at FROM history h WHERE h.crawl = %(crawl)s AND h.home = m.home ORDER BY h.at DESC LIMIT 1) AS last_at
FROM machine m WHERE m.home IS NOT NULL

-- name: drop_figures
-- Deletes a bounded number of a machine's oldest rows. Another machine may delete the same ones: then they are gone.
DELETE FROM history WHERE ctid = ANY (ARRAY (
    SELECT h.ctid FROM history h WHERE h.crawl = %(crawl)s AND h.home = %(home)s AND h.at < %(before)s
    ORDER BY h.at, h.worker LIMIT %(rows)s))

-- name: shared_figures
-- One step of a walk over a machine's figures, by time: rows that come or go meanwhile do not disturb it.
SELECT h.at, h.worker, h.figures FROM history h
WHERE h.crawl = %(crawl)s AND h.home = %(home)s AND (h.at, h.worker) > (%(after)s, %(worker)s) AND h.at <= %(until)s
ORDER BY h.at, h.worker LIMIT %(rows)s
