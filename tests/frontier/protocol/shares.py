"""Workers that share what each address may get: heartbeats that are late, lost or answered late, deaths, new workers.

The decisions are those of `gossamer.frontier.shares` themselves; this model adds what can happen in between. A worker
sends a heartbeat with the share that it uses, and waits for the answer or gives up waiting. The heartbeat takes effect
at any later time, and its answer arrives at any later time or never. A worker may be declared dead when it uses nothing
any more, because its lease is over (`leases.py`); it then joins again as another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.frontier.shares import NO_SHARE, WHOLE, answer, lower, raise_share, wants_more

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gossamer.records import AddressShare


MAX_LETTERS = 3  # under way at once


class Row(NamedTuple):
    """A worker, as the database knows it; its id is its place."""

    share: AddressShare = NO_SHARE
    gone: bool = False


class Process(NamedTuple):
    """A worker, as it knows itself."""

    id: int
    used: AddressShare = NO_SHARE
    waits: int | None = None  # the number of the heartbeat whose answer it waits for


class Letter(NamedTuple):
    """A heartbeat under way, or its answer."""

    number: int
    id: int
    share: AddressShare
    is_answer: bool = False


class World(NamedTuple):
    """Everything."""

    rows: tuple[Row, ...]
    processes: tuple[Process, ...]
    letters: frozenset[Letter] = frozenset()
    sent: int = 0
    beats: int = 0  # that may still be sent
    deaths: int = 0  # that may still happen
    joins: int = 0


def start(*, beats: int, deaths: int, joins: int) -> World:
    """One worker, which knows nothing yet."""
    return World(rows=(Row(),), processes=(Process(0),), beats=beats, deaths=deaths, joins=joins)


class Rules(NamedTuple):
    """The decisions; a test replaces one of them."""

    lower: Callable[[AddressShare, AddressShare], AddressShare] = lower
    answer: Callable[[AddressShare, int], AddressShare] = answer


PROTOCOL = Rules()


def steps(world: World, rules: Rules = PROTOCOL) -> Sequence[tuple[str, World]]:
    """All that can happen next."""
    found = []
    for place, process in enumerate(world.processes):
        name = f"worker {process.id}"
        if world.beats and len(world.letters) < MAX_LETTERS:
            beat = Letter(world.sent, process.id, process.used)
            waiting = _put(world, place, process._replace(waits=world.sent))
            found.append((f"{name} beats with {process.used}", waiting._replace(
                letters=world.letters | {beat}, sent=world.sent + 1, beats=world.beats - 1
            )))  # fmt: skip
        if world.deaths:
            rows = _set(world.rows, process.id, world.rows[process.id]._replace(gone=True))
            joined = world._replace(rows=(*rows, Row()), deaths=world.deaths - 1)
            found.append((f"{name} is declared dead and joins again", _put(joined, place, Process(len(rows)))))
    if world.joins:
        joined = world._replace(rows=(*world.rows, Row()), joins=world.joins - 1)
        found.append(("a worker joins", joined._replace(processes=(*world.processes, Process(len(world.rows))))))
    found += [_deliver(world, letter, rules) for letter in world.letters]
    return [(what, _without_lost_answers(after)) for what, after in found]


def _without_lost_answers(world: World) -> World:
    """Drop answers that no worker waits for. An answer that is never delivered is one that is lost."""
    awaited = {process.waits for process in world.processes}
    return world._replace(
        letters=frozenset(each for each in world.letters if not each.is_answer or each.number in awaited)
    )


def _deliver(world: World, letter: Letter, rules: Rules) -> tuple[str, World]:
    rest = world._replace(letters=world.letters - {letter})
    if letter.is_answer:
        after = rest
        for place, process in enumerate(world.processes):
            if process.id == letter.id and process.waits == letter.number:
                after = _put(rest, place, process._replace(used=letter.share, waits=None))
        return f"worker {letter.id} hears {letter.share}", after
    row = world.rows[letter.id]
    if row.gone:
        return "a dead worker's heartbeat has no effect", rest
    share, live = rules.lower(row.share, letter.share), sum(not each.gone for each in world.rows)
    if wants_more(share, live):
        others = sum(each.share.parts for id_, each in enumerate(world.rows) if id_ != letter.id and not each.gone)
        share = raise_share(share, live=live, others_parts=others)
    done = rest._replace(rows=_set(world.rows, letter.id, row._replace(share=share)))
    reply = letter._replace(share=rules.answer(share, live), is_answer=True)
    return f"the heartbeat of worker {letter.id} leaves it {share}", done._replace(letters=done.letters | {reply})


def invariant(world: World, _: object = None) -> str | None:
    """No worker uses more than is kept for it, and what is kept is never more than the whole."""
    kept = sum(row.share.parts for row in world.rows if not row.gone)
    if kept > WHOLE:
        return f"{kept} is kept"
    for process in world.processes:
        if process.used.parts > world.rows[process.id].share.parts:
            return f"worker {process.id} uses {process.used}, and {world.rows[process.id].share} is kept for it"
    return None


def _put(world: World, place: int, process: Process) -> World:
    return world._replace(processes=(*world.processes[:place], process, *world.processes[place + 1 :]))


def _set(rows: tuple[Row, ...], id_: int, row: Row) -> tuple[Row, ...]:
    return (*rows[:id_], row, *rows[id_ + 1 :])
