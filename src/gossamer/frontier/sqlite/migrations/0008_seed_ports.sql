-- The ports of the seeds besides 80 and 443, separated by commas: links to these ports are followed.

ALTER TABLE crawl ADD COLUMN seed_ports TEXT NOT NULL DEFAULT '';
UPDATE crawl SET seed_ports = coalesce((
    SELECT group_concat(DISTINCT substr(name, length(rtrim(name, '0123456789')) + 1)) FROM host
    WHERE seeded = 1 AND rtrim(name, '0123456789') LIKE '%:'), '');
