"""Every metric of Gossamer, declared in this one place and counted where the events occur.

Names are `gossamer_<part>_<what>_<unit>`; a label has few values, all known beforehand. Labels by site or URL
would grow with the web, so there are none. Counters and histograms begin at 0 when a crawl starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer import __version__
from gossamer.metrics.kinds import Combine, Counter, Gauge, Histogram, Metric, WorkerCounter
from gossamer.metrics.samples import Samples, WorkerCounts, collect, gauges_of, snapshot, sort_values

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Counter", "Gauge", "Histogram", "Metric", "WorkerCounter", "WorkerCounts", "collect", "cpu_samples", "gauges_of",
    "snapshot", "sort_values",
]  # fmt: skip

_DATABASE_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_NETWORK_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

# ---------------------------------------------------------------------- the frontier

# Operations are those of the frontier's contract: add, claim, complete, heartbeat, recover, ...
FRONTIER_OPERATION_SECONDS = Histogram(
    "gossamer_frontier_operation_seconds",
    "Time a frontier transaction took, from its begin to its commit",
    question="Which operation does the database spend its time on, and did it become slower?",
    labels=("operation",),
    buckets=_DATABASE_SECONDS,
)
FRONTIER_LOCK_WAIT_SECONDS = Histogram(
    "gossamer_frontier_lock_wait_seconds",
    "Time a frontier transaction waited for others before it began",
    question="Do workers wait for each other at the database?",
    labels=("operation",),
    buckets=_DATABASE_SECONDS,
)
FRONTIER_STATEMENT_SECONDS = Histogram(
    "gossamer_frontier_statement_seconds",
    "Time a statement of the PostgreSQL frontier held its connection, by the statement's name",
    question="Which statement of an operation is slow?",
    labels=("statement",),
    buckets=_DATABASE_SECONDS,
)
FRONTIER_HELD_SECONDS = Histogram(
    "gossamer_frontier_held_seconds",
    "Time an operation held its connection to the frontier, and with SQLite the gate of writers",
    question="Does an operation keep other workers from the database?",
    labels=("operation",),
    buckets=_DATABASE_SECONDS,
)
FRONTIER_LINKS_TOTAL = Counter(
    "gossamer_frontier_links_total",
    "Links offered to the frontier, without those that workers left out, by result: new or known",
    question="Does the crawl still find new URLs, or the same links again and again?",
    labels=("result",),
)
KNOWN_LINKS_TOTAL = WorkerCounter(
    "gossamer_known_links_total",
    "Links that workers left out, because they had just handed them in to the frontier",
    question="Which share of the links that pages have does the memory of recent links keep from the frontier?",
)
FRONTIER_CLAIMS_TOTAL = Counter(
    "gossamer_frontier_claims_total",
    "Claims, by result: some (at least one site) or empty",
    question="Do workers ask the frontier in vain?",
    labels=("result",),
)
FRONTIER_CLAIMED_SITES_TOTAL = Counter(
    "gossamer_frontier_claimed_sites_total",
    "Sites that workers claimed",
    question="Do workers get as many sites as they visit?",
)
FRONTIER_CLAIMED_URLS_TOTAL = Counter(
    "gossamer_frontier_claimed_urls_total",
    "URLs that workers claimed with their sites",
    question="How many URLs does a claim bring?",
)
FRONTIER_RELEASES_TOTAL = WorkerCounter(
    "gossamer_frontier_releases_total",
    "Sites that workers gave back, by use: used (it had a turn since it was claimed) or unused",
    question="Are sites claimed that are not visited? Each costs a claim and a release for nothing.",
    labels=("use",),
)
FRONTIER_OUTCOMES_TOTAL = WorkerCounter(
    "gossamer_frontier_outcomes_total",
    "URLs that were completed, by outcome",
    question="What becomes of URLs: pages, redirects, retries, or which reason to give up?",
    labels=("outcome",),
)
FRONTIER_URLS = Gauge(
    "gossamer_frontier_urls",
    "URLs in the frontier, of all machines and starts, by state: known, queued, done, stored as pages",
    question="How long is the queue, and does it grow?",
    figures={"frontier_known": "known", "frontier_queued": "queued", "frontier_done": "done", "frontier_pages": "page"},
    label="state",
    combine=Combine.MOST,
)
FRONTIER_SITES = Gauge(
    "gossamer_frontier_sites",
    "Sites in the frontier, of all machines, by state: known, with_work, in_hand, in_trouble, at_limit of pages",
    question="How many sites can be visited at all, and how many fail?",
    figures={
        "frontier_sites": "known", "frontier_sites_with_work": "with_work", "frontier_sites_in_hand": "in_hand",
        "frontier_sites_in_trouble": "in_trouble", "frontier_sites_spent": "at_limit",
    },
    label="state",
    combine=Combine.MOST,
)  # fmt: skip
FRONTIER_NEXT_DUE_SECONDS = Gauge(
    "gossamer_frontier_next_due_seconds",
    "Time until the next free site is due; 0 if one is due",
    question="Is the crawl idle because no site is due?",
    figures={"frontier_next_due_s": ""},
    combine=Combine.LEAST,
)
FRONTIER_WAL_BYTES = Gauge(
    "gossamer_frontier_wal_bytes",
    "Size of SQLite's write-ahead log",
    question="Does a reader keep SQLite from moving its log into the database file?",
    figures={"wal_bytes": ""},
)

FRONTIER_OLDEST_TRANSACTION = Gauge(
    "gossamer_frontier_oldest_transaction_seconds",
    "Age of the transaction that has been open for longest in PostgreSQL, of any program; looked up once a minute",
    question="Does a forgotten transaction keep PostgreSQL from removing dead rows?",
    figures={"oldest_transaction_s": ""},
    combine=Combine.MOST,
)
FRONTIER_DEAD_ROWS = Gauge(
    "gossamer_frontier_dead_rows",
    "Dead rows of PostgreSQL's busiest tables, as its statistics estimate; looked up once a minute",
    question="Do tables grow because vacuum does not keep up, or cannot clean them?",
    label="table",
    figures={f"dead_rows_{table}": table for table in ("site", "queue", "seen", "host", "tally")},
    combine=Combine.MOST,
)

# ---------------------------------------------------------------------- requests

REQUESTS_TOTAL = WorkerCounter(
    "gossamer_requests_total",
    "Requests made, by kind and by result: a class of status, or why there was no answer",
    question="How fast is the crawl, and which share of its requests fails, and why?",
    labels=("kind", "result"),
)
BODY_BYTES_TOTAL = WorkerCounter(
    "gossamer_body_bytes_total",
    "Bytes of bodies received, as sent",
    question="How much of the line does the crawl use?",
)
REQUEST_SECONDS = Histogram(
    "gossamer_request_seconds",
    "Time a request took, from its start to its last byte or its failure",
    question="Are sites slow, or is it us?",
    buckets=_NETWORK_SECONDS,
)
FIRST_BYTE_SECONDS = Histogram(
    "gossamer_first_byte_seconds",
    "Response time: from the start of a request to the first byte of its answer",
    question="Do servers answer late, or are their bodies long?",
    buckets=_NETWORK_SECONDS,
)
DNS_SECONDS = Histogram(
    "gossamer_dns_seconds",
    "Time a lookup of a name took; cached answers are not counted",
    question="Is the name server slow?",
    buckets=_NETWORK_SECONDS,
)
CONNECT_SECONDS = Histogram(
    "gossamer_connect_seconds",
    "Time to open a connection, of requests that were answered",
    question="Is the network slow, or full?",
    buckets=_NETWORK_SECONDS,
)
TLS_SECONDS = Histogram(
    "gossamer_tls_seconds",
    "Time of the TLS handshake, of requests that were answered",
    question="Are handshakes slow: far servers, or a busy processor?",
    buckets=_NETWORK_SECONDS,
)
ADDRESS_WAITS_TOTAL = WorkerCounter(
    "gossamer_address_waits_total",
    "Waits for an address that was not due: of a site, of a request of a turn, or of a site that is given back",
    question="Do many sites share few addresses, which are asked one after the other?",
    labels=("what",),
)
IN_FLIGHT = Gauge(
    "gossamer_in_flight_requests",
    "Requests under way",
    question="Does the crawl use the requests that it may make at once?",
    figures={"in_flight": ""},
)
SILENT_REQUESTS = Gauge(
    "gossamer_silent_requests",
    "Requests under way that may wait in vain: of failing sites, or without an answer for long",
    question="Do silent servers hold the places of others?",
    figures={"silent_requests": ""},
)
SLOW_LOOKUPS = Gauge(
    "gossamer_slow_lookups",
    "Lookups of names that have taken longer than half a second",
    question="Do names hang that cannot be looked up?",
    figures={"slow_lookups": ""},
)
HELD_BODY_BYTES = Gauge(
    "gossamer_held_body_bytes",
    "Bytes of bodies in memory, from the first byte until the page is stored",
    question="Are large bodies what the crawl waits for?",
    figures={"held_bytes": ""},
)
PAUSED_TRANSFERS = Gauge(
    "gossamer_paused_transfers",
    "Transfers of large bodies that wait for memory",
    question="Is max_held too small for the pages of this crawl?",
    figures={"paused_transfers": ""},
)
WASTEFUL_NETWORKS = Gauge(
    "gossamer_wasteful_networks",
    "Networks most of whose requests bring nothing, or whose pages are costly",
    question="Does a network of hostile or broken sites slow the crawl down?",
    figures={"wasteful_networks": ""},
)

# ---------------------------------------------------------------------- pages and links

PARSE_SECONDS = Histogram(
    "gossamer_parse_seconds",
    "Processor time that the page process took to read a page, as it reports itself",
    question="Are pages costly to read?",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0),
)
PAGE_PROCESS_REPLACEMENTS_TOTAL = Counter(
    "gossamer_page_process_replacements_total",
    "Page processes that were replaced, by cause: page (one killed it), slice (it took too long while others waited), "
    "memory (it took too much), retired (it had read many), start (it did not start)",
    question="Do pages kill the page process?",
    labels=("cause",),
)
PAGES_WAITING = Gauge(
    "gossamer_pages_waiting",
    "Pages that wait for the page process or are read by it, by lane",
    question="Is the page process the bottleneck?",
    figures={"pages_waiting": "all", "costly_pages": "slow"},
    label="lane",
)
CLAMPED_DELAYS_TOTAL = WorkerCounter(
    "gossamer_clamped_delays_total",
    "robots.txt files that asked for a longer delay than the maximum",
    question="Do sites ask for absurd delays?",
)
TRAP_REFUSALS_TOTAL = WorkerCounter(
    "gossamer_trap_refusals_total",
    "Links that were not followed because they seem to lead into a trap, by the name of the limit; of page_links, "
    "pages that have more links than are read",
    question="Which limit against traps binds, and suddenly more often?",
    labels=("trap",),
)
BLOCK_PAGES_TOTAL = WorkerCounter(
    "gossamer_block_pages_total",
    "Answers that are challenge or block pages of protection services, by service",
    question="Do protection services block this crawl?",
    labels=("service",),
)
SITEMAPS_TOTAL = WorkerCounter(
    "gossamer_sitemaps_total",
    "Sitemaps, by result: found, read, unread, refused (of another site, or nested too deep), too_many",
    question="What becomes of sitemaps?",
    labels=("result",),
)
SITEMAP_ENTRIES_TOTAL = WorkerCounter(
    "gossamer_sitemap_entries_total",
    "Entries of sitemaps, by result: accepted, not_wanted by the crawl's limits, foreign_host, bad_url",
    question="How many URLs come from sitemaps?",
    labels=("result",),
)
SHARE_BACKOFFS_TOTAL = WorkerCounter(
    "gossamer_share_backoffs_total",
    "Turns after which a site backed off because it took more than its share while others waited, by what it took: "
    "parser_share, slot_share, link_share, byte_share",
    question="Do some sites take what others wait for?",
    labels=("share",),
)
LINKS_WAITING = Gauge(
    "gossamer_links_waiting",
    "Links that wait for the frontier, by place: batch (goes with the next report), lane (of turns with many links)",
    question="Does a burst of links of one site hold up the frontier?",
    figures={"links_waiting": "batch", "links_in_lane": "lane"},
    label="place",
)

SITEMAP_BYTES_WAITING = Gauge(
    "gossamer_sitemap_bytes_waiting",
    "Bytes of sitemaps that wait to be read",
    question="Do sitemaps pile up?",
    figures={"sitemap_bytes_waiting": ""},
)
OUTCOMES_WAITING = Gauge(
    "gossamer_outcomes_waiting",
    "Outcomes that wait for the next report to the frontier",
    question="Can the frontier keep up with what workers report?",
    figures={"outcomes_waiting": ""},
)

# ---------------------------------------------------------------------- workers

TURN_LATENESS_SECONDS = Histogram(
    "gossamer_turn_lateness_seconds",
    "How late a turn began after its site was due in the hands of a worker",
    question="Can this machine visit sites as soon as they are due?",
    buckets=(0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0),
)
SITES_IN_HAND = Gauge(
    "gossamer_sites_in_hand",
    "Sites that workers hold, by state: all, due (they wait for a turn), busy, or waiting for an address",
    question="Are sites due that workers cannot visit yet, or is none due?",
    figures={"sites_in_hand": "all", "sites_due": "due", "turns": "busy", "address_waits": "address"},
    label="state",
)
URLS_IN_HAND = Gauge(
    "gossamer_urls_in_hand",
    "URLs that workers hold",
    question="How much would a crash repeat at most?",
    figures={"urls_in_hand": ""},
)
LOOP_LAG_SECONDS = Histogram(
    "gossamer_loop_lag_seconds",
    "How late the event loop ran a due callback",
    question="Is a worker's event loop overloaded or blocked?",
    buckets=(0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0),
)
MAX_LOOP_LAG_SECONDS = Gauge(
    "gossamer_max_loop_lag_seconds",
    "The largest lag of any worker's event loop in the last seconds",
    question="Was there a single long pause that the mean hides?",
    figures={"loop_lag_s": ""},
    combine=Combine.MOST,
)
PAUSED_SECONDS_TOTAL = Counter(
    "gossamer_paused_seconds_total",
    "Time in which a worker started no requests: full disk, unreachable database, no network",
    question="How much time did the crawl lose to trouble?",
)
PAUSED_WORKERS = Gauge(
    "gossamer_paused_workers",
    "Workers that start no requests, by cause: operator, trouble (disk, database), outage (no site can be reached)",
    question="Why does nothing happen?",
    figures={"paused_by_operator": "operator", "paused_by_trouble": "trouble", "outage": "outage"},
    label="cause",
)
EXCLUSION_CHANGES = Gauge(
    "gossamer_exclusion_changes",
    "How often the operator has changed the exclusions, over the life of the crawl",
    question="Did throughput change because sites were excluded?",
    figures={"exclusion_changes": ""},
    combine=Combine.MOST,
)
WORKERS = Gauge(
    "gossamer_workers",
    "Worker processes of this machine, by state: wanted, alive, silent (no report for more than ten seconds)",
    question="Is every worker there, and does it report?",
    figures={"workers_wanted": "wanted", "workers_alive": "alive", "workers_silent": "silent"},
    label="state",
)
WORKER_REPLACEMENTS_TOTAL = Counter(
    "gossamer_worker_replacements_total",
    "Workers that ended before the crawl did, by cause: signal, failure, silence, start",
    question="Do workers die again and again?",
    labels=("cause",),
)

# ---------------------------------------------------------------------- the bucket

UPLOADED_FILES_TOTAL = Counter(
    "gossamer_uploaded_files_total",
    "Files uploaded to the bucket (setting store)",
    question="Do finished files reach the bucket?",
)
UPLOADED_BYTES_TOTAL = Counter(
    "gossamer_uploaded_bytes_total",
    "Bytes uploaded to the bucket",
    question="How much of the network do uploads take?",
)
UPLOAD_FAILURES_TOTAL = Counter(
    "gossamer_upload_failures_total",
    "Attempts to upload that failed, by cause: away, no bucket, no rights, wrong region, damage, disk",
    question="Why do files not reach the bucket?",
    labels=("cause",),
)
UPLOAD_WAITING_FILES = Gauge(
    "gossamer_upload_waiting_files",
    "Finished files that wait to be uploaded",
    question="Do uploads keep up with the crawl?",
    figures={"upload_waiting_files": ""},
)
UPLOAD_WAITING_BYTES = Gauge(
    "gossamer_upload_waiting_bytes",
    "Bytes of the files that wait to be uploaded",
    question="How much room do files take that the bucket does not have yet?",
    figures={"upload_waiting_bytes": ""},
)
UPLOAD_FAILING_SECONDS = Gauge(
    "gossamer_upload_failing_seconds",
    "Time since uploads began to fail; 0 while they succeed",
    question="Since when is the bucket away?",
    figures={"upload_failing_s": ""},
)

# ---------------------------------------------------------------------- the machine

CPU_SECONDS_TOTAL = Counter(
    "gossamer_cpu_seconds_total",
    "Processor time, by process: supervisor, worker, page_process, uploader",
    question="Is the processor the bottleneck, and which process uses it?",
    labels=("process",),
)
MEMORY_BYTES = Gauge(
    "gossamer_memory_bytes",
    "Memory of all processes of the crawl on this machine",
    question="Does memory grow?",
    figures={"memory_bytes": ""},
)
DESCRIPTORS = Gauge(
    "gossamer_open_descriptors",
    "Open descriptors, of the process of this crawl that has most",
    question="How near is a process to its limit of open files?",
    figures={"descriptors": ""},
    combine=Combine.MOST,
)
DESCRIPTOR_LIMIT = Gauge(
    "gossamer_max_descriptors",
    "Descriptors that a process may open, of the process that may open least",
    question="Is the limit of open files what bounds the requests at once?",
    figures={"max_descriptors": ""},
    combine=Combine.LEAST,
)
DISK_FREE_BYTES = Gauge(
    "gossamer_disk_free_bytes",
    "Free space on the disk of the crawl's folder",
    question="When is the disk full?",
    figures={"disk_free_bytes": ""},
    combine=Combine.LEAST,
)
DISK_RESERVE_BYTES = Gauge(
    "gossamer_disk_reserve_bytes",
    "Free space below which the crawl pauses: the setting min_free_space",
    question="How much free space is left before the crawl pauses?",
    figures={"disk_reserve_bytes": ""},
)
UPTIME_SECONDS = Gauge(
    "gossamer_uptime_seconds",
    "Time since this start of the crawl",
    question="Was the crawl restarted?",
    figures={"uptime_s": ""},
)
BUILD_INFO = Gauge(
    "gossamer_build_info",
    "1 for the version of Gossamer that runs",
    question="Which version runs here?",
    figures={"build": __version__},
    label="version",
)


def cpu_samples(cpu_s: Mapping[str, float]) -> Samples:
    """Return the samples of processor time, given the seconds of each kind of process."""
    return {(CPU_SECONDS_TOTAL.name, process): seconds for process, seconds in cpu_s.items()}
