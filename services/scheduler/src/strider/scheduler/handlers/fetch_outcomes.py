"""Handle fetches-completed: apply outcomes -> frontier, hosts, links, urls-decided.

Updates host groups and robots.txt, ends leases, and applies each outcome to its entry: whether a URL is
retried, redirected or closed is decided by `core/entries/fetch_outcomes.py`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import (
    CrawlSpecDeclared,
    FetchCompleted,
)
from strider.contracts.generated.topics import LINKS_DISCOVERED, URLS_DECIDED
from strider.contracts.ids import entry_id
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.models import EndedRequest, EntryConclusion, EntryLookupResult, OutcomeStatus
from strider.messaging.effects import Effects, Publish
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.budgets.ledger import BudgetKey
from strider.scheduler.core.budgets.limits import BudgetAmount
from strider.scheduler.core.budgets.reservations import RunBudgets
from strider.scheduler.core.budgets.usage import BudgetedFetch
from strider.scheduler.core.entries.candidates import Candidate
from strider.scheduler.core.entries.fetch_outcomes import (
    EntryTransition,
    OutcomeContext,
    apply_fetch_outcome,
    is_current,
)
from strider.scheduler.core.entries.redirects import SpecScopes, redirect_messages
from strider.scheduler.core.entries.state import request_duration_ms
from strider.scheduler.core.entries.url_decisions import UrlDecision, decision_messages
from strider.scheduler.core.hosts.host_state import (
    HostGroup,
    apply_outcome_to_host,
    has_breaker_tripped,
)
from strider.scheduler.core.hosts.robots import ROBOTS_JOB, ended_robots_entry
from strider.scheduler.loops.run_log import (
    HostWaits,
    note_decisions,
    note_failed_requests,
    note_unreachable_robots,
)
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import SchedulerMeter
from strider.scheduler.shard.in_progress import PendingDecision
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.store_mapping import entry_conclusion, entry_lookup
from strider.urls import MAX_INLINE_STEPS, host_of

from .robots_files import RobotsFiles, RobotsUpdate

DEFAULT_SPEC = CrawlSpecDeclared(crawl_spec_id="")
"""Used for an outcome whose crawl spec is unknown: its request was made, so it is concluded."""

_log = logger("scheduler")


@dataclass(slots=True)
class OutcomeBatch:
    """Results of one batch in one shard."""

    decisions: list[UrlDecision] = field(default_factory=list)
    redirect_targets: list[Candidate] = field(default_factory=list)
    pending: list[PendingDecision] = field(default_factory=list)
    conclusions: list[EntryConclusion] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    outcomes: list[FetchCompleted] = field(default_factory=list)
    """Outcomes applied to entries: the first of each lease."""
    robots: RobotsUpdate = field(default_factory=RobotsUpdate)

    def add(self, transition: EntryTransition) -> None:
        """Add the events of a transition."""
        self.counts[transition.label] += 1
        self.decisions += transition.decisions
        if transition.redirect_target is not None:
            self.redirect_targets.append(transition.redirect_target)


class FetchOutcomesHandler:
    """Load, decide, publish, write state: for the outcomes of one batch in one shard."""

    def __init__(
        self,
        *,
        crawl_specs: CrawlSpecCache,
        budgets: RunBudgets,
        options: SchedulerOptions,
        meter: SchedulerMeter,
        chance: RandomSource,
    ) -> None:
        self._crawl_specs = crawl_specs
        self._budgets = budgets
        self._options = options
        self._meter = meter
        self._chance = chance
        self._scopes = SpecScopes()
        self._waits = HostWaits(meter)
        self._robots = RobotsFiles(options, chance=chance)

    async def handle(self, shard: OwnedShard, outcomes: Sequence[FetchCompleted]) -> Effects:
        """End the leases, and decide about their entries."""
        specs = await self._crawl_specs.known({each.crawl_spec_id for each in outcomes} - {""})
        batch = OutcomeBatch()
        outcomes = await self._robots.shorten(outcomes)
        self._update_hosts(shard, outcomes, batch)
        # A backoff must be known before the group is free: its next request may be released at once.
        await shard.sync_host_groups(outcome.group for outcome in outcomes)
        freed = await shard.free_leases([_freed_lease(outcome) for outcome in outcomes])
        reduced = {
            outcome.lease_id
            for outcome in outcomes
            if self._charge_budget(shard, outcome, specs.get(outcome.crawl_spec_id, DEFAULT_SPEC))
        }
        current = self._select_current(outcomes, freed, batch)
        await match_redirects(
            self._scopes,
            [(specs.get(each.crawl_spec_id, DEFAULT_SPEC), each.redirect_target) for each in current],
        )
        known = await shard.load_entries(
            [entry_lookup(each.job_id, each.url_key, each.crawl_spec_id) for each in current]
        )
        now_ms = shard.clock.now_ms()
        for outcome, prior in zip(current, known, strict=True):
            self._decide(shard, outcome, prior, specs, batch, has_reduced_limit=outcome.lease_id in reduced)
        messages = redirect_messages(batch.redirect_targets, shards=self._options.shards, now_ms=now_ms)
        return Effects(
            publish=[
                *(Publish(LINKS_DISCOVERED, event, partition=event.shard) for event in messages),
                *self._robots.publications(shard, batch.robots),
                *(
                    Publish(URLS_DECIDED, event)
                    for event in decision_messages(batch.decisions, now_ms=now_ms)
                ),
            ],
            after_ack=partial(self._write_state, shard, batch, {each.group for each in outcomes}),
            outcome="concluded" if batch.pending or batch.robots.hosts else "stale",
        )

    def _update_hosts(
        self, shard: OwnedShard, outcomes: Sequence[FetchCompleted], batch: OutcomeBatch
    ) -> None:
        """Update host groups and robots.txt, whether or not the lease still counts."""
        now_ms = shard.clock.now_ms()
        for outcome in outcomes:
            shard.note_fetch_sequence(outcome.fetch_sequence)
            group = self._update_host_group(shard.host_groups.get(outcome.group), outcome, now_ms)
            if outcome.kind == RequestKind.ROBOTS:
                group = self._robots.apply_outcome(shard, group, outcome, batch.robots)
            shard.host_groups.put(group)
            self._waits.note(outcome.job_id, outcome.execution_id, group, now_ms=now_ms)

    def _update_host_group(self, before: HostGroup, outcome: FetchCompleted, now_ms: int) -> HostGroup:
        group = apply_outcome_to_host(
            before, outcome, now_ms=now_ms, chance=self._chance, limits=self._options.breaker
        )
        if has_breaker_tripped(before, group):
            seconds = (group.blocked_until_ms - now_ms) / 1000
            _log.emit(
                log_events.CIRCUIT_BREAKER_TRIPPED,
                group=group.name,
                why=group.block_reason,
                seconds=seconds,
            )
            self._meter.count_decision("breaker_tripped")
        return group

    def _select_current(
        self, outcomes: Sequence[FetchCompleted], freed: Sequence[OutcomeStatus], batch: OutcomeBatch
    ) -> list[FetchCompleted]:
        """Return the outcomes that count; conclude robots.txt requests, which have no entry."""
        current = []
        for outcome, ending in zip(outcomes, freed, strict=True):
            if outcome.kind == RequestKind.ROBOTS:
                batch.counts[f"robots_{outcome.outcome}"] += 1
                batch.conclusions.append(entry_conclusion(ended_robots_entry(outcome), outcome.lease_id))
            elif ending is OutcomeStatus.CURRENT:
                current.append(outcome)
            else:
                batch.counts["stale"] += 1
        return current

    def _charge_budget(self, shard: OwnedShard, outcome: FetchCompleted, spec: CrawlSpecDeclared) -> bool:
        """Charge a request to its run's budget; return whether its limit had been reduced."""
        limits = self._budgets.limits_of(spec)
        if outcome.kind == RequestKind.ROBOTS or not limits.has_any:
            return False
        fetch = BudgetedFetch(
            BudgetKey(outcome.execution_id, outcome.crawl_spec_id),
            entry_id(outcome.job_id, outcome.url_key),
            host_of(outcome.url),
            limits,
            sequence=outcome.fetch_sequence,
            has_page=outcome.has_page,
            cost=BudgetAmount(0, outcome.body_bytes, request_duration_ms(outcome)),
            lease_id=outcome.lease_id,
        )
        return self._budgets.record_fetch(shard.number, fetch)

    def _decide(
        self,
        shard: OwnedShard,
        outcome: FetchCompleted,
        known: EntryLookupResult,
        specs: Mapping[str, CrawlSpecDeclared],
        batch: OutcomeBatch,
        *,
        has_reduced_limit: bool,
    ) -> None:
        cause = f"ended {outcome.fetch_sequence}"
        entry = shard.decisions.latest_entry(known, cause)
        now_ms = shard.clock.now_ms()
        if entry is None or not is_current(entry, outcome, now_ms=now_ms):
            batch.counts["stale"] += 1
            if entry is not None:
                # Its lease has ended all the same, and nothing else would release the entry.
                batch.conclusions.append(entry_conclusion(entry, outcome.lease_id))
            return
        batch.outcomes.append(outcome)
        context = OutcomeContext(
            specs.get(outcome.crawl_spec_id, DEFAULT_SPEC),
            now_ms,
            host_backs_off=shard.host_groups.get(outcome.group).is_blocked(now_ms),
            allow_private=self._options.allow_private,
            by_domain=self._options.by_domain,
            has_reduced_limit=has_reduced_limit,
            scopes=self._scopes,
            polling=self._options.polling,
        )
        transition = apply_fetch_outcome(entry, outcome, context, chance=self._chance)
        batch.add(transition)
        if transition.entry is not None:
            batch.pending.append(
                shard.begin_decision(transition.entry, before=entry, cause=cause, lease_id=outcome.lease_id)
            )

    async def _write_state(self, shard: OwnedShard, batch: OutcomeBatch, groups: set[str]) -> None:
        await shard.commit_decisions(
            batch.pending, more=batch.conclusions, hosts=batch.robots.hosts, groups=groups
        )
        for decision, count in batch.counts.items():
            self._meter.count_decision(decision, count)
        note_decisions(self._meter, batch.decisions)
        note_failed_requests(self._meter, batch.outcomes)
        note_unreachable_robots(self._meter, batch.robots.unreachable)


async def match_redirects(scopes: SpecScopes, targets: Sequence[tuple[CrawlSpecDeclared, str]]) -> None:
    """Match redirect targets in a thread if patterns need long for them.

    It is done before the entries are read, since nothing may run between reading them and deciding.
    """
    if sum(scopes.match_steps(spec, target) for spec, target in targets if target) > MAX_INLINE_STEPS:
        scopes.keep(await asyncio.to_thread(scopes.path_reasons, targets))


def _freed_lease(outcome: FetchCompleted) -> EndedRequest:
    is_robots = outcome.kind == RequestKind.ROBOTS
    started_at_ms = 0 if outcome.before_connect else -(-outcome.started_at_us // 1000)
    return EndedRequest(
        outcome.lease_id,
        started_at_ms,
        outcome.group,
        entry_id(ROBOTS_JOB if is_robots else outcome.job_id, outcome.url_key),
    )
