"""Pages that are not the page are recognised by strong marks; pages about them are not."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from gossamer.parse.blocks import block_in_error, block_in_head
from gossamer.parse.page import read_page
from gossamer.records import Fetched, ParseFailed
from tests.parse.block_pages import FORMS, Form, page, pages_about
from tests.parse.pages import CAP, answer


def mark_of(fetched: Fetched) -> str:
    """The mark as a crawl finds it: in the page process, or for an error in the turn."""
    if not 200 <= fetched.status < 300:
        return block_in_error(fetched)
    parsed = read_page(fetched, agent="Gossamer", max_bytes=CAP)
    assert not isinstance(parsed, ParseFailed)
    return parsed.blocked


def fetched_form(form: Form) -> Fetched:
    """An answer of this form."""
    return replace(answer(form.body, "text/html; charset=utf-8", headers=form.headers), status=form.status)


@pytest.mark.parametrize("form", FORMS, ids=[f"{number}-{form.service}" for number, form in enumerate(FORMS)])
def test_a_real_form_is_recognised_with_its_mark(form: Form) -> None:
    assert mark_of(fetched_form(form)).startswith(f"{form.service}: ")


def test_there_are_many_forms() -> None:
    assert len(FORMS) >= 25
    assert len({form.service for form in FORMS}) >= 20


def test_the_mark_says_what_decided() -> None:
    assert mark_of(fetched_form(FORMS[0])) == "Cloudflare: header cf-mitigated: challenge"
    assert mark_of(fetched_form(FORMS[5])) == ("Cloudflare: title 'attention required! | cloudflare', cf-error-details")


def test_pages_about_such_pages_are_pages() -> None:
    about = pages_about(4) + pages_about(9) + pages_about(40)
    assert len(about) >= 50
    assert [mark_of(answer(body)) for body in about] == [""] * len(about)


def test_a_page_that_loads_a_services_script_is_a_page() -> None:
    text = "<p>" + "Welcome to the shop, where you can buy fifty kinds of tea. " * 10
    for script in (
        "/_Incapsula_Resource?SWJIYLWA=719d",
        "/cdn-cgi/challenge-platform/scripts/jsd/main.js",
        "/TSPD/08?type=9",
    ):
        assert mark_of(answer(page("Shop", f"<script src='{script}'></script>{text}"))) == ""
    assert mark_of(answer(page("Shop", "<script>window.__CF$cv$params={r:'1'}</script><p>Closed today</p>"))) == ""


def test_an_ordinary_refusal_is_no_block_page() -> None:
    for status in (401, 403, 404, 410, 429, 500, 503):
        form = Form("", status, ("Server: nginx",), page(f"{status} Forbidden", "<h1>Forbidden</h1>"))
        assert mark_of(fetched_form(form)) == ""
    apache = page("403 Forbidden", "<h1>Forbidden</h1><p>You don't have permission to access this resource.</p>")
    assert mark_of(fetched_form(Form("", 403, (), apache))) == ""


def test_the_body_of_an_error_is_inflated() -> None:
    form = FORMS[5]
    packed = replace(answer(gzip.compress(form.body.encode()), headers=("Content-Encoding: gzip",)), status=403)
    assert block_in_error(packed).startswith("Cloudflare")
    assert block_in_error(replace(packed, body=b"\x1f\x8b\x00broken")) == ""


def test_a_header_counts_only_where_the_service_sends_it_alone() -> None:
    assert block_in_head(b"HTTP/1.1 200 OK\r\nCF-Mitigated:  challenge\r\n\r\n", 200)
    assert not block_in_head(b"HTTP/1.1 200 OK\r\ncf-mitigated: none\r\n\r\n", 200)
    assert not block_in_head(b"HTTP/1.1 200 OK\r\nx-kpsdk-ct: 1\r\n\r\n", 200), "pages that are let through have it too"
    assert block_in_head(b"HTTP/1.1 429 No\r\nx-kpsdk-ct: 1\r\n\r\n", 429)
