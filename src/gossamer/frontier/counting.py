"""What every engine counts alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer import metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.records import Claim


def count_links(offered: int, new: int) -> None:
    """Count links that were offered to the frontier, of which so many were new."""
    metrics.FRONTIER_LINKS_TOTAL.labels("new").inc(new)
    metrics.FRONTIER_LINKS_TOTAL.labels("known").inc(offered - new)


def count_claims(claims: Sequence[Claim]) -> None:
    """Count what was claimed."""
    metrics.FRONTIER_CLAIMED_SITES_TOTAL.inc(len(claims))
    metrics.FRONTIER_CLAIMED_URLS_TOTAL.inc(sum(len(claim.urls) for claim in claims))
