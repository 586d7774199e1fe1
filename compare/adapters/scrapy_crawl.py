"""Crawls a simulated web with Scrapy, as politely as its settings allow. Runs in Scrapy's environment.

It obeys robots.txt, keeps to the sites of its seeds, follows no link marked nofollow, and writes address, title and
text of each page as JSON lines. It archives nothing. With a delay, it makes one request at a time per host. `JOBDIR`
lets the same command resume a crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse
from scrapy.linkextractors import LinkExtractor
from simulated_web import read_options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


class PagesSpider(scrapy.Spider):  # type: ignore[misc]
    """Follows the links of every page within the sites of the seeds."""

    name = "pages"
    links = LinkExtractor(deny_extensions=[])

    def __init__(self, *, seeds: list[str]) -> None:
        super().__init__()
        self.start_urls = seeds
        self.allowed_domains = sorted({str(urlsplit(seed).hostname).removeprefix("www.") for seed in seeds})

    def parse(self, response: Any) -> Iterator[Any]:
        """Keep a page and follow its links."""
        if not isinstance(response, TextResponse) or "html" not in response.headers.get("Content-Type", b"").decode():
            return
        text = " ".join(" ".join(response.xpath("//body//text()").getall()).split())
        yield {"url": response.url, "title": response.css("title::text").get(), "text": text}
        if "nofollow" not in response.css("meta[name=robots]::attr(content)").get(""):
            for link in self.links.extract_links(response):
                if not link.nofollow:
                    yield scrapy.Request(link.url)


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings; those for broad crawls are as Scrapy's documentation recommends.

    `CONCURRENT_REQUESTS` bounds the requests at once to one site: Scrapy 2.19 sends more than the eight per domain that
    are its default.
    """
    parallel = {"CONCURRENT_REQUESTS": options.parallel, "CONCURRENT_REQUESTS_PER_DOMAIN": options.parallel}
    paced = {"DOWNLOAD_DELAY": options.delay, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "RANDOMIZE_DOWNLOAD_DELAY": False}
    return {
        "USER_AGENT": f"{options.agent} (+mailto:{options.agent}@example.org)",
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 100,
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "REACTOR_THREADPOOL_MAXSIZE": 20,
        "COOKIES_ENABLED": False,
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "JOBDIR": str(options.folder / "job"),
        "FEEDS": {str(options.folder / "pages.jsonl"): {"format": "jsonlines"}},
        "CLOSESPIDER_PAGECOUNT": options.max_pages or 0,
        "LOG_LEVEL": "CRITICAL",
        "TELNETCONSOLE_ENABLED": False,
        **(parallel if options.parallel else {}),
        **(paced if options.delay else {}),
    }


def main() -> None:
    """Crawl to the end."""
    options = read_options(__doc__)
    process = CrawlerProcess(settings(options))
    process.crawl(PagesSpider, seeds=options.seeds.read_text().split())
    process.start()


if __name__ == "__main__":
    main()
