-- Which crawl this is, wherever its frontier lies, and whether the frontier is in use, on its way elsewhere, or gone.

ALTER TABLE crawl ADD COLUMN identity TEXT NOT NULL DEFAULT '';          -- of the crawl: moves keep it
ALTER TABLE crawl ADD COLUMN standing TEXT NOT NULL DEFAULT 'live';      -- live, leaving or moved; only live takes writes
ALTER TABLE crawl ADD COLUMN move TEXT;                                  -- the last move from here or to here
ALTER TABLE crawl ADD COLUMN moved_to TEXT;                              -- JSON: where it goes, or went
UPDATE crawl SET identity = lower(hex(randomblob(16)));
CREATE TRIGGER crawl_identity AFTER INSERT ON crawl
BEGIN
    UPDATE crawl SET identity = lower(hex(randomblob(16)));
END;
