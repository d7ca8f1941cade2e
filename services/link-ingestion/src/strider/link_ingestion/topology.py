"""Topology of link ingestion: seeds and pages in, links and settlements out.

    seeds-owned, seeds-submitted ─▶ accept_seed ─▶ crawl-specs, then links-discovered · urls-decided
                                    close_run ─▶ job-commands
    pages-validated ─▶ admit_links ─▶ seen-set ─▶ links-discovered · urls-decided, then pages-settled
    pages-rejected ─▶ pages-settled, unless a closing event on pages-validated follows the page's parts

Seeds of owners, all other seeds and pages are three consumers, so that a flood of raw seeds delays no owner's
and no page. A page is settled after its links
are acknowledged by the broker; a crawl spec is published before the first link that names it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from strider.contracts.avro.deferred_encoding import encoded_bytes
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
    JOB_COMMANDS,
    LINK_INGESTION_DLQ,
    LINKS_DISCOVERED,
    PAGES_REJECTED,
    PAGES_SETTLED,
    PAGES_VALIDATED,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
    URLS_DECIDED,
)
from strider.contracts.multipart_pages import closing_reason, has_more_parts
from strider.contracts.owner_signature import InvalidSignature, SenderRole, identify_sender
from strider.contracts.partitioning import shard_of_host
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.run_log import NoteRunEvent, discard_note
from strider.frontier.ports import SeenLookup
from strider.link_ingestion import log_events
from strider.messaging.effects import NO_EFFECTS, Effects, GivenUp, Publish, Subscription
from strider.messaging.ports import Clock, Record, epoch_ms
from strider.runtime.consumer.spec import ConsumerSettings
from strider.runtime.observability.logging import logger
from strider.urls import MAX_INLINE_STEPS, host_of

from .adapters import CountLinks, discard_count, discard_waiting, note_links, note_seeds
from .core import (
    AcceptedSeed,
    AdmittedPage,
    ClosedRun,
    LinkBatches,
    LinkDeduplicator,
    LinkFilters,
    RefusedSeed,
    SeedPosition,
    SeedRules,
    SpecRules,
    TrapDetector,
    accept_seed,
    admit_links,
    close_run,
    compile_rules,
    link_refusals_event,
    redact_seed,
    refuse_headers,
    refuse_undecodable,
    seed_refusal_events,
    settle,
    settle_closed,
    settle_rejected,
    settle_undecodable,
    unknown_rules,
)
from .core.page_links import USED_FIELDS
from .core.seeds import REPLAY_HEADER, REPLAYED_SEED, UNSIGNED_SEED
from .options import IngestionPolicy

CONSUMES: Final = (SEEDS_OWNED, SEEDS_SUBMITTED, PAGES_VALIDATED, PAGES_REJECTED)
PRODUCES: Final = (CRAWL_SPECS, JOB_COMMANDS, LINKS_DISCOVERED, URLS_DECIDED, PAGES_SETTLED)
DEAD_LETTERS: Final = LINK_INGESTION_DLQ

OWNED_SEEDS_GROUP: Final = "link-ingestion-owned-seeds"
SEEDS_GROUP: Final = "link-ingestion-seeds"
PAGES_GROUP: Final = "link-ingestion-pages"

RULES_KEPT: Final = 512
"""Crawl specs whose compiled rules are kept, up to 256 KB of automata each; patterns are compiled once."""

RAW_SEEDS_LOOP: Final = ConsumerSettings(buffer_messages=1_000)
"""Two polls: what was read is published, also when the gate has been closed."""

SEEDS_PER_YIELD: Final = 16
"""Seeds after which other tasks run: the patterns of each need up to a millisecond to compile."""

MAX_THREAD_VERDICTS: Final = 20_000
"""Cached verdicts on links that are matched in a thread."""


_log = logger("link-ingestion")


class SeedIngestion:
    """Turns seeds into links at depth 0."""

    def __init__(
        self,
        specs: CrawlSpecCache,
        *,
        policy: IngestionPolicy,
        clock: Clock,
        count: CountLinks = discard_count,
        note: NoteRunEvent = discard_note,
        on_published: Callable[[int], None] = discard_waiting,
    ) -> None:
        """Create the intake; `on_published` gets the number of published URLs of `seeds-submitted`."""
        self._specs = specs
        self._policy = policy
        self._rules = SeedRules(policy.allow_private, policy.raw_seeds, policy.protect_headers)
        self._clock = clock
        self._count = count
        self._note = note
        self._on_published = on_published

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Return the topic of all senders, and its handler."""
        return (
            Subscription(SEEDS_SUBMITTED, batch_handler=self.on_seeds, is_public=True, redact=redact_seed),
        )

    def owned_subscriptions(self) -> tuple[Subscription, ...]:
        """Return the topic of owners, and its handler; public, since brokers may have no permissions."""
        return (Subscription(SEEDS_OWNED, batch_handler=self.on_seeds, is_public=True, redact=redact_seed),)

    async def on_seeds(self, seeds: Sequence[tuple[SeedSubmitted, Record]]) -> Effects:
        """Accept or refuse the seeds of one poll, and close runs. Specs are published before their links."""
        known = await self._specs.known({seed.crawl_spec_id for seed, _ in seeds if seed.crawl_spec_id})
        accepted: list[AcceptedSeed] = []
        refused: list[RefusedSeed] = []
        closed: list[ClosedRun] = []
        for number, (seed, record) in enumerate(seeds, 1):
            if number % SEEDS_PER_YIELD == 0:
                await asyncio.sleep(0)
            result = self._accept(seed, record, known)
            if isinstance(result, AcceptedSeed):
                accepted.append(result)
            elif isinstance(result, ClosedRun):
                closed.append(result)
            else:
                refused.append(result)
        self._count("seed_taken", len(accepted))
        self._count("run_closed", len(closed))
        self._count("seed_refused", len(refused))
        used = {seed.origin.crawl_spec_id: seed.spec for seed in accepted}
        # Looked up first: a key that a tombstone may be on its way for must not be declared again.
        known = {**await self._specs.known(used), **known}
        specs = [spec or known[spec_id] for spec_id, spec in used.items()]
        published = sum(seed.item.seed.topic == SEEDS_SUBMITTED.name for seed in accepted)
        return self._effects(accepted, refused, specs, published=published, closed=closed)

    def _accept(
        self, seed: SeedSubmitted, record: Record, known: Mapping[str, CrawlSpecDeclared]
    ) -> AcceptedSeed | ClosedRun | RefusedSeed:
        sender = self._identify(record)
        if isinstance(sender, InvalidSignature):
            return refuse_headers(seed, sender.detail)
        if is_replayed(record):
            return refuse_headers(seed, REPLAYED_SEED)
        if record.topic == SEEDS_OWNED.name and sender is SenderRole.RAW:
            return refuse_headers(seed, UNSIGNED_SEED)
        if seed.close:
            return close_run(seed, sender=sender, known_specs=known)
        return accept_seed(
            seed,
            SeedPosition(record.topic, record.partition, record.offset),
            sender=sender,
            timestamp_ms=record.timestamp,
            known_specs=known,
            rules=self._rules,
        )

    def _identify(self, record: Record) -> SenderRole | InvalidSignature:
        if self._policy.is_closed:
            return SenderRole.OWNER
        value = encoded_bytes(record.value) or b""
        return identify_sender(value, record.headers, key=self._policy.owner_key)

    async def on_given_up(self, record: Record, failure: GivenUp) -> Effects:
        """Refuse the URL of a seed that went to the dead letters, where its bytes contain one."""
        place = SeedPosition(record.topic, record.partition, record.offset)
        refused = refuse_undecodable(
            encoded_bytes(record.value) or b"", failure.reason, place, detail=failure.detail
        )
        if refused is None:
            return NO_EFFECTS
        self._count("seed_refused", 1)
        return self._effects([], [refused], [])

    def _effects(
        self,
        accepted: Sequence[AcceptedSeed],
        refused: Sequence[RefusedSeed],
        specs: Sequence[CrawlSpecDeclared],
        *,
        published: int = 0,
        closed: Sequence[ClosedRun] = (),
    ) -> Effects:
        now_ms = epoch_ms(self._clock)
        batches = LinkBatches(self._policy.shards, spoken_at_ms=now_ms)
        for seed in accepted:
            batches.add(shard_of_host(seed.host, self._policy.shards), seed.item, seed.origin)
        declarations = [(spec, self._specs.declaration(spec)) for spec in specs]
        declared = [spec for spec, declaration in declarations if declaration is not None]

        async def keep() -> None:
            self._specs.keep(declared)
            note_seeds(self._note, accepted, refused, closed)
            self._on_published(published)

        return Effects(
            publish=[each for _, each in declarations if each is not None],
            publish_last=(
                *publish_links(batches),
                *(Publish(URLS_DECIDED, each) for each in seed_refusal_events(refused, now_ms=now_ms)),
                *(Publish(JOB_COMMANDS, each.command(now_ms=now_ms)) for each in closed),
            ),
            after_ack=keep,
            outcome="sown" if accepted else "closed" if closed else "refused",
        )


class PageIngestion:
    """Turns pages into new links, and settles the pages."""

    def __init__(
        self,
        specs: CrawlSpecCache,
        seen: SeenLookup,
        *,
        policy: IngestionPolicy,
        clock: Clock,
        count: CountLinks = discard_count,
        note: NoteRunEvent = discard_note,
    ) -> None:
        self._note = note
        self._specs = specs
        self._seen = seen
        self._policy = policy
        self._clock = clock
        self._count = count
        self._rules: dict[str, SpecRules] = {}
        self._filters = LinkFilters(allow_private=policy.allow_private)
        self._thread_filters = LinkFilters(
            allow_private=policy.allow_private, max_verdicts=MAX_THREAD_VERDICTS
        )
        """Used in one thread at a time, and never in the event loop."""
        self._thread_lock = asyncio.Lock()
        self._traps = TrapDetector(policy.trap_pages)

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Return the topics and their handlers."""
        return (
            Subscription(PAGES_VALIDATED, batch_handler=self.on_validated, fields=USED_FIELDS),
            Subscription(PAGES_REJECTED, batch_handler=self.on_rejected),
        )

    async def on_validated(self, pages: Sequence[tuple[PageValidated, Record]]) -> Effects:
        """Filter the links of one poll's pages, with one query to the seen-set."""
        fresh = [(event, record) for event, record in pages if not is_replayed(record)]
        if not fresh:
            return Effects(outcome="replayed")
        own, closed = [], []
        for event, record in fresh:
            if reason := closing_reason(record.headers):
                closed.append(settle_closed(event.page, reason, now_ms=epoch_ms(self._clock)))
            else:
                own.append(event.page)
        specs = await self._specs.known({page.crawl_spec_id for page in own})
        admitted = await self._admit_all(
            [(page, self._rules_of(specs.get(page.crawl_spec_id))) for page in own]
        )
        dedup = LinkDeduplicator(self._policy.shards)
        for page in admitted:
            dedup.add(page)
        query = dedup.seen_query()
        reply = await self._seen.find_seen(query) if query else {}
        batches = LinkBatches(self._policy.shards, spoken_at_ms=epoch_ms(self._clock))
        dedup.apply(reply, batches)
        return self._effects(admitted, batches, closed)

    async def on_rejected(self, pages: Sequence[tuple[PageRejected, Record]]) -> Effects:
        """Settle rejected pages, except where a closing event follows their parts."""
        now_ms = epoch_ms(self._clock)
        settled = [
            Publish(PAGES_SETTLED, settle_rejected(page, now_ms=now_ms))
            for page, record in pages
            if not (is_replayed(record) or has_more_parts(record.headers))
        ]
        return Effects(publish_last=settled, outcome="settled" if settled else "passed_over")

    async def on_given_up(self, record: Record, failure: GivenUp) -> Effects:
        """Settle a page whose message went to the dead letters, so that its entry closes."""
        if is_replayed(record) or has_more_parts(record.headers):
            return NO_EFFECTS
        settled = settle_undecodable(record.headers, failure.reason, now_ms=epoch_ms(self._clock))
        return NO_EFFECTS if settled is None else Effects(publish_last=(Publish(PAGES_SETTLED, settled),))

    async def _admit_all(self, pages: Sequence[tuple[PageParsed, SpecRules]]) -> list[AdmittedPage]:
        """Filter the links of each page, in a thread where its patterns need long for them."""
        admitted, steps = [], 0
        for page, rules in pages:
            self._watch_for_traps(page)
            page_steps = rules.match_steps(page)
            if page_steps > MAX_INLINE_STEPS:
                async with self._thread_lock:
                    admitted.append(await asyncio.to_thread(self._admit, page, rules, self._thread_filters))
                continue
            if (steps := steps + page_steps) > MAX_INLINE_STEPS:
                steps = page_steps
                await asyncio.sleep(0)
            admitted.append(self._admit(page, rules, self._filters))
        return admitted

    def _watch_for_traps(self, page: PageParsed) -> None:
        for template in self._traps.observe(page):
            _log.emit(
                log_events.TRAP_SUSPECTED,
                job=page.job_id,
                run=page.execution_id,
                host=host_of(page.url),
                template=template,
            )

    def _admit(self, page: PageParsed, rules: SpecRules, filters: LinkFilters) -> AdmittedPage:
        policy = self._policy
        admission = admit_links(
            page,
            filters.filter_for(page.url, rules),
            listed=policy.refusals_listed,
            feeds=policy.discovers_feeds,
            closed=self._traps.closed_templates(page.execution_id),
        )
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
        self, admitted: Sequence[AdmittedPage], batches: LinkBatches, closed: Sequence[PageSettled]
    ) -> Effects:
        now_ms = epoch_ms(self._clock)
        refusals = [
            Publish(
                URLS_DECIDED,
                link_refusals_event(page.page, admission.refusals, depth=admission.depth, now_ms=now_ms),
            )
            for page in admitted
            if (admission := page.admission).refusals.count
        ]
        settled = [Publish(PAGES_SETTLED, each) for each in closed]
        for page in admitted:
            counts = page.counts()
            self._count("taken", counts.accepted)
            self._count("seen", counts.seen)
            self._count("refused", counts.refused)
            note_links(self._note, page.page, counts)
            # Of a sitemap in several parts, the last one settles the page.
            if page.page.is_last_part:
                settled.append(Publish(PAGES_SETTLED, settle(page.page, counts, now_ms=now_ms)))
        return Effects(publish=(*publish_links(batches), *refusals), publish_last=settled, outcome="settled")


def publish_links(batches: LinkBatches) -> list[Publish]:
    """Return the batches as events, each for its shard."""
    return [Publish(LINKS_DISCOVERED, event, partition=event.shard) for event in batches.events()]


def is_replayed(record: Record) -> bool:
    """Whether a message is replayed: its links were published when it was new."""
    return any(name == REPLAY_HEADER for name, _ in record.headers)
