"""What is said about URLs that are not crawled, and of how many messages it is.

Gathers lines of "this URL, because of that" into as few messages as their size allows. Decides
nothing about URLs; every other module of the core hands its lines over to here.
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
MAX_LINES: Final = 500
MAX_CHARACTERS: Final = 100_000
"""Of URLs, keys and details in one message: even if each took four bytes, it would fit its topic."""

MAX_DETAIL_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class UrlDecision:
    """One URL, and why."""

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
    """The page that an entry was found on."""


def refused_decision(candidate: Candidate, reason: str, detail: str = "") -> UrlDecision:
    """Say that a URL was not taken into the frontier."""
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
    """Say that an entry was closed without a page, for the reason that its record has."""
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
    """Make messages of lines: those of one page and run go together, closings of a batch as well."""
    together: dict[tuple[str, ...], list[UrlDecision]] = {}
    for line in decisions:
        together.setdefault(_place(line), []).append(line)
    for gathered in together.values():
        for part in _parts(gathered):
            yield _message(part, now_ms)


def _place(line: UrlDecision) -> tuple[str, ...]:
    if line.decision == Decision.REFUSED and line.page_key:
        return line.page_key, line.job_id, line.execution_id, line.crawl_spec_id
    return (line.decision,)


def _parts(lines: Sequence[UrlDecision]) -> Iterator[Sequence[UrlDecision]]:
    part: list[UrlDecision] = []
    characters = 0
    for line in lines:
        size = (
            len(line.url)
            + len(line.url_key)
            + len(line.detail)
            + len(line.redirect_target)
            + len(line.referrer)
        )
        size += len(line.job_id) + len(line.execution_id)
        if part and (len(part) == MAX_LINES or characters + size > MAX_CHARACTERS):
            yield part
            part, characters = [], 0
        part.append(line)
        characters += size
    if part:
        yield part


def _message(lines: Sequence[UrlDecision], now_ms: int) -> UrlsDecided:
    first = lines[0]
    jobs, executions = [line.job_id for line in lines], [line.execution_id for line in lines]
    differ = len(set(jobs)) > 1 or len(set(executions)) > 1
    specs = {line.crawl_spec_id for line in lines}
    return UrlsDecided(
        url_key=first.page_key or first.url_key,
        decided_by=DECIDED_BY,
        decided_at_ms=now_ms,
        urls=tuple(line.url for line in lines),
        url_keys=tuple(line.url_key for line in lines),
        decisions=tuple(line.decision for line in lines),
        reasons=tuple(line.reason for line in lines),
        details=_column(lines, lambda line: line.detail),
        page_url=first.page_url,
        job_id="" if differ else first.job_id,
        execution_id="" if differ else first.execution_id,
        job_ids=tuple(jobs) if differ else (),
        execution_ids=tuple(executions) if differ else (),
        crawl_spec_id=first.crawl_spec_id if len(specs) == 1 else "",
        fetch_sequences=_column(lines, lambda line: line.fetch_sequence),
        depths=_column(lines, lambda line: line.depth),
        statuses=_column(lines, lambda line: line.status),
        redirect_targets=_column(lines, lambda line: line.redirect_target),
        referrers=_column(lines, lambda line: line.referrer),
    )


def _column(lines: Sequence[UrlDecision], value: Callable[[UrlDecision], T]) -> tuple[T, ...]:
    column = tuple(value(line) for line in lines)
    return column if any(column) else ()
