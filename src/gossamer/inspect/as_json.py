"""What commands print with `--json`: every object, its fields and their meanings, and how values become such objects.

docs/reference/json.md comes from these annotations. mypy checks that each function fills exactly the fields that its
object declares. Programs of others read these objects: a field may be added, but none is renamed, removed or changed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

from gossamer.records.rows import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.frontier.postgres.administering import CrawlEntry, DatabaseContents, TableEntry
    from gossamer.inspect.explain import Explanation
    from gossamer.inspect.stored import Trace
    from gossamer.records import OpenTransaction, PageRow, RequestRow, SiteState, UrlState
    from gossamer.urls import Url

TableRow = dict[str, Any]  # a row of a table of `query`, by column


class WorkerJson(TypedDict):
    """A worker, as the frontier knows it."""

    worker: Annotated[int, "its number in the crawl, never used again"]
    label: Annotated[str, "its machine and process"]
    beats: Annotated[int, "heartbeats so far"]
    sites: Annotated[int, "sites that it has in hand"]
    silent_s: Annotated[float | None, "seconds since its last heartbeat; null if not known"]
    silent: Annotated[bool, "whether it missed so many heartbeats that it may be dead"]
    figures: Annotated[dict[str, float], "what it counted since its start; names may come and go"]


class StatusJson(TypedDict):
    """`gossamer status --json`: one object."""

    folder: Annotated[str, "the crawl's folder"]
    running: Annotated[bool, "whether a crawl runs in this folder, on this machine"]
    finished: Annotated[bool, "whether nothing is left to fetch, or the page limit is reached"]
    paused: Annotated[bool, "whether the operator has paused it, on all machines"]
    pid: Annotated[int | None, "process of the crawl; null if none runs here"]
    started_at: Annotated[float | None, "when it started; null if none runs here"]
    troubles: Annotated[list[str], "what keeps it from going on, one sentence each"]
    store: Annotated[str, "where finished files go; empty: they stay"]
    uploads: Annotated[str, "how uploads go, and why they fail"]
    sites: Annotated[int, "known sites"]
    sites_with_work: Annotated[int, "sites with queued URLs, or in hand"]
    sites_in_hand: Annotated[int, "sites that workers have in hand"]
    known: Annotated[int, "accepted URLs"]
    queued: Annotated[int, "of those, not settled yet"]
    done: Annotated[int, "of those, done"]
    pages: Annotated[int, "stored pages, over all starts"]
    done_without_page: Annotated[int, "URLs that are done without a page: redirects, and sitemaps that were read"]
    given_up: Annotated[dict[str, int], "URLs that were given up, by reason"]
    traps: Annotated[dict[str, int], "links refused as traps, by limit, counted by living workers"]
    block_pages: Annotated[dict[str, int], "block pages, by protection service, counted by living workers"]
    sitemaps: Annotated[dict[str, int], "sitemaps and their entries by result, counted by living workers"]
    share_backoffs: Annotated[
        dict[str, int], "back-offs of sites over their share, by share, counted by living workers"
    ]
    page_limit: Annotated[int | None, "`--max-pages`; null without a limit"]
    pages_left: Annotated[int | None, "pages that the limit leaves; null without a limit"]
    sites_spent: Annotated[int, "sites that reached `--max-pages-per-site`"]
    sites_in_trouble: Annotated[int, "sites with work that back off after several failures in a row"]
    sites_waiting_for_address: Annotated[int, "sites that wait for an address that others share"]
    hosts_in_trouble: Annotated[int, "single hosts of other sites that back off"]
    next_due_s: Annotated[float | None, "seconds until the next site is due; null if none waits"]
    workers: Annotated[list[WorkerJson], "living workers on all machines"]
    used_bytes: Annotated[dict[str, int], "size of each folder and file of the crawl"]
    free_bytes: Annotated[int, "free space on the disk"]
    disk: Annotated[str, "mount point of the crawl's disk"]
    damage: Annotated[list[str], "what the disk has damaged and no start has restored, one sentence each"]


class UrlJson(TypedDict):
    """An accepted URL, as the frontier knows it."""

    status: Annotated[str, "`queued`, `done` or `given_up`"]
    depth: Annotated[int, "links from the nearest seed"]
    reason: Annotated[str | None, "why it was given up, one of the [reasons](tables.md#reasons); else null"]
    rank: Annotated[int | None, "URLs with a lower rank come first; null unless queued, like all below"]
    tries: Annotated[int | None, "failed tries so far"]
    wait_s: Annotated[float | None, "seconds until it may be fetched, apart from its site's wait"]
    queued_at: Annotated[float | None, "when it was queued; null also if an older version did it"]


class SiteJson(TypedDict):
    """A site, as the frontier knows it."""

    site: Annotated[str, "registrable domain or IP address"]
    queued: Annotated[int, "queued URLs"]
    wait_s: Annotated[float | None, "seconds until its next turn; 0 if due; null if nothing is to be fetched"]
    owner: Annotated[int | None, "worker that has it in hand; null if none"]
    epoch: Annotated[int, "how often it was claimed"]
    own_delay_s: Annotated[float, "delay that the site itself asks for; 0 if none"]
    failures: Annotated[int, "failures in a row, when it was last released"]
    pages: Annotated[int, "stored pages"]
    seeded: Annotated[bool, "whether a seed is of this site"]
    excluded: Annotated[bool, "whether the operator has excluded it"]
    spent: Annotated[bool, "whether it has reached `--max-pages-per-site`"]


class ShowJson(TypedDict):
    """`gossamer show URL --json`: one object. If the URL is not known, the exit status is 1."""

    url: Annotated[str, "the URL, normalised"]
    known: Annotated[bool, "whether the crawl knows it at all"]
    state: Annotated[UrlJson | None, "its state in the frontier; null if it was never accepted"]
    site: Annotated[SiteJson | None, "its site in the frontier; null if not known"]
    found_on: Annotated[str | None, "URL of the page that it was found on; null if none is known"]
    requests: Annotated[list[TableRow], "its requests, oldest first: rows of [`requests`](tables.md#requests)"]
    times_stored: Annotated[int, "how often a page was stored for it"]
    page: Annotated[TableRow | None, "the page stored last: a row of [`pages`](tables.md#pages); null if none"]
    headers: Annotated[
        list[str] | None, "status line and headers of that page, as sent; null without an archive record"
    ]
    links: Annotated[list[str] | None, "URLs that the page leads to; null without an archive record"]


class FactJson(TypedDict):
    """A fact behind an explanation, for people."""

    name: Annotated[str, "what it is about, such as `robots`; several facts may have one name"]
    text: Annotated[str, "what is known of it"]


class ExplainJson(TypedDict):
    """`gossamer explain URL|SITE --json`: one object."""

    url: Annotated[str | None, "the URL, normalised; null if a site was asked about"]
    site: Annotated[str, "its site"]
    cause: Annotated[str, "what decides, in a word: see the list below"]
    sentence: Annotated[str, "what decides, for people"]
    facts: Annotated[list[FactJson], "what is known"]
    requests: Annotated[list[TableRow], "the last requests, oldest first: rows of [`requests`](tables.md#requests)"]
    running: Annotated[bool, "whether a crawl runs that will go on with it"]
    paused: Annotated[bool, "whether the operator has paused the crawl"]


class CrawlJson(TypedDict):
    """A crawl in a database. Its counts are exact."""

    name: Annotated[str, "its name (`--crawl-name`)"]
    state: Annotated[
        str, "`running`, `paused` or `stopping`; if no worker lives, `finished`, `stopped`, `moving` or `moved`"
    ]
    sites: Annotated[int, "known sites"]
    known: Annotated[int, "accepted URLs"]
    queued: Annotated[int, "of those, not settled yet"]
    done: Annotated[int, "of those, done"]
    pages: Annotated[int, "stored pages"]
    in_hand: Annotated[int, "sites that workers have in hand"]
    workers: Annotated[int, "workers that showed life within their lease"]


class TableJson(TypedDict):
    """A table of a database."""

    name: Annotated[str, "its name"]
    rows: Annotated[int, "its rows: counted if the table is small, else the database's estimate"]
    rows_are_exact: Annotated[bool, "whether the rows were counted"]
    dead_rows: Annotated[int, "rows that were deleted or replaced and not yet vacuumed: the database's estimate"]
    bytes: Annotated[int, "its size on disk, indexes included"]
    vacuumed_at: Annotated[float | None, "when it was last vacuumed; null if never since the statistics were reset"]
    analyzed_at: Annotated[float | None, "when it was last analyzed; null if never since the statistics were reset"]


class TransactionJson(TypedDict):
    """The transaction of another session that has been open for longest: no row that died since can be vacuumed."""

    pid: Annotated[int, "process of the database server"]
    application: Annotated[str, "program that opened it"]
    state: Annotated[str, "what its session does, as in `pg_stat_activity`"]
    age_s: Annotated[float, "how long it has been open"]


class DatabaseJson(TypedDict):
    """`gossamer db stats --json`: one object."""

    place: Annotated[str, "the database"]
    crawls: Annotated[list[CrawlJson], "its crawls, by name"]
    tables: Annotated[list[TableJson], "its tables, the largest first"]
    oldest_transaction: Annotated[TransactionJson | None, "what keeps dead rows from being vacuumed; null if nothing"]


OBJECTS: Final = (  # in the order of the reference; what a command prints comes before what it contains
    StatusJson, WorkerJson, ShowJson, UrlJson, SiteJson, ExplainJson, FactJson, DatabaseJson, CrawlJson, TableJson,
    TransactionJson,
)  # fmt: skip


def row_as_json(row: PageRow | RequestRow) -> TableRow:
    """Return a row of a stored table as `query --format jsonl` writes it, but with the hash in `via`."""
    types = {name: row.__annotations__[name].__metadata__[0].type for name in row._fields}
    return {name: _value_as_json(types[name], value) for name, value in zip(row._fields, row, strict=True)}


def _value_as_json(column: ColumnType, value: Any) -> Any:
    if column in (ColumnType.HASH, ColumnType.BYTES):
        return value.hex()
    if column is ColumnType.TIME:
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return value


def trace_as_json(
    found: Trace, *, found_on: str | None, headers: Sequence[str] | None, links: Sequence[str] | None
) -> ShowJson:
    """Return everything about a URL."""
    return {
        "url": found.url.url,
        "known": found.is_known,
        "state": _url_as_json(found.state) if found.state else None,
        "site": _site_as_json(found.site) if found.site else None,
        "found_on": found_on,
        "requests": list(map(row_as_json, found.requests)),
        "times_stored": len(found.pages),
        "page": row_as_json(found.pages[-1]) if found.pages else None,
        "headers": None if headers is None else list(headers),
        "links": None if links is None else list(links),
    }


def _url_as_json(state: UrlState) -> UrlJson:
    return {
        "status": state.status.value,
        "depth": state.depth,
        "reason": state.reason.value if state.reason else None,
        "rank": state.rank,
        "tries": state.tries,
        "wait_s": state.wait_s,
        "queued_at": state.queued_at,
    }


def _site_as_json(site: SiteState) -> SiteJson:
    return {
        "site": site.site,
        "queued": site.queued,
        "wait_s": site.wait_s,
        "owner": site.owner,
        "epoch": site.epoch,
        "own_delay_s": site.own_delay_s,
        "failures": site.failures,
        "pages": site.pages,
        "seeded": site.seeded,
        "excluded": site.excluded,
        "spent": site.spent,
    }


def explanation_as_json(
    found: Explanation, named: Url, *, is_site: bool, is_running: bool, is_paused: bool
) -> ExplainJson:
    """Return an explanation."""
    return {
        "url": None if is_site else named.url,
        "site": named.site,
        "cause": found.cause.value,
        "sentence": found.sentence,
        "facts": [{"name": name, "text": text} for name, text in found.facts],
        "requests": list(map(row_as_json, found.requests)),
        "running": is_running,
        "paused": is_paused,
    }


def database_as_json(contents: DatabaseContents) -> DatabaseJson:
    """Return what a database holds."""
    return {
        "place": contents.place,
        "crawls": list(map(_crawl_as_json, contents.crawls)),
        "tables": list(map(_table_as_json, contents.tables)),
        "oldest_transaction": None if contents.oldest is None else _transaction_as_json(contents.oldest),
    }


def _transaction_as_json(open_: OpenTransaction) -> TransactionJson:
    return {"pid": open_.pid, "application": open_.application, "state": open_.state, "age_s": open_.age_s}


def _crawl_as_json(crawl: CrawlEntry) -> CrawlJson:
    return {
        "name": crawl.name,
        "state": crawl.state,
        "sites": crawl.sites,
        "known": crawl.known,
        "queued": crawl.queued,
        "done": crawl.done,
        "pages": crawl.pages,
        "in_hand": crawl.in_hand,
        "workers": crawl.workers,
    }


def _table_as_json(table: TableEntry) -> TableJson:
    return {
        "name": table.name,
        "rows": table.rows,
        "rows_are_exact": table.rows_are_exact,
        "dead_rows": table.dead_rows,
        "bytes": table.bytes,
        "vacuumed_at": table.vacuumed_at,
        "analyzed_at": table.analyzed_at,
    }
