-- Every statement the SQLite engine runs on a crawl. Each runs inside one BEGIN IMMEDIATE transaction, so
-- nobody else writes between two of them; that is what makes check-then-act right here without row locks.

-- name: begin
-- IMMEDIATE: a deferred transaction that reads first and then writes fails when another wrote in between.
-- plant: deferred-begin
BEGIN IMMEDIATE

-- name: crawl
SELECT normaliser, suffix_list, state, delay_ms, page_limit, scope, clock_ms, clock_offset_ms, exclusions, next_seq,
       site_limit, readmissions, sites, sites_with_work, known, done, pages, given_up, in_hand, identity, standing, move,
       moved_to
FROM crawl

-- name: save_crawl
-- The clock is saved with whatever was written by it: after a crash it goes on from no later than the crash.
UPDATE crawl SET clock_ms = :clock_ms, next_seq = :next_seq, sites = :sites, sites_with_work = :sites_with_work,
                 known = :known, done = :done, pages = :pages, given_up = :given_up, in_hand = :in_hand

-- name: resume
UPDATE crawl SET state = 'running', delay_ms = :delay_ms, page_limit = :page_limit, scope = :scope,
                 site_limit = :site_limit, clock_offset_ms = :clock_offset_ms

-- name: order
UPDATE crawl SET state = :state

-- ---------------------------------------------------------------- add

-- name: create_stage
CREATE TEMP TABLE stage (
    seq INTEGER PRIMARY KEY, site_id INTEGER, url_hash BLOB, host TEXT, url TEXT, depth INTEGER, rank INTEGER,
    seeded INTEGER, hops INTEGER, via BLOB, kind INTEGER, fresh INTEGER NOT NULL DEFAULT 0)

-- name: clear_stage
DELETE FROM temp.stage

-- name: stage_link
INSERT INTO temp.stage (seq, site_id, url_hash, host, url, depth, rank, seeded, hops, via, kind)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: site_number
SELECT site_id, seeded FROM site WHERE name = :site

-- name: add_site
-- A site row exists before its first URL: there is always something to own.
INSERT INTO site (name, paced_at, ready_at, has_work, seeded, excluded)
VALUES (:site, :now_ms, :now_ms, 1, :seeded, :site IN (SELECT site FROM exclusion))

-- name: mark_seeded
UPDATE site SET seeded = 1 WHERE name = :site

-- name: mark_seeded_hosts
INSERT INTO host (site_id, name, seeded)
SELECT DISTINCT site_id, host, 1 FROM temp.stage WHERE seeded
ON CONFLICT (site_id, name) DO UPDATE SET seeded = 1

-- name: is_seeded_site
SELECT 1 FROM site WHERE name = :site AND seeded = 1

-- name: is_seeded_host
SELECT 1 FROM site JOIN host USING (site_id) WHERE site.name = :site AND host.name = :host AND host.seeded = 1

-- name: add_seen
-- In key order: neighbouring pages of the tree are touched once. The same URL twice in a batch keeps the
-- first arrival; a queued URL that comes again closer to a seed takes the smaller depth.
INSERT INTO seen (site_id, url_hash, seq, depth)
SELECT site_id, url_hash, seq, depth FROM temp.stage WHERE true ORDER BY site_id, url_hash, seq
ON CONFLICT (site_id, url_hash) DO UPDATE SET depth = excluded.depth
    WHERE excluded.depth < seen.depth AND seen.outcome IS NULL

-- name: mark_fresh
-- A staged link is new exactly if the row in `seen` carries its own arrival number.
UPDATE temp.stage SET fresh = 1
WHERE seq = (SELECT seen.seq FROM seen WHERE seen.site_id = stage.site_id AND seen.url_hash = stage.url_hash)

-- name: add_queue
INSERT INTO queue (seq, site_id, rank, depth, hops, kind, url_hash, via, url, added_at)
SELECT seq, site_id, rank, depth, hops, kind, url_hash, via, url, :added_at FROM temp.stage WHERE fresh ORDER BY seq

-- name: lower_depths
-- Rare: run only when add_seen changed more rows than were new.
UPDATE queue SET depth = lower.depth
FROM (SELECT DISTINCT seen.seq, seen.depth FROM temp.stage CROSS JOIN seen USING (site_id, url_hash)) AS lower
WHERE queue.seq = lower.seq AND queue.depth > lower.depth

-- name: wake_idle_sites
-- No wake-up can be lost: whoever puts a site to rest looks at the queue in a transaction of its own,
-- which comes wholly before or wholly after this one.
-- A site that has given all its pages is left at rest.
UPDATE site SET has_work = 1, ready_at = paced_at
-- plant: lost-wake-up
WHERE has_work = 0 AND spent = 0 AND site_id IN (SELECT site_id FROM temp.stage WHERE fresh)

-- name: advance_deferred_sites
-- A free site that only waited for deferred URLs now has an eligible one.
UPDATE site SET ready_at = paced_at
WHERE ready_at > paced_at AND site_id IN (SELECT site_id FROM temp.stage WHERE fresh)

-- ---------------------------------------------------------------- claim

-- name: due_sites
-- Walks the partial index site_ready from its head.
SELECT site_id, name, epoch, max(delay_ms, :delay_ms) AS delay_ms, delay_ms AS own_delay_ms, failures, pages
FROM site
-- plant: excluded-sites-claimed
WHERE owner IS NULL AND has_work = 1 AND excluded = 0 AND ready_at <= :now_ms
ORDER BY ready_at LIMIT :sites

-- name: wake_deferred
-- Retries and formerly blocked URLs whose time has come rejoin the order; a bounded number at a time.
UPDATE queue SET not_before = 0
WHERE seq IN (SELECT seq FROM queue WHERE site_id = :site_id AND not_before > 0
              -- plant: retry-waits-ignored
              AND not_before <= :now_ms
              ORDER BY not_before, rank, depth, seq LIMIT :at_most)

-- name: next_urls
SELECT q.url, q.url_hash, q.host, q.depth, q.rank, q.hops, q.tries, q.kind, h.blocked_until, h.given_up
FROM queue q LEFT JOIN host h ON h.site_id = q.site_id AND h.name = q.host
WHERE q.site_id = :site_id AND q.not_before = 0
ORDER BY q.rank, q.depth, q.seq LIMIT :urls

-- name: known_hosts
-- The hosts of the URLs first. Then others that answer: a redirect may lead there in the same turn, and they prove that
-- the site answers.
SELECT name, rules, expires_at, failures, failing_since, blocked_until, silent, given_up
FROM host
WHERE site_id = :site_id AND rules IS NOT NULL
  -- plant: silent-hosts-in-claim
  AND (silent = 0 OR name IN (SELECT value FROM json_each(:hosts)))
ORDER BY name NOT IN (SELECT value FROM json_each(:hosts)) LIMIT :at_most

-- name: defer_blocked
-- A blocked host's URLs leave the order until the block ends. Only the head of the queue is searched, so that the
-- statement stays short however long the queue is; the rest follows when it becomes the head.
UPDATE queue SET not_before = :blocked_until
WHERE seq IN (SELECT seq FROM (SELECT seq, host FROM queue WHERE site_id = :site_id AND not_before = 0
                               ORDER BY rank, depth, seq LIMIT :at_most) WHERE host = :host)

-- name: head_of_host
-- What is queued of a host, deferred or not, among the first URLs of its site: see defer_blocked.
SELECT seq, url_hash, depth, url
FROM (SELECT seq, url_hash, depth, url, host FROM queue WHERE site_id = :site_id
      ORDER BY not_before, rank, depth, seq LIMIT :at_most) WHERE host = :host

-- name: own_site
UPDATE site SET owner = :worker, epoch = :epoch, in_hand = :urls WHERE site_id = :site_id

-- name: first_queued
-- The head of queue_order tells all: no row: nothing queued; 0: something eligible; else when the first one wakes.
SELECT not_before FROM queue WHERE site_id = :site_id ORDER BY not_before LIMIT 1

-- name: rest_site
UPDATE site SET has_work = :has_work, ready_at = :ready_at WHERE site_id = :site_id

-- name: next_ready
SELECT min(ready_at) FROM site WHERE owner IS NULL AND has_work = 1 AND excluded = 0

-- name: count_owned
SELECT count(*) FROM site WHERE owner = :worker

-- name: count_live_workers
SELECT count(*) FROM worker WHERE gone = 0

-- ---------------------------------------------------------------- complete

-- name: visited_site
SELECT site_id, owner, epoch, in_hand, has_work, pages FROM site WHERE name = :site

-- name: count_pages
UPDATE site SET pages = pages + :pages WHERE site_id = :site_id

-- name: settle_seen
UPDATE seen SET outcome = :outcome WHERE site_id = :site_id AND url_hash = :url_hash AND outcome IS NULL

-- name: settle_queue
DELETE FROM queue
WHERE seq = (SELECT seq FROM seen WHERE site_id = :site_id AND url_hash = :url_hash)
RETURNING depth, url

-- name: drop_queued
DELETE FROM queue WHERE seq = :seq

-- name: count_given_up
INSERT INTO given_up (reason, urls) VALUES (:reason, :urls)
ON CONFLICT (reason) DO UPDATE SET urls = urls + excluded.urls

-- name: count_seed
INSERT INTO seed_outcome (outcome, seeds, example) VALUES (:outcome, 1, :url)
ON CONFLICT (outcome) DO UPDATE SET seeds = seeds + 1

-- name: retry_later
UPDATE queue SET not_before = :not_before, tries = tries + :counted
WHERE seq = (SELECT seq FROM seen WHERE site_id = :site_id AND url_hash = :url_hash)

-- name: keep_host
INSERT INTO host (site_id, name, rules, expires_at, failures, failing_since, blocked_until, silent, given_up)
VALUES (:site_id, :name, :rules, :expires_at, :failures, :failing_since, :blocked_until, :silent, :given_up)
ON CONFLICT (site_id, name) DO UPDATE SET rules = excluded.rules, expires_at = excluded.expires_at,
    failures = excluded.failures, failing_since = excluded.failing_since, blocked_until = excluded.blocked_until,
    silent = excluded.silent, given_up = excluded.given_up

-- name: keep_delay
UPDATE site SET delay_ms = max(delay_ms, :delay_ms) WHERE site_id = :site_id

-- name: release_site
UPDATE site SET owner = NULL, in_hand = 0, delay_ms = :delay_ms, failures = :failures, paced_at = :paced_at, has_work = :has_work,
                ready_at = :ready_at, spent = :spent
WHERE site_id = :site_id

-- ---------------------------------------------------------------- rules and limits of the operator

-- name: bar_url
INSERT INTO barred (site_id, url_hash, rank, depth, hops, kind, via, reason, url)
SELECT site_id, url_hash, rank, depth, hops, kind, via, :reason, url FROM queue
WHERE seq = (SELECT seq FROM seen WHERE site_id = :site_id AND url_hash = :url_hash)
ON CONFLICT DO NOTHING

-- name: forget_seen
DELETE FROM seen WHERE site_id = :site_id AND url_hash = :url_hash

-- name: unbar_url
DELETE FROM barred
WHERE site_id = (SELECT site_id FROM site WHERE name = :site) AND url_hash = :url_hash AND reason = :reason

-- name: walk_all_queued
SELECT queue.seq, name, url, url_hash, rank, depth, hops, kind, via
FROM queue JOIN site USING (site_id) WHERE queue.seq > :after ORDER BY queue.seq LIMIT :rows

-- name: walk_barred
SELECT site_id, name, url, url_hash, rank, depth, hops, kind, via, reason
FROM barred JOIN site USING (site_id)
WHERE (site_id, url_hash) > (:site_id, :url_hash) ORDER BY site_id, url_hash LIMIT :rows

-- name: spend_site
UPDATE site SET has_work = 0, spent = 1 WHERE site_id = :site_id

-- name: wake_spent
UPDATE site SET spent = 0, has_work = 1, ready_at = paced_at
WHERE site_id IN (SELECT site_id FROM site WHERE spent = 1 AND (:site_limit IS NULL OR pages < :site_limit)
                  LIMIT :at_most)

-- ---------------------------------------------------------------- workers

-- name: join
-- plant: worker-number-reused
INSERT INTO worker (label, beat_at) VALUES (:label, :beat_at)

-- name: beat
UPDATE worker SET beats = beats + 1, figures = :figures, beat_at = :beat_at WHERE worker = :worker AND gone = 0

-- name: is_gone
SELECT gone FROM worker WHERE worker = :worker

-- name: declare_gone
UPDATE worker SET gone = 1 WHERE worker = :worker AND gone = 0

-- name: owned_sites
SELECT site_id, name, epoch, in_hand, max(delay_ms, :delay_ms) AS delay_ms, delay_ms AS own_delay_ms,
       failures, pages
FROM site WHERE owner = :worker LIMIT :at_most

-- name: workers
SELECT worker, label, beats, gone, figures, beat_at, (SELECT count(*) FROM site WHERE owner = worker) AS sites
FROM worker ORDER BY worker

-- ---------------------------------------------------------------- operator

-- name: exclude_site
UPDATE site SET excluded = 1 WHERE name = :site

-- name: readmit_site
UPDATE site SET excluded = 0 WHERE name = :site

-- name: add_exclusion
INSERT INTO exclusion (site) VALUES (:site) ON CONFLICT DO NOTHING

-- name: remove_exclusion
DELETE FROM exclusion WHERE site = :site

-- name: count_exclusion_change
UPDATE crawl SET exclusions = exclusions + 1, readmissions = readmissions + :readmissions

-- name: exclusions
SELECT site FROM exclusion

-- name: seeds_loaded
SELECT 1 FROM seeds_loaded WHERE digest = :digest

-- name: mark_seeds_loaded
INSERT INTO seeds_loaded (digest) VALUES (:digest) ON CONFLICT DO NOTHING

-- ---------------------------------------------------------------- reads

-- name: find_seen
SELECT seen.depth, seen.outcome, site.owner, q.rank, q.tries, q.via, q.not_before, q.added_at
FROM site JOIN seen USING (site_id) LEFT JOIN queue q USING (seq)
WHERE site.name = :site AND seen.url_hash = :url_hash

-- name: find_site
SELECT name, ready_at, has_work, owner, epoch, delay_ms, seeded, excluded, failures, pages, spent,
       (SELECT count(*) FROM queue WHERE queue.site_id = site.site_id) AS queued
FROM site WHERE name = :site

-- name: site_hosts
SELECT host.name, rules, expires_at, host.failures, failing_since, blocked_until, silent, given_up
FROM site JOIN host USING (site_id) WHERE site.name = :site AND rules IS NOT NULL ORDER BY host.name

-- name: walk_queue
-- One step of a walk over the queue of one site, along the index queue_order.
SELECT url, url_hash, not_before, rank, depth, seq FROM queue
WHERE site_id = (SELECT site_id FROM site WHERE name = :site)
  AND (not_before, rank, depth, seq) > (:not_before, :rank, :depth, :seq)
ORDER BY not_before, rank, depth, seq LIMIT :rows

-- name: given_up
SELECT reason, urls FROM given_up

-- name: seed_outcomes
SELECT outcome, seeds, example FROM seed_outcome ORDER BY outcome

-- name: find_barred
SELECT depth, reason FROM site JOIN barred USING (site_id) WHERE site.name = :site AND url_hash = :url_hash

-- name: count_spent
SELECT count(*) FROM site WHERE spent = 1

-- name: count_troubled
-- Exactly what the index site_troubled holds. From the third failure in a row on, a site backs off (`rules.pace`).
SELECT count(*) FROM site WHERE failures >= 3 AND has_work = 1 AND excluded = 0

-- name: count_troubled_hosts
-- What the index host_blocked holds beyond now; those of a site that is in trouble as a whole are counted with it.
SELECT count(*) FROM (
    SELECT 1 FROM host JOIN site USING (site_id)
    WHERE blocked_until > 0 AND blocked_until > :now_ms AND given_up IS NULL AND site.failures < 3 AND has_work = 1 AND excluded = 0
    LIMIT 100000)

-- name: sites_in_hand
SELECT count(*) FROM site WHERE owner IS NOT NULL

-- name: any_unsettled
-- The two partial indexes hold every site with something to settle, excluded ones apart.
SELECT EXISTS (SELECT 1 FROM site WHERE owner IS NULL AND has_work = 1 AND excluded = 0)
    OR EXISTS (SELECT 1 FROM site WHERE owner IS NOT NULL)

-- ---------------------------------------------------------------- audit

-- name: walk_seen
-- One step of a walk over all accepted URLs, by key: rows that others add or settle meanwhile do not disturb it.
-- It reads settled and unsettled rows alike, since a search for settled ones could take long to find the next.
SELECT seen.site_id, seen.url_hash, seen.outcome, site.name, queue.seq AS queued
FROM seen LEFT JOIN site USING (site_id) LEFT JOIN queue USING (seq)
WHERE (seen.site_id, seen.url_hash) > (:site_id, :url_hash)
ORDER BY seen.site_id, seen.url_hash LIMIT :rows

-- name: audit_queue
-- The arrival number is what ties a queued row to its accepted URL.
SELECT queue.seq, queue.url, seen.seq AS known_as, seen.outcome
FROM queue LEFT JOIN seen USING (site_id, url_hash)
WHERE queue.seq > :after ORDER BY queue.seq LIMIT :rows

-- name: audit_sites
-- A free site is due no later than its pace and its first eligible URL allow, or at the next claim if an earlier
-- one had more to move than fits into a transaction. That it has work while nothing is queued is no contradiction:
-- a late completion settled the last URL, and the next claim puts the site to rest.
SELECT site_id, name, owner, has_work, spent, in_hand,
       EXISTS (SELECT 1 FROM queue WHERE queue.site_id = site.site_id) AS has_queued,
       owner IS NULL AND has_work = 1 AND ready_at > max(
           paced_at, (SELECT clock_ms + 1 FROM crawl),
           coalesce((SELECT not_before FROM queue WHERE queue.site_id = site.site_id ORDER BY not_before LIMIT 1),
                    ready_at)) AS sleeps_too_long,
       owner IS NOT NULL AND owner NOT IN (SELECT worker FROM worker) AS owner_unknown,
       excluded <> (name IN (SELECT site FROM exclusion)) AS exclusion_differs
FROM site WHERE site_id > :after ORDER BY site_id LIMIT :rows

-- name: audit_barred
-- In steps, as above: a count of all at once would keep the write-ahead log from being emptied meanwhile.
SELECT site_id, url_hash, reason FROM barred
WHERE (site_id, url_hash) > (:site_id, :url_hash) ORDER BY site_id, url_hash LIMIT :rows

-- name: audit_counters
SELECT known, done, given_up, sites, sites_with_work, in_hand FROM crawl
