-- The ports of the seeds besides 80 and 443, separated by commas: links to these ports are followed.

ALTER TABLE crawl ADD COLUMN seed_ports text NOT NULL DEFAULT '';
UPDATE crawl c SET seed_ports = coalesce((
    SELECT string_agg(DISTINCT substring(h.name FROM ':([0-9]+)$'), ',') FROM host h
    WHERE h.crawl = c.crawl AND h.seeded AND h.name ~ ':[0-9]+$'), '');
