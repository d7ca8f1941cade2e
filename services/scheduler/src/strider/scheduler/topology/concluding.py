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
    Amount,
    Budgets,
    Candidate,
    Circumstances,
    Ended,
    Fetch,
    Group,
    Line,
    asked_of,
    ended,
    has_tripped,
    hear,
    messages,
    robots_record,
    rules_of,
    with_robots,
)
from strider.scheduler.core.discovery import discoveries
from strider.scheduler.core.entries import busy_ms
from strider.scheduler.core.outcomes import is_heard
from strider.scheduler.core.robots import robots_ended
from strider.urls import host_of

from .noting import note_lines, note_outcomes
from .ports import Meter, Options, Specs
from .shard import Decided, Shard
from .tellings import conclusion_of, question_of

DEFAULT_SPEC = CrawlSpecDeclared(crawl_spec_id="")
"""What an outcome goes by whose crawl spec is nowhere: it was asked for, so it is brought to an end."""

_log = logger("scheduler")


@dataclass(slots=True)
class Endings:
    """What becomes of what one batch brought to one shard."""

    lines: list[Line] = field(default_factory=list)
    targets: list[Candidate] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)
    hosts: list[HostRecorded] = field(default_factory=list)
    conclusions: list[EntryConclusion] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)
    heard: list[FetchCompleted] = field(default_factory=list)
    """What was heard of entries: the first answer of each lease."""

    def take(self, ended: Ended) -> None:
        """Note what follows from one decision, besides its record."""
        self.words[ended.word] += 1
        self.lines += ended.lines
        if ended.target is not None:
            self.targets.append(ended.target)


class Concluding:
    """Load, decide, speak, remember: for the outcomes that one batch brought to one shard."""

    def __init__(
        self, *, specs: Specs, budgets: Budgets, options: Options, meter: Meter, chance: RandomSource
    ) -> None:
        self._specs = specs
        self._budgets = budgets
        self._options = options
        self._meter = meter
        self._chance = chance

    async def conclude(self, shard: Shard, outcomes: Sequence[FetchCompleted]) -> Effects:
        """End the leases, and decide what is next for their entries."""
        specs = await self._specs.known({outcome.crawl_spec_id for outcome in outcomes})
        endings = Endings()
        self._hear(shard, outcomes, endings)
        # A group that is to rest must know so before it is free: its next request may go at once.
        await shard.tell_groups(outcome.group for outcome in outcomes)
        freed = await shard.free([_freed(outcome) for outcome in outcomes])
        cut = {
            outcome.lease_id
            for outcome in outcomes
            if self._charge(shard, outcome, specs.get(outcome.crawl_spec_id, DEFAULT_SPEC))
        }
        current = self._current(outcomes, freed, endings)
        known = await shard.look(
            [question_of(each.job_id, each.url_key, each.crawl_spec_id) for each in current]
        )
        now_ms = shard.time.now_ms()
        for outcome, past in zip(current, known, strict=True):
            self._decide(shard, outcome, past, specs, endings, is_cut=outcome.lease_id in cut)
        found = discoveries(endings.targets, shards=self._options.shards, now_ms=now_ms)
        return Effects(
            publish=[
                *(Publish(LINKS_DISCOVERED, event, partition=event.shard) for event in found),
                *(Publish(URLS_DECIDED, event) for event in messages(endings.lines, now_ms=now_ms)),
            ],
            after_ack=partial(self._remember, shard, endings, {each.group for each in outcomes}),
            outcome="concluded" if endings.decided or endings.hosts else "stale",
        )

    def _hear(self, shard: Shard, outcomes: Sequence[FetchCompleted], endings: Endings) -> None:
        """Take in what is said of groups and origins, whether or not the lease still counts."""
        now_ms = shard.time.now_ms()
        for outcome in outcomes:
            shard.met(outcome.fetch_sequence)
            group = self._heard(shard.groups.get(outcome.group), outcome, now_ms)
            if outcome.kind == RequestKind.ROBOTS:
                before = shard.robots.get(outcome.origin)
                known = apply_response(before.known, asked_of(outcome), now_ms=now_ms, random=self._chance)
                rules = before if known.text == before.known.text else rules_of(known)
                rules = replace(rules, known=known)
                shard.robots.put(outcome.origin, rules)
                agent = self._options.agent
                delay_seconds = rules.robots.delay_seconds(product_token(agent))
                group = with_robots(group, outcome.origin, delay_seconds)
                endings.hosts.append(
                    robots_record(
                        outcome.origin, outcome.group, rules, agent=agent, now_ms=now_ms, epoch=shard.epoch
                    )
                )
            shard.groups.put(group)

    def _heard(self, before: Group, outcome: FetchCompleted, now_ms: int) -> Group:
        group = hear(before, outcome, now_ms=now_ms, chance=self._chance, limits=self._options.breaker)
        if has_tripped(before, group):
            until_seconds = (group.blocked_until_ms - now_ms) / 1000
            _log.warning(
                f"Circuit Breaker Tripped for {group.name}", why=group.blocked_for, seconds=until_seconds
            )
            self._meter.decided("breaker_tripped")
        return group

    def _current(
        self, outcomes: Sequence[FetchCompleted], freed: Sequence[OutcomeStatus], endings: Endings
    ) -> list[FetchCompleted]:
        """Leave out what is stale, and end the requests that no entry waits for."""
        current = []
        for outcome, ending in zip(outcomes, freed, strict=True):
            if outcome.kind == RequestKind.ROBOTS:
                endings.words[f"robots_{outcome.outcome}"] += 1
                endings.conclusions.append(conclusion_of(robots_ended(outcome), outcome.lease_id))
            elif ending is OutcomeStatus.CURRENT:
                current.append(outcome)
            else:
                endings.words["stale"] += 1
        return current

    def _charge(self, shard: Shard, outcome: FetchCompleted, spec: CrawlSpecDeclared) -> bool:
        """Note what a request cost its run; says whether it was given less than a page may have."""
        limits = self._budgets.allowance_of(spec)
        if outcome.kind == RequestKind.ROBOTS or not limits.are_any:
            return False
        fetch = Fetch(
            outcome.execution_id,
            entry_id(outcome.job_id, outcome.url_key),
            host_of(outcome.url),
            limits,
            sequence=outcome.fetch_sequence,
            has_page=outcome.has_page,
            cost=Amount(0, outcome.body_bytes, busy_ms(outcome)),
            lease_id=outcome.lease_id,
        )
        return self._budgets.use(shard.number, fetch)

    def _decide(
        self,
        shard: Shard,
        outcome: FetchCompleted,
        past: EntryLookupResult,
        specs: Mapping[str, CrawlSpecDeclared],
        endings: Endings,
        *,
        is_cut: bool,
    ) -> None:
        cause = f"ended {outcome.fetch_sequence}"
        entry = shard.current(past, cause)
        now_ms = shard.time.now_ms()
        if entry is None or not is_heard(entry, outcome, now_ms=now_ms):
            endings.words["stale"] += 1
            if entry is not None:
                # Its lease is ended all the same: nobody else would let go of the entry.
                endings.conclusions.append(conclusion_of(entry, outcome.lease_id))
            return
        endings.heard.append(outcome)
        circumstances = Circumstances(
            specs.get(outcome.crawl_spec_id, DEFAULT_SPEC),
            now_ms,
            group_rests=shard.groups.get(outcome.group).is_blocked(now_ms),
            allow_private=self._options.allow_private,
            by_domain=self._options.by_domain,
            is_cut=is_cut,
        )
        result = ended(entry, outcome, circumstances, chance=self._chance)
        endings.take(result)
        if result.entry is not None:
            endings.decided.append(
                shard.decide(result.entry, before=entry, cause=cause, lease_id=outcome.lease_id)
            )

    async def _remember(self, shard: Shard, endings: Endings, groups: set[str]) -> None:
        await shard.settle(endings.decided, more=endings.conclusions, hosts=endings.hosts, groups=groups)
        for word, count in endings.words.items():
            self._meter.decided(word, count)
        note_lines(self._meter, endings.lines)
        note_outcomes(self._meter, endings.heard)


def _freed(outcome: FetchCompleted) -> EndedRequest:
    is_robots = outcome.kind == RequestKind.ROBOTS
    started_at_ms = 0 if outcome.before_connect else -(-outcome.started_at_us // 1000)
    return EndedRequest(
        outcome.lease_id,
        started_at_ms,
        outcome.group,
        entry_id(ROBOTS_JOB if is_robots else outcome.job_id, outcome.url_key),
    )
