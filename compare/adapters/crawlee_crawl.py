"""Crawls a simulated web with Crawlee for Python, as politely as its settings allow. Runs in Crawlee's environment.

It obeys robots.txt, keeps to the sites of its seeds, follows no link marked nofollow, and writes address, title and
text of each page as JSON lines. It archives nothing. Its delay is per host, for the hosts of the seeds with and without
`www`, whose own `Crawl-delay` it then ignores. Its storage on disk lets the same command resume a crawl. It uses
Crawlee's client for httpx, because that looks up names with Python's sockets.
"""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlee import ConcurrencySettings, service_locator
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import HttpxHttpClient
from crawlee.request_loaders import ThrottlingRequestManager
from crawlee.storages import RequestQueue
from simulated_web import read_options

if TYPE_CHECKING:
    import argparse

MAX_RETRIES = 3


async def crawl(options: argparse.Namespace) -> None:
    """Crawl to the end."""
    service_locator.set_configuration(Configuration(storage_dir=str(options.folder / "storage"), purge_on_start=False))
    seeds = options.seeds.read_text().split()
    queue: Any = await RequestQueue.open()
    if options.delay:
        sites = sorted({str(urlsplit(seed).hostname).removeprefix("www.") for seed in seeds})
        hosts = [host for site in sites for host in (site, f"www.{site}")]
        queue = ThrottlingRequestManager(
            queue, domains=hosts, request_manager_opener=RequestQueue.open, base_delay=timedelta(seconds=1)
        )
        for host in hosts:
            queue.set_crawl_delay(f"http://{host}/", options.delay)
    crawler = ParselCrawler(
        request_manager=queue,
        http_client=HttpxHttpClient(headers={"User-Agent": f"{options.agent} (+mailto:{options.agent}@example.org)"}),
        respect_robots_txt_file=True,
        max_request_retries=MAX_RETRIES,
        max_requests_per_crawl=options.max_pages,
        concurrency_settings=ConcurrencySettings(desired_concurrency=20, max_concurrency=100),
        configure_logging=False,
        use_session_pool=False,
    )
    with (options.folder / "pages.jsonl").open("a", encoding="utf-8") as pages:

        @crawler.router.default_handler  # type: ignore[untyped-decorator]
        async def keep(context: ParselCrawlingContext) -> None:
            page = context.selector
            if page.type != "html":
                return
            text = " ".join(" ".join(page.xpath("//body//text()").getall()).split())
            line = {"url": context.request.url, "title": page.css("title::text").get(), "text": text}
            pages.write(json.dumps(line) + "\n")
            if "nofollow" not in page.css("meta[name=robots]::attr(content)").get(""):
                await context.enqueue_links(selector="a:not([rel~=nofollow])", strategy="same-domain")

        await crawler.run(seeds)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(crawl(read_options(__doc__)))
