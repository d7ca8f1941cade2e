"""Counters of a crawl, and its summary as text and as JSON. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from strider.cli.output import counted, json_text

from .results import FAILED, OUTCOMES, PAGE, REJECTED

SHOWN_HOSTS: Final = 5
SHOWN_REASONS: Final = 12


@dataclass(slots=True)
class HostCounters:
    """Pages of a host, and the time that they took."""

    pages: int = 0
    milliseconds: float = 0.0


@dataclass(slots=True)
class CrawlCounters:
    """Counters of written and unwritten results."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    hosts: dict[str, HostCounters] = field(default_factory=dict)
    unlisted: int = 0
    """Refused links without a record of their own."""

    def count(self, outcome: str, reason: str) -> None:
        """Count a URL by outcome and reason."""
        self.outcomes[outcome] += 1
        if reason and reason != outcome:
            self.reasons[f"{outcome}: {reason}"] += 1

    def count_page(self, host: str, milliseconds: float) -> None:
        """Count a page of a host, and its time."""
        counters = self.hosts.setdefault(host, HostCounters())
        counters.pages += 1
        counters.milliseconds += milliseconds

    @property
    def urls(self) -> int:
        """Number of URLs with an outcome."""
        return self.outcomes.total()

    @property
    def pages(self) -> int:
        """Number of valid pages."""
        return self.outcomes[PAGE]

    @property
    def errors(self) -> int:
        """Number of failed URLs."""
        return self.outcomes[FAILED]

    @property
    def has_no_pages(self) -> bool:
        """Whether no page was fetched."""
        return not (self.outcomes[PAGE] or self.outcomes[REJECTED])

    def to_json(self) -> str:
        """Return the counters as JSON, without the hosts, whose times are in the records."""
        return json_text([self.outcomes, self.reasons, self.unlisted])

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the counters of their JSON."""
        outcomes, reasons, unlisted = json.loads(text)
        return cls(Counter(outcomes), Counter(reasons), unlisted=unlisted)


def summary_json(counters: CrawlCounters, seconds: float, end: str, *, given_up: int = 0) -> str:
    """Return the summary as one JSON object."""
    return json_text(
        {
            "end": end,
            "seconds": round(seconds, 3),
            "urls": counters.urls,
            "outcomes": {word: counters.outcomes[word] for word in OUTCOMES},
            "reasons": dict(counters.reasons.most_common()),
            "not_listed": counters.unlisted,
            "messages_given_up": given_up,
            "slowest_hosts": slowest_hosts(counters),
        }
    )


def summary_text(counters: CrawlCounters, seconds: float, *, is_complete: bool, given_up: int = 0) -> str:
    """Return the summary as a few lines."""
    return "\n".join(_summary_lines(counters, seconds, is_complete=is_complete, given_up=given_up))


def _summary_lines(
    counters: CrawlCounters, seconds: float, *, is_complete: bool, given_up: int
) -> Iterator[str]:
    word = "complete" if is_complete else "stopped"
    yield f"{word}: {counted(counters.pages, 'page')} in {seconds:.1f} s"
    for outcome in OUTCOMES:
        if counters.outcomes[outcome]:
            yield f"  {outcome:<11}{counters.outcomes[outcome]:>8}"
    if counters.reasons:
        yield "reasons:"
        for reason, count in counters.reasons.most_common(SHOWN_REASONS):
            yield f"  {reason:<36}{count:>8}"
    if counters.unlisted:
        yield f"  refused links without a line of their own: {counters.unlisted}"
    if given_up:
        yield f"  dead-lettered: {counted(given_up, 'message')}, which is a bug in strider: see the log above"
    if hosts := slowest_hosts(counters):
        yield "slowest hosts:"
        for name, milliseconds in hosts.items():
            yield f"  {name:<36}{milliseconds:>8.0f} ms per page"


def slowest_hosts(counters: CrawlCounters) -> Mapping[str, float]:
    """Return the hosts with the longest average time per page."""
    averages = {name: host.milliseconds / host.pages for name, host in counters.hosts.items() if host.pages}
    best = sorted(averages.items(), key=lambda pair: (-pair[1], pair[0]))[:SHOWN_HOSTS]
    return {name: round(milliseconds, 1) for name, milliseconds in best}
