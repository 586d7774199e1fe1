-- Which sites back off, so that they can be counted at any time, and when a worker last showed life.

CREATE INDEX site_troubled ON site (site_id) WHERE failures >= 3 AND has_work = 1 AND excluded = 0;

ALTER TABLE worker ADD COLUMN beat_at REAL NOT NULL DEFAULT 0;           -- Unix seconds, for people; 0: not known
