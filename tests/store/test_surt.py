"""The keys of an index are those that other tools compute: the replay of an archive finds pages by them."""

from __future__ import annotations

import json
import random
import subprocess

import pytest

from gossamer.store.cdxj import surt
from gossamer.urls import normalise
from tools.environments import MissingError, python_with

SESSION = "0123456789abcdef" * 2  # 32 characters
PIECES = (
    *("/", "//", "a", "B", "%2F", "%5E", "%28", "%29", "%", "%%", "%2", "%25", "%2541", "%252F", "%252e%252e", "%252e"),
    *("..", ".", "%3F", "?", "&", "=", "%26", "%3D", "+", " ", "é", "%ff", "%00", "%0a", "%7F", "%23", "|", "[", "]"),
    *("{", "}", "~", "'", '"', "<", ";", ":", "@", "!", "*", ",", "$", "`", "^", "(", ")", "-", "x=1", "x-y=2", "x"),
    *(
        f"jsessionid={SESSION}",
        f"PHPSESSID={SESSION}",
        f"sid={SESSION}",
        f"sid={SESSION}0",
        "cfid=1&cftoken=2",
        "cfid=",
    ),
    *("ASPSESSIONIDABCDEFGH=" + "a" * 24, f"(s({SESSION[:24]}))/", f"({SESSION[:24]})/", "page.aspx", "日本"),
)
HOSTS = ("example.org", "www.example.org", "WWW2.example.co.uk", "www.com", "192.0.2.7", "[2001:db8::1]", "bücher.test")
PORTS = ("", "", "", ":8080", ":443", ":80", ":0")


def odd_urls(number: int) -> list[str]:
    """Normalised URLs made of what is written into URLs, in any order."""
    chance = random.Random(18)
    urls: set[str] = set()
    while len(urls) < number:
        path, query = ("".join(chance.choices(PIECES, k=chance.randrange(8))) for _ in range(2))
        url = f"https://{chance.choice(HOSTS)}{chance.choice(PORTS)}/{path}{chance.choice(['', '?'])}{query}"
        if isinstance(normal := normalise(url), str):
            urls.add(normal)
    return sorted(urls)


def keys_of_cdxj_indexer(urls: list[str]) -> list[str]:
    script = (
        "import json, sys; from cdxj_indexer.main import CDXJIndexer; "
        "key = CDXJIndexer.get_url_key; json.dump([key(None, url) for url in json.load(sys.stdin)], sys.stdout)"
    )
    command = [str(python_with("replay")), "-W", "ignore", "-c", script]
    run = subprocess.run(command, input=json.dumps(urls), capture_output=True, text=True, check=True)
    return list(json.loads(run.stdout))


def test_the_keys_of_5000_odd_urls_are_those_of_cdxj_indexer() -> None:
    urls = odd_urls(5_000)
    try:
        theirs = keys_of_cdxj_indexer(urls)
    except MissingError as error:
        pytest.skip(f"there is no cdxj-indexer: {error}")
    different = {url: (surt(url), key) for url, key in zip(urls, theirs, strict=True) if surt(url) != key}
    assert different == {}


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.example.org/", "org,example)/"),
        ("http://www2.example.co.uk/A/B/?b=2&a=1", "uk,co,example)/a/b?a=1&b=2"),
        ("https://example.org:8443/x/", "org,example:8443)/x"),
        ("http://192.0.2.7/x", "7,2,0,192)/x"),
        ("http://[2001:db8::1]:8080/x?", "2001:db8::1:8080)/x"),
        ("https://example.org/p//q/?z&y=%C3%A9", "org,example)/p/q?y=%c3%a9&z"),
        ("https://www.org//", "org)/"),
        ("https://a.test/a%2Fb", "test,a)/a/b"),
        ("https://a.test/%5E%28x%29", "test,a)/^(x)"),
        ("https://a.test/100%", "test,a)/100%25"),
        ("https://a.test/a/%252e%252e/b", "test,a)/b"),
        ("https://a.test/?a-b=1&a=2", "test,a)/?a=2&a-b=1"),
        (f"https://a.test/?b=1&sid={SESSION}&a=2", "test,a)/?a=2&b=1"),
        (f"https://a.test/?PHPSESSID={SESSION}", "test,a)/"),
        (f"https://a.test/x/(S({SESSION[:24]}))/P.aspx", "test,a)/x/p.aspx"),
    ],
)
def test_keys_are_those_of_other_archives(url: str, key: str) -> None:
    assert surt(url) == key
