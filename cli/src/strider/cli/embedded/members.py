"""Every service of the ring, built for one process: its own topology, with adapters that need no server.

Decides only what stands where Redis, Kafka or workers stand otherwise. What a service consumes,
says and gives up is its own topology's matter; nothing of it is done again here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.settings import user_agent
from strider.fetcher import topology as fetching
from strider.fetcher.adapters import open_fetch_client, raise_open_file_limit, rules_of
from strider.fetcher.settings import FetcherSettings
from strider.frontier.memory.frontier import MemoryFrontier
from strider.link_ingestion import topology as linking
from strider.messaging.ports import Bus, Clock, Randomness
from strider.parser import topology as parsing
from strider.parser.adapters.object_bodies import ObjectBodyStore
from strider.parser.adapters.workers.config import worker_config
from strider.parser.adapters.workers.inline import InlinePageParser
from strider.parser.adapters.workers.pool import WorkerPool
from strider.parser.settings import ParserSettings
from strider.politeness import circuit_breaker as breaker
from strider.runtime.consumer.spec import ConsumerSettings, ConsumerSpec, consume
from strider.runtime.publishing.publisher import EventPublisher
from strider.runtime.settings.base import CrawlSettings
from strider.scheduler import topology as scheduling
from strider.scheduler.adapters.feeds import JobEventFeed
from strider.scheduler.adapters.frontier_log.reader import TopicFrontierLogReader
from strider.scheduler.adapters.frontier_log.writer import TopicFrontierLogs
from strider.scheduler.adapters.offsets import TopicPipelineOffsets
from strider.scheduler.options import SchedulerOptions
from strider.storage.objects import DeadLetterObjectStore
from strider.validator import topology as validating
from strider.validator.adapters import PageSplicer
from strider.validator.adapters import rules_of as validation_rules_of
from strider.validator.settings import ValidatorSettings

from .lastwords import Named
from .member import Member

MIB: Final = 1024 * 1024

FETCHER: Final = "fetcher"
SEEDS_GROUP: Final = linking.SEEDS_GROUP

COMMIT_SECONDS: Final = 0.02
"""How often offsets and truths are committed. Nothing is written to a disk for it, and the end of a
crawl is proven by commits."""

POLL_SECONDS: Final = 0.1
"""Longest wait for messages, and so for the end."""

REFUSED: Final = breaker.BreakerLimits(refused_ms=60_000)
"""A crawl at a terminal has two minutes of patience with a host: it shall look again within them."""

STOP_SECONDS: Final = 5.0
"""How long what is in hand may take when the crawl is stopped."""


@dataclass(frozen=True, slots=True)
class Place:
    """What all members share."""

    bus: Bus
    codec: Codec
    clock: Clock
    chance: Randomness
    frontier: MemoryFrontier
    specs: CrawlSpecCache
    objects: DeadLetterObjectStore
    shards: int
    hold_seconds: float = 0.0
    """How long nothing is asked for, so that what came before an interruption is heard first."""


@dataclass(frozen=True, slots=True)
class Manners:
    """How this crawl behaves towards sites, how much it does at a time, and how its services are set."""

    crawl: CrawlSettings
    fetcher: FetcherSettings = field(default_factory=FetcherSettings)
    """But for those of the crawl, and for its concurrency."""
    parser: ParserSettings = field(default_factory=ParserSettings)
    validator: ValidatorSettings = field(default_factory=ValidatorSettings)
    concurrency: int = 64


def link_ingestion(place: Place, manners: Manners) -> Member:
    """Make the way in."""
    policy = linking.IngestionPolicy(place.shards, allow_private=manners.crawl.allow_private)
    seeds = linking.SeedIngestion(place.specs, policy=policy, clock=place.clock)
    pages = linking.PageIngestion(place.specs, place.frontier, policy=policy, clock=place.clock)
    return Member(
        "link-ingestion",
        (
            _quick(consume(linking.SEEDS_GROUP, *seeds.subscriptions(), on_given_up=seeds.on_given_up)),
            _quick(consume(linking.PAGES_GROUP, *pages.subscriptions(), on_given_up=pages.on_given_up)),
        ),
        linking.DEAD_LETTERS,
    )


def scheduler(place: Place, manners: Manners) -> tuple[Member, scheduling.Scheduler]:
    """Make the frontier's owner; it is also asked how much is open."""
    voice = EventPublisher(
        place.bus, place.codec, service="scheduler", shards=place.shards, clock=place.clock
    )
    bulletin, soundings = JobEventFeed(place.bus, place.codec), TopicPipelineOffsets(place.bus)
    owner = scheduling.Scheduler(
        working_set=place.frontier,
        truths=TopicFrontierLogs(place.bus, place.codec, commit_interval_seconds=COMMIT_SECONDS),
        log_reader=TopicFrontierLogReader(place.bus, place.codec, clock=place.clock),
        crawl_specs=place.specs,
        voice=voice,
        clock=place.clock,
        chance=place.chance,
        options=SchedulerOptions(
            shards=place.shards,
            user_agent=user_agent(manners.crawl),
            delay_seconds=manners.crawl.host_delay_seconds,
            breaker=REFUSED,
            allow_private=manners.crawl.allow_private,
            by_domain=manners.crawl.group_by == "domain",
            in_flight=max(8, 4 * manners.concurrency // place.shards),
            rebuild_hold_seconds=place.hold_seconds,
            retention_interval_seconds=0.0,  # it ends long before anything is old
        ),
        bulletin=bulletin,
        soundings=soundings,
    )
    member = Member(
        "scheduler",
        (
            _quick(
                consume("scheduler", *owner.subscriptions(), shards=owner, on_caught_up=owner.on_caught_up)
            ),
        ),
        scheduling.DEAD_LETTERS,
        background=(owner.run,),
        close=(voice.close, bulletin.close, soundings.close),
    )
    return member, owner


def fetcher(place: Place, manners: Manners) -> Member:
    """Make what asks sites."""
    settings = manners.fetcher.model_copy(update={"crawl": manners.crawl, "concurrency": manners.concurrency})
    raise_open_file_limit(settings.concurrency + settings.max_idle_connections)
    asker = open_fetch_client(settings, place.frontier, clock=place.clock, process_name="embedded")
    service = fetching.Fetcher(
        asker, rules=rules_of(settings), codec=place.codec, clock=place.clock, objects=place.objects
    )
    loop = fetching.loop_settings(
        concurrency=settings.concurrency, max_deadline_seconds=settings.max_deadline_seconds
    )
    consumption = consume(
        fetching.GROUP, *service.subscriptions(), settings=loop, on_given_up=service.on_given_up
    )
    return Member(
        FETCHER,
        (_quick(consumption),),
        fetching.DEAD_LETTERS,
        on_stop=(lambda: asker.finish_within(1.0),),
        close=(asker.close,),
    )


def parser(place: Place, manners: Manners) -> Member:
    """Make what reads pages: in this process, but for large ones, which have one of their own."""
    orders = worker_config(manners.parser, has_object_store=True)
    large = WorkerPool(
        orders,
        Codec(SchemaStore.bundled()),
        workers=1,
        clock=place.clock,
        environ=dict(os.environ),
        gives_events=True,
    )
    service = parsing.Parser(
        InlinePageParser(orders.limits, has_object_store=orders.has_object_store, large_page_parser=large),
        ObjectBodyStore(place.objects),
        specs=place.specs,
        now_ms=lambda: round(place.clock.now().timestamp() * 1000),
    )
    loop = parsing.loop_settings(workers=1, page_seconds=orders.page_seconds)
    given_up = Named(service.on_given_up, PAGES_FETCHED, place.codec)
    consumption = consume(parsing.GROUP, *service.subscriptions(), settings=loop, on_given_up=given_up)
    return Member("parser", (_quick(consumption),), parsing.DEAD_LETTERS, close=(large.close,))


def validator(place: Place, manners: Manners) -> Member:
    """Make what judges pages."""
    service = validating.Validator(
        validation_rules_of(manners.validator),
        PageSplicer(place.codec),
        now_ms=lambda: round(place.clock.now().timestamp() * 1000),
    )
    given_up = Named(service.on_given_up, PAGES_PARSED, place.codec)
    consumption = consume(validating.GROUP, *service.subscriptions(), on_given_up=given_up)
    return Member("validator", (_quick(consumption),), validating.DEAD_LETTERS)


def _quick(consumption: ConsumerSpec) -> ConsumerSpec:
    """Commit often: it costs nothing here."""
    settings: ConsumerSettings = replace(
        consumption.settings,
        poll_seconds=POLL_SECONDS,
        commit_interval_seconds=COMMIT_SECONDS,
        stop_timeout_seconds=STOP_SECONDS,
    )
    # Who was stopped by Ctrl-Z for an hour is still the only member there is.
    spec = replace(consumption.group, max_poll_interval_seconds=math.inf)
    return replace(consumption, settings=settings, group=spec)


def all_members(place: Place, manners: Manners) -> tuple[Sequence[Member], scheduling.Scheduler]:
    """Make the whole ring."""
    frontier, owner = scheduler(place, manners)
    makers = (link_ingestion, fetcher, parser, validator)
    return (frontier, *(make(place, manners) for make in makers)), owner
