"""Handle links-discovered: accept or refuse each URL -> frontier, urls-decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from strider.contracts import EncodeError
from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import DecisionReason, EntryReason, LinkVia
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, LinksDiscovered
from strider.contracts.generated.topics import FRONTIER, URLS_DECIDED
from strider.contracts.seed_limits import DEEP_CRAWL_DEPTH
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.runs.control import CLOSE_REASONS, RunControl, RunDirective, RunState
from strider.frontier.models import AcceptedEntry, EntryLookupResult, LogPassPart, RefusedFingerprint
from strider.messaging.effects import Effects, Publish
from strider.messaging.ports import RawRecord
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.budgets.ledger import BudgetKey
from strider.scheduler.core.budgets.reservations import RunBudgets
from strider.scheduler.core.entries.acceptance import (
    AcceptanceOutcome,
    UrlRefusal,
    accept_candidate,
    refuse_candidate,
)
from strider.scheduler.core.entries.candidates import (
    Candidate,
    is_newer,
    merge_tokens,
    opening_token,
    parse_candidates,
)
from strider.scheduler.core.entries.feed_polling import is_polled, place_feed
from strider.scheduler.core.entries.recrawl import recrawl_now
from strider.scheduler.core.entries.state import open_entry
from strider.scheduler.core.entries.url_decisions import UrlDecision, decision_messages, refused_decision
from strider.scheduler.core.hosts.redirect_queries import is_robots_message
from strider.scheduler.core.hosts.run_hosts import RunHost, run_host_of
from strider.scheduler.core.release.priority import priority_of
from strider.scheduler.loops.run_log import HostWaits, note_decisions, note_opened_entries
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import SchedulerMeter
from strider.scheduler.shard.in_progress import PendingDecision
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.store_mapping import accepted_entry, entry_lookup, seen_url
from strider.urls import host_of

from .robots_files import RobotsFiles, RobotsUpdate
from .short_delays import ShortDelayWarnings

PERMANENT_REFUSALS = frozenset(
    {DecisionReason.POLICY_BLOCKED, DecisionReason.REFUSED_PORT, DecisionReason.REFUSED_SCHEME}
)
"""A URL refused for one of these reasons is marked as seen, so that the next link to it costs nothing."""

_CLOSE_REASONS: Final[Mapping[RunState, DecisionReason]] = {
    state: reason for state, reason in CLOSE_REASONS.items() if state is not RunState.COMPLETED
}
"""States of runs whose URLs are refused without a lookup. Of a run that has ended, a page may be read again
after a crash: its links are known, and only new ones are refused.
"""

MAX_RECORD_BYTES: Final = FRONTIER.max_bytes - 24 * 1024
"""Largest record of a new entry.

A record grows (redirects, validators, hashes), and one that no longer fits its topic could never be written
again: its entry would stay open forever.
"""

_log = logger("scheduler")


@dataclass(slots=True)
class AcceptanceBatch:
    """Results of one batch in one shard."""

    decisions: list[UrlDecision] = field(default_factory=list)
    seen: list[RefusedFingerprint] = field(default_factory=list)
    opened: list[EntryRecorded] = field(default_factory=list)
    hosts: list[RunHost] = field(default_factory=list)
    """Hosts of opened entries, as far as their number is limited."""
    records: list[RawRecord] = field(default_factory=list)
    joined: list[EntryRecorded] = field(default_factory=list)
    """Open entries, for which the working set stores the seed's token. If they close meanwhile, nothing
    changes.
    """
    recrawled: list[PendingDecision] = field(default_factory=list)
    """Entries that wait for their recrawl, and are due at once because a seed names them."""
    recrawled_in_log: list[EntryRecorded] = field(default_factory=list)
    """The same, for entries that are only in the log."""
    counts: Counter[str] = field(default_factory=Counter)

    def refuse(self, candidate: Candidate, reason: DecisionReason, detail: str = "") -> None:
        """Refuse a candidate, and add the decision."""
        self.counts[reason.value] += 1
        self.decisions.append(refused_decision(candidate, reason, detail))
        if reason in PERMANENT_REFUSALS:
            self.seen.append(seen_url(candidate))

    def report_duplicate_seed(self, candidate: Candidate, detail: str) -> None:
        """Publish for a seed that its URL is crawled already; for links the entry itself is enough."""
        if candidate.origin.via == LinkVia.SEED:
            self.decisions.append(refused_decision(candidate, DecisionReason.ALREADY_SEEN, detail))


class LinksDiscoveredHandler:
    """Load, decide, publish, write state: for the URLs of one batch in one shard."""

    def __init__(
        self,
        *,
        crawl_specs: CrawlSpecCache,
        budgets: RunBudgets,
        run_control: RunControl,
        options: SchedulerOptions,
        meter: SchedulerMeter,
        chance: RandomSource,
    ) -> None:
        self._robots = RobotsFiles(options, chance=chance)
        self._crawl_specs = crawl_specs
        self._budgets = budgets
        self._run_control = run_control
        self._options = options
        self._meter = meter
        self._waits = HostWaits(meter)
        self._specs_warned_of: set[str] = set()
        self._short_delays = ShortDelayWarnings()

    async def handle(self, shard: OwnedShard, events: Sequence[LinksDiscovered]) -> Effects:
        """Accept new URLs into the frontier."""
        parsed = [candidate for event in events for candidate in self._parse(event)]
        robots = self._robots.receive(shard, [each for each in parsed if is_robots_message(each)])
        candidates = [each for each in parsed if not is_robots_message(each)]
        specs = await self._crawl_specs.known({candidate.origin.crawl_spec_id for candidate in candidates})
        self._warn_of_deep_crawls(specs)
        batch = AcceptanceBatch()
        kept = self._refuse_or_deduplicate(candidates, specs, shard, batch)
        known = await self._load(shard, kept)
        now_ms = shard.clock.now_ms()
        for candidate, prior in zip(kept, known, strict=True):
            spec = specs[candidate.origin.crawl_spec_id]
            is_lasting = spec.continuous or is_polled(candidate, spec, self._options.polling)
            self._accept(candidate, prior, shard, batch, now_ms=now_ms, is_lasting=is_lasting)
        return Effects(
            publish=[
                *self._robots.publications(shard, robots),
                *(
                    Publish(URLS_DECIDED, event)
                    for event in decision_messages(batch.decisions, now_ms=now_ms)
                ),
            ],
            after_ack=partial(self._write_state, shard, batch, specs, robots),
            outcome="accepted" if batch.opened else "known",
        )

    async def _load(self, shard: OwnedShard, candidates: Sequence[Candidate]) -> Sequence[EntryLookupResult]:
        """Return what is known of the entries; look the markers of their hosts up with them."""
        lookups = [
            entry_lookup(each.origin.job_id, each.url_key, each.origin.crawl_spec_id) for each in candidates
        ]
        hosts = [about for each in candidates if (about := _run_host(each)) is not None]
        asked = shard.run_hosts.questions(hosts)
        known = list(await shard.load_entries([*lookups, *(each.lookup for each in asked)]))
        found = known[len(lookups) :]
        if further := shard.run_hosts.refinements(asked, found):
            asked += further
            found += await shard.load_entries([each.lookup for each in further])
        shard.run_hosts.learn(asked, found)
        return known[: len(lookups)]

    def _warn_of_deep_crawls(self, specs: Mapping[str, CrawlSpecDeclared]) -> None:
        """Log each crawl spec with an unusual depth once."""
        for name, spec in specs.items():
            if spec.max_depth > DEEP_CRAWL_DEPTH and name not in self._specs_warned_of:
                self._specs_warned_of.add(name)
                _log.emit(
                    log_events.DEEP_CRAWL_ACCEPTED,
                    crawl_spec=name,
                    max_depth=spec.max_depth,
                    usual=DEEP_CRAWL_DEPTH,
                )

    def _parse(self, event: LinksDiscovered) -> Iterator[Candidate]:
        if event.shards != self._options.shards:
            raise ValueError(
                f"message was made for {event.shards} shards, but there are {self._options.shards}"
            )
        return parse_candidates(event, by_domain=self._options.by_domain)

    def _refuse_or_deduplicate(
        self,
        candidates: Sequence[Candidate],
        specs: Mapping[str, CrawlSpecDeclared],
        shard: OwnedShard,
        batch: AcceptanceBatch,
    ) -> list[Candidate]:
        """Refuse without a lookup where possible; keep the newest seed of each entry."""
        kept: dict[str, Candidate] = {}
        for found in candidates:
            spec = specs.get(found.origin.crawl_spec_id)
            candidate, refusal = self._place(found, spec)
            origin = candidate.origin
            directive = self._closing_directive(found, candidate)
            if refusal is not None:
                batch.refuse(candidate, refusal.reason, refusal.detail)
            elif directive is not None:
                batch.refuse(candidate, _CLOSE_REASONS[directive.state], directive.reason)
            elif spent := self._budgets.exhausted_local_limit(
                shard.number, BudgetKey(origin.execution_id, origin.crawl_spec_id), host_of(candidate.url)
            ):
                batch.refuse(candidate, DecisionReason.BUDGET, spent)
            elif (before := kept.get(name := candidate.entry_id)) is None:
                kept[name] = candidate
            elif is_newer(candidate.seed_token, before.seed_token):
                # The newest seed counts, but none of the others may count as new when it is redelivered.
                token = merge_tokens(candidate.seed_token, before.seed_token)
                kept[name] = replace_fields(candidate, seed_token=token)
                batch.report_duplicate_seed(
                    before, f"another seed of {origin.execution_id} was accepted with it"
                )
        return list(kept.values())

    def _place(
        self, candidate: Candidate, spec: CrawlSpecDeclared | None
    ) -> tuple[Candidate, UrlRefusal | None]:
        """Return a candidate in the run that it belongs to, and why it is refused without a lookup."""
        refusal = refuse_candidate(candidate, spec, allow_private=self._options.allow_private)
        if refusal is not None:
            return candidate, refusal
        placed = place_feed(candidate, spec, self._options.polling)
        return (candidate, placed) if isinstance(placed, UrlRefusal) else (placed, None)

    def _closing_directive(self, found: Candidate, placed: Candidate) -> RunDirective | None:
        """Return the directive that refuses a candidate; None where there is none.

        A feed that a page of a cancelled run names is not polled either.
        """
        for candidate in (found,) if placed is found else (found, placed):
            origin = candidate.origin
            directive = self._run_control.directive_for(
                origin.job_id, origin.execution_id, origin.crawl_spec_id, candidate.url_key
            )
            if directive.state in _CLOSE_REASONS:
                return directive
        return None

    def _accept(
        self,
        candidate: Candidate,
        known: EntryLookupResult,
        shard: OwnedShard,
        batch: AcceptanceBatch,
        *,
        now_ms: int,
        is_lasting: bool,
    ) -> None:
        outcome = accept_candidate(candidate, known.status, seed_token=known.seed_token)
        batch.counts[outcome.value] += 1
        if outcome is AcceptanceOutcome.KNOWN:
            return
        if self._run_control.is_completed(candidate.origin.execution_id):
            over = f"{candidate.origin.execution_id} has ended"
            batch.refuse(candidate, DecisionReason.EXECUTION_OVER, over)
            return
        is_again = outcome is not AcceptanceOutcome.ACCEPTED
        token = merge_tokens(opening_token(candidate.seed_token, now_ms), known.seed_token)
        entry = open_entry(
            replace_fields(candidate, seed_token=token, priority=priority_of(candidate)),
            now_ms=now_ms,
            reason=EntryReason.REOPENED if is_again else EntryReason.ACCEPTED,
            after_sequence=shard.max_fetch_sequence if is_again else 0,
        )
        if outcome is AcceptanceOutcome.JOINED:
            batch.joined.append(entry)
            if not (is_lasting and _recrawl_now(candidate, known, entry, shard, batch)):
                batch.report_duplicate_seed(candidate, _open_detail(known))
        else:
            self._open(candidate, entry, shard, batch)

    def _open(
        self, candidate: Candidate, entry: EntryRecorded, shard: OwnedShard, batch: AcceptanceBatch
    ) -> None:
        """Open an entry, unless its record is too large or its domain has too many hosts."""
        try:
            record = shard.log.encode_entry(entry)
        except EncodeError as failure:
            batch.refuse(candidate, DecisionReason.BAD_SEED, str(failure))
            return
        if len(record.value or b"") > MAX_RECORD_BYTES:
            batch.refuse(candidate, DecisionReason.BAD_SEED, f"record exceeds {MAX_RECORD_BYTES} bytes")
            return
        if (about := _run_host(candidate)) is not None:
            if full := shard.run_hosts.admit(about):
                batch.refuse(candidate, DecisionReason.TOO_MANY_HOSTS, full)
                return
            batch.hosts.append(about)
        batch.records.append(record)
        batch.opened.append(entry)

    async def _write_state(
        self,
        shard: OwnedShard,
        batch: AcceptanceBatch,
        specs: Mapping[str, CrawlSpecDeclared],
        robots: RobotsUpdate,
    ) -> None:
        await self._robots.write_state(shard, robots)
        groups = {entry.group for entry in batch.opened}
        await shard.write_log(batch.records, groups=groups)
        await shard.sync_host_groups(groups)
        for entry in batch.opened:
            self._short_delays.warn_once(entry.group, specs[entry.crawl_spec_id])
        accepted: list[AcceptedEntry] = [accepted_entry(entry) for entry in batch.opened]
        await shard.accept(accepted, [*batch.seen, *shard.run_hosts.markers(batch.hosts)], specs)
        shard.run_hosts.mark_written(batch.hosts)
        await shard.record_joined_seeds(batch.joined)
        await shard.commit_decisions(batch.recrawled)
        await _queue_from_log(batch.recrawled_in_log, specs, shard)
        for decision, count in batch.counts.items():
            self._meter.count_decision(decision, count)
        note_opened_entries(self._meter, batch.opened)
        now_ms = shard.clock.now_ms()
        places = {(each.job_id, each.execution_id, each.group) for each in batch.opened}
        for job_id, execution_id, name in places:
            self._waits.note(job_id, execution_id, shard.host_groups.get(name), now_ms=now_ms)
        note_decisions(self._meter, batch.decisions)


def _run_host(candidate: Candidate) -> RunHost | None:
    origin = candidate.origin
    return run_host_of(BudgetKey(origin.execution_id, origin.crawl_spec_id), host_of(candidate.url))


def _open_detail(known: EntryLookupResult) -> str:
    return "entry is open" if known.entry is None else f"entry is open in {known.entry.execution_id}"


def _recrawl_now(
    candidate: Candidate,
    known: EntryLookupResult,
    opened: EntryRecorded,
    shard: OwnedShard,
    batch: AcceptanceBatch,
) -> bool:
    """Make a waiting entry of a continuous crawl due at once; return whether it waited."""
    if known.entry is None:
        batch.recrawled_in_log.append(opened)
        return True
    cause = f"joined {candidate.seed_token}"
    entry = shard.decisions.latest_entry(known, cause)
    if entry is None:
        return False
    now_ms, token = opened.updated_at_ms, opened.seed_token
    recrawled = recrawl_now(entry, seed_token=token, is_fresh=candidate.is_fresh, now_ms=now_ms)
    if recrawled is None:
        return False
    batch.recrawled.append(shard.begin_decision(recrawled, before=entry, cause=cause))
    return True


async def _queue_from_log(
    entries: Sequence[EntryRecorded], specs: Mapping[str, CrawlSpecDeclared], shard: OwnedShard
) -> None:
    """Write entries that are only in the log, and queue them where there is room."""
    if not entries:
        return
    await shard.write_log([shard.log.encode_entry(entry) for entry in entries])
    await shard.refill(entries, specs, part=LogPassPart.MIDDLE)
    shard.wake.set()
