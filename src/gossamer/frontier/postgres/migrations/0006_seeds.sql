-- What became of the seeds, and of what they redirected to, counted as they are settled: `seen` has no index on depth.
-- A row per worker, as in `tally`: nobody waits for another's row.
CREATE TABLE seed_outcome (
    shard   int2 NOT NULL,
    crawl   int2 NOT NULL,
    worker  int4 NOT NULL,
    seeds   int8 NOT NULL,
    outcome text NOT NULL,                      -- '' for those that gave a page, else the reason they were given up
    example text NOT NULL,                      -- the URL of one of them
    PRIMARY KEY (shard, crawl, worker, outcome)
) WITH (fillfactor = 50);
CREATE INDEX seed_outcome_crawl ON seed_outcome (crawl);
