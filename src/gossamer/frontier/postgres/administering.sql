-- What an operator asks of a database as a whole. Nothing here is run by a crawl.

-- name: crawls
SELECT c.name, c.state, coalesce(sum(t.sites), 0)::int8 AS sites, coalesce(sum(t.known), 0)::int8 AS known,
       coalesce(sum(t.done), 0)::int8 AS done, coalesce(sum(t.owned), 0)::int8 AS in_hand,
       (SELECT count(*) FROM worker w WHERE w.crawl = c.crawl AND NOT w.gone) AS workers
FROM crawl c LEFT JOIN tally t ON t.crawl = c.crawl
GROUP BY c.crawl ORDER BY c.name

-- name: tables
SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes, greatest(c.reltuples, 0)::int8 AS rows
FROM pg_class c WHERE c.relnamespace = 'gossamer'::regnamespace AND c.relkind IN ('r', 'p')
ORDER BY 2 DESC, 1

-- name: server
SELECT extract(epoch FROM clock_timestamp())::float8 AS now_at, pg_is_in_recovery() AS standby,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int8 AS connections

-- name: settings
-- What decides whether a crawl is safe and fast; sizes in bytes, times in milliseconds where the server has units.
SELECT name, setting, unit FROM pg_settings WHERE name = ANY (%(names)s)
