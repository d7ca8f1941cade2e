"""State of a host group: its crawl delay, requests in flight, backoff and breaker.

The delay between two requests is the longest of the crawl specs of owners' runs that have an open entry in
the group, where a spec that sets none has the deployment's and one that does may set less (`pace_of`). Raw
senders' specs decide where there is no such run, up to the deployment's delay; a longer one paces their own
flow, and one that sets none asks for nothing. An override of a source replaces them all; robots.txt may only
make it longer. Requests in flight are the fewest that such a spec allows. The working set counts open entries
by pace, derives both from that and from what is sent to it by `OwnedShard.sync_host_groups` (`apply_paces` in
`frontier_part_paces.lua` of `strider.frontier`), and enforces them by the clock of the group: `reschedule`
and `apply_delay` in `frontier_part_host_groups.lua`.

Blocks follow from `politeness.backoff` and `politeness.circuit_breaker`; the longer one holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.enums import BlockReason, BreakerState, FetchOutcome, HostRecordKind
from strider.contracts.generated.events import CrawlSpecDeclared, FetchCompleted, HostRecorded
from strider.crawl.runs.control import NO_BLOCK, ManualBlock
from strider.frontier.models import HostPace
from strider.politeness import backoff
from strider.politeness import circuit_breaker as breaker
from strider.politeness.backoff import HostBackoff
from strider.politeness.circuit_breaker import DEFAULT_LIMITS, BreakerLimits, CircuitBreaker
from strider.politeness.retry_policy import RandomSource
from strider.scheduler.core.entries.fetch_outcomes import BackOffSignal, back_off_signal_of, breaker_signal_of

from .overrides import HostOverrides

MAX_DELAY_SECONDS: Final = 86_400.0
"""Longest delay that a crawl spec may set, where the deployment allows no less."""

BLOCK_MEMORY_MS: Final = 3_600_000
"""How long the end of a block counts: a backoff or breaker that begins later starts from its beginning."""

SEQUENCES_REMEMBERED: Final = 8
"""Fetch sequences of the latest outcomes, kept so that a repeat is applied only once."""


@fast_dataclass(frozen=True, slots=True)
class HostGroup:
    """State of one host group."""

    name: str
    configured_delay_ms: int
    """The deployment's delay."""
    robots_delays_ms: Mapping[str, int] = field(default_factory=dict)
    """Crawl-delay by origin, for origins that ask for one."""
    knows_robots: bool = False
    """Whether a robots.txt was read since the group is in memory; else the working set keeps what it has."""
    shortest_patience_ms: int = 86_400_000
    """Shortest host patience of the specs released here since the group is in memory."""
    back_off: HostBackoff = backoff.NO_BACKOFF
    breaker: CircuitBreaker = breaker.NEW_BREAKER
    manual_block: ManualBlock = NO_BLOCK
    """Block by an operator's command."""
    overrides: HostOverrides | None = None
    """Settings of a source, which replace those of crawl specs."""
    applied_sequences: tuple[int, ...] = ()
    robots_wait_until_ms: int = 0
    """Until when nothing is released, as a robots.txt redirects to that of another host, not known yet."""

    @property
    def delay_ms(self) -> int:
        """Crawl delay where no open entry's crawl spec sets another."""
        own = self.delay_override_ms
        return max(self.configured_delay_ms if own is None else own, self.least_delay_ms)

    @property
    def delay_override_ms(self) -> int | None:
        """Crawl delay that replaces those of crawl specs; None where no source sets one."""
        return None if self.overrides is None else self.overrides.delay_ms

    @property
    def least_delay_ms(self) -> int:
        """Crawl delay of robots.txt."""
        return max(self.robots_delays_ms.values(), default=0)

    @property
    def max_in_flight_override(self) -> int | None:
        """Requests in flight, instead of what crawl specs allow; one while the breaker is half open."""
        if not self.breaker.is_closed:
            return 1
        return None if self.overrides is None else self.overrides.max_in_flight

    @property
    def blocked_until_ms(self) -> int:
        """Time before which nothing is fetched; in the past where the group is not blocked."""
        return max(self.back_off.until_ms, self.breaker.blocked_until_ms)

    @property
    def block_reason(self) -> str:
        """Reason of the current or last block; empty where there never was one."""
        is_breaker = not self.breaker.is_closed and self.breaker.until_ms >= self.back_off.until_ms
        return self.breaker.reason if is_breaker else self.back_off.reason

    @property
    def failing_since_ms(self) -> int:
        """First sign of trouble since the last good outcome; 0 where there is none."""
        # Failures that do not trip the breaker delay nothing, so they use up no host patience.
        tripped_since_ms = 0 if self.breaker.is_closed else self.breaker.since_ms
        return min(filter(None, (self.back_off.since_ms, tripped_since_ms)), default=0)

    def is_blocked(self, now_ms: int) -> bool:
        """Whether the group is backing off, its breaker is open, or an operator blocks it."""
        return now_ms < self.blocked_until_ms or self.is_manually_blocked(now_ms)

    def is_manually_blocked(self, now_ms: int) -> bool:
        """Whether an operator blocks the group."""
        return now_ms < self.manual_block.until_ms

    def block_period_ms(self, now_ms: int) -> tuple[int, int]:
        """Return start and end of the block in effect; zeros for none.

        The working set releases nothing until its end, or until the shortest patience of an open entry's
        crawl spec is over: then entries are released and decided one by one. The wait for another host's
        robots.txt is a hold without a start, which no patience shortens.
        """
        since_ms = until_ms = 0
        if self.is_blocked(now_ms):
            since_ms, until_ms = self.manual_block.since_ms, self.manual_block.until_ms
            if not self.is_manually_blocked(now_ms) or self.blocked_until_ms > until_ms:
                since_ms, until_ms = self.failing_since_ms, self.blocked_until_ms
        if self.robots_wait_until_ms > max(now_ms, until_ms):
            return 0, self.robots_wait_until_ms
        return since_ms, until_ms

    def is_held_back(self, now_ms: int) -> bool:
        """Whether the working set releases nothing of the group, as far as crawl specs are known here."""
        since_ms, until_ms = self.block_period_ms(now_ms)
        return now_ms < (min(until_ms, since_ms + self.shortest_patience_ms) if since_ms else until_ms)

    @property
    def forgettable_from_ms(self) -> int:
        """From when on the group may leave the memory: its blocks are over, and its crawl delay is in a
        robots.txt, which is fetched again first.
        """
        is_well = self.back_off == backoff.NO_BACKOFF and self.breaker.is_closed
        ends_at_ms = max(self.blocked_until_ms, 0 if self.breaker.is_closed else self.breaker.changed_at_ms)
        forgotten_at_ms = 0 if is_well else ends_at_ms + BLOCK_MEMORY_MS
        return max(forgotten_at_ms, self.manual_block.until_ms, self.robots_wait_until_ms)


def new_host_group(name: str, *, delay_seconds: float) -> HostGroup:
    """Return a group with the deployment's delay."""
    return HostGroup(name, configured_delay_ms=round(delay_seconds * 1000))


def pace_of(spec: CrawlSpecDeclared | None, *, max_delay_seconds: float = MAX_DELAY_SECONDS) -> HostPace:
    """Return the pace that a crawl spec sets; an unknown spec sets no delay."""
    if spec is None:
        return HostPace(None)
    own = spec.delay_seconds
    return HostPace(
        None if own is None else round(min(max(own, 0.0), max_delay_seconds) * 1000),
        max(1, spec.max_in_flight_per_group),
        max(0, spec.host_patience_seconds),
    )


def apply_patience(group: HostGroup, spec: CrawlSpecDeclared) -> HostGroup:
    """Note the host patience of a crawl spec that has entries in the group."""
    patience_ms = spec.host_patience_seconds * 1000
    if patience_ms >= group.shortest_patience_ms:
        return group
    return replace_fields(group, shortest_patience_ms=patience_ms)


def apply_robots_delay(group: HostGroup, origin: str, delay_seconds: float) -> HostGroup:
    """Apply the Crawl-delay of one origin of the group; 0 for none."""
    others = {name: delay for name, delay in group.robots_delays_ms.items() if name != origin}
    own = {origin: round(delay_seconds * 1000)} if delay_seconds > 0 else {}
    return replace_fields(group, robots_delays_ms=others | own, knows_robots=True)


def apply_outcome_to_host(
    group: HostGroup,
    outcome: FetchCompleted,
    *,
    now_ms: int,
    chance: RandomSource,
    limits: BreakerLimits = DEFAULT_LIMITS,
) -> HostGroup:
    """Apply a fetch outcome to backoff and breaker of its host group; a repeat changes nothing."""
    if outcome.fetch_sequence in group.applied_sequences:
        return group
    new_breaker = group.breaker
    if (signal := breaker_signal_of(outcome)) is not None:
        started_at_ms = outcome.started_at_us // 1000
        new_breaker = breaker.apply_signal(
            new_breaker, signal, now_ms=now_ms, requested_at_ms=started_at_ms, limits=limits
        )
    return replace_fields(
        group,
        applied_sequences=(*group.applied_sequences[1 - SEQUENCES_REMEMBERED :], outcome.fetch_sequence),
        back_off=_update_back_off(group.back_off, outcome, now_ms=now_ms, chance=chance),
        breaker=new_breaker,
    )


def has_breaker_tripped(before: HostGroup, after: HostGroup) -> bool:
    """Whether the breaker has opened."""
    is_open = after.breaker.state is BreakerState.OPEN
    return is_open and after.breaker.changed_at_ms != before.breaker.changed_at_ms


def _update_back_off(
    back_off: HostBackoff, outcome: FetchCompleted, *, now_ms: int, chance: RandomSource
) -> HostBackoff:
    signal = back_off_signal_of(outcome)
    if signal is BackOffSignal.HEALTHY:
        return backoff.record_success(back_off)
    if signal is BackOffSignal.BACK_OFF or (
        signal is BackOffSignal.OVERLOADED and backoff.is_overload_limit_reached(back_off)
    ):
        return backoff.extend_backoff(
            back_off,
            now_ms=now_ms,
            retry_after_seconds=outcome.retry_after_seconds,
            reason=_block_reason(outcome),
            random=chance,
        )
    return backoff.record_overload(back_off, now_ms) if signal is BackOffSignal.OVERLOADED else back_off


def host_group_to_record(group: HostGroup, *, now_ms: int, epoch: int) -> HostRecorded:
    """Return the record of what must survive a restart."""
    back_off, state = group.back_off, group.breaker
    return HostRecorded(
        kind=HostRecordKind.GROUP,
        group=group.name,
        updated_at_ms=now_ms,
        delay_seconds=group.delay_ms / 1000,
        configured_delay_seconds=group.configured_delay_ms / 1000,
        robots_delay_seconds=group.least_delay_ms / 1000,
        max_in_flight=1 if group.overrides is None else group.overrides.max_in_flight,
        blocked_until_ms=group.blocked_until_ms,
        block_reason=group.block_reason,
        back_off_seconds=back_off.seconds,
        back_off_count=back_off.count,
        breaker=state.state,
        breaker_changed_at_ms=state.changed_at_ms,
        failures=state.failures,
        blocks_seen=state.refusals,
        half_open_successes=state.successes,
        unreachable_since_ms=group.failing_since_ms,
        is_active=not group.is_manually_blocked(now_ms),
        barred_until_ms=group.manual_block.until_ms,
        barred_since_ms=group.manual_block.since_ms,
        blocked_by=group.manual_block.by,
        block_detail=group.manual_block.reason,
        epoch=epoch,
    )


def host_group_from_record(record: HostRecorded, *, delay_seconds: float) -> HostGroup:
    """Restore a group from its record."""
    return replace_fields(
        new_host_group(record.group, delay_seconds=delay_seconds),
        back_off=_back_off_from_record(record),
        breaker=_breaker_from_record(record),
        manual_block=ManualBlock(
            record.barred_until_ms, record.barred_since_ms, record.blocked_by, record.block_detail
        ),
    )


def is_record_over(record: HostRecorded, *, before_ms: int, now_ms: int) -> bool:
    """Whether a record of a group or origin was written before a time and blocks nothing any more."""
    return record.updated_at_ms < before_ms and max(record.blocked_until_ms, record.barred_until_ms) < now_ms


def _back_off_from_record(record: HostRecorded) -> HostBackoff:
    """Restore the backoff; where the breaker blocks for longer, its end stands for both."""
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
