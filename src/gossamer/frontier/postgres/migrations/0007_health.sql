-- Which sites back off, so that they can be counted at any time, and when a worker last showed life.

CREATE INDEX site_troubled ON site (crawl, shard) WHERE failures >= 3 AND has_work AND NOT excluded;

ALTER TABLE worker ADD COLUMN beat_at timestamptz;                      -- by the server's clock, for people
