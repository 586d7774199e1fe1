-- The settings by which all machines of a crawl go, as JSON: whoever joins with others is refused.
ALTER TABLE crawl ADD COLUMN terms text NOT NULL DEFAULT '{}';
