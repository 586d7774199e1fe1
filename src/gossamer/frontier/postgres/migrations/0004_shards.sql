-- Over how many shards a crawl's sites are spread: fixed for its life, since keys are worked out with it.
ALTER TABLE crawl ADD COLUMN shards int4 NOT NULL DEFAULT 256;
