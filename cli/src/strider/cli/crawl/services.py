"""All services of a crawl, built for one process with adapters without servers.

Decides only what replaces Redis, Kafka and worker processes. What a service consumes, publishes and
dead-letters is its own topology's.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from strider.contracts import DecodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import PageRejected
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.feeds import JobCommandFeed, JobEventFeed
from strider.crawl.settings import user_agent
from strider.fetcher import topology as fetching
from strider.fetcher.adapters import open_fetch_client, raise_open_file_limit, redirect_rules_of
from strider.fetcher.settings import FetcherSettings
from strider.frontier.memory.frontier import MemoryFrontier
from strider.link_ingestion import topology as linking
from strider.link_ingestion.options import IngestionPolicy
from strider.messaging.effects import Effects, GivenUp, Publish, PublishRequest
from strider.messaging.ports import Bus, Clock, Randomness, Record, epoch_ms
from strider.parser import topology as parsing
from strider.parser.adapters.object_bodies import ObjectBodyStore
from strider.parser.adapters.workers.config import worker_config
from strider.parser.adapters.workers.inline import InlinePageParser
from strider.parser.adapters.workers.pool import ParserWorkerPool
from strider.parser.settings import ParserSettings
from strider.politeness import DecryptHeader, refuse_encrypted
from strider.politeness import circuit_breaker as breaker
from strider.runtime.consumer.ports import OnGivenUp
from strider.runtime.consumer.spec import ConsumerSettings, ConsumerSpec, consume
from strider.runtime.publishing.publisher import EventPublisher
from strider.runtime.settings.base import CrawlSettings
from strider.scheduler import topology as scheduling
from strider.scheduler.adapters.frontier_log.reader import TopicFrontierLogReader
from strider.scheduler.adapters.frontier_log.writer import TopicFrontierLogs
from strider.scheduler.adapters.offsets import TopicPipelineOffsets
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import JobFeeds, SchedulerPorts
from strider.storage.objects import DeadLetterObjectStore
from strider.validator import topology as validating
from strider.validator.adapters import PageSplicer, validation_rules_of
from strider.validator.settings import ValidatorSettings

from .pipeline import PipelineService

MIB: Final = 1024 * 1024

FETCHER: Final = "fetcher"
SEEDS_GROUP: Final = linking.SEEDS_GROUP

COMMIT_SECONDS: Final = 0.02
"""Interval of commits of offsets and of the frontier's log. Nothing is written to a disk for them, and the
end of a crawl is detected by commits."""

POLL_SECONDS: Final = 0.1
"""Longest wait for messages, and so for the end of the crawl."""

BREAKER_LIMITS: Final = breaker.BreakerLimits(refused_ms=60_000)
"""An unreachable host is given up after two minutes: it is tried again within them."""

STOP_TIMEOUT_SECONDS: Final = 5.0
"""Longest time for messages in flight when the crawl is stopped."""


@dataclass(frozen=True, slots=True)
class SharedResources:
    """Adapters that all services share."""

    bus: Bus
    codec: Codec
    clock: Clock
    chance: Randomness
    frontier: MemoryFrontier
    specs: CrawlSpecCache
    objects: DeadLetterObjectStore
    shards: int
    hold_seconds: float = 0.0
    """Time without requests at the start, so that events from before an interruption are consumed first."""


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """Settings of the crawl and of its services."""

    crawl: CrawlSettings
    fetcher: FetcherSettings = field(default_factory=FetcherSettings)
    """Except for `crawl` and `concurrency`."""
    parser: ParserSettings = field(default_factory=ParserSettings)
    validator: ValidatorSettings = field(default_factory=ValidatorSettings)
    concurrency: int = 64
    decrypt_header: DecryptHeader = refuse_encrypted


class RejectionWithUrl:
    """Adds URL and origin to the rejection of a dead-lettered page.

    A service of its own knows only the headers of a message that it gives up; here the event is at hand.
    """

    def __init__(self, on_given_up: OnGivenUp, topic: Topic[Any], codec: Codec) -> None:
        self._on_given_up = on_given_up
        self._topic = topic
        self._codec = codec

    async def __call__(self, record: Record, failure: GivenUp) -> Effects:
        """Return the effects of the service, with the URL where the message can be decoded."""
        effects = await self._on_given_up(record, failure)
        try:
            page = self._codec.decode(self._topic, record.value, record.headers)
        except DecodeError:
            return effects
        published, closed = (
            tuple(_with_page(each, page) for each in some) for some in (effects.publish, effects.publish_last)
        )
        return replace(effects, publish=published, publish_last=closed)


def _with_page(request: PublishRequest, page: Any) -> PublishRequest:
    if not isinstance(request, Publish) or not isinstance(request.event, PageRejected):
        return request
    event = replace(
        request.event,
        url=page.url,
        depth=page.depth,
        referrer=page.referrer,
        fetched_at_ms=page.fetched_at_ms,
    )
    return replace(request, event=event)


def make_link_ingestion(shared: SharedResources, config: ServiceConfig) -> PipelineService:
    """Make link-ingestion."""
    policy = IngestionPolicy(shared.shards, allow_private=config.crawl.allow_private, is_closed=True)
    seeds = linking.SeedIngestion(shared.specs, policy=policy, clock=shared.clock)
    pages = linking.PageIngestion(shared.specs, shared.frontier, policy=policy, clock=shared.clock)
    return PipelineService(
        "link-ingestion",
        (
            _with_short_waits(
                consume(linking.SEEDS_GROUP, *seeds.subscriptions(), on_given_up=seeds.on_given_up)
            ),
            _with_short_waits(
                consume(linking.PAGES_GROUP, *pages.subscriptions(), on_given_up=pages.on_given_up)
            ),
        ),
        linking.DEAD_LETTERS,
    )


def make_scheduler(
    shared: SharedResources, config: ServiceConfig
) -> tuple[PipelineService, scheduling.Scheduler]:
    """Make the scheduler, which also counts the open entries."""
    publisher = EventPublisher(
        shared.bus, shared.codec, service="scheduler", shards=shared.shards, clock=shared.clock
    )
    job_events, job_commands = (
        JobEventFeed(shared.bus, shared.codec),
        JobCommandFeed(shared.bus, shared.codec),
    )
    pipeline_offsets = TopicPipelineOffsets(shared.bus)
    ports = SchedulerPorts(
        working_set=shared.frontier,
        frontier_logs=TopicFrontierLogs(shared.bus, shared.codec, commit_interval_seconds=COMMIT_SECONDS),
        log_reader=TopicFrontierLogReader(shared.bus, shared.codec, clock=shared.clock),
        crawl_specs=shared.specs,
        publisher=publisher,
        clock=shared.clock,
        chance=shared.chance,
        job_feeds=JobFeeds(job_events, job_commands),
        pipeline_offsets=pipeline_offsets,
    )
    owner = scheduling.Scheduler(ports, options=_scheduler_options(shared, config))
    service = PipelineService(
        "scheduler",
        (
            _with_short_waits(
                consume("scheduler", *owner.subscriptions(), shards=owner, on_caught_up=owner.on_caught_up)
            ),
        ),
        scheduling.DEAD_LETTERS,
        background=(owner.run,),
        close=(publisher.close, job_events.close, job_commands.close, pipeline_offsets.close),
    )
    return service, owner


def _scheduler_options(shared: SharedResources, config: ServiceConfig) -> SchedulerOptions:
    return SchedulerOptions(
        shards=shared.shards,
        user_agent=user_agent(config.crawl),
        delay_seconds=config.crawl.host_delay_seconds,
        breaker=BREAKER_LIMITS,
        allow_private=config.crawl.allow_private,
        by_domain=config.crawl.group_by == "domain",
        in_flight=max(8, 4 * config.concurrency // shared.shards),
        rebuild_hold_seconds=shared.hold_seconds,
        retention_interval_seconds=0.0,  # a crawl ends long before an entry expires
    )


def make_fetcher(shared: SharedResources, config: ServiceConfig) -> PipelineService:
    """Make the fetcher."""
    settings = config.fetcher.model_copy(update={"crawl": config.crawl, "concurrency": config.concurrency})
    raise_open_file_limit(settings.concurrency + settings.max_idle_connections)
    fetch_client = open_fetch_client(
        settings,
        shared.frontier,
        clock=shared.clock,
        process_name="embedded",
        decrypt_header=config.decrypt_header,
    )
    service = fetching.Fetcher(
        fetch_client,
        rules=redirect_rules_of(settings),
        codec=shared.codec,
        clock=shared.clock,
        objects=shared.objects,
    )
    loop = fetching.loop_settings(
        concurrency=settings.concurrency, max_deadline_seconds=settings.max_deadline_seconds
    )
    consumption = consume(
        fetching.GROUP, *service.subscriptions(), settings=loop, on_given_up=service.on_given_up
    )
    return PipelineService(
        FETCHER,
        (_with_short_waits(consumption),),
        fetching.DEAD_LETTERS,
        on_stop=(lambda: fetch_client.finish_within(1.0),),
        close=(fetch_client.close,),
    )


def make_parser(shared: SharedResources, config: ServiceConfig) -> PipelineService:
    """Make the parser: in this process, with one worker process for large pages."""
    orders = worker_config(config.parser, has_object_store=True)
    large = ParserWorkerPool(
        orders,
        Codec(SchemaStore.bundled()),
        workers=1,
        clock=shared.clock,
        environ=dict(os.environ),
        returns_events=True,
    )
    service = parsing.Parser(
        InlinePageParser(orders.limits, has_object_store=orders.has_object_store, large_page_parser=large),
        ObjectBodyStore(shared.objects),
        specs=shared.specs,
        now_ms=partial(epoch_ms, shared.clock),
    )
    loop = parsing.loop_settings(workers=1, page_seconds=orders.page_seconds)
    given_up = RejectionWithUrl(service.on_given_up, PAGES_FETCHED, shared.codec)
    consumption = consume(parsing.GROUP, *service.subscriptions(), settings=loop, on_given_up=given_up)
    return PipelineService(
        "parser", (_with_short_waits(consumption),), parsing.DEAD_LETTERS, close=(large.close,)
    )


def make_validator(shared: SharedResources, config: ServiceConfig) -> PipelineService:
    """Make the validator."""
    service = validating.Validator(
        validation_rules_of(config.validator),
        PageSplicer(shared.codec),
        specs=shared.specs,
        now_ms=partial(epoch_ms, shared.clock),
    )
    given_up = RejectionWithUrl(service.on_given_up, PAGES_PARSED, shared.codec)
    consumption = consume(validating.GROUP, *service.subscriptions(), on_given_up=given_up)
    return PipelineService("validator", (_with_short_waits(consumption),), validating.DEAD_LETTERS)


def _with_short_waits(consumption: ConsumerSpec) -> ConsumerSpec:
    """Return the consumer with short waits and frequent commits, which are cheap here."""
    settings: ConsumerSettings = replace(
        consumption.settings,
        poll_seconds=POLL_SECONDS,
        commit_interval_seconds=COMMIT_SECONDS,
        stop_timeout_seconds=STOP_TIMEOUT_SECONDS,
    )
    # After an hour of Ctrl-Z the process is still the only member of the group.
    spec = replace(consumption.group, max_poll_interval_seconds=math.inf)
    return replace(consumption, settings=settings, group=spec)


def make_services(
    shared: SharedResources, config: ServiceConfig
) -> tuple[Sequence[PipelineService], scheduling.Scheduler]:
    """Make all services, and return the scheduler too."""
    frontier, owner = make_scheduler(shared, config)
    makers = (make_link_ingestion, make_fetcher, make_parser, make_validator)
    return (frontier, *(make(shared, config) for make in makers)), owner
