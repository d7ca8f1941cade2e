"""Refusals as events for `urls-decided`: one message a page, or some for a batch of seeds.

Decides what fits into a message; the refusals themselves were decided before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from strider.contracts.generated.enums import Decision
from strider.contracts.generated.events import PageParsed, UrlsDecided

from .admission import Refusals

DECIDED_BY: Final = "link-ingestion"

MAX_SEEDS: Final = 64
"""Refused seeds in one message: with the longest texts it stays below its topic's limit."""


class RefusedSeed(NamedTuple):
    """A refused seed, with the reason."""

    url: str
    """In wire form, or the text that was sent, clipped."""
    url_key: str
    """Empty for a text that is not a URL."""
    reason: str
    detail: str
    job_id: str
    execution_id: str


def link_refusals_event(page: PageParsed, refusals: Refusals, *, depth: int, now_ms: int) -> UrlsDecided:
    """Return the event with a page's refused links."""
    count = len(refusals.urls)
    return UrlsDecided(
        url_key=page.url_key,
        decided_by=DECIDED_BY,
        decided_at_ms=now_ms,
        urls=tuple(refusals.urls),
        url_keys=tuple(refusals.keys),
        decisions=(Decision.REFUSED,) * count,
        reasons=tuple(refusals.reasons),
        details=tuple(refusals.details) if any(refusals.details) else (),
        page_url=page.url,
        job_id=page.job_id,
        execution_id=page.execution_id,
        crawl_spec_id=page.crawl_spec_id,
        depths=(depth,) * count,
        not_listed=refusals.not_listed,
    )


def seed_refusal_events(refused: Sequence[RefusedSeed], *, now_ms: int) -> list[UrlsDecided]:
    """Return the events with refused seeds. Each message is keyed by its first URL."""
    parts = (refused[at : at + MAX_SEEDS] for at in range(0, len(refused), MAX_SEEDS))
    return [_decide_part(part, now_ms) for part in parts]


def _decide_part(part: Sequence[RefusedSeed], now_ms: int) -> UrlsDecided:
    return UrlsDecided(
        url_key=next((seed.url_key for seed in part if seed.url_key), ""),
        decided_by=DECIDED_BY,
        decided_at_ms=now_ms,
        urls=tuple(seed.url for seed in part),
        url_keys=tuple(seed.url_key for seed in part),
        decisions=(Decision.REFUSED,) * len(part),
        reasons=tuple(seed.reason for seed in part),
        details=_or_none(seed.detail for seed in part),
        job_ids=tuple(seed.job_id for seed in part),
        execution_ids=tuple(seed.execution_id for seed in part),
        depths=(0,) * len(part),
    )


def _or_none(texts: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(texts)
    return listed if any(listed) else ()
