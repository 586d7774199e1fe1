-- What an operator asks about a whole database. No crawl runs any of this.

-- name: crawls
-- Lists all crawls with their figures. The sums of the counters are exact as of one snapshot. A worker lives if its last
-- heartbeat is younger than its lease, by the server's clock. Of `site`, only the heads of two partial indexes are read.
SELECT c.name, c.state, c.standing, c.page_limit, coalesce(sum(t.sites), 0)::int8 AS sites,
       coalesce(sum(t.known), 0)::int8 AS known, coalesce(sum(t.done), 0)::int8 AS done,
       coalesce(sum(t.pages), 0)::int8 AS pages, coalesce(sum(t.in_hand), 0)::int8 AS reserved,
       coalesce(sum(t.owned), 0)::int8 AS in_hand,
       (SELECT coalesce(sum(g.urls), 0)::int8 FROM given_up g WHERE g.crawl = c.crawl) AS given_up,
       (SELECT count(*) FROM worker w WHERE w.crawl = c.crawl AND NOT w.gone AND w.beat_at > clock_timestamp()
            - make_interval(secs => coalesce((c.terms::json ->> 'lease')::float8, %(lease_s)s))) AS workers,
       EXISTS (SELECT 1 FROM open_shard o WHERE o.crawl = c.crawl AND (
            EXISTS (SELECT 1 FROM site s WHERE s.shard = o.shard AND s.crawl = c.crawl AND s.owner IS NULL
                      AND s.has_work AND NOT s.excluded)
            OR EXISTS (SELECT 1 FROM site s WHERE s.shard = o.shard AND s.crawl = c.crawl AND s.owner IS NOT NULL)
       )) AS unsettled
FROM crawl c LEFT JOIN tally t ON t.crawl = c.crawl
GROUP BY c.crawl ORDER BY c.name

-- name: tables
-- Lists the size of each table, and what the database's own statistics say: an exact count would read all rows.
-- A table that was never analyzed has no estimate (-1); the count of living rows, kept by the same statistics, stands in.
SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes, pg_relation_size(c.oid) AS heap_bytes,
       CASE WHEN c.reltuples < 0 THEN coalesce(t.n_live_tup, 0) ELSE c.reltuples END::int8 AS rows,
       coalesce(t.n_dead_tup, 0)::int8 AS dead_rows,
       extract(epoch FROM greatest(t.last_vacuum, t.last_autovacuum))::float8 AS vacuumed_at,
       extract(epoch FROM greatest(t.last_analyze, t.last_autoanalyze))::float8 AS analyzed_at
FROM pg_class c LEFT JOIN pg_stat_all_tables t ON t.relid = c.oid
WHERE c.relnamespace = 'gossamer'::regnamespace AND c.relkind IN ('r', 'p')
ORDER BY 2 DESC, 1

-- name: server
-- Reads the server's clock, whether it is a standby, and how many clients are connected.
SELECT extract(epoch FROM clock_timestamp())::float8 AS now_at, pg_is_in_recovery() AS standby,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int8 AS connections

-- name: settings
-- Reads the settings that decide whether a crawl is safe and fast; the unit says how to read each value.
SELECT name, setting, unit FROM pg_settings WHERE name = ANY (%(names)s)
