"""What the process behind the dashboard answers: one line of JSON for each on its input, until that ends."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gossamer.crawl import orders
from gossamer.crawl.engines import open_existing
from gossamer.crawl.explaining import terms_by_site, terms_of
from gossamer.crawl.naming import read_url
from gossamer.crawl.reporting import about_crawl
from gossamer.errors import GossamerError
from gossamer.inspect.explain import explain_site, explain_url
from gossamer.inspect.report import content, gather
from gossamer.inspect.requests import request_line
from gossamer.inspect.shared_history import open_sharing
from gossamer.inspect.site_list import ListedSite, find_sites, has_sites, list_sites
from gossamer.inspect.stored import archived, headers_of, read_body, trace
from gossamer.inspect.trace_facts import trace_facts
from gossamer.serve.kept import KeptFiles
from gossamer.serve.plotting import plots_of
from gossamer.store.reading import find_pages
from gossamer.wording import delay, size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.explain import Explanation
    from gossamer.inspect.facts import Terms

SEARCH_S: Final = 1.0  # for a page that links to an unknown URL: a person waits
SITES_A_PAGE: Final = 25
MAX_EXCLUSIONS: Final = 500  # shown
MAX_TEXT_CHARS: Final = 2_000_000
CLOCK_SLACK_S: Final = 0.005  # as in the report: gaps are measured by the wall clock, but were kept by another clock


class Answering:
    """Answers requests about one crawl."""

    def __init__(self, folders: list[Path], scratch: Path) -> None:
        self._folders = folders
        self._kept = KeptFiles(folders, scratch)

    def answer(self, request: Mapping[str, Any]) -> Any:
        """Return the answer as JSON values."""
        parameters = {name: value for name, value in request.items() if name != "what"}
        return _QUESTIONS[request["what"]](self, **parameters)

    def order(self, *, order: str, entry: str = "") -> str:
        """Carry out an order, and return what came of it."""
        folder = self._folders[0]
        match order:
            case "pause":
                return orders.pause(folder)
            case "resume":
                return orders.resume(folder)
            case "stop":
                return orders.stop(folder)
            case "exclude":
                return orders.exclude(folder, [entry])
            case "readmit":
                return orders.readmit(folder, [entry])
        raise GossamerError(f"There is no order {order!r}.")

    def report(self) -> str:
        """Return the report, as markup."""

        def make(file: Path) -> None:
            about = about_crawl(self._folders)
            with open_sharing(self._folders, open_existing) as frontier:
                found = gather(self._folders, delay_s=about.delay_s, frontier=frontier)
            text = content(about, found)
            file.write_text(text, encoding="utf-8", errors="replace")

        return self._kept.find("report.html", make)[0].read_text(encoding="utf-8")

    def history(self, *, span: str) -> dict[str, Any]:
        """Return the plots of the overview."""
        with open_sharing(self._folders, open_existing) as frontier:
            return plots_of(self._folders, span=span, frontier=frontier)

    # ------------------------------------------------------------------ sites

    def sites(self, *, search: str, sort: str, descending: bool, number: int) -> dict[str, Any]:
        """Return one page of the list of sites, and how many sites there are."""
        total, made_at = 0, None
        found: list[ListedSite] = []
        if has_sites(self._folders):
            file, made_at = self._kept.find("sites.parquet", partial(list_sites, self._folders))
            total, found = find_sites(
                file, search=search.strip().lower(), sort=sort, descending=descending,
                offset=number * SITES_A_PAGE, limit=SITES_A_PAGE,
            )  # fmt: skip
        with open_existing(*self._folders) as frontier:
            terms = terms_by_site(self._folders[0], frontier.seed_ports())
            entries = sorted(frontier.exclusions())[:MAX_EXCLUSIONS]
            rows = [self._listed(frontier, site, terms(site.site)) for site in found]
        return {"total": total, "a_page": SITES_A_PAGE, "made_at": made_at, "rows": rows, "exclusions": entries}

    def _listed(self, frontier: FrontierReader, site: ListedSite, terms: Terms) -> dict[str, Any]:
        """Return a row of the list: what is stored, and what the frontier says now."""
        said = explain_site(frontier, self._folders, site.site, terms, [site.last] if site.last else [])
        state = frontier.find_site(site.site)
        delay_s = max(terms.site_delay_s, state.own_delay_s if state else 0.0)
        hosts = [text for name, text in said.facts if name == "host"]
        more = f" (and {len(hosts) - 1:,} more)" if len(hosts) > 1 else ""
        return {
            "site": site.site,
            "cause": said.cause.value,
            "sentence": said.sentence,
            "queued": state.queued if state else 0,
            "pages": site.pages,
            "requests": site.requests,
            "errors": site.errors,
            "bytes": size(site.bytes),
            "gap": "one turn" if site.min_gap_s is None else f"{site.min_gap_s:,.2f} s",
            "delay": delay(delay_s),
            "is_early": site.min_gap_s is not None and site.min_gap_s + CLOCK_SLACK_S < terms.site_delay_s,
            "robots": f"{hosts[0]}{more}" if hosts else "",
        }

    def site(self, *, name: str) -> dict[str, Any]:
        """Return what is known of a site."""
        named = read_url(name).site
        with open_existing(*self._folders) as frontier:
            terms = terms_of(self._folders[0], named, frontier.seed_ports())
            said = explain_site(frontier, self._folders, named, terms)
            entries = frontier.exclusions()
        return {"site": named, "is_excluded": named in entries, **_said(said)}

    # ------------------------------------------------------------------ a URL

    def url(self, *, url: str) -> dict[str, Any]:
        """Return why a URL was fetched or not, and what is stored of it."""
        named = read_url(url)
        with open_existing(*self._folders) as frontier:
            terms = terms_of(self._folders[0], named.site, frontier.seed_ports())
            said = explain_url(frontier, self._folders, named, terms, search_s=SEARCH_S)
            found = trace(frontier, self._folders, named)
        answer = {
            "url": named.url,
            "site": named.site,
            **_said(said),
            "stored": list(trace_facts(found, self._folders)),
        }
        if found.pages:
            headers: Sequence[str] = []
            with suppress(GossamerError):  # no archive record, or none any more: the facts say so
                headers = headers_of(self._folders, found.pages[-1])
            text = found.pages[-1].text[:MAX_TEXT_CHARS]
            answer |= {"headers": list(headers), "text": text, "is_archived": bool(headers)}
        return answer

    def archived(self, *, url: str) -> dict[str, Any]:
        """Return the archived body of a page, inflated and decoded."""
        named = read_url(url)
        pages = find_pages(self._folders, named.url_hash)
        if not pages:
            raise GossamerError(f"No page is stored for {named.url}.")
        body = read_body(archived(self._folders, pages[-1]), pages[-1])
        return {"body": body, "is_html": "html" in pages[-1].content_type}


def _said(said: Explanation) -> dict[str, Any]:
    return {
        "cause": said.cause.value,
        "sentence": said.sentence,
        "facts": list(said.facts),
        "requests": [request_line(row) for row in said.requests],
    }


_QUESTIONS: Final[dict[str, Callable[..., Any]]] = {
    "order": Answering.order,
    "history": Answering.history,
    "report": Answering.report,
    "sites": Answering.sites,
    "site": Answering.site,
    "url": Answering.url,
    "archived": Answering.archived,
}


def main() -> None:
    """Answer until the input ends. Only answers go to the output: what a library prints goes to the errors."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    folders, scratch = json.loads(sys.argv[1]), sys.argv[2]
    answering = Answering([Path(folder) for folder in folders], Path(scratch))
    for line in sys.stdin.buffer:
        try:
            said = {"answer": answering.answer(json.loads(line))}
        except GossamerError as error:
            said = {"refused": str(error)}
        except OSError as error:
            said = {"refused": f"{error.filename or 'A file'} cannot be used ({error.strerror})."}
        _write(output, json.dumps(said).encode() + b"\n")


def _write(output: Any, line: bytes) -> None:
    while line:
        line = line[output.write(line) :]


if __name__ == "__main__":
    main()
