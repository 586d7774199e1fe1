-- Which crawl this is, wherever its frontier lies, and whether the frontier is in use, on its way, or gone elsewhere.
-- The default is worked out for each row: every crawl gets an identity of its own.
ALTER TABLE crawl ADD COLUMN identity text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', '');
ALTER TABLE crawl ADD COLUMN standing text NOT NULL DEFAULT 'live';     -- live, leaving, moved, arriving: only live takes writes
ALTER TABLE crawl ADD COLUMN move text;                                 -- the last move from here or to here
ALTER TABLE crawl ADD COLUMN moved_to text;                             -- JSON: where it goes, or went
