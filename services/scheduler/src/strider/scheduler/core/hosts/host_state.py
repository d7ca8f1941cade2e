"""How fast may a group be asked, and until when not at all?

Delay = the largest of what its crawl specs, the deployment and its robots.txt files ask for; places =
the fewest that a spec allows. What a source says of it stands for specs and deployment.
A spec that was crawled here once counts as long as the group is known.
Blocks follow from `politeness.backoff` and `politeness.breaker`; the longer holds. The clock itself is
the working set's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.enums import BlockReason, BreakerState, FetchOutcome, HostRecordKind
from strider.contracts.generated.events import CrawlSpecDeclared, FetchCompleted, HostRecorded
from strider.politeness import backoff
from strider.politeness import circuit_breaker as breaker
from strider.politeness.backoff import HostBackoff
from strider.politeness.circuit_breaker import DEFAULT_LIMITS, BreakerLimits, CircuitBreaker
from strider.politeness.retry_policy import RandomSource
from strider.scheduler.core.entries.fetch_outcomes import Sign, back_off_signal_of, breaker_signal_of
from strider.scheduler.core.runs.control import NO_BLOCK, ManualBlock

from .overrides import Manners

SEQUENCES_REMEMBERED: Final = 8
"""Latest outcomes that are remembered by their numbers, so that a repeat pushes no host twice."""


@fast_dataclass(frozen=True, slots=True)
class HostGroup:
    """What is known of a group."""

    name: str
    configured_ms: int
    max_in_flight: int = 1
    robots_delays_ms: Mapping[str, int] = field(default_factory=dict)
    """Crawl-delay by origin, of those that ask for one."""
    give_up_after_ms: int = 86_400_000
    """Least of those of its specs: then a blocked group is looked at again."""
    back_off: HostBackoff = backoff.NO_BACKOFF
    breaker: CircuitBreaker = breaker.NEW_BREAKER
    manual_block: ManualBlock = NO_BLOCK
    """A person's wish that it be left alone."""
    manners: Manners | None = None
    """What a source wants, whatever its crawl specs say."""
    applied_sequences: tuple[int, ...] = ()

    @property
    def delay_ms(self) -> int:
        """The delay that holds."""
        own = None if self.manners is None else self.manners.delay_ms
        return max(self.configured_ms if own is None else own, *self.robots_delays_ms.values(), 0)

    @property
    def current_max_in_flight(self) -> int:
        """Requests in flight that it has room for; while its breaker looks again, one at a time."""
        if not self.breaker.is_closed:
            return 1
        return max(self.max_in_flight, 1) if self.manners is None else self.manners.max_in_flight

    @property
    def blocked_until_ms(self) -> int:
        """Before when nothing is asked; in the past where it may be."""
        return max(self.back_off.until_ms, self.breaker.blocked_until_ms)

    @property
    def block_reason(self) -> str:
        """Why it is blocked, if it is; empty where nothing ever blocked it."""
        is_breaker = not self.breaker.is_closed and self.breaker.until_ms >= self.back_off.until_ms
        return self.breaker.reason if is_breaker else self.back_off.reason

    @property
    def failing_since_ms(self) -> int:
        """First sign of trouble since the last good answer; 0 where there was none."""
        # Failures that trip no breaker hold nothing up, and so use up nobody's patience.
        tripped_since_ms = 0 if self.breaker.is_closed else self.breaker.since_ms
        return min(filter(None, (self.back_off.since_ms, tripped_since_ms)), default=0)

    def is_blocked(self, now_ms: int) -> bool:
        """Say whether it rests, or a person wants it left alone."""
        return now_ms < self.blocked_until_ms or self.is_barred(now_ms)

    def is_barred(self, now_ms: int) -> bool:
        """Say whether a person wants it left alone."""
        return now_ms < self.manual_block.until_ms

    def release_blocked_until_ms(self, now_ms: int) -> int:
        """Say until when nothing is to be released: the end of its rest, or of somebody's patience.

        0 also where it rests and a patience is over: its entries come one by one, and each is decided.
        """
        if not self.is_blocked(now_ms):
            return 0
        since_ms, until_ms = self.manual_block.since_ms, self.manual_block.until_ms
        if not self.is_barred(now_ms) or self.blocked_until_ms > until_ms:
            since_ms, until_ms = self.failing_since_ms, self.blocked_until_ms
        impatient_ms = since_ms + self.give_up_after_ms
        return 0 if impatient_ms <= now_ms else min(until_ms, impatient_ms)

    @property
    def is_default(self) -> bool:
        """Say whether nothing about it would be missed."""
        is_well = self.back_off == backoff.NO_BACKOFF and self.breaker.is_closed
        return is_well and not self.robots_delays_ms and self.manual_block == NO_BLOCK


def new_host_group(name: str, *, delay_seconds: float) -> HostGroup:
    """Begin with what the deployment asks for."""
    return HostGroup(name, configured_ms=round(delay_seconds * 1000), max_in_flight=0)


def apply_crawl_spec(group: HostGroup, spec: CrawlSpecDeclared, *, delay_seconds: float) -> HostGroup:
    """Heed one more crawl spec. Its own delay, where it has one, stands for the deployment's."""
    wanted = delay_seconds if spec.delay_seconds is None else max(spec.delay_seconds, 0.0)
    is_first = group.max_in_flight == 0
    configured = round(wanted * 1000)
    places = max(1, spec.max_in_flight_per_group)
    give_up_after_ms = spec.host_patience_seconds * 1000
    return replace_fields(
        group,
        configured_ms=configured if is_first else max(group.configured_ms, configured),
        places=places if is_first else min(group.max_in_flight, places),
        give_up_after_ms=give_up_after_ms if is_first else min(group.give_up_after_ms, give_up_after_ms),
    )


def apply_robots_delay(group: HostGroup, origin: str, delay_seconds: float) -> HostGroup:
    """Heed the crawl-delay of one origin of the group; 0 for none."""
    others = {name: delay for name, delay in group.robots_delays_ms.items() if name != origin}
    asked = {origin: round(delay_seconds * 1000)} if delay_seconds > 0 else {}
    return replace_fields(group, robots_delays_ms=others | asked)


def hear(
    group: HostGroup,
    outcome: FetchCompleted,
    *,
    now_ms: int,
    chance: RandomSource,
    limits: BreakerLimits = DEFAULT_LIMITS,
) -> HostGroup:
    """Take in what an outcome says of the group; a repeat says nothing."""
    if outcome.fetch_sequence in group.applied_sequences:
        return group
    switch = group.breaker
    if (signal := breaker_signal_of(outcome)) is not None:
        asked_at_ms = outcome.started_at_us // 1000
        switch = breaker.apply_signal(
            switch, signal, now_ms=now_ms, requested_at_ms=asked_at_ms, limits=limits
        )
    return replace_fields(
        group,
        heard=(*group.applied_sequences[1 - SEQUENCES_REMEMBERED :], outcome.fetch_sequence),
        rest=_rest(group.back_off, outcome, now_ms=now_ms, chance=chance),
        breaker=switch,
    )


def has_breaker_tripped(before: HostGroup, after: HostGroup) -> bool:
    """Say whether the breaker has opened."""
    is_open = after.breaker.state is BreakerState.OPEN
    return is_open and after.breaker.changed_at_ms != before.breaker.changed_at_ms


def _rest(rest: HostBackoff, outcome: FetchCompleted, *, now_ms: int, chance: RandomSource) -> HostBackoff:
    sign = back_off_signal_of(outcome)
    if sign is Sign.HEALTHY:
        return backoff.record_success(rest)
    if sign is Sign.BACK_OFF or (sign is Sign.OVERLOADED and backoff.is_overload_limit_reached(rest)):
        return backoff.extend_backoff(
            rest,
            now_ms=now_ms,
            retry_after_seconds=outcome.retry_after_seconds,
            reason=_block_reason(outcome),
            random=chance,
        )
    return backoff.record_overload(rest, now_ms) if sign is Sign.OVERLOADED else rest


def host_group_to_record(group: HostGroup, *, now_ms: int, epoch: int) -> HostRecorded:
    """Write down what a restart must not forget."""
    rest, switch = group.back_off, group.breaker
    return HostRecorded(
        kind=HostRecordKind.GROUP,
        group=group.name,
        updated_at_ms=now_ms,
        delay_seconds=group.delay_ms / 1000,
        configured_delay_seconds=group.configured_ms / 1000,
        robots_delay_seconds=max(group.robots_delays_ms.values(), default=0) / 1000,
        max_in_flight=group.max_in_flight or 1,
        blocked_until_ms=group.blocked_until_ms,
        block_reason=group.block_reason,
        back_off_seconds=rest.seconds,
        back_off_count=rest.count,
        breaker=switch.state,
        breaker_changed_at_ms=switch.changed_at_ms,
        failures=switch.failures,
        blocks_seen=switch.refusals,
        half_open_successes=switch.successes,
        unreachable_since_ms=group.failing_since_ms,
        is_active=not group.is_barred(now_ms),
        barred_until_ms=group.manual_block.until_ms,
        barred_since_ms=group.manual_block.since_ms,
        blocked_by=group.manual_block.by,
        block_detail=group.manual_block.reason,
        epoch=epoch,
    )


def host_group_from_record(record: HostRecorded, *, delay_seconds: float, keeps_specs: bool) -> HostGroup:
    """Read it again. Without `keeps_specs` only those of its crawl specs count that are yet to be met."""
    group = new_host_group(record.group, delay_seconds=delay_seconds)
    if keeps_specs:
        configured_ms = round(record.configured_delay_seconds * 1000)
        group = replace_fields(group, configured_ms=configured_ms, places=record.max_in_flight)
    return replace_fields(
        group,
        rest=_back_off_from_record(record),
        breaker=_breaker_from_record(record),
        bar=ManualBlock(
            record.barred_until_ms, record.barred_since_ms, record.blocked_by, record.block_detail
        ),
    )


def _back_off_from_record(record: HostRecorded) -> HostBackoff:
    """Read a rest; where a breaker has the group blocked for longer, that holds for both."""
    if not record.back_off_count:
        return backoff.NO_BACKOFF
    return HostBackoff(
        count=record.back_off_count,
        until_ms=record.blocked_until_ms,
        reason=record.block_reason,
        seconds=record.back_off_seconds,
        since_ms=record.unreachable_since_ms,
    )


def _breaker_from_record(record: HostRecorded) -> CircuitBreaker:
    state = BreakerState(record.breaker)
    is_open = state is BreakerState.OPEN
    return CircuitBreaker(
        state=state,
        changed_at_ms=record.breaker_changed_at_ms,
        until_ms=record.blocked_until_ms if is_open else 0,
        reason=record.block_reason if state is not BreakerState.CLOSED else "",
        failures=record.failures,
        refusals=record.blocks_seen,
        successes=record.half_open_successes,
        since_ms=record.unreachable_since_ms if record.failures or record.blocks_seen else 0,
    )


def _block_reason(outcome: FetchCompleted) -> BlockReason:
    if outcome.outcome == FetchOutcome.RATE_LIMITED:
        return BlockReason.RATE_LIMITED
    return BlockReason.RETRY_AFTER if outcome.retry_after_seconds >= 0 else BlockReason.OVERLOADED
