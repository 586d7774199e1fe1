"""The rows of the stored tables. Each column is listed here and nowhere else.

From these annotations come the Arrow schemas (`store.schemas`), the frame between page process and worker
(`page_process.frames`), `api.Page`, `gossamer query --tables` and the reference. The order of the fields is the order
of the columns. A new column goes to the end of its row, with a default, which readers use for files that lack it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

HASH_BYTES: Final = 16
NO_HASH: Final = bytes(HASH_BYTES)
UrlHash = bytes  # a row may have a column named `bytes`


class ColumnType(StrEnum):
    """What a column holds, by the name that Arrow gives it."""

    BYTES = "binary"
    HASH = "fixed_size_binary[16]"
    TEXT = "string"
    FLAG = "bool"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT64 = "uint64"
    DOUBLE = "double"
    TIME = "timestamp[us, tz=UTC]"  # Unix seconds in the row


@dataclass(frozen=True, slots=True)
class Stored:
    """How a field of a row is stored: the annotation of each field."""

    type: ColumnType
    meaning: str  # one line
    repeats: bool = False  # few distinct values in a part: worth a dictionary


BYTES, HASH, TEXT, FLAG, INT16, INT32, INT64, UINT64, DOUBLE, TIME = ColumnType
REPEATS: Final = True


class PageRow(NamedTuple):
    """One stored page. The `pages` table.

    Every field has a default, because a row is filled in as the page travels: the page process fills in what it
    finds in the page, the worker what it knows about the request, the store where the archive record is.
    """

    url_hash: Annotated[bytes, Stored(HASH, "xxh3-128 of the URL: the identity of the page")] = NO_HASH
    url: Annotated[str, Stored(TEXT, "normalised URL the page came from")] = ""
    site: Annotated[str, Stored(TEXT, "registrable domain or IP address", REPEATS)] = ""
    depth: Annotated[int, Stored(INT32, "links from the nearest seed")] = 0
    fetched_at: Annotated[float, Stored(TIME, "when the request began")] = 0.0
    status: Annotated[int, Stored(INT16, "HTTP status")] = 0
    content_type: Annotated[str, Stored(TEXT, "Content-Type as sent", REPEATS)] = ""
    charset: Annotated[str, Stored(TEXT, "encoding the text was read with", REPEATS)] = ""
    lang: Annotated[
        str, Stored(TEXT, "language that counts: declared, or detected if the text clearly differs", REPEATS)
    ] = ""
    title: Annotated[str, Stored(TEXT, "title of the page")] = ""
    text: Annotated[str, Stored(TEXT, "main text")] = ""
    links: Annotated[int, Stored(INT32, "distinct links found to follow")] = 0
    content_hash: Annotated[bytes, Stored(BYTES, "xxh3-128 of the inflated body: equal pages have equal ones")] = b""
    canonical: Annotated[str, Stored(TEXT, "canonical URL the page names, normalised")] = ""
    signals: Annotated[str, Stored(TEXT, "consent signals as found: name=value, one per line", REPEATS)] = ""
    truncated: Annotated[bool, Stored(FLAG, "whether the body is incomplete")] = False
    body_bytes: Annotated[int, Stored(INT64, "length of the inflated body")] = 0
    payload_digest: Annotated[str, Stored(TEXT, "SHA-1 of the body as sent, as in the archive record")] = ""
    warc_file: Annotated[str, Stored(TEXT, "segment of the archive record; empty if not archived", REPEATS)] = ""
    warc_offset: Annotated[int, Stored(INT64, "where in the segment the response record begins")] = 0
    warc_length: Annotated[int, Stored(INT64, "length of the response record in the segment")] = 0
    duplicate_of: Annotated[str, Stored(TEXT, "URL of a page stored before with the same content; empty if none")] = ""
    simhash: Annotated[int, Stored(UINT64, "fingerprint of the text: similar texts differ in few of its bits")] = 0
    lang_declared: Annotated[
        str, Stored(TEXT, "language that the page or its server declares; empty if none", REPEATS)
    ] = ""
    lang_detected: Annotated[str, Stored(TEXT, "language detected in the text; empty if it is too short", REPEATS)] = ""
    lang_score: Annotated[float, Stored(DOUBLE, "how sure the detector is, from 0 to 1")] = 0.0
    last_modified: Annotated[str, Stored(TEXT, "Last-Modified of the answer, ISO 8601 in UTC; empty if none")] = ""
    etag: Annotated[str, Stored(TEXT, "ETag of the answer as sent; empty if none")] = ""
    published: Annotated[str, Stored(TEXT, "when the page says it was published: a day, or a moment in UTC")] = ""
    published_from: Annotated[str, Stored(TEXT, "where it says so: json-ld, opengraph, meta or time", REPEATS)] = ""
    modified: Annotated[str, Stored(TEXT, "when the page says it was last changed: a day, or a moment in UTC")] = ""
    modified_from: Annotated[str, Stored(TEXT, "where it says so: json-ld, opengraph, meta or time", REPEATS)] = ""
    via: Annotated[UrlHash, Stored(HASH, "url_hash of the page that the URL was found on; zeros for seeds")] = NO_HASH
    mime_detected: Annotated[
        str, Stored(TEXT, "media type by the first bytes of the body; the declared one if they say nothing", REPEATS)
    ] = ""


class RequestRow(NamedTuple):
    """One line of the crawl log: every request, robots.txt and failures included. The `requests` table."""

    url_hash: Annotated[bytes, Stored(HASH, "xxh3-128 of the URL")]
    url: Annotated[str, Stored(TEXT, "URL that was requested")]
    site: Annotated[str, Stored(TEXT, "registrable domain or IP address", REPEATS)]
    kind: Annotated[
        str,
        Stored(
            TEXT,
            "page, robots, sitemap, tdmrep, or robots_elsewhere: on another site than the robots.txt that redirects "
            "there",
            REPEATS,
        ),
    ]
    started_at: Annotated[float, Stored(TIME, "when the request began")]
    ended_at: Annotated[float, Stored(TIME, "when its last byte came, or it failed")]
    status: Annotated[int, Stored(INT16, "HTTP status; 0 if there was no answer")]
    reason: Annotated[str, Stored(TEXT, "why there was no answer; empty if there was one", REPEATS)]
    bytes: Annotated[int, Stored(INT64, "length of the body as sent")]
    address: Annotated[str, Stored(TEXT, "IP address of the server", REPEATS)]
    robots: Annotated[str, Stored(TEXT, "allowed by robots.txt, or unchecked for robots.txt itself", REPEATS)]
    attempt: Annotated[int, Stored(INT16, "1 for the first try, 2 for the second, ...")]
    worker: Annotated[str, Stored(TEXT, "worker that sent the request", REPEATS)]
    wait_s: Annotated[
        float,
        Stored(
            DOUBLE,
            "the wait until the next request to the site, as known then: its delay, or its Retry-After",
            REPEATS,
        ),
    ] = 0.0
    redirect_to: Annotated[str, Stored(TEXT, "URL that the answer redirects to, normalised if it can be")] = ""
    via: Annotated[UrlHash, Stored(HASH, "url_hash of the page that the URL was found on; zeros for seeds")] = NO_HASH
    blocked: Annotated[
        str,
        Stored(TEXT, "the mark of a challenge or block page that came in place of the page; empty if none", REPEATS),
    ] = ""
    parallel: Annotated[
        int,
        Stored(INT16, "how many requests at once the site may get, if it belongs to the operator; 0 if not", REPEATS),
    ] = 0


class LinkRow(NamedTuple):
    """One link of a stored page. The `links` table."""

    from_hash: Annotated[bytes, Stored(HASH, "url_hash of the page that has the link", REPEATS)]
    fetched_at: Annotated[float, Stored(TIME, "fetched_at of that page", REPEATS)]
    to_url: Annotated[str, Stored(TEXT, "URL the link leads to, normalised", REPEATS)]
    text: Annotated[str, Stored(TEXT, "what is written on the link, at most 200 characters", REPEATS)]
    rel: Annotated[str, Stored(TEXT, "rel of the link as written, such as nofollow", REPEATS)]


class FigureRow(NamedTuple):
    """The value of one metric of one process at one moment. The `figures` and `ticks` tables."""

    time: Annotated[float, Stored(TIME, "a multiple of ten seconds; of a process's last figures, its end", REPEATS)]
    worker: Annotated[
        str, Stored(TEXT, "worker, as in requests; of what a supervisor measures, supervisor@machine", REPEATS)
    ]
    name: Annotated[str, Stored(TEXT, "metric; of a histogram, with _sum and _count", REPEATS)]
    labels: Annotated[str, Stored(TEXT, "its labels, such as kind=page,result=2xx; empty if it has none", REPEATS)]
    value: Annotated[
        float,
        Stored(DOUBLE, "of a counter, since the process started; a value without a row is that of the row before"),
    ]
