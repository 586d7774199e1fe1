"""Every bug that is planted, and who has to notice it. Pure."""

from __future__ import annotations

from typing import Final

from chaos.planted.planting import Bug

SUITE: Final = "tests/frontier/conformance"
POSTGRES: Final = "tests/frontier/postgres"

ENGINE_BUGS: Final = {
    "no epoch check": Bug(
        file="frontier/sqlite/completing.py",
        right='(site["owner"], site["epoch"]) == (worker, visit.epoch)',
        wrong='site["owner"] == worker',
        tests=f"{SUITE}/test_complete.py",
        only="sqlite",
    ),
    "no owner check": Bug(
        file="frontier/sqlite/completing.py",
        right='(site["owner"], site["epoch"]) == (worker, visit.epoch)',
        wrong="True",
        tests=f"{SUITE}/test_complete.py",
        only="sqlite",
    ),
    "recovery without delay": Bug(
        file="frontier/sqlite/completing.py",
        right='paced_ms = tx.after_ms(site["delay_ms"] / 1000)',
        wrong="paced_ms = tx.now_ms",
        tests=f"{SUITE}/test_ownership.py",
        only="sqlite",
    ),
    "claim ignores blocked hosts": Bug(
        file="frontier/sqlite/claiming.py",
        right='if (row["blocked_until"] or 0) > tx.now_ms}',
        wrong="if False}",
        tests=f"{SUITE}/test_claim.py",
        only="sqlite",
    ),
    "what is queued of a host that is given up waits": Bug(
        file="frontier/sqlite/claiming.py",
        right='            if row["given_up"]:\n',
        wrong="            if False:\n",
        tests=f"{SUITE}/test_claim.py",
        only="sqlite",
    ),
    "claims bring hosts that do not answer in place of those that do": Bug(
        file="frontier/sqlite/queries.sql",
        right="AND (silent = 0 OR name IN (SELECT value FROM json_each(:hosts)))",
        wrong="",
        tests=f"{SUITE}/test_claim.py",
        only="sqlite",
    ),
    "postgres: what is queued of a host that is given up waits": Bug(
        file="frontier/postgres/claiming.py",
        right="            if row.given_up:\n",
        wrong="            if False:\n",
        tests=f"{SUITE}/test_claim.py",
        only="postgres",
        server=True,
    ),
    "claim ignores retry waits": Bug(
        file="frontier/sqlite/queries.sql",
        right="AND not_before > 0 AND not_before <= :now_ms",
        wrong="AND not_before > 0 AND :now_ms > 0",
        tests=f"{SUITE}/test_claim.py",
        only="sqlite",
    ),
    "completion is not atomic": Bug(
        file="frontier/sqlite/engine.py",
        right="            new = add_links(tx, admitted)\n            late",
        wrong='            new = add_links(tx, admitted)\n            tx.save()\n            self._execute("COMMIT")\n'
        '            self._execute("BEGIN IMMEDIATE")\n            late',
        tests=f"{SUITE}/test_crashes.py",
        only="sqlite",
    ),
    "deferred BEGIN": Bug(
        file="frontier/sqlite/queries.sql",
        right="\nBEGIN IMMEDIATE\n",
        wrong="\nBEGIN\n",
        tests="tests/frontier/test_sqlite.py",
        only="sqlite",
    ),
    "lost wake-up": Bug(
        file="frontier/sqlite/adding.py",
        right='tx.sites_with_work += tx.execute(SQL["wake_idle_sites"]).rowcount',
        wrong='tx.sites_with_work += tx.execute(SQL["wake_idle_sites"] + " AND epoch = 0").rowcount',
        tests=f"{SUITE}/test_crashes.py",
        only="sqlite",
    ),
    "page limit overrun": Bug(
        file="frontier/sqlite/claiming.py",
        right="rows = rows[: tx.pages_left]",
        wrong="rows = rows[: tx.page_limit]",
        tests=f"{SUITE}/test_operator.py",
        only="sqlite",
    ),
    "page limit not given back": Bug(
        file="frontier/sqlite/completing.py",
        right='tx.in_hand -= site["in_hand"]',
        wrong="pass",
        tests=f"{SUITE}/test_operator.py",
        only="sqlite",
    ),
    "depth not lowered": Bug(
        file="frontier/sqlite/adding.py",
        right="if changed > new:",
        wrong="if False:",
        tests=f"{SUITE}/test_add.py",
        only="sqlite",
    ),
    "what the scope refused is believed known": Bug(
        file="frontier/sqlite/engine.py",
        right="                new += add_links(tx, admitted)\n            self._recent.remember(admitted)",
        wrong="                new += add_links(tx, admitted)\n            self._recent.remember(part)",
        tests=f"{SUITE}/test_add.py",
        only="sqlite",
    ),
    "excluded sites are claimed": Bug(
        file="frontier/sqlite/queries.sql",
        right="WHERE owner IS NULL AND has_work = 1 AND excluded = 0 AND ready_at <= :now_ms",
        wrong="WHERE owner IS NULL AND has_work = 1 AND ready_at <= :now_ms",
        tests=f"{SUITE}/test_operator.py",
        only="sqlite",
    ),
    "the dead may claim": Bug(
        file="frontier/sqlite/engine.py",
        right='fetchone()["gone"]:',
        wrong='fetchone()["gone"] > 1:',
        tests=f"{SUITE}/test_ownership.py",
        only="sqlite",
    ),
    "the clock runs on while nobody crawls": Bug(
        file="frontier/sqlite/database.py",
        right="        self.now_ms = self.wait_from_ms = self._saved_ms\n",
        wrong="        self._saved_ms = self.now_ms\n",
        tests=f"{SUITE}/test_ownership.py",
        only="sqlite",
    ),
    "waits are rounded down": Bug(
        file="frontier/sqlite/database.py",
        right="return self.wait_from_ms + math.ceil(max(0.0, wait_s) * 1000)",
        wrong="return self.now_ms + math.floor(max(0.0, wait_s) * 1000)",
        tests=f"{SUITE}/test_ownership.py",
        only="sqlite",
    ),
    "postgres: no epoch check": Bug(
        file="frontier/postgres/completing.py",
        right="(row.owner, row.epoch) != (tx.worker, visit.epoch)",
        wrong="row.owner != tx.worker",
        tests=f"{SUITE}/test_complete.py",
        only="postgres",
        server=True,
    ),
    "postgres: recovery without delay": Bug(
        file="frontier/postgres/releasing.py",
        right="paced_ms=tx.wait_from_ms + max(row.delay_ms, tx.delay_ms)",
        wrong="paced_ms=tx.wait_from_ms",
        tests=f"{SUITE}/test_ownership.py",
        only="postgres",
        server=True,
    ),
    "postgres: claims lock nothing": Bug(
        file="frontier/postgres/queries.sql",
        right=" LIMIT %(sites)s FOR NO KEY UPDATE SKIP LOCKED",
        wrong=" LIMIT %(sites)s",
        tests=f"{POSTGRES}/test_neighbours.py::test_a_site_whose_claim_is_not_committed_is_nobody_elses",
        only="postgres",
        server=True,
    ),
    "postgres: adding without a lock on the site": Bug(
        file="frontier/postgres/queries.sql",
        right="ORDER BY site_id FOR KEY SHARE",
        wrong="ORDER BY site_id",
        tests=f"{POSTGRES}/test_wakeups.py::test_a_link_that_comes_while_its_site_is_being_put_to_rest_wakes_it",
        only="postgres",
        server=True,
    ),
    "postgres: no second look before a site rests": Bug(
        file="frontier/postgres/releasing.py",
        right="        first.update(dict.fromkeys(resting, 0))\n        first.update(first_queued(tx, locked))\n",
        wrong="        first.update(dict.fromkeys(set(resting) - set(locked), 0))\n",
        tests=f"{POSTGRES}/test_wakeups.py::test_a_link_that_comes_just_before_its_site_is_locked_to_be_put_to_rest_is_seen",
        only="postgres",
        server=True,
    ),
    "postgres: a jump of the server's clock is followed": Bug(
        file="frontier/postgres/crawl_clock.py",
        right="if self._run != reading.run:",
        wrong="if True:",
        tests=f"{POSTGRES}/test_leases.py::test_a_jump_of_the_servers_clock_is_followed_by_nobody",
        only="postgres",
        server=True,
    ),
}

CRAWL_BUGS: Final = {
    "a completed page is not on disk": Bug(
        file="worker/desk.py", right="        self._store.sync()\n", wrong="", seeds=5
    ),
    "the lease is not looked at": Bug(
        file="worker/lease.py",
        right="return self._length_s == math.inf or self._clock() - self._renewed_s < self._length_s / 2",
        wrong="return True",
        tests="tests/worker/test_lease.py",
    ),
    "requests begin without a lease": Bug(
        file="worker/desk.py",
        right="        return self._lease.may_start and (finishing or",
        wrong="        return (finishing or",
        seeds=300,
        fault="lease",
    ),
    "a busy site gets a second turn": Bug(
        file="workbench.py",
        right="            self._dropped[name] = site\n",
        wrong="            pass\n",
        tests="tests/test_workbench.py",
    ),
    "who was declared dead keeps its sites": Bug(
        file="worker/desk.py", right="            self._bench.clear()\n", wrong="", seeds=500, fault="lease"
    ),
    "rules are not written down before the page": Bug(
        file="worker/permissions.py",
        right="        await committed  # the rules",
        wrong="        # the rules",
        seeds=20,
    ),
    "a redirect is followed without asking robots.txt": Bug(
        file="worker/worker.py",
        right="        if not await self._permissions.is_allowed(turn, url):",
        wrong="        if not url.hops and not await self._permissions.is_allowed(turn, url):",
        seeds=100,
    ),
    "Retry-After is not heard": Bug(
        file="worker/settling.py",
        right="            turn.retry_after_s = verdict.retry_after_s\n",
        wrong="            pass\n",
        seeds=50,
    ),
    "Crawl-delay is not heeded": Bug(
        file="worker/permissions.py",
        right="        site.own_delay_s = max(site.own_delay_s, asked_delay_s(site.hosts.values()))\n",
        wrong="",
        seeds=50,
    ),
    "what failed is asked for again at once": Bug(
        file="worker/settling.py",
        right="Retry(wait_s=verdict.wait_s, counted=verdict.counted)",
        wrong="Retry(wait_s=0.0, counted=verdict.counted)",
        seeds=20,
    ),
    "an outage of ours burns tries": Bug(
        file="worker/settling.py",
        right="Retry(wait_s=0, counted=False)",
        wrong="Retry(wait_s=0.1, counted=True)",
        seeds=20,
        fault="outage",
    ),
    "the delay runs from the beginning of a request": Bug(
        file="worker/asking.py",
        right="        finally:\n            turn.ended_s = self._clock()\n",
        wrong="        finally:\n            pass\n",
        seeds=20,
    ),
    "waits are counted on the wall clock": Bug(
        file="frontier/clock.py",
        right='getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)',
        wrong="time.CLOCK_REALTIME",
        tests="tests/frontier/test_clock.py",
    ),
    "the crawl clock is the wall clock": Bug(
        file="frontier/sqlite/database.py",
        right="                tx = Transaction(self.connection, self._clock())\n",
        wrong="                tx = Transaction(self.connection, time.time())\n",
        tests=f"{SUITE}/test_ownership.py",
        only="sqlite",
    ),
    "links are believed committed before they are": Bug(
        file="frontier/sqlite/engine.py",
        right="        unknown = self._recent.unknown(batch.links)\n",
        wrong="        unknown = self._recent.unknown(batch.links)\n        self._recent.remember(unknown)\n",
        also=("            self._recent.clear()\n", "            pass\n"),
        seeds=200,
        fault="database",
    ),
    "a host is taken for a site": Bug(
        file="urls.py",
        right="    return _suffixes().privatesuffix(name) or name\n",
        wrong="    return name\n",
        seeds=20,
    ),
    "a failed report is taken for handed in": Bug(
        file="worker/desk.py",
        right="                lost += self._frontier.complete(page.batch(self._clock())).lost\n"
        "                page.is_handed_in = True\n",
        wrong="                page.is_handed_in = True\n"
        "                lost += self._frontier.complete(page.batch(self._clock())).lost\n",
        seeds=60,
        fault="database",
    ),
    "after an unknown result nobody asks what is owned": Bug(
        file="worker/desk.py",
        right="            self._unsure = True\n",
        wrong="            pass\n",
        seeds=60,
        fault="database",
    ),
    "a late report drops what was claimed again": Bug(
        file="worker/desk.py",
        right="            if held.get(site) == epoch:",
        wrong="            if site in held:",
        tests="tests/worker/test_desk.py",
    ),
    "what a failed report gives back is not held": Bug(
        file="worker/desk.py",
        right="held = self._held(page) if",
        wrong="held = self._bench.held() if",
        tests="tests/worker/test_desk.py",
    ),
    "a worker's number is given out again": Bug(
        file="frontier/sqlite/queries.sql",
        right="INSERT INTO worker (label, beat_at) VALUES (:label, :beat_at)",
        wrong="INSERT OR REPLACE INTO worker (worker, label, beat_at) VALUES (1, :label, :beat_at)",
        seeds=20,
    ),
    "more pages in flight than allowed": Bug(
        file="worker/worker.py",
        right="asyncio.Semaphore(manners.in_flight)",
        wrong="asyncio.Semaphore(2 * manners.in_flight)",
        seeds=100,
    ),
    "an excluded site is asked": Bug(
        file="worker/permissions.py",
        right="        if turn.site.site in self._desk.excluded_sites:\n",
        wrong="        if False:\n",
        seeds=300,
        fault="exclude",
    ),
    "a robots.txt on another site is asked for by every host that needs it": Bug(
        file="rules/elsewhere.py",
        right="            self._remember_answer(kept)\n",
        wrong="            pass\n",
        seeds=100,
    ),
    "another site is asked for robots.txt files without a delay": Bug(
        file="rules/elsewhere.py",
        right="        if not site.is_busy and now_s >= max(site.due_s, ",
        wrong="        if not site.is_busy and now_s >= max(0.0, ",
        tests="tests/rules/test_elsewhere.py",
    ),
    "a page is asked for before the robots.txt on another site": Bug(
        file="worker/robots.py",
        right="            target = robots_redirect(answer, url.url)\n",
        wrong="            target = robots_redirect(answer, url.url)\n"
        "            if target is not None and target.site != turn.site.site:\n"
        "                target = None\n",
        seeds=20,
    ),
    "a journal goes before its part is there": Bug(
        file="store/parts.py",
        right="            found = _write(part, read_batches(stream))\n",
        wrong="            remove(journal)\n            found = _write(part, read_batches(stream))\n",
        tests="tests/store/test_repair.py",
    ),
    "rows reach the disk before their records": Bug(
        file="store/store.py",
        right="        self._segments.sync()\n        for journal, count in counts:\n            journal.sync(count)\n",
        wrong="        for journal, count in counts:\n            journal.sync(count)\n        self._segments.sync()\n",
        tests="tests/store/test_store.py",
    ),
    "a dead worker's files are not mended": Bug(
        file="supervisor/supervisor.py",
        right="                self._repair([name_of(worker) for worker in listed])\n",
        wrong="                pass\n",
        tests="tests/crawl/test_supervisor.py",
    ),
    "a host is given up one try early": Bug(
        file="rules/hosts.py",
        right="    if silent > tries:\n",
        wrong="    if silent >= tries:\n",
        tests="tests/rules/test_hosts.py",
    ),
    "a host that answered before is given up as early as any": Bug(
        file="rules/hosts.py",
        right="((reason not in NO_ADDRESS) + has_answered(state))",
        wrong="(reason not in NO_ADDRESS)",
        tests="tests/rules/test_hosts.py",
    ),
    "a host that does not answer does not back off": Bug(
        file="rules/hosts.py",
        right="given_up=None, blocked_s=retry_wait_s(silent - 1, settings))",
        wrong="given_up=None, blocked_s=0.0)",
        tests="tests/end_to_end/test_dead_hosts.py",
        only="delay_the_other and refused",
    ),
    "a seed that says https becomes http": Bug(
        file="rules/answers.py",
        right="    if url.kind != Kind.BARE or reason not in NOTHING_UNDER_HTTPS:\n",
        wrong="    if reason not in NOTHING_UNDER_HTTPS:\n",
        tests="tests/rules/test_answers.py",
    ),
    "a robots.txt that fails allows everything": Bug(
        file="rules/hosts.py",
        right="    elif 300 <= answer.status < 500 and answer.status != 429:\n",
        wrong="    elif 300 <= answer.status < 600 and answer.status != 429:\n",
        tests="tests/rules/test_hosts.py",
    ),
}

BUGS: Final = {**ENGINE_BUGS, **CRAWL_BUGS}
