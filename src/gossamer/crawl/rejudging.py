"""Applies changed rules to the URLs that a resumed crawl knows already.

Narrower rules bar queued URLs. Wider rules queue barred URLs again, and the links of the pages stored in this folder.
All of this may be repeated: after an interrupted start, the next start does it again, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from gossamer.bucket.paths import with_bucket
from gossamer.crawl.rules import Judged, judge_of, rules_of, write_judged
from gossamer.records import Barred, Batch, Reason, Visit
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gossamer.crawl.rules import Judge
    from gossamer.crawl.settings import Settings
    from gossamer.frontier import OperatorFrontier
    from gossamer.turn import Hooks

log = logging.getLogger(__name__)

CHUNK_URLS: Final = 1_000  # per transaction
NO_CLAIM: Final = -1  # an epoch that no claim has: reports under it settle URLs and change no schedule


def rejudge(
    frontier: OperatorFrontier,
    folder: Path,
    settings: Settings,
    before: Judged | None,
    *,
    say: Callable[[str], None],
    hooks: Hooks | None = None,
) -> None:
    """Apply the rules of this start to all URLs that the crawl knows; `before` describes the last start."""
    now = rules_of(frontier, settings.scope)
    if before is None:
        return write_judged(folder, Judged(rules=now))
    formers = [before.rules, *before.tried]
    if formers == [now]:
        return None
    reread = before.reread if before.tried[-1:] == (now,) else frozenset()
    progress = Judged(rules=before.rules, tried=(*(one for one in before.tried if one != now), now), reread=reread)
    write_judged(folder, progress)  # if this start is interrupted, the next one knows what was tried
    less = any(one is None or now.admit_less_than(one) for one in formers)
    more = any(one is None or now.admit_more_than(one) for one in formers)
    if less and (left_out := bar_queued(frontier, judge_of(frontier, settings.scope, sites_too=False))):
        say(f"The rules admit less than before: {count(left_out, 'queued URL')} left out.")
    if more and (back := admit_barred(frontier, judge_of(frontier, settings.scope))):
        say(f"The rules admit more than before: {count(back, 'URL')} queued again that had been left out.")
    if before.rules is None or now.admit_more_than(before.rules):
        _reread(frontier, folder, settings, progress, say=say, hooks=hooks)
    return write_judged(folder, Judged(rules=now))


def _reread(
    frontier: OperatorFrontier,
    folder: Path,
    settings: Settings,
    progress: Judged,
    *,
    say: Callable[[str], None],
    hooks: Hooks | None,
) -> None:
    """Read the links of stored pages again, except in files that are done; note each file that is done."""
    from gossamer.crawl.rereading import Rereading  # slow to import, and few starts need it

    def note(file: str) -> None:
        nonlocal progress
        progress = replace(progress, reread=progress.reread | {file})
        write_judged(folder, progress)

    least_depth = progress.tried[-1].least_depth(progress.rules) if progress.rules else 0
    rereading = Rereading(frontier, with_bucket(folder), settings, least_depth=least_depth, hooks=hooks)
    asyncio.run(rereading.run(progress.reread, note=note, say=say))


def bar_queued(frontier: OperatorFrontier, judge: Judge) -> int:
    """Bar the queued URLs that no longer belong to the crawl; return how many."""
    barred = 0
    queued = frontier.all_queued()
    while some := list(islice(queued, CHUNK_URLS)):
        inside = {link.url_hash for link in frontier.in_scope(some)}
        outcomes: dict[str, list[tuple[bytes, Barred]]] = {}
        for link in some:
            reason = judge.bars(link) or (None if link.url_hash in inside else Reason.OUT_OF_SCOPE)
            if reason is not None:
                outcomes.setdefault(link.site, []).append((link.url_hash, Barred(reason=reason)))
        if outcomes:
            visits = [Visit(site=site, epoch=NO_CLAIM, outcomes=those) for site, those in outcomes.items()]
            frontier.complete(Batch(visits=visits))
            barred += sum(map(len, outcomes.values()))
    return barred


def admit_barred(frontier: OperatorFrontier, judge: Judge) -> int:
    """Queue the barred URLs again that belong to the crawl now; return how many."""
    back = 0
    barred = ((link, reason) for link, reason in frontier.barred() if judge.bars(link) is None)
    while some := list(islice(barred, CHUNK_URLS)):
        back += frontier.admit(some)
    return back
