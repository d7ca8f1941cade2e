"""How do people want single sites to be treated, whatever the crawl specs of their crawls say?

A source belongs to the hosts of its start URLs, and to the hosts and domains that it names. What it says of
the delay and of requests at a time stands for what crawl specs say; robots.txt may still ask for more.
Where several sources claim a group, the most careful one holds for each setting.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.events import SourceSaved
from strider.contracts.partitioning import registrable_domain
from strider.scheduler.core.entries.candidates import group_of

MAX_DELAY_MS: Final = 86_400_000
"""No source makes a host wait longer between two requests."""


@fast_dataclass(frozen=True, slots=True)
class Manners:
    """What is wanted of a group."""

    delay_ms: int | None
    """None: whatever crawl specs say."""
    max_in_flight: int


class SourceOverrides:
    """All sources that there are."""

    def __init__(self, *, by_domain: bool = False) -> None:
        self._by_domain = by_domain
        self._saved: dict[str, tuple[frozenset[str], Manners]] = {}
        self._by_name: dict[str, Manners] = {}

    def apply(self, source_id: str, source: SourceSaved | None) -> frozenset[str]:
        """Take in a source as it is now, None where it was dropped; gives the names it is or was about."""
        names, _ = self._saved.pop(source_id, (frozenset(), None))
        if source is not None:
            own = names_of(source, by_domain=self._by_domain)
            self._saved[source_id] = own, overrides_of_source(source)
            names |= own
        for name in names:
            wanted = [manners for about, manners in self._saved.values() if name in about]
            if wanted:
                self._by_name[name] = _strictest(wanted)
            else:
                self._by_name.pop(name, None)
        return names

    def get(self, group: str) -> Manners | None:
        """Say what is wanted of a group, by name or else by domain; None where no source is about it."""
        if not self._by_name:
            return None
        return self._by_name.get(group) or self._by_name.get(domain_key(group))

    def affects(self, group: str, names: frozenset[str] | set[str]) -> bool:
        """Say whether a group is among names."""
        return group in names or domain_key(group) in names


def domain_key(host_name: str) -> str:
    """Name all hosts of a domain at once, so that none of them is meant by it."""
    return f".{registrable_domain(host_name)}"


def names_of(source: SourceSaved, *, by_domain: bool = False) -> frozenset[str]:
    """Name the groups, and the domains, that a source is about."""
    urls = [url for url in (source.url, *source.start_urls) if "://" in url]
    named = [name for each in source.domains if (name := each.strip().lower().strip("."))]
    return frozenset(
        {group_of(url, by_domain=by_domain) for url in urls} | {*named} | {f".{name}" for name in named}
    ) - {""}


def overrides_of_source(source: SourceSaved) -> Manners:
    """Read what it wants; a number that means nothing is none."""
    delay = source.delay_seconds
    is_meant = delay is not None and delay >= 0
    delay_ms = min(round(delay * 1000), MAX_DELAY_MS) if delay is not None and is_meant else None
    return Manners(delay_ms, max(1, source.max_concurrent_requests))


def _strictest(wanted: Iterable[Manners]) -> Manners:
    every = list(wanted)
    delays = [each.delay_ms for each in every if each.delay_ms is not None]
    return Manners(max(delays, default=None), min(each.max_in_flight for each in every))
