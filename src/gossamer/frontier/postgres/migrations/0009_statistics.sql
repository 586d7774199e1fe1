-- Statements that name a URL must search by its whole key. On a crawl of a million URLs most sites have few, so that the
-- planner expects a handful of rows per site and may walk all of them instead, in `queue_order` or by a part of the key:
-- on the few sites with very many URLs that takes seconds. These numbers make it expect many URLs on every site.
ALTER TABLE queue ALTER shard SET (n_distinct = 1), ALTER site_id SET (n_distinct = 100);
ALTER TABLE seen ALTER shard SET (n_distinct = 1), ALTER site_id SET (n_distinct = 100);
ALTER TABLE barred ALTER shard SET (n_distinct = 1), ALTER site_id SET (n_distinct = 100);
ANALYZE queue, seen, barred;
