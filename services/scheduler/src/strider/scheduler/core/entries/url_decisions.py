"""Decisions about URLs that are not crawled, and their urls-decided messages.

Batches decisions into as few messages as their size allows. Decides nothing about a URL itself: every other
module of the core passes its decisions to this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from strider.contracts.generated.enums import Decision
from strider.contracts.generated.events import EntryRecorded, UrlsDecided

from .candidates import Candidate

T = TypeVar("T")

DECIDED_BY: Final = "scheduler"
MAX_DECISIONS: Final = 500
MAX_CHARACTERS: Final = 100_000
"""Characters of URLs, keys and details in one message: at four bytes each it still fits its topic."""

MAX_DETAIL_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class UrlDecision:
    """One URL, the decision about it, and the reason."""

    url: str
    url_key: str
    decision: str
    reason: str
    job_id: str
    execution_id: str
    crawl_spec_id: str
    detail: str = ""
    page_url: str = ""
    page_key: str = ""
    fetch_sequence: int = 0
    depth: int = 0
    status: int = 0
    redirect_target: str = ""
    referrer: str = ""
    """Page that the URL of an entry was found on."""


def refused_decision(candidate: Candidate, reason: str, detail: str = "") -> UrlDecision:
    """Return the decision that a URL was not accepted into the frontier."""
    origin = candidate.origin
    return UrlDecision(
        url=candidate.url,
        url_key=candidate.url_key,
        decision=Decision.REFUSED,
        reason=reason,
        detail=detail[:MAX_DETAIL_CHARACTERS],
        job_id=origin.job_id,
        execution_id=origin.execution_id,
        crawl_spec_id=origin.crawl_spec_id,
        page_url=origin.url,
        page_key=origin.url_key,
        depth=candidate.depth,
    )


def closed_decision(entry: EntryRecorded, detail: str = "") -> UrlDecision:
    """Return the decision that an entry was closed without a page, with the reason of its record."""
    return UrlDecision(
        url=entry.url,
        url_key=entry.url_key,
        decision=Decision.CLOSED,
        reason=entry.reason,
        detail=(detail or entry.error_class)[:MAX_DETAIL_CHARACTERS],
        job_id=entry.job_id,
        execution_id=entry.execution_id,
        crawl_spec_id=entry.crawl_spec_id,
        fetch_sequence=entry.fetch_sequence,
        depth=entry.depth,
        status=entry.status,
        redirect_target=entry.redirect_target,
        referrer=entry.referrer,
    )


def decision_messages(decisions: Iterable[UrlDecision], *, now_ms: int) -> Iterator[UrlsDecided]:
    """Return messages of decisions: refusals by page and run, closings all together."""
    groups: dict[tuple[str, ...], list[UrlDecision]] = {}
    for decision in decisions:
        groups.setdefault(_group_key(decision), []).append(decision)
    for group in groups.values():
        for batch in split_by_size(group, _size, max_items=MAX_DECISIONS, max_characters=MAX_CHARACTERS):
            yield _message(batch, now_ms)


def split_by_size(
    items: Iterable[T], size_of: Callable[[T], int], *, max_items: int, max_characters: int
) -> Iterator[Sequence[T]]:
    """Split items into batches of at most so many items and characters; a larger item is alone in one."""
    batch: list[T] = []
    characters = 0
    for item in items:
        size = size_of(item)
        if batch and (len(batch) == max_items or characters + size > max_characters):
            yield batch
            batch, characters = [], 0
        batch.append(item)
        characters += size
    if batch:
        yield batch


def _group_key(decision: UrlDecision) -> tuple[str, ...]:
    if decision.decision == Decision.REFUSED and decision.page_key:
        return decision.page_key, decision.job_id, decision.execution_id, decision.crawl_spec_id
    return (decision.decision,)


def _size(decision: UrlDecision) -> int:
    texts = (decision.url, decision.url_key, decision.detail, decision.redirect_target, decision.referrer)
    return sum(map(len, (*texts, decision.job_id, decision.execution_id)))


def _message(decisions: Sequence[UrlDecision], now_ms: int) -> UrlsDecided:
    first = decisions[0]
    jobs, executions = [each.job_id for each in decisions], [each.execution_id for each in decisions]
    is_mixed = len(set(jobs)) > 1 or len(set(executions)) > 1
    specs = {each.crawl_spec_id for each in decisions}
    return UrlsDecided(
        url_key=first.page_key or first.url_key,
        decided_by=DECIDED_BY,
        decided_at_ms=now_ms,
        urls=tuple(each.url for each in decisions),
        url_keys=tuple(each.url_key for each in decisions),
        decisions=tuple(each.decision for each in decisions),
        reasons=tuple(each.reason for each in decisions),
        details=_column(decisions, lambda each: each.detail),
        page_url=first.page_url,
        job_id="" if is_mixed else first.job_id,
        execution_id="" if is_mixed else first.execution_id,
        job_ids=tuple(jobs) if is_mixed else (),
        execution_ids=tuple(executions) if is_mixed else (),
        crawl_spec_id=first.crawl_spec_id if len(specs) == 1 else "",
        fetch_sequences=_column(decisions, lambda each: each.fetch_sequence),
        depths=_column(decisions, lambda each: each.depth),
        statuses=_column(decisions, lambda each: each.status),
        redirect_targets=_column(decisions, lambda each: each.redirect_target),
        referrers=_column(decisions, lambda each: each.referrer),
    )


def _column(decisions: Sequence[UrlDecision], value: Callable[[UrlDecision], T]) -> tuple[T, ...]:
    column = tuple(value(each) for each in decisions)
    return column if any(column) else ()
