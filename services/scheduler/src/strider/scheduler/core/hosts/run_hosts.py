"""Limit of the hosts that a crawl spec of a run may have in one registrable domain.

    first URL of a host ──▶ is the domain full? ──▶ refused: too_many_hosts
                                    │ no
                                    └──▶ accepted; host and next number of its domain are marked as seen

The markers are fingerprints in a seen-set of the run, beside those of its URLs: so they survive what that
survives, cost a few bytes, and are looked up with the entries of a batch. The number of hosts is the greatest
marked number. As URLs do, hosts count as new after 7 to 14 days. The domain itself and its `www` are exempt,
so that an ordinary site needs no marker. Performs no I/O.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

from strider.contracts.ids import entry_id
from strider.contracts.partitioning import registrable_domain
from strider.frontier.models import EntryLookup, EntryLookupResult, LookupStatus, RefusedFingerprint
from strider.scheduler.core.budgets.ledger import BudgetKey

MAX_HOSTS_IN_MEMORY: Final = 100_000
"""Hosts whose numbers are kept in memory, for each shard; others are looked up again."""


class RunHost(NamedTuple):
    """A host of a run that counts."""

    key: BudgetKey
    domain: str
    host: str


class HostQuestion(NamedTuple):
    """A lookup of one marker: that of a host, or with a number that of a domain's hosts."""

    about: RunHost
    number: int
    lookup: EntryLookup


@dataclass(slots=True)
class _DomainHosts:
    """Hosts of one domain in a run."""

    count: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    """By host that was met lately; 0 for one whose markers are written."""


def run_host_of(key: BudgetKey, host: str) -> RunHost | None:
    """Return a host of a run; None where it does not count."""
    domain = registrable_domain(host)
    return None if host in {domain, f"www.{domain}"} else RunHost(key, domain, host)


def marker_scope(execution_id: str) -> str:
    """Return the seen scope of a run's markers, which no job can name."""
    return f".hosts.{execution_id}"


def host_marker(about: RunHost) -> int:
    """Return the fingerprint that marks a host."""
    return _fingerprint(about.key, "host", about.host)


def number_marker(about: RunHost, number: int) -> int:
    """Return the fingerprint that marks the number of a host in its domain."""
    return _fingerprint(about.key, "number", about.domain, str(number))


class RunHosts:
    """Hosts of runs in one shard, as far as they are in memory."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._domains: OrderedDict[tuple[BudgetKey, str], _DomainHosts] = OrderedDict()
        self._hosts = 0

    def questions(self, hosts: Iterable[RunHost]) -> list[HostQuestion]:
        """Return the lookups that decisions about these hosts need."""
        asked: list[HostQuestion] = []
        if not self.limit:
            return asked
        for about in dict.fromkeys(hosts):
            known = self._domains.get((about.key, about.domain))
            if known is None:
                asked += [_question(about, number) for number in self._probed_numbers()]
            if known is None or about.host not in known.numbers:
                asked.append(_question(about, 0))
        return list({each.lookup.entry_id: each for each in asked}.values())

    def refinements(
        self, asked: Sequence[HostQuestion], found: Sequence[EntryLookupResult]
    ) -> list[HostQuestion]:
        """Return the lookups between the greatest probed number that is marked and the next one."""
        further = []
        for about, last in self._greatest(asked, found).items():
            upper = min((each for each in self._probed_numbers() if each > last), default=last + 1)
            if last:
                further += [_question(about, number) for number in range(last + 1, upper)]
        return further

    def learn(self, asked: Sequence[HostQuestion], found: Sequence[EntryLookupResult]) -> None:
        """Apply results, unless a domain or host has become known since."""
        for about, count in self._greatest(asked, found).items():
            self._domains.setdefault((about.key, about.domain), _DomainHosts(count))
        for each, result in zip(asked, found, strict=True):
            if not each.number and _is_marked(result):
                self._put(each.about, 0)
        while self._hosts > MAX_HOSTS_IN_MEMORY and len(self._domains) > 1:
            _, forgotten = self._domains.popitem(last=False)
            self._hosts -= len(forgotten.numbers)

    def admit(self, about: RunHost) -> str:
        """Count a host, unless its domain is full: return how many hosts that has, else an empty text."""
        if not self.limit:
            return ""
        domain = self._domains.setdefault((about.key, about.domain), _DomainHosts())
        if about.host in domain.numbers:
            return ""
        if domain.count >= self.limit:
            return f"{domain.count} hosts of {about.domain}"
        domain.count += 1
        self._put(about, domain.count)
        return ""

    def markers(self, hosts: Iterable[RunHost]) -> list[RefusedFingerprint]:
        """Return the markers of admitted hosts that are not written yet."""
        found = []
        for about in dict.fromkeys(hosts):
            domain = self._domains.get((about.key, about.domain))
            if domain is not None and (number := domain.numbers.get(about.host, 0)):
                scope = marker_scope(about.key.execution_id)
                found += [
                    RefusedFingerprint(scope, host_marker(about)),
                    RefusedFingerprint(scope, number_marker(about, number)),
                ]
        return found

    def mark_written(self, hosts: Iterable[RunHost]) -> None:
        """Record that the markers of these hosts are written."""
        for about in hosts:
            domain = self._domains.get((about.key, about.domain))
            if domain is not None and about.host in domain.numbers:
                domain.numbers[about.host] = 0

    def _put(self, about: RunHost, number: int) -> None:
        name = about.key, about.domain
        numbers = self._domains.setdefault(name, _DomainHosts()).numbers
        self._domains.move_to_end(name)
        if about.host not in numbers:
            numbers[about.host] = number
            self._hosts += 1

    def _probed_numbers(self) -> list[int]:
        """Return powers of two up to the limit, and the limit itself."""
        powers = [1 << power for power in range(self.limit.bit_length())]
        return sorted({*powers, self.limit})

    def _greatest(
        self, asked: Sequence[HostQuestion], found: Sequence[EntryLookupResult]
    ) -> dict[RunHost, int]:
        """Return the greatest marked number of each domain that was asked for, by one of its hosts."""
        counts: dict[tuple[BudgetKey, str], tuple[RunHost, int]] = {}
        for each, result in zip(asked, found, strict=True):
            if each.number:
                name = each.about.key, each.about.domain
                first, before = counts.get(name, (each.about, 0))
                counts[name] = first, max(before, each.number if _is_marked(result) else 0)
        return dict(counts.values())


def _question(about: RunHost, number: int) -> HostQuestion:
    marker = number_marker(about, number) if number else host_marker(about)
    scope = marker_scope(about.key.execution_id)
    return HostQuestion(about, number, EntryLookup(entry_id(scope, f"{marker:016x}"), scope, marker))


def _is_marked(result: EntryLookupResult) -> bool:
    return result.status is not LookupStatus.UNKNOWN


def _fingerprint(key: BudgetKey, *parts: str) -> int:
    text = "\n".join((key.crawl_spec_id, *parts))
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())
