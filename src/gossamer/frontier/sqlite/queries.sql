-- Every statement that the SQLite engine runs on a crawl. Those that write run inside one BEGIN IMMEDIATE transaction,
-- so no other process writes between two of them: to read, decide and then write is correct here without row locks.

-- name: begin
-- Starts every transaction that writes. IMMEDIATE takes the write lock first: a deferred transaction that reads and
-- then writes fails if another process wrote in between.
-- plant: deferred-begin
BEGIN IMMEDIATE

-- name: crawl
-- Reads the settings, the clock and the counters of the crawl, at the start of every transaction. The table has one
-- row.
SELECT normaliser, suffix_list, state, delay_ms, page_limit, scope, clock_ms, clock_offset_ms, exclusions, next_seq,
       site_limit, readmissions, sites, sites_with_work, known, done, pages, given_up, in_hand, identity, standing, move,
       moved_to, seed_ports
FROM crawl

-- name: save_crawl
-- Writes the clock and the counters back at the end of a transaction. The clock is saved with every write, so that
-- after a crash it continues from a time no later than the crash.
UPDATE crawl SET clock_ms = :clock_ms, next_seq = :next_seq, sites = :sites, sites_with_work = :sites_with_work,
                 known = :known, done = :done, pages = :pages, given_up = :given_up, in_hand = :in_hand

-- name: resume
-- Sets the terms of a start. One row, in one transaction, so that no worker sees half of them. A pause is the operator's:
-- only the operator ends it, not a restart.
UPDATE crawl SET state = CASE state WHEN 'paused' THEN state ELSE 'running' END, delay_ms = :delay_ms, page_limit = :page_limit, scope = :scope,
                 site_limit = :site_limit, clock_offset_ms = :clock_offset_ms

-- name: order
-- Sets what all workers are told with their next heartbeat.
UPDATE crawl SET state = :state

-- ---------------------------------------------------------------- add

-- name: create_stage
-- Creates the table that holds the keys of a batch of links while they are looked up, in the order in which `seen` has
-- them. TEMP: each connection has its own, so that batches never mix.
CREATE TEMP TABLE stage (
    site_id INTEGER, url_hash BLOB, seq INTEGER NOT NULL, depth INTEGER NOT NULL, PRIMARY KEY (site_id, url_hash)
    ) WITHOUT ROWID

-- name: clear_stage
-- Removes the batch before: the table lives as long as the connection.
DELETE FROM temp.stage

-- name: stage_link
-- Stages the key of one link, with its arrival number. A batch has each URL once.
INSERT INTO temp.stage (site_id, url_hash, seq, depth) VALUES (?, ?, ?, ?)

-- name: save_seed_ports
-- Lists the ports of all seeds. The list was read in the same transaction.
UPDATE crawl SET seed_ports = :ports

-- name: find_sites
-- Finds sites by their unique names, with what a link changes: whether they are seeded, at rest, or wait for deferred
-- URLs only. CROSS JOIN: one search of the index for each name.
SELECT site.name, site_id, seeded, has_work = 0 AND spent = 0, has_work = 1 AND ready_at > paced_at
FROM json_each(:names) AS d CROSS JOIN site ON site.name = d.value

-- name: add_site
-- Creates a site before its first URL: a URL always has a site that can be owned. The site takes over an exclusion
-- that came before it.
INSERT INTO site (name, paced_at, ready_at, has_work, seeded, excluded)
VALUES (:site, :now_ms, :now_ms, 1, :seeded, :site IN (SELECT site FROM exclusion))

-- name: mark_seeded
-- Marks a site that was known before and is now a seed's. Nothing ever removes the mark.
UPDATE site SET seeded = 1 WHERE name = :site

-- name: mark_seeded_host
-- Marks the host of a seed. The conflict clause makes a repetition harmless.
INSERT INTO host (site_id, name, seeded) VALUES (?, ?, 1)
ON CONFLICT (site_id, name) DO UPDATE SET seeded = 1

-- name: seeded_sites
-- Finds which of these sites the scope `site` admits: those that are seeded.
SELECT site.name FROM json_each(:names) AS d CROSS JOIN site ON site.name = d.value WHERE seeded = 1

-- name: is_seeded_name
-- Returns a row if the scope `host` admits a link: a host of this name is seeded, whatever its scheme and port. `;` is
-- the character after `:`, so that each range holds one name with every port.
SELECT 1 FROM site JOIN host USING (site_id)
WHERE site.name = :site AND host.seeded = 1 AND (
    host.name IN ('http://' || :name, 'https://' || :name)
    OR (host.name > 'http://' || :name || ':' AND host.name < 'http://' || :name || ';')
    OR (host.name > 'https://' || :name || ':' AND host.name < 'https://' || :name || ';'))

-- name: add_seen
-- Accepts the staged links in key order, so that each page of the tree is touched once. A queued URL that comes again
-- from nearer to a seed takes the smaller depth. Returns the new ones, which carry their own arrival numbers, and those
-- that took a smaller depth, which carry their old ones.
INSERT INTO seen (site_id, url_hash, seq, depth)
SELECT site_id, url_hash, seq, depth FROM temp.stage WHERE true ORDER BY site_id, url_hash
ON CONFLICT (site_id, url_hash) DO UPDATE SET depth = excluded.depth
    WHERE excluded.depth < seen.depth AND seen.outcome IS NULL
RETURNING seq, depth

-- name: add_queue
-- Queues a link that add_seen accepted as new, and only such: each accepted URL has at most one row in the queue.
INSERT INTO queue (seq, site_id, rank, depth, hops, kind, url_hash, via, url, added_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: lower_depth
-- Gives a queued URL the smaller depth that add_seen took in.
UPDATE queue SET depth = ? WHERE seq = ?

-- name: wake_site
-- Makes a site with new URLs claimable that was at rest, or due at its pace if it only waited for deferred URLs. No
-- wake-up is lost: a transaction that puts a site to rest reads the queue itself, so it comes completely before or
-- completely after this one, which has read the site. A site that has reached its page limit stays at rest.
UPDATE site SET has_work = 1, ready_at = paced_at
-- plant: lost-wake-up
WHERE site_id = ?

-- ---------------------------------------------------------------- claim

-- name: due_sites
-- Finds the most overdue sites that may be claimed. It walks the partial index site_ready from its head, so the cost
-- does not grow with the crawl.
SELECT site_id, name, epoch, max(delay_ms, :delay_ms) AS delay_ms, delay_ms AS own_delay_ms, failures, pages
FROM site
-- plant: excluded-sites-claimed
WHERE owner IS NULL AND has_work = 1 AND excluded = 0 AND ready_at <= :now_ms
ORDER BY ready_at LIMIT :sites

-- name: wake_deferred
-- Returns retries and formerly blocked URLs to the order when their time has come; a bounded number at a time.
UPDATE queue SET not_before = 0
WHERE seq IN (SELECT seq FROM queue WHERE site_id = :site_id AND not_before > 0
              -- plant: retry-waits-ignored
              AND not_before <= :now_ms
              ORDER BY not_before, rank, depth, seq LIMIT :at_most)

-- name: next_urls
-- Reads the head of a site's queue in the order of fetching, with the blocks of its hosts, so that the claim can
-- leave those URLs out.
SELECT q.url, q.url_hash, q.host, q.depth, q.rank, q.hops, q.tries, q.kind, q.via, h.blocked_until, h.given_up
FROM queue q LEFT JOIN host h ON h.site_id = q.site_id AND h.name = q.host
WHERE q.site_id = :site_id AND q.not_before = 0
ORDER BY q.rank, q.depth, q.seq LIMIT :urls

-- name: known_hosts
-- Reads the robots rules that go with a claim. The hosts of the URLs come first, then others that answer: a redirect
-- may lead there in the same turn, and they prove that the site answers.
SELECT name, rules, expires_at, failures, failing_since, blocked_until, silent, given_up
FROM host
WHERE site_id = :site_id AND rules IS NOT NULL
  -- plant: silent-hosts-in-claim
  AND (silent = 0 OR name IN (SELECT value FROM json_each(:hosts)))
ORDER BY name NOT IN (SELECT value FROM json_each(:hosts)) LIMIT :at_most

-- name: defer_blocked
-- Takes the URLs of a blocked host out of the order until the block ends. It searches only the head of the queue, so
-- that the statement stays short however long the queue is; the rest follows when it becomes the head.
UPDATE queue SET not_before = :blocked_until
WHERE seq IN (SELECT seq FROM (SELECT seq, host FROM queue WHERE site_id = :site_id AND not_before = 0
                               ORDER BY rank, depth, seq LIMIT :at_most) WHERE host = :host)

-- name: head_of_host
-- Finds the queued URLs of a host that was given up, deferred or not, among the first URLs of its site, for the same
-- reason as defer_blocked.
SELECT seq, url_hash, depth, url
FROM (SELECT seq, url_hash, depth, url, host FROM queue WHERE site_id = :site_id
      ORDER BY not_before, rank, depth, seq LIMIT :at_most) WHERE host = :host

-- name: own_site
-- Gives a due site to a worker. due_sites read it in the same transaction, so no other worker can own it. The new
-- epoch fences off late reports of earlier owners.
UPDATE site SET owner = :worker, epoch = :epoch, in_hand = :urls WHERE site_id = :site_id

-- name: first_queued
-- Tells when a site next has something to fetch. The head of the index queue_order is enough: no row: nothing is
-- queued; 0: a URL is eligible; else the time when the first one wakes.
SELECT not_before FROM queue WHERE site_id = :site_id ORDER BY not_before LIMIT 1

-- name: rest_site
-- Lets a site wait until its first URL is eligible, or marks it as having no work. The queue was read in the same
-- transaction.
UPDATE site SET has_work = :has_work, ready_at = :ready_at WHERE site_id = :site_id

-- name: next_ready
-- Tells when the next claim can return something: the head of the partial index site_ready.
SELECT min(ready_at) FROM site WHERE owner IS NULL AND has_work = 1 AND excluded = 0

-- name: count_owned
-- Counts the sites that a worker owns, for its fair share.
SELECT count(*) FROM site WHERE owner = :worker

-- name: count_live_workers
-- Counts the workers among which the sites with work are shared.
SELECT count(*) FROM worker WHERE gone = 0

-- ---------------------------------------------------------------- complete

-- name: visited_site
-- Reads the owner and the epoch of a visited site. The report may change its schedule only if both are the
-- reporter's.
SELECT site_id, owner, epoch, in_hand, has_work, pages FROM site WHERE name = :site

-- name: count_pages
-- Counts the stored pages of a site, for the limit of pages per site.
UPDATE site SET pages = pages + :pages WHERE site_id = :site_id

-- name: settle_seen
-- Records the outcome of a URL. An outcome is never overwritten: a repeated report, after a crash or by a late
-- worker, changes nothing.
UPDATE seen SET outcome = :outcome WHERE site_id = :site_id AND url_hash = :url_hash AND outcome IS NULL

-- name: settle_queue
-- Removes a URL that is barred from the queue; returns a row only if it was queued.
DELETE FROM queue
WHERE seq = (SELECT seq FROM seen WHERE site_id = :site_id AND url_hash = :url_hash)
RETURNING depth, url

-- name: settle_all_seen
-- Records one outcome of many URLs of a site, given as one blob of their hashes: each statement lets the other thread
-- run, and waits for it. The rows are counted only if the statement begins with UPDATE.
UPDATE seen SET outcome = :outcome
WHERE site_id = :site_id AND outcome IS NULL AND url_hash IN (
    WITH RECURSIVE place (at) AS (SELECT 1 UNION ALL SELECT at + 16 FROM place WHERE at + 16 < length(:hashes))
    SELECT substr(:hashes, at, 16) FROM place
)

-- name: queued_seeds
-- Finds the seeds among the URLs of a site that are being settled, if they are still queued: each is counted once.
SELECT url FROM queue
WHERE depth = 0 AND seq IN (
    SELECT seq FROM seen WHERE site_id = :site_id AND url_hash IN (
        WITH RECURSIVE place (at) AS (SELECT 1 UNION ALL SELECT at + 16 FROM place WHERE at + 16 < length(:hashes))
        SELECT substr(:hashes, at, 16) FROM place
    )
)

-- name: settle_all_queued
-- Removes settled URLs of a site from the queue.
DELETE FROM queue
WHERE seq IN (
    SELECT seq FROM seen WHERE site_id = :site_id AND url_hash IN (
        WITH RECURSIVE place (at) AS (SELECT 1 UNION ALL SELECT at + 16 FROM place WHERE at + 16 < length(:hashes))
        SELECT substr(:hashes, at, 16) FROM place
    )
)

-- name: drop_queued
-- Removes a URL of a host that was given up, by its key.
DELETE FROM queue WHERE seq = :seq

-- name: count_given_up
-- Adds to the number of URLs that were given up for a reason; `urls` may be negative when barred URLs come back.
INSERT INTO given_up (reason, urls) VALUES (:reason, :urls)
ON CONFLICT (reason) DO UPDATE SET urls = urls + excluded.urls

-- name: count_seed
-- Counts a settled seed under its outcome. The first one stays as the example.
INSERT INTO seed_outcome (outcome, seeds, example) VALUES (:outcome, 1, :url)
ON CONFLICT (outcome) DO UPDATE SET seeds = seeds + 1

-- name: retry_later
-- Defers a queued URL until its retry, and counts the try if it counts. A settled URL has no row in the queue any
-- more and stays settled.
UPDATE queue SET not_before = :not_before, tries = tries + :counted
WHERE seq = (SELECT seq FROM seen WHERE site_id = :site_id AND url_hash = :url_hash)

-- name: keep_host
-- Stores what a host's robots.txt said and how the host answers. The last report replaces all of it, except whether
-- the host is seeded.
INSERT INTO host (site_id, name, rules, expires_at, failures, failing_since, blocked_until, silent, given_up)
VALUES (:site_id, :name, :rules, :expires_at, :failures, :failing_since, :blocked_until, :silent, :given_up)
ON CONFLICT (site_id, name) DO UPDATE SET rules = excluded.rules, expires_at = excluded.expires_at,
    failures = excluded.failures, failing_since = excluded.failing_since, blocked_until = excluded.blocked_until,
    silent = excluded.silent, given_up = excluded.given_up

-- name: keep_delay
-- Raises a site's own delay without releasing the site. A late report can never make it shorter.
UPDATE site SET delay_ms = max(delay_ms, :delay_ms) WHERE site_id = :site_id

-- name: release_site
-- Releases a site with its next due time. The caller has compared owner and epoch in the same transaction.
UPDATE site SET owner = NULL, in_hand = 0, delay_ms = :delay_ms, failures = :failures, paced_at = :paced_at, has_work = :has_work,
                ready_at = :ready_at, spent = :spent
WHERE site_id = :site_id

-- ---------------------------------------------------------------- rules and limits of the operator

-- name: bar_url
-- Copies a queued URL to the barred ones, complete, so that other rules can bring it back. A URL that was barred
-- before keeps the row that it had.
INSERT INTO barred (site_id, url_hash, rank, depth, hops, kind, via, reason, url)
SELECT site_id, url_hash, rank, depth, hops, kind, via, :reason, url FROM queue
WHERE seq = (SELECT seq FROM seen WHERE site_id = :site_id AND url_hash = :url_hash)
ON CONFLICT DO NOTHING

-- name: forget_seen
-- Removes a barred URL from the accepted ones, so that a link or `admit` can bring it back.
DELETE FROM seen WHERE site_id = :site_id AND url_hash = :url_hash

-- name: forget_done
-- Removes a done page from the accepted URLs, because its row in the store is lost: it is added again.
DELETE FROM seen
WHERE site_id = (SELECT site_id FROM site WHERE name = :site) AND url_hash = :url_hash AND outcome = ''
RETURNING site_id

-- name: unbar_url
-- Removes a barred URL, if it is still barred for this reason: what was barred again for another reason since stays.
DELETE FROM barred
WHERE site_id = (SELECT site_id FROM site WHERE name = :site) AND url_hash = :url_hash AND reason = :reason

-- name: walk_all_queued
-- One step of a walk over the queue, by key: rows that come or go meanwhile do not disturb it.
SELECT queue.seq, name, url, url_hash, rank, depth, hops, kind, via, tries, not_before, added_at
FROM queue JOIN site USING (site_id) WHERE queue.seq > :after ORDER BY queue.seq LIMIT :rows

-- name: walk_barred
-- One step of a walk over the barred URLs, by key: rows that come or go meanwhile do not disturb it.
SELECT site_id, name, url, url_hash, rank, depth, hops, kind, via, reason
FROM barred JOIN site USING (site_id)
WHERE (site_id, url_hash) > (:site_id, :url_hash) ORDER BY site_id, url_hash LIMIT :rows

-- name: spend_site
-- Lets a site rest that has reached its page limit, even if URLs of it are queued. `spent` keeps new links from
-- waking it.
UPDATE site SET has_work = 0, spent = 1 WHERE site_id = :site_id

-- name: wake_spent
-- Wakes sites at rest that a larger limit leaves pages; a bounded number at a time. The next claim reads what is
-- queued of them.
UPDATE site SET spent = 0, has_work = 1, ready_at = paced_at
WHERE site_id IN (SELECT site_id FROM site WHERE spent = 1 AND (:site_limit IS NULL OR pages < :site_limit)
                  LIMIT :at_most)

-- ---------------------------------------------------------------- workers

-- name: join
-- Adds a worker. The key is AUTOINCREMENT: SQLite never gives a number out again, so a dead worker's reports cannot
-- pass for another's.
-- plant: worker-number-reused
INSERT INTO worker (label, beat_at) VALUES (:label, :beat_at)

-- name: beat
-- Counts a heartbeat. No row changes if the worker was declared dead: it then learns that it is gone.
UPDATE worker SET beats = beats + 1, figures = :figures, beat_at = :beat_at WHERE worker = :worker AND gone = 0

-- name: shares
-- Reads this worker's share of each address, how many workers live, and what the others have together.
SELECT mine.share_parts, mine.share_version, count(*) AS live,
       sum(CASE WHEN w.worker = mine.worker THEN 0 ELSE w.share_parts END) AS others
FROM worker mine JOIN worker w ON w.gone = 0 WHERE mine.worker = :worker

-- name: set_share
-- Changes this worker's share. Transactions that write come one after the other, so the sum that was read still holds.
UPDATE worker SET share_parts = :parts, share_version = :version WHERE worker = :worker

-- name: is_gone
-- Tells whether the worker that claims was declared dead. A dead worker gets nothing.
SELECT gone FROM worker WHERE worker = :worker

-- name: declare_gone
-- Declares a worker dead. Nothing ever takes that back.
UPDATE worker SET gone = 1 WHERE worker = :worker AND gone = 0

-- name: owned_sites
-- Finds the sites that a worker owns, to free them or compare them with what it holds. A bounded number, so that a
-- transaction stays short.
SELECT site_id, name, epoch, in_hand, max(delay_ms, :delay_ms) AS delay_ms, delay_ms AS own_delay_ms,
       failures, pages
FROM site WHERE owner = :worker LIMIT :at_most

-- name: workers
-- Lists all workers with the number of sites that each owns, in the order of joining.
SELECT worker, label, beats, gone, figures, beat_at, (SELECT count(*) FROM site WHERE owner = worker) AS sites
FROM worker ORDER BY worker

-- ---------------------------------------------------------------- operator

-- name: exclude_site
-- Marks a known site as excluded: claims leave it out, and its queue stays.
UPDATE site SET excluded = 1 WHERE name = :site

-- name: readmit_site
-- Removes the mark. The site's schedule was kept, so it is due when its pace allows.
UPDATE site SET excluded = 0 WHERE name = :site

-- name: add_exclusion
-- Adds an entry to the list of exclusions; a site that is created later looks itself up there.
INSERT INTO exclusion (site) VALUES (:site) ON CONFLICT DO NOTHING

-- name: remove_exclusion
-- Removes an entry from the list of exclusions.
DELETE FROM exclusion WHERE site = :site

-- name: count_exclusion_change
-- Raises the version of the list: a worker that knows an older one gets the whole list with its next heartbeat.
UPDATE crawl SET exclusions = exclusions + 1, readmissions = readmissions + :readmissions

-- name: exclusions
-- Reads the whole list of exclusions.
SELECT site FROM exclusion

-- name: seeds_loaded
-- Returns a row if a seed file with this digest was loaded completely.
SELECT 1 FROM seeds_loaded WHERE digest = :digest

-- name: mark_seeds_loaded
-- Records that a seed file was loaded completely. Harmless when repeated.
INSERT INTO seeds_loaded (digest) VALUES (:digest) ON CONFLICT DO NOTHING

-- ---------------------------------------------------------------- reads

-- name: find_seen
-- Finds the state of a URL: accepted, and queued if it has a row in the queue.
SELECT seen.depth, seen.outcome, site.owner, q.rank, q.tries, q.via, q.not_before, q.added_at
FROM site JOIN seen USING (site_id) LEFT JOIN queue q USING (seq)
WHERE site.name = :site AND seen.url_hash = :url_hash

-- name: find_site
-- Finds the state of a site by its name, and counts its queue.
SELECT name, ready_at, has_work, owner, epoch, delay_ms, seeded, excluded, failures, pages, spent,
       (SELECT count(*) FROM queue WHERE queue.site_id = site.site_id) AS queued
FROM site WHERE name = :site

-- name: list_sites
-- One step of a walk over all sites, by key. Their queues are counted only if the reader asks: that reads the index.
SELECT site_id, name, ready_at, has_work, owner, epoch, delay_ms, seeded, excluded, failures, pages, spent,
       CASE WHEN :with_queued THEN (SELECT count(*) FROM queue WHERE queue.site_id = site.site_id) ELSE 0 END AS queued
FROM site WHERE site_id > :after ORDER BY site_id LIMIT :rows

-- name: site_hosts
-- Lists the hosts of a site whose robots.txt was requested: a host that is only seeded has no rules yet.
SELECT host.name, rules, expires_at, host.failures, failing_since, blocked_until, silent, given_up
FROM site JOIN host USING (site_id) WHERE site.name = :site AND rules IS NOT NULL ORDER BY host.name

-- name: walk_queue
-- One step of a walk over the queue of one site, along the index queue_order.
SELECT :site AS name, url, url_hash, not_before, rank, depth, seq, via, tries, added_at FROM queue
WHERE site_id = (SELECT site_id FROM site WHERE name = :site)
  AND (not_before, rank, depth, seq) > (:not_before, :rank, :depth, :seq)
ORDER BY not_before, rank, depth, seq LIMIT :rows

-- name: given_up
-- Reads the number of URLs that were given up, by reason. They are counted as they are settled.
SELECT reason, urls FROM given_up

-- name: seed_outcomes
-- Reads how many seeds ended how. They are counted as they are settled.
SELECT outcome, seeds, example FROM seed_outcome ORDER BY outcome

-- name: find_barred
-- Finds a URL among the barred ones.
SELECT depth, reason FROM site JOIN barred USING (site_id) WHERE site.name = :site AND url_hash = :url_hash

-- name: count_spent
-- Counts the sites that have reached their page limit: exactly what the index site_spent holds.
SELECT count(*) FROM site WHERE spent = 1

-- name: count_troubled
-- Counts the sites that back off: exactly what the index site_troubled holds. A site backs off from the third failure
-- in a row on (`rules.pace`).
SELECT count(*) FROM site WHERE failures >= 3 AND has_work = 1 AND excluded = 0

-- name: count_troubled_hosts
-- Counts the hosts that back off: what the index host_blocked holds beyond now. A host of a site that backs off as a
-- whole is counted with that site. LIMIT bounds the cost.
SELECT count(*) FROM (
    SELECT 1 FROM host JOIN site USING (site_id)
    WHERE blocked_until > 0 AND blocked_until > :now_ms AND given_up IS NULL AND site.failures < 3 AND has_work = 1 AND excluded = 0
    LIMIT 100000)

-- name: sites_in_hand
-- Counts the owned sites, over the partial index of owners.
SELECT count(*) FROM site WHERE owner IS NOT NULL

-- name: any_unsettled
-- Tells whether anything is left to settle. The two partial indexes hold every site with something to settle,
-- excluded ones apart.
SELECT EXISTS (SELECT 1 FROM site WHERE owner IS NULL AND has_work = 1 AND excluded = 0)
    OR EXISTS (SELECT 1 FROM site WHERE owner IS NOT NULL)

-- ---------------------------------------------------------------- audit

-- name: walk_seen
-- One step of a walk over all accepted URLs, by key: rows that are added or settled meanwhile do not disturb it. It
-- reads settled and unsettled rows, since a search for settled ones alone could take long to find the next.
SELECT seen.site_id, seen.url_hash, seen.outcome, site.name, queue.seq AS queued
FROM seen LEFT JOIN site USING (site_id) LEFT JOIN queue USING (seq)
WHERE (seen.site_id, seen.url_hash) > (:site_id, :url_hash)
ORDER BY seen.site_id, seen.url_hash LIMIT :rows

-- name: audit_queue
-- One step of a walk over the queue, each row with its accepted URL. The arrival number ties the two together.
SELECT queue.seq, queue.url, seen.seq AS known_as, seen.outcome
FROM queue LEFT JOIN seen USING (site_id, url_hash)
WHERE queue.seq > :after ORDER BY queue.seq LIMIT :rows

-- name: audit_sites
-- One step of a walk over all sites, with what would contradict itself. A free site is due no later than its pace and
-- its first eligible URL allow, or at the next claim if an earlier one had more to move than fits into a transaction.
-- A site that has work while nothing is queued is no contradiction: a late completion settled the last URL, and the
-- next claim puts the site to rest.
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
-- One step of a walk over the barred URLs, to count them by reason. In steps: one long read would keep the
-- write-ahead log from being emptied.
SELECT site_id, url_hash, reason FROM barred
WHERE (site_id, url_hash) > (:site_id, :url_hash) ORDER BY site_id, url_hash LIMIT :rows

-- name: audit_counters
-- Reads the counters that the audit compares with what it counts.
SELECT known, done, given_up, sites, sites_with_work, in_hand FROM crawl
