"""Every way in which a URL can fail to become a page, by name. The names are what tables, logs and `explain` show."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a request failed, or why a URL was given up."""

    # Never requested
    EXCLUDED = "excluded"
    OUT_OF_SCOPE = "out_of_scope"
    TOO_DEEP = "too_deep"  # farther from the seeds than max_depth, which was lowered
    NOT_INCLUDED = "not_included"  # no pattern includes it any more
    TRAP = "trap"  # a redirect into a trap: see `rules.traps`
    PORT_REFUSED = "port_refused"  # on a port that browsers block, or a redirect to one that is not of the web
    IP_HOST = "ip_host"  # a redirect to an address instead of a name
    ROBOTS_DISALLOWED = "robots_disallowed"
    ROBOTS_UNREACHABLE = "robots_unreachable"  # robots.txt failed for longer than robots_give_up
    ADDRESS_REFUSED = "address_refused"  # the name resolves to an address that is not public

    # No answer
    NO_SUCH_NAME = "no_such_name"
    DNS_FAILED = "dns_failed"  # the name server gave no answer
    CONNECT_REFUSED = "connect_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    CONNECT_FAILED = "connect_failed"
    TLS_FAILED = "tls_failed"
    NO_HTTPS = "no_https"  # nothing answered under https, which was a guess: the seed was queued under http instead

    CUT_SILENT = "cut_silent"  # no answer yet when sites that answer needed its slot; it is requested again

    # A broken answer
    TIMEOUT = "timeout"  # connected, but not finished in time
    TOO_SLOW = "too_slow"  # below the lowest speed for too long
    CONNECTION_LOST = "connection_lost"
    BAD_RESPONSE = "bad_response"  # not HTTP as we know it
    CUT_LARGE = "cut_large"  # a large body when other bodies used all the memory for bodies; it is requested again
    HEADERS_TOO_LARGE = "headers_too_large"

    # An answer that yields no page
    HTTP_ERROR = "http_error"  # a status that is an error, permanently or after all tries
    TYPE_REFUSED = (
        "type_refused"  # a content type that the operator does not accept; HTML is read for its links all the same
    )
    BLOCKED = "blocked"  # a challenge or block page of a protection service came in place of the page, at every try
    BAD_REDIRECT = "bad_redirect"  # no target, or one that cannot be crawled
    TOO_MANY_REDIRECTS = "too_many_redirects"

    # A page that is not kept
    NOINDEX = "noindex"  # it says so, to all crawlers or to this one; its links are followed unless it says nofollow
    AI_OPTED_OUT = "ai_opted_out"  # it forbids its use for artificial intelligence, and respect_ai_optout is on
    OTHER_LANGUAGE = "other_language"  # none of those that the operator wants
    NOT_CANONICAL = "not_canonical"  # it names another page as canonical, which is queued

    # A page that could not be read
    BAD_ENCODING = "bad_encoding"  # its content encoding is broken or unknown
    PARSE_DEADLINE = "parse_deadline"
    PARSE_MEMORY = "parse_memory"
    PARSE_CRASHED = "parse_crashed"

    PARSER_BUSY = "parser_busy"  # too many costly pages waited to be read; it is requested again
    LINKS_BUSY = "links_busy"  # too many links of pages that have many waited for the frontier; it is requested again

    # A sitemap that lists nothing
    NO_SITEMAP = "no_sitemap"  # none at the conventional URL; the robots.txt had named none
    BAD_SITEMAP = "bad_sitemap"  # not a sitemap, or unreadable

    # Ours
    CANCELLED = "cancelled"  # we stopped while it was under way; it is requested again
    INTERNAL_ERROR = "internal_error"  # a bug of ours, with a traceback in the log
