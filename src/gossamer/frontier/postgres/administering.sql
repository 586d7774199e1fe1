-- What an operator asks about a whole database. No crawl runs any of this.

-- name: crawls
-- Lists all crawls with their figures. The sums of the counters are exact as of one snapshot.
SELECT c.name, c.state, coalesce(sum(t.sites), 0)::int8 AS sites, coalesce(sum(t.known), 0)::int8 AS known,
       coalesce(sum(t.done), 0)::int8 AS done, coalesce(sum(t.owned), 0)::int8 AS in_hand,
       (SELECT count(*) FROM worker w WHERE w.crawl = c.crawl AND NOT w.gone) AS workers
FROM crawl c LEFT JOIN tally t ON t.crawl = c.crawl
GROUP BY c.crawl ORDER BY c.name

-- name: tables
-- Lists the size of each table, with the planner's estimate of its rows: an exact count would read them all.
SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes, greatest(c.reltuples, 0)::int8 AS rows
FROM pg_class c WHERE c.relnamespace = 'gossamer'::regnamespace AND c.relkind IN ('r', 'p')
ORDER BY 2 DESC, 1

-- name: server
-- Reads the server's clock, whether it is a standby, and how many clients are connected.
SELECT extract(epoch FROM clock_timestamp())::float8 AS now_at, pg_is_in_recovery() AS standby,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int8 AS connections

-- name: settings
-- Reads the settings that decide whether a crawl is safe and fast; the unit says how to read each value.
SELECT name, setting, unit FROM pg_settings WHERE name = ANY (%(names)s)
