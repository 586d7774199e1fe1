"""Longer delays for single sites are read as they are meant, or refused in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.crawl.site_delays import read_site_delays
from gossamer.errors import GossamerError
from gossamer.rules.pace import PaceSettings

if TYPE_CHECKING:
    from pathlib import Path


def read(*delays: str, file: Path | None = None) -> dict[str, float]:
    return read_site_delays(PaceSettings(delay_s=70.0, site_delay=delays, site_delays_file=file))


@pytest.mark.parametrize(
    ("text", "site", "delay_s"),
    [
        ("example.org=300", "example.org", 300.0),
        (" Example.ORG = 5m ", "example.org", 300.0),
        ("example.org.=2h", "example.org", 7_200.0),
        ("bücher.example=71.5", "xn--bcher-kva.example", 71.5),
        ("alice.github.io=300", "alice.github.io", 300.0),
        ("192.0.2.1=300", "192.0.2.1", 300.0),
        ("2001:db8::1=300", "2001:db8::1", 300.0),
        ("[2001:db8::1]=300", "2001:db8::1", 300.0),
        ("example.org=70", "example.org", 70.0),
    ],
)
def test_a_site_is_named_with_its_delay(text: str, site: str, delay_s: float) -> None:
    assert read(text) == {site: delay_s}


def test_flags_and_a_file_add_up_and_the_longest_delay_holds(tmp_path: Path) -> None:
    file = tmp_path / "delays.txt"
    file.write_text(
        "\ufeff# slow ones\na.example=300\n\nb.example=5m  # asked us to\nb.example=100\n", encoding="utf-8"
    )
    assert read("a.example=400", "c.example=80", file=file) == {"a.example": 400, "b.example": 300, "c.example": 80}
    assert read() == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("example.org", "--site-delay example.org lacks a delay: write it like example.org=300."),
        ("example.org=", "the delay must be a duration such as 70, 1.5 or 2m, not ''."),
        ("example.org=soon", "the delay must be a duration such as 70, 1.5 or 2m, not 'soon'."),
        ("example.org=-80", "the delay must be a duration such as 70, 1.5 or 2m, not '-80'."),
        ("example.org=1", "is less than the delay of all sites, 70 s: a site can only get more."),
        ("www.example.org=300", "www.example.org belongs to the site example.org, which has one pace: name that."),
        ("https://example.org=300", "'https://example.org' is no site: write it like example.org=300."),
        ("example.org/a=300", "'example.org/a' is no site: write it like example.org=300."),
        ("example.org:80=300", "'example.org:80' is no site: write it like example.org=300."),
        ("=300", "'' is no site: write it like example.org=300."),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(GossamerError) as mistake:
        read(text)
    assert str(mistake.value).endswith(said)
    assert str(mistake.value).startswith(f"--site-delay {text}")


def test_a_mistake_in_the_file_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "delays.txt"
    file.write_text("a.example=300\nb.example\n")
    with pytest.raises(GossamerError, match=r"delays\.txt, line 2: 'b\.example' lacks a delay"):
        read(file=file)
    with pytest.raises(GossamerError, match="write one SITE=DURATION per line there"):
        read(file=tmp_path / "none.txt")
