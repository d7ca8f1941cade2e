"""links-discovered -> accept or refuse -> frontier, urls-decided."""

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
from strider.frontier.models import AcceptedEntry, EntryLookupResult, LogPassPart, RefusedUrl
from strider.messaging.effects import Effects, Publish
from strider.messaging.ports import RawRecord
from strider.runtime.observability.logging import logger
from strider.scheduler.core import (
    Admission,
    Candidate,
    PriorState,
    RunBudgets,
    RunControl,
    UrlDecision,
    admit,
    decision_messages,
    open_entry,
    refuse_candidate,
    refused_decision,
)
from strider.scheduler.core.entries import candidates
from strider.scheduler.core.entries.recrawl import hastened
from strider.scheduler.core.entries.seed_tokens import is_newer, merged, opening_token
from strider.scheduler.core.release.priority import priority_of
from strider.scheduler.core.runs.control import REASONS
from strider.scheduler.loops.run_log import note_decisions, note_opened_entries
from strider.scheduler.ports import Meter, SchedulerOptions, Specs
from strider.scheduler.shard.shard import Decided, OwnedShard
from strider.scheduler.shard.store_mapping import accepted_entry, entry_lookup, seen_url
from strider.urls import host_of

PERMANENT_REFUSALS = frozenset(
    {DecisionReason.POLICY_BLOCKED, DecisionReason.REFUSED_PORT, DecisionReason.REFUSED_SCHEME}
)
"""Refused for these reasons, a URL is not looked at again when the next page links to it."""

MAX_RECORD_BYTES: Final = FRONTIER.max_bytes - 24 * 1024
"""Of a new entry. Its record grows (redirects, validators, hashes), and one that has outgrown its topic could
never be written again: its entry would stay open for ever."""

_log = logger("scheduler")


@dataclass(slots=True)
class Intake:
    """What becomes of what one batch brought to one shard."""

    decisions: list[UrlDecision] = field(default_factory=list)
    seen: list[RefusedUrl] = field(default_factory=list)
    opened: list[EntryRecorded] = field(default_factory=list)
    records: list[RawRecord] = field(default_factory=list)
    joined: list[EntryRecorded] = field(default_factory=list)
    """Open already: the working set takes the seed's token. That they may close meanwhile changes nothing."""
    hastened: list[Decided] = field(default_factory=list)
    """Waiting for their interval, and asked for by a seed."""
    woken: list[EntryRecorded] = field(default_factory=list)
    """The same, where they are only in the log."""
    counts: Counter[str] = field(default_factory=Counter)

    def refuse(self, candidate: Candidate, reason: DecisionReason, detail: str = "") -> None:
        """Refuse a candidate, and say so."""
        self.counts[reason.value] += 1
        self.decisions.append(refused_decision(candidate, reason, detail))
        if reason in PERMANENT_REFUSALS:
            self.seen.append(seen_url(candidate))

    def report_duplicate_seed(self, candidate: Candidate, detail: str) -> None:
        """Say of a seed that its URL is crawled once for several; of links, the entry says all."""
        if candidate.origin.via == LinkVia.SEED:
            self.decisions.append(refused_decision(candidate, DecisionReason.ALREADY_SEEN, detail))


class LinksDiscoveredHandler:
    """Load, decide, speak, remember: for the URLs that one batch brought to one shard."""

    def __init__(
        self,
        *,
        specs: Specs,
        budgets: RunBudgets,
        orders: RunControl,
        options: SchedulerOptions,
        meter: Meter,
    ) -> None:
        self._specs = specs
        self._budgets = budgets
        self._orders = orders
        self._options = options
        self._meter = meter
        self._specs_warned_of: set[str] = set()

    async def handle(self, shard: OwnedShard, events: Sequence[LinksDiscovered]) -> Effects:
        """Take what is new into the frontier."""
        found = [candidate for event in events for candidate in self._read(event)]
        specs = await self._specs.known({candidate.origin.crawl_spec_id for candidate in found})
        self._warn_of_deep_crawls(specs)
        intake = Intake()
        asked = self._refuse_or_deduplicate(found, specs, shard, intake)
        known = await shard.load_entries(
            [entry_lookup(each.origin.job_id, each.url_key, each.origin.crawl_spec_id) for each in asked]
        )
        now_ms = shard.clock.now_ms()
        for candidate, past in zip(asked, known, strict=True):
            is_lasting = specs[candidate.origin.crawl_spec_id].continuous
            self._accept(candidate, past, shard, intake, now_ms=now_ms, is_lasting=is_lasting)
        return Effects(
            publish=[
                Publish(URLS_DECIDED, event) for event in decision_messages(intake.decisions, now_ms=now_ms)
            ],
            after_ack=partial(self._remember, shard, intake, specs),
            outcome="accepted" if intake.opened else "known",
        )

    def _warn_of_deep_crawls(self, specs: Mapping[str, CrawlSpecDeclared]) -> None:
        """Say once of each crawl spec that it goes deep."""
        for name, spec in specs.items():
            if spec.max_depth > DEEP_CRAWL_DEPTH and name not in self._specs_warned_of:
                self._specs_warned_of.add(name)
                _log.warning("Deep Crawl", crawl_spec=name, max_depth=spec.max_depth, usual=DEEP_CRAWL_DEPTH)

    def _read(self, event: LinksDiscovered) -> Iterator[Candidate]:
        if event.shards != self._options.shards:
            raise ValueError(f"it was made for {event.shards} shards, and there are {self._options.shards}")
        return candidates(event, by_domain=self._options.by_domain)

    def _refuse_or_deduplicate(
        self,
        candidates: Sequence[Candidate],
        specs: Mapping[str, CrawlSpecDeclared],
        shard: OwnedShard,
        intake: Intake,
    ) -> list[Candidate]:
        """Refuse what can be refused unseen; of several for one entry, keep the newest seed or the first."""
        asked: dict[str, Candidate] = {}
        for candidate in candidates:
            spec = specs.get(candidate.origin.crawl_spec_id)
            why = refuse_candidate(candidate, spec, allow_private=self._options.allow_private)
            origin = candidate.origin
            order = self._orders.directive_for(origin.job_id, origin.execution_id)
            if why is not None:
                intake.refuse(candidate, why.reason, why.detail)
            elif (over := REASONS.get(order.state)) is not None:
                intake.refuse(candidate, over, order.reason)
            elif spent := self._budgets.exhausted_local_limit(
                shard.number, origin.execution_id, host_of(candidate.url)
            ):
                intake.refuse(candidate, DecisionReason.BUDGET, spent)
            elif (before := asked.get(name := candidate.entry_id)) is None:
                asked[name] = candidate
            elif is_newer(candidate.seed_token, before.seed_token):
                # The newest wish counts, but none of the others may count as new when it is delivered again.
                token = merged(candidate.seed_token, before.seed_token)
                asked[name] = replace_fields(candidate, seed_token=token)
                intake.report_duplicate_seed(before, f"another seed of {origin.execution_id} came with it")
        return list(asked.values())

    def _accept(
        self,
        candidate: Candidate,
        known: EntryLookupResult,
        shard: OwnedShard,
        intake: Intake,
        *,
        now_ms: int,
        is_lasting: bool,
    ) -> None:
        admission = admit(candidate, PriorState(known.status.value), seed_token=known.seed_token)
        intake.counts[admission.value] += 1
        if admission is Admission.KNOWN:
            return
        is_again = admission is not Admission.ACCEPTED
        token = merged(opening_token(candidate.seed_token, now_ms), known.seed_token)
        entry = open_entry(
            replace_fields(candidate, seed_token=token, priority=priority_of(candidate)),
            now_ms=now_ms,
            reason=EntryReason.REOPENED if is_again else EntryReason.ACCEPTED,
            after_sequence=shard.max_fetch_sequence if is_again else 0,
        )
        if admission is Admission.JOINED:
            intake.joined.append(entry)
            if not (is_lasting and _recrawl_now(candidate, known, entry, shard, intake)):
                intake.report_duplicate_seed(candidate, _open_detail(known))
            return
        try:
            record = shard.log.encode_entry(entry)
        except EncodeError as failure:
            intake.refuse(candidate, DecisionReason.BAD_SEED, str(failure))
            return
        if len(record.value or b"") > MAX_RECORD_BYTES:
            intake.refuse(
                candidate, DecisionReason.BAD_SEED, f"more than {MAX_RECORD_BYTES} bytes with all it has"
            )
            return
        intake.records.append(record)
        intake.opened.append(entry)

    async def _remember(
        self, shard: OwnedShard, intake: Intake, specs: Mapping[str, CrawlSpecDeclared]
    ) -> None:
        for entry in intake.opened:
            shard.host_groups.heed(entry.group, specs[entry.crawl_spec_id])
        groups = {entry.group for entry in intake.opened}
        await shard.write_log(intake.records, groups=groups)
        await shard.sync_host_groups(groups)
        told: list[AcceptedEntry] = [accepted_entry(entry) for entry in intake.opened]
        await shard.accept(told, intake.seen)
        await shard.record_joined_seeds(intake.joined)
        await shard.commit_decisions(intake.hastened)
        await _queue_from_log(intake.woken, shard)
        for word, count in intake.counts.items():
            self._meter.count_decision(word, count)
        note_opened_entries(self._meter, intake.opened)
        note_decisions(self._meter, intake.decisions)


def _open_detail(known: EntryLookupResult) -> str:
    return "it is open" if known.entry is None else f"it is open in {known.entry.execution_id}"


def _recrawl_now(
    candidate: Candidate, known: EntryLookupResult, asked: EntryRecorded, shard: OwnedShard, intake: Intake
) -> bool:
    """Have an entry of a continuous crawl come at once where it waits; say whether that was so."""
    if known.entry is None:
        intake.woken.append(asked)
        return True
    cause = f"joined {candidate.seed_token}"
    entry = shard.latest_entry(known, cause)
    if entry is None:
        return False
    now_ms, token = asked.updated_at_ms, asked.seed_token
    sooner = hastened(entry, seed_token=token, is_fresh=candidate.is_fresh, now_ms=now_ms)
    if sooner is None:
        return False
    intake.hastened.append(shard.decide(sooner, before=entry, cause=cause))
    return True


async def _queue_from_log(entries: Sequence[EntryRecorded], shard: OwnedShard) -> None:
    """Write entries down that are only in the log, and queue them where there is room."""
    if not entries:
        return
    await shard.write_log([shard.log.encode_entry(entry) for entry in entries])
    await shard.refill(entries, part=LogPassPart.MIDDLE)
    shard.wake.set()
