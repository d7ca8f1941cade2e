"""Per-site overrides of delay and concurrency, by the sources that operators have saved.

A source applies to the hosts of its start URLs, and to the hosts and domains that it names. Its delay and its
number of concurrent requests replace those of crawl specs; robots.txt may still ask for a longer delay. Where
several sources apply to a host group, the most careful value of each setting holds.

Records of a source may come in another order than it was saved in: one with a lower version than the latest
is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.events import SourceSaved
from strider.contracts.partitioning import registrable_domain
from strider.urls import RefusedUrl, host_group_of, to_wire_url

MAX_DELAY_MS: Final = 86_400_000
"""Longest delay between two requests that a source may set."""


@fast_dataclass(frozen=True, slots=True)
class HostOverrides:
    """Overrides of one host group."""

    delay_ms: int | None
    """None: as crawl specs say."""
    max_in_flight: int


class SourceOverrides:
    """Overrides of all saved sources, by host group."""

    def __init__(self, *, by_domain: bool = False) -> None:
        self._by_domain = by_domain
        self._names: dict[str, frozenset[str]] = {}
        """Names that each source applies to."""
        self._claims: dict[str, dict[str, HostOverrides]] = {}
        """By name: the overrides of each of its sources."""
        self._strictest: dict[str, HostOverrides] = {}
        """By name, as far as it was looked up since it changed."""
        self._versions: dict[str, int] = {}
        """Latest version of each source, also of those that were deleted."""

    def apply(self, source_id: str, source: SourceSaved | None) -> frozenset[str]:
        """Apply a source, None where it was deleted; return the names it applies to, or did until now."""
        if source is not None and source.version:
            if source.version < self._versions.get(source_id, 0):
                return frozenset()
            self._versions[source_id] = source.version
        elif source is None and source_id in self._versions:
            # An id is never given twice: no record that comes after the deletion is one of a newer version.
            self._versions[source_id] += 1
        before = self._names.pop(source_id, frozenset())
        for name in before:
            del self._claims[name][source_id]
            if not self._claims[name]:
                del self._claims[name]
        own: frozenset[str] = frozenset()
        if source is not None:
            own = self._names[source_id] = names_of_source(source, by_domain=self._by_domain)
            overrides = overrides_of_source(source)
            for name in own:
                self._claims.setdefault(name, {})[source_id] = overrides
        for name in before | own:
            self._strictest.pop(name, None)
        return before | own

    def get(self, group: str) -> HostOverrides | None:
        """Return the overrides of a host group, by its name or its domain; None where no source applies."""
        if not self._claims:
            return None
        return self._find(group) or self._find(domain_key(group))

    def _find(self, name: str) -> HostOverrides | None:
        found = self._strictest.get(name)
        if found is None and (claims := self._claims.get(name)):
            found = self._strictest[name] = _strictest(claims.values())
        return found

    def affects(self, group: str, names: frozenset[str] | set[str]) -> bool:
        """Whether a host group is among names."""
        return group in names or domain_key(group) in names


def domain_key(host_name: str) -> str:
    """Return the name that stands for all hosts of a domain, and differs from each of them."""
    return f".{registrable_domain(host_name)}"


def names_of_source(source: SourceSaved, *, by_domain: bool = False) -> frozenset[str]:
    """Return the host groups and domains that a source applies to; texts that are no URLs have none."""
    wire_urls = map(to_wire_url, (source.url, *source.start_urls))
    urls = [url for url in wire_urls if not isinstance(url, RefusedUrl)]
    named = [name for each in source.domains if (name := each.strip().lower().strip("."))]
    return frozenset(
        {host_group_of(url, by_domain=by_domain) for url in urls} | {*named} | {f".{name}" for name in named}
    ) - {""}


def overrides_of_source(source: SourceSaved) -> HostOverrides:
    """Return the overrides of a source; a negative delay counts as none."""
    delay = source.delay_seconds
    is_meant = delay is not None and delay >= 0
    delay_ms = min(round(delay * 1000), MAX_DELAY_MS) if delay is not None and is_meant else None
    return HostOverrides(delay_ms, max(1, source.max_concurrent_requests))


def _strictest(wanted: Iterable[HostOverrides]) -> HostOverrides:
    every = list(wanted)
    delays = [each.delay_ms for each in every if each.delay_ms is not None]
    return HostOverrides(max(delays, default=None), min(each.max_in_flight for each in every))
