"""fetches-completed -> again, elsewhere, closed, round the ring -> frontier, hosts, links, urls-decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import (
    CrawlSpecDeclared,
    FetchCompleted,
    HostRecorded,
)
from strider.contracts.generated.topics import LINKS_DISCOVERED, URLS_DECIDED
from strider.contracts.ids import entry_id
from strider.frontier.models import EndedRequest, EntryConclusion, EntryLookupResult, OutcomeStatus
from strider.messaging.effects import Effects, Publish
from strider.politeness.retry_policy import RandomSource
from strider.politeness.robots.freshness import apply_response
from strider.politeness.robots.robots_txt import product_token
from strider.runtime.observability.logging import logger
from strider.scheduler.core import (
    ROBOTS_JOB,
    BudgetAmount,
    BudgetedFetch,
    Candidate,
    EntryTransition,
    HostGroup,
    OutcomeContext,
    RunBudgets,
    UrlDecision,
    apply_fetch_outcome,
    apply_robots_delay,
    decision_messages,
    has_breaker_tripped,
    hear,
    robots_fetch_result,
    robots_to_record,
    rules_of,
)
from strider.scheduler.core.entries.fetch_outcomes import is_heard
from strider.scheduler.core.entries.redirect_batches import redirect_messages
from strider.scheduler.core.entries.state import busy_ms
from strider.scheduler.core.hosts.robots import ended_robots_entry
from strider.scheduler.loops.run_log import note_decisions, note_failed_requests
from strider.scheduler.ports import Meter, SchedulerOptions, Specs
from strider.scheduler.shard.shard import Decided, OwnedShard
from strider.scheduler.shard.store_mapping import entry_conclusion, entry_lookup
from strider.urls import host_of

DEFAULT_SPEC = CrawlSpecDeclared(crawl_spec_id="")
"""What an outcome goes by whose crawl spec is nowhere: it was asked for, so it is brought to an end."""

_log = logger("scheduler")


@dataclass(slots=True)
class OutcomeBatch:
    """What becomes of what one batch brought to one shard."""

    decisions: list[UrlDecision] = field(default_factory=list)
    redirect_targets: list[Candidate] = field(default_factory=list)
    pending: list[Decided] = field(default_factory=list)
    hosts: list[HostRecorded] = field(default_factory=list)
    conclusions: list[EntryConclusion] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    outcomes: list[FetchCompleted] = field(default_factory=list)
    """What was heard of entries: the first answer of each lease."""

    def add(self, transition: EntryTransition) -> None:
        """Note what follows from one decision, besides its record."""
        self.counts[transition.label] += 1
        self.decisions += transition.decisions
        if transition.redirect_target is not None:
            self.redirect_targets.append(transition.redirect_target)


class FetchOutcomesHandler:
    """Load, decide, speak, remember: for the outcomes that one batch brought to one shard."""

    def __init__(
        self,
        *,
        specs: Specs,
        budgets: RunBudgets,
        options: SchedulerOptions,
        meter: Meter,
        chance: RandomSource,
    ) -> None:
        self._specs = specs
        self._budgets = budgets
        self._options = options
        self._meter = meter
        self._chance = chance

    async def handle(self, shard: OwnedShard, outcomes: Sequence[FetchCompleted]) -> Effects:
        """End the leases, and decide what is next for their entries."""
        specs = await self._specs.known({outcome.crawl_spec_id for outcome in outcomes})
        endings = OutcomeBatch()
        self._hear(shard, outcomes, endings)
        # A group that is to rest must know so before it is free: its next request may go at once.
        await shard.sync_host_groups(outcome.group for outcome in outcomes)
        freed = await shard.free_leases([_freed_lease(outcome) for outcome in outcomes])
        cut = {
            outcome.lease_id
            for outcome in outcomes
            if self._charge_budget(shard, outcome, specs.get(outcome.crawl_spec_id, DEFAULT_SPEC))
        }
        current = self._current(outcomes, freed, endings)
        known = await shard.load_entries(
            [entry_lookup(each.job_id, each.url_key, each.crawl_spec_id) for each in current]
        )
        now_ms = shard.clock.now_ms()
        for outcome, past in zip(current, known, strict=True):
            self._decide(shard, outcome, past, specs, endings, is_cut=outcome.lease_id in cut)
        found = redirect_messages(endings.redirect_targets, shards=self._options.shards, now_ms=now_ms)
        return Effects(
            publish=[
                *(Publish(LINKS_DISCOVERED, event, partition=event.shard) for event in found),
                *(
                    Publish(URLS_DECIDED, event)
                    for event in decision_messages(endings.decisions, now_ms=now_ms)
                ),
            ],
            after_ack=partial(self._remember, shard, endings, {each.group for each in outcomes}),
            outcome="concluded" if endings.pending or endings.hosts else "stale",
        )

    def _hear(self, shard: OwnedShard, outcomes: Sequence[FetchCompleted], batch: OutcomeBatch) -> None:
        """Take in what is said of groups and origins, whether or not the lease still counts."""
        now_ms = shard.clock.now_ms()
        for outcome in outcomes:
            shard.note_fetch_sequence(outcome.fetch_sequence)
            group = self._heard(shard.host_groups.get(outcome.group), outcome, now_ms)
            if outcome.kind == RequestKind.ROBOTS:
                before = shard.robots.get(outcome.origin)
                known = apply_response(
                    before.origin_state, robots_fetch_result(outcome), now_ms=now_ms, random=self._chance
                )
                rules = before if known.text == before.origin_state.text else rules_of(known)
                rules = replace(rules, known=known)
                shard.robots.put(outcome.origin, rules)
                agent = self._options.user_agent
                delay_seconds = rules.rules.delay_seconds(product_token(agent))
                group = apply_robots_delay(group, outcome.origin, delay_seconds)
                batch.hosts.append(
                    robots_to_record(
                        outcome.origin,
                        outcome.group,
                        rules,
                        user_agent=agent,
                        now_ms=now_ms,
                        epoch=shard.epoch,
                    )
                )
            shard.host_groups.put(group)

    def _heard(self, before: HostGroup, outcome: FetchCompleted, now_ms: int) -> HostGroup:
        group = hear(before, outcome, now_ms=now_ms, chance=self._chance, limits=self._options.breaker)
        if has_breaker_tripped(before, group):
            until_seconds = (group.blocked_until_ms - now_ms) / 1000
            _log.warning(
                f"Circuit Breaker Tripped for {group.name}", why=group.block_reason, seconds=until_seconds
            )
            self._meter.count_decision("breaker_tripped")
        return group

    def _current(
        self, outcomes: Sequence[FetchCompleted], freed: Sequence[OutcomeStatus], batch: OutcomeBatch
    ) -> list[FetchCompleted]:
        """Leave out what is stale, and end the requests that no entry waits for."""
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
        """Note what a request cost its run; says whether it was given less than a page may have."""
        limits = self._budgets.allowance_of(spec)
        if outcome.kind == RequestKind.ROBOTS or not limits.has_any:
            return False
        fetch = BudgetedFetch(
            outcome.execution_id,
            entry_id(outcome.job_id, outcome.url_key),
            host_of(outcome.url),
            limits,
            sequence=outcome.fetch_sequence,
            has_page=outcome.has_page,
            cost=BudgetAmount(0, outcome.body_bytes, busy_ms(outcome)),
            lease_id=outcome.lease_id,
        )
        return self._budgets.use(shard.number, fetch)

    def _decide(
        self,
        shard: OwnedShard,
        outcome: FetchCompleted,
        known: EntryLookupResult,
        specs: Mapping[str, CrawlSpecDeclared],
        batch: OutcomeBatch,
        *,
        is_cut: bool,
    ) -> None:
        cause = f"ended {outcome.fetch_sequence}"
        entry = shard.latest_entry(known, cause)
        now_ms = shard.clock.now_ms()
        if entry is None or not is_heard(entry, outcome, now_ms=now_ms):
            batch.counts["stale"] += 1
            if entry is not None:
                # Its lease is ended all the same: nobody else would let go of the entry.
                batch.conclusions.append(entry_conclusion(entry, outcome.lease_id))
            return
        batch.outcomes.append(outcome)
        circumstances = OutcomeContext(
            specs.get(outcome.crawl_spec_id, DEFAULT_SPEC),
            now_ms,
            host_backs_off=shard.host_groups.get(outcome.group).is_blocked(now_ms),
            allow_private=self._options.allow_private,
            by_domain=self._options.by_domain,
            is_cut=is_cut,
        )
        result = apply_fetch_outcome(entry, outcome, circumstances, chance=self._chance)
        batch.add(result)
        if result.entry is not None:
            batch.pending.append(
                shard.decide(result.entry, before=entry, cause=cause, lease_id=outcome.lease_id)
            )

    async def _remember(self, shard: OwnedShard, batch: OutcomeBatch, groups: set[str]) -> None:
        await shard.commit_decisions(batch.pending, more=batch.conclusions, hosts=batch.hosts, groups=groups)
        for word, count in batch.counts.items():
            self._meter.count_decision(word, count)
        note_decisions(self._meter, batch.decisions)
        note_failed_requests(self._meter, batch.outcomes)


def _freed_lease(outcome: FetchCompleted) -> EndedRequest:
    is_robots = outcome.kind == RequestKind.ROBOTS
    started_at_ms = 0 if outcome.before_connect else -(-outcome.started_at_us // 1000)
    return EndedRequest(
        outcome.lease_id,
        started_at_ms,
        outcome.group,
        entry_id(ROBOTS_JOB if is_robots else outcome.job_id, outcome.url_key),
    )
