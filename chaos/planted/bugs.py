"""Every planted bug: what it changes at which mark of the source, and which tests or crawls must fail. Pure."""

from __future__ import annotations

import ast
from typing import Final

from chaos.planted.changes import (
    append,
    argument,
    assign_backwards,
    blank,
    compare_first_only,
    condition,
    delete,
    drop_operand,
    insert_after,
    insert_before,
    keep_left,
    keyword,
    shift_bound,
    split_block,
    substitute,
    swap_with_next,
    value,
)
from chaos.planted.planting import Bug

SUITE: Final = "tests/frontier/conformance"
POSTGRES: Final = "tests/frontier/postgres"
TURN: Final = "tests/turn"

ROBOTS_STAY_ON_SITE: Final = "if target is not None and target.site != turn.site.site: target = None"

ENGINE_BUGS: Final = {
    "no epoch check": Bug(
        changes={"no-epoch-check": compare_first_only()},
        tests=f"{SUITE}/test_complete.py",
        only="sqlite",
    ),
    "no owner check": Bug(
        changes={"no-owner-check": value("True")},
        tests=f"{SUITE}/test_complete.py",
        only="sqlite",
    ),
    "recovery without delay": Bug(
        changes={"recovery-without-delay": argument(0, "0.0")},
        tests=f"{SUITE}/test_ownership.py",
        only="sqlite",
    ),
    "claim ignores blocked hosts": Bug(
        changes={"blocked-hosts-ignored": condition("False")},
        tests=f"{SUITE}/test_claim.py",
        only="sqlite",
    ),
    "what is queued of a host that is given up waits": Bug(
        changes={"given-up-host-waits": condition("False")},
        tests=f"{SUITE}/test_claim.py",
        only="sqlite",
    ),
    "claims bring hosts that do not answer in place of those that do": Bug(
        changes={"silent-hosts-in-claim": blank()},
        tests=f"{SUITE}/test_claim.py",
        only="sqlite",
    ),
    "postgres: what is queued of a host that is given up waits": Bug(
        changes={"pg-given-up-host-waits": condition("False")},
        tests=f"{SUITE}/test_claim.py",
        only="postgres",
        server=True,
    ),
    "claim ignores retry waits": Bug(
        changes={"retry-waits-ignored": blank()},
        tests=f"{SUITE}/test_claim.py",
        only="sqlite",
    ),
    "completion is not atomic": Bug(
        changes={"completion-not-atomic": split_block()},
        tests=f"{SUITE}/test_crashes.py",
        only="sqlite",
    ),
    "deferred BEGIN": Bug(
        changes={"deferred-begin": substitute(" IMMEDIATE", "")},
        tests="tests/frontier/test_sqlite.py",
        only="sqlite",
    ),
    "lost wake-up": Bug(
        changes={"lost-wake-up": append("AND epoch = 0")},
        tests=f"{SUITE}/test_crashes.py",
        only="sqlite",
    ),
    "page limit overrun": Bug(
        changes={"page-limit-overrun": keep_left(ast.Sub)},
        tests=f"{SUITE}/test_operator.py",
        only="sqlite",
    ),
    "page limit not given back": Bug(
        changes={"page-limit-not-given-back": delete()},
        tests=f"{SUITE}/test_operator.py",
        only="sqlite",
    ),
    "depth not lowered": Bug(
        changes={"depth-not-lowered": condition("False")},
        tests=f"{SUITE}/test_add.py",
        only="sqlite",
    ),
    "what the scope refused is believed known": Bug(
        changes={"refused-links-remembered": argument(0, "part")},
        tests=f"{SUITE}/test_add.py",
        only="sqlite",
    ),
    "excluded sites are claimed": Bug(
        changes={"excluded-sites-claimed": substitute("AND excluded = 0", "")},
        tests=f"{SUITE}/test_operator.py",
        only="sqlite",
    ),
    "the dead may claim": Bug(
        changes={"dead-worker-claims": condition("False")},
        tests=f"{SUITE}/test_ownership.py",
        only="sqlite",
    ),
    "the clock runs on while no worker crawls": Bug(
        changes={"clock-runs-on": assign_backwards()},
        tests=f"{SUITE}/test_ownership.py",
        only="sqlite",
    ),
    "waits are rounded down": Bug(
        changes={"waits-rounded-down": (substitute("wait_from_ms", "now_ms"), substitute("ceil", "floor"))},
        tests=f"{SUITE}/test_ownership.py",
        only="sqlite",
    ),
    "postgres: no epoch check": Bug(
        changes={"pg-no-epoch-check": compare_first_only()},
        tests=f"{SUITE}/test_complete.py",
        only="postgres",
        server=True,
    ),
    "postgres: recovery without delay": Bug(
        changes={"pg-recovery-without-delay": keep_left(ast.Add)},
        tests=f"{SUITE}/test_ownership.py",
        only="postgres",
        server=True,
    ),
    "postgres: claims lock nothing": Bug(
        changes={"pg-claim-without-lock": blank()},
        tests=f"{POSTGRES}/test_neighbours.py::test_a_site_whose_claim_is_not_committed_is_nobody_elses",
        only="postgres",
        server=True,
    ),
    "postgres: adding without a lock on the site": Bug(
        changes={"pg-add-without-lock": blank()},
        tests=f"{POSTGRES}/test_wakeups.py::test_a_link_that_comes_while_its_site_is_being_put_to_rest_wakes_it",
        only="postgres",
        server=True,
    ),
    "postgres: no second look before a site rests": Bug(
        changes={"pg-no-second-look": delete(), "pg-no-second-look-at-locked": delete()},
        tests=f"{POSTGRES}/test_wakeups.py::test_a_link_that_comes_just_before_its_site_is_locked_to_be_put_to_rest_is_seen",
        only="postgres",
        server=True,
    ),
    "postgres: a jump of the server's clock is followed": Bug(
        changes={"pg-clock-jump-followed": condition("True")},
        tests=f"{POSTGRES}/test_leases.py::test_a_jump_of_the_servers_clock_is_followed_by_nobody",
        only="postgres",
        server=True,
    ),
}

CRAWL_BUGS: Final = {
    "a completed page is not on disk": Bug(
        changes={"completed-page-not-synced": delete()},
        seeds=5,
    ),
    "the lease is not looked at": Bug(
        changes={"lease-ignored": value("float('inf')")},
        tests="tests/worker/test_membership.py",
    ),
    "a late heartbeat lowers a share of addresses": Bug(
        changes={"late-heartbeat-lowers-share": drop_operand(0)},
        tests="tests/frontier/protocol/test_shares.py",
    ),
    "the shares of addresses add up to more than the whole": Bug(
        changes={"shares-add-up-to-more": argument(1, "WHOLE")},
        tests="tests/frontier/protocol/test_shares.py",
    ),
    "a worker that joins again keeps what it may send to addresses": Bug(
        changes={"rejoined-worker-keeps-allowance": delete()},
        tests="tests/rules/test_address_pace.py",
    ),
    "an address may be asked again at once": Bug(
        changes={"address-asked-at-once": delete()},
        tests="tests/rules/test_address_pace.py",
    ),
    "requests begin without a lease": Bug(
        changes={"request-without-lease": drop_operand(0)},
        seeds=300,
        fault="lease",
    ),
    "a busy site gets a second turn": Bug(
        changes={"second-turn-of-busy-site": delete()},
        tests="tests/test_workbench.py",
    ),
    "a worker that was declared dead keeps its sites": Bug(
        changes={"dead-worker-keeps-sites": delete()},
        seeds=500,
        fault="lease",
    ),
    "rules are not written down before the page": Bug(
        changes={"rules-not-committed-first": delete()},
        seeds=20,
    ),
    "a redirect is followed without asking robots.txt": Bug(
        changes={"redirect-without-robots": condition("not url.hops and {}")},
        seeds=100,
    ),
    "a page is asked for before what its host reserves": Bug(
        changes={"page-before-tdmrep": condition("False")},
        tests=f"{TURN}/test_reservations.py",
    ),
    "what a host reserves is kept": Bug(
        changes={"reservation-ignored": delete()},
        tests=f"{TURN}/test_reservations.py",
    ),
    "Retry-After is not obeyed": Bug(
        changes={"retry-after-ignored": delete()},
        seeds=50,
    ),
    "Crawl-delay is not obeyed": Bug(
        changes={"crawl-delay-ignored": delete()},
        seeds=50,
    ),
    "what failed is asked for again at once": Bug(
        changes={"retry-without-wait": keyword("wait_s", "0.0")},
        seeds=20,
    ),
    "an outage of ours burns tries": Bug(
        changes={"outage-counts-as-try": (keyword("wait_s", "0.1"), keyword("counted", "True"))},
        seeds=20,
        fault="outage",
    ),
    "the delay runs from the beginning of a request": Bug(
        changes={"delay-from-begin-of-request": value("{} - answer.duration_s")},
        seeds=20,
    ),
    "waits are counted on the wall clock": Bug(
        changes={"waits-on-wall-clock": value("time.CLOCK_REALTIME")},
        tests="tests/frontier/test_clock.py",
    ),
    "the crawl clock is the wall clock": Bug(
        changes={"crawl-on-wall-clock": argument(1, "time.time()")},
        tests=f"{SUITE}/test_ownership.py",
        only="sqlite",
    ),
    "links are believed committed before they are": Bug(
        changes={
            "links-remembered-before-commit": insert_after("self.recent.remember(unknown)"),
            "links-not-forgotten-on-error": delete(),
        },
        seeds=200,
        fault="database",
    ),
    "a host is taken for a site": Bug(
        changes={"host-taken-for-site": drop_operand(0)},
        seeds=20,
    ),
    "a failed report is taken for handed in": Bug(
        changes={"failed-report-taken-for-done": swap_with_next()},
        seeds=60,
        fault="database",
    ),
    "after an unknown result the worker does not ask what it owns": Bug(
        changes={"unknown-result-not-checked": delete()},
        seeds=60,
        fault="database",
    ),
    "a late report drops what was claimed again": Bug(
        changes={"late-report-drops-claim": substitute(r"== \w+", "is not None")},
        tests="tests/worker/test_client.py",
    ),
    "what a failed report gives back is not held": Bug(
        changes={"failed-report-not-held": substitute(r"_held\(\w+\)", "_bench.held()")},
        tests="tests/worker/test_client.py",
    ),
    "a worker's number is given out again": Bug(
        changes={
            "worker-number-reused": (
                substitute(r"INSERT INTO (\w+) \(", r"INSERT OR REPLACE INTO \1 (\1, "),
                substitute(r"VALUES \(", "VALUES (1, "),
            )
        },
        seeds=20,
    ),
    "an own site gets more requests at once than allowed": Bug(
        changes={"too-many-lanes": condition("site.urls")},
        seeds=200,
    ),
    "a wait that an own site asks for does not stop its other turns": Bug(
        changes={"wait-of-other-turn-ignored": condition("False")},
        seeds=3_000,
    ),
    "turns at once go by rules that are not durable": Bug(
        changes={"rules-shared-too-early": delete()},
        seeds=500,
    ),
    "more pages in flight than allowed": Bug(
        changes={"too-many-in-flight": argument(0, "2 * {}")},
        seeds=100,
    ),
    "an excluded site is asked": Bug(
        changes={"excluded-site-asked": condition("False"), "excluded-site-sent": condition("False")},
        seeds=300,
        fault="exclude",
    ),
    "a robots.txt on another site is asked for by every host that needs it": Bug(
        changes={"foreign-robots-not-remembered": delete()},
        seeds=100,
    ),
    "another site is asked for robots.txt files without a delay": Bug(
        changes={"foreign-robots-without-delay": argument(0, "0.0")},
        tests="tests/rules/test_elsewhere.py",
    ),
    "a page is asked for before the robots.txt on another site": Bug(
        changes={"page-before-foreign-robots": insert_after(ROBOTS_STAY_ON_SITE)},
        seeds=20,
    ),
    "a journal goes before its part is there": Bug(
        changes={"journal-removed-first": insert_before("remove(journal)")},
        tests="tests/store/test_repair.py",
    ),
    "rows reach the disk before their records": Bug(
        changes={"rows-before-records": swap_with_next()},
        tests="tests/store/test_store.py",
    ),
    "a dead worker's files are not repaired": Bug(
        changes={"dead-workers-files-not-repaired": delete()},
        tests="tests/crawl/test_supervisor.py",
    ),
    "a host is given up one try early": Bug(
        changes={"given-up-one-try-early": shift_bound()},
        tests="tests/rules/test_hosts.py",
    ),
    "a host that answered before is given up as early as any": Bug(
        changes={"answered-host-given-up-early": keep_left(ast.Add)},
        tests="tests/rules/test_hosts.py",
    ),
    "a host that does not answer does not back off": Bug(
        changes={"silent-host-without-backoff": keyword("blocked_s", "0.0")},
        tests="tests/end_to_end/test_dead_hosts.py",
        only="delay_the_other and refused",
    ),
    "a seed that says https becomes http": Bug(
        changes={"https-seed-becomes-http": drop_operand(0)},
        tests="tests/rules/test_answers.py",
    ),
    "a robots.txt that fails allows everything": Bug(
        changes={"failing-robots-allows-all": substitute(r"\b500\b", "600")},
        tests="tests/rules/test_hosts.py",
    ),
}

TURN_BUGS: Final = {
    "a bug behind a redirect is settled for the URL that redirects": Bug(
        changes={"bug-settles-first-url": value("self.queued")},
        tests=f"{TURN}/test_interruptions.py",
    ),
    "a cancelled request counts as not made": Bug(
        changes={"cancelled-request-forgotten": condition("False")},
        tests=f"{TURN}/test_interruptions.py",
    ),
    "two requests of a turn follow each other at once": Bug(
        changes={"no-step-gap": condition("False")},
        tests=f"{TURN}/test_random.py",
    ),
    "http is settled for a bare seed before it answers": Bug(
        changes={"http-settled-before-it-answers": condition("False")},
        tests=f"{TURN}/test_failures.py",
    ),
    "the URLs of a host that is given up stay queued": Bug(
        changes={"urls-of-given-up-host-kept": condition("False")},
        tests=f"{TURN}/test_failures.py",
    ),
    "a long Retry-After is reported with the next batch": Bug(
        changes={"long-wait-not-urgent": keyword("urgent", "False")},
        tests=f"{TURN}/test_failures.py",
    ),
    "a redirect's target is asked for although its host is blocked": Bug(
        changes={"blocked-target-asked": value("False")},
        tests=f"{TURN}/test_redirects.py",
    ),
    "a sitemap is queued in one portion": Bug(
        changes={"sitemap-in-one-portion": condition("False")},
        tests=f"{TURN}/test_sitemaps.py",
    ),
    "pages that name each other as canonical are all left out": Bug(
        changes={"canonical-circle-loses-pages": drop_operand(1)},
        tests=f"{TURN}/test_pages.py",
    ),
    "a URL that is excluded between two steps stays queued": Bug(
        changes={"excluded-between-stays-queued": delete()},
        tests=f"{TURN}/test_pages.py",
    ),
    "a site's next turn does not wait": Bug(
        changes={"wait-of-turn-ignored": keep_left(ast.Add)},
        seeds=20,
    ),
    "the result of a turn is not reported": Bug(
        changes={"result-not-reported": delete()},
        seeds=20,
    ),
    "a turn does not wait for its commit": Bug(
        changes={"commit-not-awaited": delete()},
        seeds=200,
    ),
    "an outage of ours is not noticed": Bug(
        changes={"outage-not-noticed": delete()},
        seeds=50,
        fault="outage",
    ),
}

BUGS: Final = {**ENGINE_BUGS, **CRAWL_BUGS, **TURN_BUGS}
