"""Two ways in, and the way round.

    seeds-submitted ─▶ sow ─▶ crawl-specs, then links-discovered · urls-decided
    pages-validated ─▶ admit ─▶ seen? ─▶ links-discovered · urls-decided, then pages-settled
    pages-rejected ─▶ pages-settled, unless pages-validated has what closes the page behind its parts

Seeds and pages are two consumers, so that a flood of seeds delays no page. A page is settled after
its links are with the broker; a crawl spec is declared before the first link that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from strider.contracts.codec_unwritten import written
from strider.contracts.generated.events import (
    CrawlSpecDeclared,
    PageParsed,
    PageRejected,
    PageSettled,
    PageValidated,
    SeedSubmitted,
)
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    LINK_INGESTION_DLQ,
    LINKS_DISCOVERED,
    PAGES_REJECTED,
    PAGES_SETTLED,
    PAGES_VALIDATED,
    SEEDS_SUBMITTED,
    URLS_DECIDED,
)
from strider.contracts.partitioning import shard_of_host
from strider.contracts.parts import closes_for, has_more
from strider.runtime.effects import NOTHING, Effects, Reads, Say
from strider.runtime.ports import Clock, Record

from .adapters.run_log_events import CountLinks, NoteRunEvent, discard_count, discard_note, note_seeds
from .core import (
    AcceptedSeed,
    AdmittedPage,
    LinkBatches,
    LinkDeduplicator,
    LinkFilters,
    RefusedSeed,
    SeedPosition,
    SpecRules,
    accept_seed,
    admit_links,
    compile_rules,
    link_refusals_event,
    refuse_undecodable,
    seed_refusal_events,
    settle,
    settle_closed,
    settle_rejected,
    settle_undecodable,
    unknown_rules,
)

PAGE_FIELDS: Final = (
    *("url", "url_key", "group", "job_id", "execution_id", "crawl_spec_id", "fetch_sequence"),
    *("kind", "depth", "is_start", "not_modified", "document_kind", "text_chars"),
    *("canonical_url", "alternate_urls", "alternate_types", "refresh_url", "noindex"),
    *("feed_urls", "nofollow", "raw_hash", "text_hash", "page_kind", "pagination_pattern"),
    *("pagination_number", "no_results", "link_urls", "link_rels", "links_dropped"),
    *("entry_urls", "entry_lastmods_ms", "entry_kinds", "is_last_part"),
    *("status", "etag", "last_modified", "total_us", "body_bytes", "error_message"),
)
"""What of a page its links are judged by, and what it is settled with."""

USED_FIELDS: Final = tuple(f"page.{name}" for name in PAGE_FIELDS)

CONSUMES: Final = (SEEDS_SUBMITTED, PAGES_VALIDATED, PAGES_REJECTED)
PRODUCES: Final = (CRAWL_SPECS, LINKS_DISCOVERED, URLS_DECIDED, PAGES_SETTLED)
DEAD_LETTERS: Final = LINK_INGESTION_DLQ

SEEDS_GROUP: Final = "link-ingestion-seeds"
PAGES_GROUP: Final = "link-ingestion-pages"

REPLAY_HEADER: Final = "replay-id"

RULES_KEPT: Final = 1_024
"""Crawl specs whose rules are ready; patterns are compiled once for each."""


class CrawlSpecs(Protocol):
    """The crawl specs that were declared."""

    async def known(self, spec_ids: Iterable[str]) -> Mapping[str, CrawlSpecDeclared]:
        """Give those that exist; raises Unavailable where that cannot be said."""

    def declaration(self, spec: CrawlSpecDeclared) -> Say | None:
        """Give what declares a spec; None where that was done."""

    def keep(self, specs: Iterable[CrawlSpecDeclared]) -> None:
        """Take specs whose declaration was acknowledged."""


class SeenSet(Protocol):
    """What the frontier has seen. Asked to spare the bus; the scheduler decides again."""

    async def seen(
        self, fingerprints: Mapping[tuple[int, str], Sequence[int]]
    ) -> Mapping[tuple[int, str], Sequence[bool]]:
        """For each (shard, seen scope), say which fingerprints are known; raises Unavailable."""


@dataclass(frozen=True, slots=True)
class IngestionPolicy:
    """What holds for all crawls of a deployment."""

    shards: int
    allow_private: bool = False
    refusals_listed: int = 200
    """Of one page, told one by one."""
    discovers_feeds: bool = False
    """Whether feeds that start pages name are links."""


class SeedIngestion:
    """Turns wishes into links at depth 0."""

    def __init__(
        self,
        specs: CrawlSpecs,
        *,
        policy: IngestionPolicy,
        clock: Clock,
        count: CountLinks = discard_count,
        note: NoteRunEvent = discard_note,
    ) -> None:
        self._specs = specs
        self._policy = policy
        self._clock = clock
        self._count = count
        self._note = note

    def subscriptions(self) -> tuple[Reads, ...]:
        """Say which topic goes to which method."""
        return (Reads(SEEDS_SUBMITTED, batch=self.on_seeds, is_door=True),)

    async def on_seeds(self, seeds: Sequence[tuple[SeedSubmitted, Record]]) -> Effects:
        """Sow what one poll has brought. Specs are spoken before the links that name them."""
        wishes = [(seed, record) for seed, record in seeds if not is_replayed(record)]
        if not wishes:
            return Effects(outcome="replayed")
        known = await self._specs.known({seed.crawl_spec_id for seed, _ in wishes if seed.crawl_spec_id})
        taken: list[AcceptedSeed] = []
        refused: list[RefusedSeed] = []
        for seed, record in wishes:
            answer = accept_seed(
                seed,
                SeedPosition(record.topic, record.partition, record.offset),
                timestamp_ms=record.timestamp,
                known_specs=known,
                allow_private=self._policy.allow_private,
            )
            if isinstance(answer, AcceptedSeed):
                taken.append(answer)
            else:
                refused.append(answer)
        self._count("seed_taken", len(taken))
        self._count("seed_refused", len(refused))
        return self._effects(taken, refused)

    async def on_given_up(self, record: Record, reason: str) -> Effects:
        """Say of a seed that went to the dead letters why nothing comes of its URL, where it names one."""
        place = SeedPosition(record.topic, record.partition, record.offset)
        refused = refuse_undecodable(written(record.value) or b"", reason, place)
        if refused is None or is_replayed(record):
            return NOTHING
        self._count("seed_refused", 1)
        return self._effects([], [refused])

    def _effects(self, taken: Sequence[AcceptedSeed], refused: Sequence[RefusedSeed]) -> Effects:
        now_ms = now_ms_of(self._clock)
        parcels = LinkBatches(self._policy.shards, spoken_at_ms=now_ms)
        specs = {sown.spec.crawl_spec_id: sown.spec for sown in taken if sown.spec is not None}
        for sown in taken:
            parcels.add(shard_of_host(sown.host, self._policy.shards), sown.item, sown.origin)
        declarations = [say for spec in specs.values() if (say := self._specs.declaration(spec)) is not None]

        async def keep() -> None:
            self._specs.keep(specs.values())
            note_seeds(self._note, taken, refused)

        return Effects(
            say=declarations,
            close=(
                *publish_links(parcels),
                *(Say(URLS_DECIDED, each) for each in seed_refusal_events(refused, now_ms=now_ms)),
            ),
            remember=keep,
            outcome="sown" if taken else "refused",
        )


class PageIngestion:
    """Turns pages into the links that are worth a visit, and settles them."""

    def __init__(
        self,
        specs: CrawlSpecs,
        seen: SeenSet,
        *,
        policy: IngestionPolicy,
        clock: Clock,
        count: CountLinks = discard_count,
    ) -> None:
        self._specs = specs
        self._seen = seen
        self._policy = policy
        self._clock = clock
        self._count = count
        self._rules: dict[str, SpecRules] = {}
        self._grounds = LinkFilters(allow_private=policy.allow_private)

    def subscriptions(self) -> tuple[Reads, ...]:
        """Say which topic goes to which method."""
        return (
            Reads(PAGES_VALIDATED, batch=self.on_validated, fields=USED_FIELDS),
            Reads(PAGES_REJECTED, batch=self.on_rejected),
        )

    async def on_validated(self, pages: Sequence[tuple[PageValidated, Record]]) -> Effects:
        """Admit the links of what one poll has brought, with one question to the seen-set."""
        fresh = [(event, record) for event, record in pages if not is_replayed(record)]
        if not fresh:
            return Effects(outcome="replayed")
        own, closed = [], []
        for event, record in fresh:
            if reason := closes_for(record.headers):
                closed.append(settle_closed(event.page, reason, now_ms=now_ms_of(self._clock)))
            else:
                own.append(event.page)
        specs = await self._specs.known({page.crawl_spec_id for page in own})
        visits = [self._admit(page, specs.get(page.crawl_spec_id)) for page in own]
        sieve = LinkDeduplicator(self._policy.shards)
        for visit in visits:
            sieve.add(visit)
        question = sieve.seen_query()
        answers = await self._seen.seen(question) if question else {}
        parcels = LinkBatches(self._policy.shards, spoken_at_ms=now_ms_of(self._clock))
        sieve.apply(answers, parcels)
        return self._effects(visits, parcels, closed)

    async def on_rejected(self, pages: Sequence[tuple[PageRejected, Record]]) -> Effects:
        """Settle what was no content; where there may be links to wait for, what follows them does that."""
        now_ms = now_ms_of(self._clock)
        settled = [
            Say(PAGES_SETTLED, settle_rejected(page, now_ms=now_ms))
            for page, record in pages
            if not (is_replayed(record) or has_more(record.headers))
        ]
        return Effects(close=settled, outcome="settled" if settled else "passed_over")

    async def on_given_up(self, record: Record, reason: str) -> Effects:
        """Settle a page whose message went to the dead letters, so that nobody waits for it."""
        if is_replayed(record) or has_more(record.headers):
            return NOTHING
        settled = settle_undecodable(record.headers, reason, now_ms=now_ms_of(self._clock))
        return NOTHING if settled is None else Effects(close=(Say(PAGES_SETTLED, settled),))

    def _admit(self, page: PageParsed, spec: CrawlSpecDeclared | None) -> AdmittedPage:
        rules = self._rules_of(spec)
        policy, ground = self._policy, self._grounds.filter_for(page.url, rules)
        admission = admit_links(page, ground, listed=policy.refusals_listed, feeds=policy.discovers_feeds)
        return AdmittedPage(page, rules, admission)

    def _rules_of(self, spec: CrawlSpecDeclared | None) -> SpecRules:
        if spec is None:
            return unknown_rules()
        rules = self._rules.get(spec.crawl_spec_id)
        if rules is None:
            if len(self._rules) >= RULES_KEPT:
                self._rules.clear()
            rules = self._rules[spec.crawl_spec_id] = compile_rules(spec)
        return rules

    def _effects(
        self, visits: Sequence[AdmittedPage], parcels: LinkBatches, closed: Sequence[PageSettled]
    ) -> Effects:
        now_ms = now_ms_of(self._clock)
        refusals = [
            Say(
                URLS_DECIDED,
                link_refusals_event(visit.page, admission.refusals, depth=admission.depth, now_ms=now_ms),
            )
            for visit in visits
            if (admission := visit.admission).refusals.count
        ]
        settled = [Say(PAGES_SETTLED, each) for each in closed]
        for visit in visits:
            counts = visit.counts()
            self._count("taken", counts.accepted)
            self._count("seen", counts.seen)
            self._count("refused", counts.refused)
            # Of a sitemap in several parts, the last one settles the page.
            if visit.page.is_last_part:
                settled.append(Say(PAGES_SETTLED, settle(visit.page, counts, now_ms=now_ms)))
        return Effects(say=(*publish_links(parcels), *refusals), close=settled, outcome="settled")


def publish_links(parcels: LinkBatches) -> list[Say]:
    """Say what was gathered, each message to its shard."""
    return [Say(LINKS_DISCOVERED, event, partition=event.shard) for event in parcels.events()]


def is_replayed(record: Record) -> bool:
    """Tell a message that is replayed: its links went their way when it was new."""
    return any(name == REPLAY_HEADER for name, _ in record.headers)


def now_ms_of(clock: Clock) -> int:
    """Give the wall-clock time for records."""
    return round(clock.now().timestamp() * 1000)
