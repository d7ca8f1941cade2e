"""How fast may a group be asked, and until when not at all?

Delay = the largest of what its crawl specs, the deployment and its robots.txt files ask for; places =
the fewest that a spec allows. A spec that was crawled here once counts as long as the group is known.
Blocks follow from `politeness.backoff`. The clock itself is the working set's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from strider.contracts.generated.events import CrawlSpecDeclared, FetchCompleted, HostRecorded
from strider.contracts.generated.words import BlockReason, FetchOutcome, HostRecordKind
from strider.politeness import backoff
from strider.politeness.backoff import BackOff
from strider.politeness.ladder import Chance

from .outcomes import Sign, sign_of

HEARD: Final = 8
"""Latest outcomes that are remembered by their numbers, so that a repeat pushes no host twice."""


@dataclass(frozen=True, slots=True)
class Group:
    """What is known of a group."""

    name: str
    configured_ms: int
    places: int = 1
    robots_ms: Mapping[str, int] = field(default_factory=dict)
    """Crawl-delay by origin, of those that ask for one."""
    patience_ms: int = 86_400_000
    """Least of those of its specs: then a blocked group is looked at again."""
    rest: BackOff = backoff.NONE
    heard: tuple[int, ...] = ()

    @property
    def delay_ms(self) -> int:
        """The delay that holds."""
        return max(self.configured_ms, *self.robots_ms.values(), 0)

    def is_blocked(self, now_ms: int) -> bool:
        """Say whether it rests."""
        return now_ms < self.rest.until_ms

    def look_at_ms(self, now_ms: int) -> int:
        """Say until when nothing is to be released: the end of its rest, or of somebody's patience.

        0 also where it rests and a patience is over: its entries come one by one, and each is decided.
        """
        impatient_ms = self.rest.since_ms + self.patience_ms
        if not self.is_blocked(now_ms) or impatient_ms <= now_ms:
            return 0
        return min(self.rest.until_ms, impatient_ms)

    @property
    def is_plain(self) -> bool:
        """Say whether nothing about it would be missed."""
        return not self.robots_ms and self.rest == backoff.NONE


def new_group(name: str, *, delay_seconds: float) -> Group:
    """Begin with what the deployment asks for."""
    return Group(name, configured_ms=round(delay_seconds * 1000), places=0)


def with_spec(group: Group, spec: CrawlSpecDeclared, *, delay_seconds: float) -> Group:
    """Heed one more crawl spec. Its own delay, where it has one, stands for the deployment's."""
    wanted = delay_seconds if spec.delay_seconds is None else max(spec.delay_seconds, 0.0)
    is_first = group.places == 0
    configured = round(wanted * 1000)
    places = max(1, spec.max_in_flight_per_group)
    patience_ms = spec.host_patience_seconds * 1000
    return replace(
        group,
        configured_ms=configured if is_first else max(group.configured_ms, configured),
        places=places if is_first else min(group.places, places),
        patience_ms=patience_ms if is_first else min(group.patience_ms, patience_ms),
    )


def with_robots(group: Group, origin: str, delay_seconds: float) -> Group:
    """Heed the crawl-delay of one origin of the group; 0 for none."""
    others = {name: delay for name, delay in group.robots_ms.items() if name != origin}
    asked = {origin: round(delay_seconds * 1000)} if delay_seconds > 0 else {}
    return replace(group, robots_ms=others | asked)


def hear(group: Group, outcome: FetchCompleted, *, now_ms: int, chance: Chance) -> Group:
    """Take in what an outcome says of the group; a repeat says nothing."""
    if outcome.fetch_sequence in group.heard:
        return group
    heard = replace(group, heard=(*group.heard[1 - HEARD :], outcome.fetch_sequence))
    sign = sign_of(outcome)
    if sign is Sign.GOOD:
        return replace(heard, rest=backoff.eased(group.rest))
    if sign is Sign.PUSH or (sign is Sign.STRAIN and backoff.is_overloaded(group.rest)):
        rest = backoff.pushed(
            group.rest,
            now_ms=now_ms,
            retry_after_seconds=outcome.retry_after_seconds,
            reason=_block_reason(outcome),
            chance=chance,
        )
        return replace(heard, rest=rest)
    if sign is Sign.STRAIN:
        return replace(heard, rest=backoff.strained(group.rest, now_ms))
    return heard


def group_record(group: Group, *, now_ms: int, epoch: int) -> HostRecorded:
    """Write down what a restart must not forget."""
    rest = group.rest
    return HostRecorded(
        kind=HostRecordKind.GROUP,
        group=group.name,
        updated_at_ms=now_ms,
        delay_seconds=group.delay_ms / 1000,
        configured_delay_seconds=group.configured_ms / 1000,
        robots_delay_seconds=max(group.robots_ms.values(), default=0) / 1000,
        max_in_flight=group.places or 1,
        blocked_until_ms=rest.until_ms,
        block_reason=rest.reason,
        back_off_seconds=rest.seconds,
        back_off_count=rest.count,
        failures=rest.overloads,
        unreachable_since_ms=rest.since_ms,
        epoch=epoch,
    )


def group_of_record(record: HostRecorded, *, delay_seconds: float, keeps_specs: bool) -> Group:
    """Read it again. Without `keeps_specs` only those of its crawl specs count that are yet to be met."""
    group = new_group(record.group, delay_seconds=delay_seconds)
    if keeps_specs:
        configured_ms = round(record.configured_delay_seconds * 1000)
        group = replace(group, configured_ms=configured_ms, places=record.max_in_flight)
    return replace(
        group,
        rest=BackOff(
            count=record.back_off_count,
            until_ms=record.blocked_until_ms,
            reason=record.block_reason,
            seconds=record.back_off_seconds,
            since_ms=record.unreachable_since_ms,
            overloads=record.failures,
        ),
    )


def _block_reason(outcome: FetchCompleted) -> BlockReason:
    if outcome.outcome == FetchOutcome.RATE_LIMITED:
        return BlockReason.RATE_LIMITED
    return BlockReason.RETRY_AFTER if outcome.retry_after_seconds >= 0 else BlockReason.OVERLOADED
