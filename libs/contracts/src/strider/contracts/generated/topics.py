"""Registry of all topics: the only place in code where topic names are spelled.

Generated from `schemas/` by `python -m strider.contracts.codegen`; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from strider.contracts.partitioning import key_partition
from strider.contracts.partitioning import shard_of_host
from strider.contracts.topic import Topic, TopicReader
from strider.contracts.partitioning import host_of_url

from .events import (
    AdaptiveRecorded,
    CrawlSpecDeclared,
    DeadLetter,
    EchoRequested,
    Echoed,
    EntryRecorded,
    FetchCompleted,
    FetchRequested,
    HostRecorded,
    JobEvent,
    LinksDiscovered,
    PageFetched,
    PageParsed,
    PageRejected,
    PageSettled,
    PageValidated,
    SchemaDeclared,
    SeedSubmitted,
    SourceSaved,
    TallyKept,
    UrlsDecided,
)


def _key_of_adaptive_state(event: AdaptiveRecorded) -> bytes | None:
    return event.source_id.encode()


def _shard_of_adaptive_state(event: AdaptiveRecorded, shards: int) -> int:
    return key_partition(event.source_id.encode(), shards)


def _key_of_crawl_specs(event: CrawlSpecDeclared) -> bytes | None:
    return event.crawl_spec_id.encode()


def _key_of_echo_requests(event: EchoRequested) -> bytes | None:
    return event.host.encode()


def _shard_of_echo_requests(event: EchoRequested, shards: int) -> int:
    return shard_of_host(event.host, shards)


def _key_of_echoes(event: Echoed) -> bytes | None:
    return event.host.encode()


def _shard_of_echoes(event: Echoed, shards: int) -> int:
    return shard_of_host(event.host, shards)


def _key_of_fetch_requests(event: FetchRequested) -> bytes | None:
    return event.group.encode()


def _shard_of_fetch_requests(event: FetchRequested, shards: int) -> int:
    return shard_of_host(event.group, shards)


def _key_of_fetches_completed(event: FetchCompleted) -> bytes | None:
    return event.group.encode()


def _shard_of_fetches_completed(event: FetchCompleted, shards: int) -> int:
    return shard_of_host(event.group, shards)


def _headers_of_fetches_completed(event: FetchCompleted) -> tuple[tuple[str, bytes], ...]:
    return (
        ("entry", f"{event.job_id}/{event.url_key}".encode()),
        ("execution", event.execution_id.encode()),
        ("fetch-sequence", str(event.fetch_sequence).encode()),
        ("group", event.group.encode()),
    )


def _key_of_frontier(event: EntryRecorded) -> bytes | None:
    return f"{event.job_id}/{event.url_key}".encode()


def _shard_of_frontier(event: EntryRecorded, shards: int) -> int:
    return shard_of_host(event.group, shards)


def _key_of_hosts(event: HostRecorded) -> bytes | None:
    return (event.origin or event.group).encode()


def _shard_of_hosts(event: HostRecorded, shards: int) -> int:
    return shard_of_host(event.group, shards)


def _key_of_job_commands(event: JobEvent) -> bytes | None:
    return event.event_id.encode()


def _key_of_job_events(event: JobEvent) -> bytes | None:
    return (event.job_id or event.group).encode()


def _key_of_links_discovered(event: LinksDiscovered) -> bytes | None:
    return str(event.shard).encode()


def _key_of_pages_fetched(event: PageFetched) -> bytes | None:
    return event.url_key.encode()


def _headers_of_pages_fetched(event: PageFetched) -> tuple[tuple[str, bytes], ...]:
    return (
        ("entry", f"{event.job_id}/{event.url_key}".encode()),
        ("execution", event.execution_id.encode()),
        ("fetch-sequence", str(event.fetch_sequence).encode()),
        ("group", event.group.encode()),
    )


def _key_of_pages_parsed(event: PageParsed) -> bytes | None:
    return event.group.encode()


def _shard_of_pages_parsed(event: PageParsed, shards: int) -> int:
    return shard_of_host(event.group, shards)


def _headers_of_pages_parsed(event: PageParsed) -> tuple[tuple[str, bytes], ...]:
    return (
        ("entry", f"{event.job_id}/{event.url_key}".encode()),
        ("execution", event.execution_id.encode()),
        ("fetch-sequence", str(event.fetch_sequence).encode()),
        ("group", event.group.encode()),
    )


def _key_of_pages_parsed_shadow(event: PageParsed) -> bytes | None:
    return event.group.encode()


def _shard_of_pages_parsed_shadow(event: PageParsed, shards: int) -> int:
    return shard_of_host(event.group, shards)


def _headers_of_pages_parsed_shadow(event: PageParsed) -> tuple[tuple[str, bytes], ...]:
    return (
        ("entry", f"{event.job_id}/{event.url_key}".encode()),
        ("execution", event.execution_id.encode()),
        ("fetch-sequence", str(event.fetch_sequence).encode()),
        ("group", event.group.encode()),
    )


def _key_of_pages_rejected(event: PageRejected) -> bytes | None:
    return event.group.encode()


def _shard_of_pages_rejected(event: PageRejected, shards: int) -> int:
    return shard_of_host(event.group, shards)


def _headers_of_pages_rejected(event: PageRejected) -> tuple[tuple[str, bytes], ...]:
    return (
        ("entry", f"{event.job_id}/{event.url_key}".encode()),
        ("execution", event.execution_id.encode()),
        ("fetch-sequence", str(event.fetch_sequence).encode()),
        ("group", event.group.encode()),
    )


def _key_of_pages_settled(event: PageSettled) -> bytes | None:
    return event.group.encode()


def _shard_of_pages_settled(event: PageSettled, shards: int) -> int:
    return shard_of_host(event.group, shards)


def _headers_of_pages_settled(event: PageSettled) -> tuple[tuple[str, bytes], ...]:
    return (
        ("entry", f"{event.job_id}/{event.url_key}".encode()),
        ("execution", event.execution_id.encode()),
        ("fetch-sequence", str(event.fetch_sequence).encode()),
        ("group", event.group.encode()),
    )


def _key_of_pages_validated(event: PageValidated) -> bytes | None:
    return event.page.group.encode()


def _shard_of_pages_validated(event: PageValidated, shards: int) -> int:
    return shard_of_host(event.page.group, shards)


def _headers_of_pages_validated(event: PageValidated) -> tuple[tuple[str, bytes], ...]:
    return (
        ("entry", f"{event.page.job_id}/{event.page.url_key}".encode()),
        ("execution", event.page.execution_id.encode()),
        ("fetch-sequence", str(event.page.fetch_sequence).encode()),
        ("group", event.page.group.encode()),
    )


def _key_of_render_requests(event: FetchRequested) -> bytes | None:
    return event.group.encode()


def _shard_of_render_requests(event: FetchRequested, shards: int) -> int:
    return shard_of_host(event.group, shards)


def _key_of_schemas(event: SchemaDeclared) -> bytes | None:
    return event.fingerprint.encode()


def _key_of_seeds_owned(event: SeedSubmitted) -> bytes | None:
    return host_of_url(event.url)


def _key_of_seeds_submitted(event: SeedSubmitted) -> bytes | None:
    return host_of_url(event.url)


def _key_of_sources(event: SourceSaved) -> bytes | None:
    return event.source_id.encode()


def _key_of_tallies(event: TallyKept) -> bytes | None:
    return event.host.encode()


def _shard_of_tallies(event: TallyKept, shards: int) -> int:
    return shard_of_host(event.host, shards)


def _key_of_urls_decided(event: UrlsDecided) -> bytes | None:
    return event.url_key.encode()


def _key_of_dead_letter(event: DeadLetter) -> bytes | None:
    return event.key


ADAPTIVE_STATE: Final[Topic[AdaptiveRecorded]] = Topic(
    name="adaptive-state",
    value=AdaptiveRecorded,
    schema_name="adaptive-recorded.v1",
    description="Change rates and recrawl intervals of sources. System of record.",
    partitioner="shard",
    cleanup="compact",
    writers=("scheduler",),
    readers=("scheduler",),
    max_bytes=65_536,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "compact",
        "delete.retention.ms": "604800000",
        "max.compaction.lag.ms": "86400000",
        "max.message.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.2",
        "segment.bytes": "134217728",
        "segment.ms": "86400000",
    },
    key_of=_key_of_adaptive_state,
    shard_of=_shard_of_adaptive_state,
    read_by=(
        TopicReader("scheduler", mode="table"),
    ),
    transactional=True,
    key_name="source_id",
)
"""Change rates and recrawl intervals of sources. System of record."""

API_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="api-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that api could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=("indexer", "person"),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    read_by=(
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="key",
)
"""Messages that api could not handle, with their original bytes and the reason."""

CRAWL_SPECS: Final[Topic[CrawlSpecDeclared]] = Topic(
    name="crawl-specs",
    value=CrawlSpecDeclared,
    schema_name="crawl-spec-declared.v3",
    description="Settings of runs, by content hash. Published before the first event that names one.",
    partitioner="key",
    cleanup="compact",
    writers=("link-ingestion", "scheduler", "person"),
    readers=("link-ingestion", "scheduler", "parser", "person", "validator", "indexer"),
    max_bytes=262_144,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "compact",
        "delete.retention.ms": "604800000",
        "max.message.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.2",
    },
    key_of=_key_of_crawl_specs,
    read_by=(
        TopicReader("link-ingestion", mode="table"),
        TopicReader("scheduler", mode="table"),
        TopicReader("parser", mode="table"),
        TopicReader("person", mode="table"),
        TopicReader("validator", mode="table"),
        TopicReader("indexer", mode="table"),
    ),
    transactional=False,
    key_name="crawl_spec_id",
)
"""Settings of runs, by content hash. Published before the first event that names one."""

ECHO_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="echo-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that echo could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=(),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="example",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    transactional=False,
    key_name="key",
)
"""Messages that echo could not handle, with their original bytes and the reason."""

ECHO_REQUESTS: Final[Topic[EchoRequested]] = Topic(
    name="echo-requests",
    value=EchoRequested,
    schema_name="echo-requested.v1",
    description="Requests for echoes.",
    partitioner="shard",
    cleanup="delete",
    writers=("anyone",),
    readers=("echo",),
    max_bytes=65_536,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="example",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "86400000",
    },
    key_of=_key_of_echo_requests,
    shard_of=_shard_of_echo_requests,
    read_by=(
        TopicReader("echo", group="echo"),
    ),
    transactional=False,
    key_name="host",
)
"""Requests for echoes."""

ECHOES: Final[Topic[Echoed]] = Topic(
    name="echoes",
    value=Echoed,
    schema_name="echoed.v1",
    description="Echoes of requests.",
    partitioner="shard",
    cleanup="delete",
    writers=("echo",),
    readers=("tally",),
    max_bytes=65_536,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="example",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "86400000",
    },
    key_of=_key_of_echoes,
    shard_of=_shard_of_echoes,
    read_by=(
        TopicReader("tally", group="tally", sharded=True),
    ),
    transactional=False,
    key_name="host",
)
"""Echoes of requests."""

FETCH_REQUESTS: Final[Topic[FetchRequested]] = Topic(
    name="fetch-requests",
    value=FetchRequested,
    schema_name="fetch-requested.v1",
    description="Requests to be made now, each under a lease.",
    partitioner="shard",
    cleanup="delete",
    writers=("scheduler",),
    readers=("fetcher",),
    max_bytes=524_288,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "86400000",
    },
    key_of=_key_of_fetch_requests,
    shard_of=_shard_of_fetch_requests,
    read_by=(
        TopicReader("fetcher", group="fetcher", gates="release"),
    ),
    transactional=False,
    key_name="group",
)
"""Requests to be made now, each under a lease."""

FETCHER_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="fetcher-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that fetcher could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=("indexer", "person"),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    read_by=(
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="key",
)
"""Messages that fetcher could not handle, with their original bytes and the reason."""

FETCHES_COMPLETED: Final[Topic[FetchCompleted]] = Topic(
    name="fetches-completed",
    value=FetchCompleted,
    schema_name="fetch-completed.v1",
    description="Outcomes of requests; for robots.txt its text. Published after the page.",
    partitioner="shard",
    cleanup="delete",
    writers=("fetcher",),
    readers=("scheduler", "indexer", "insights"),
    max_bytes=524_288,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "604800000",
    },
    key_of=_key_of_fetches_completed,
    shard_of=_shard_of_fetches_completed,
    headers_of=_headers_of_fetches_completed,
    read_by=(
        TopicReader("scheduler", group="scheduler", sharded=True, gates="shard"),
        TopicReader("indexer", group="indexer"),
        TopicReader("insights", group="insights"),
    ),
    transactional=False,
    key_name="group",
    headers={
        "entry": "Job and URL key of the entry.",
        "execution": "The run that the page was fetched for.",
        "fetch-sequence": "Number of the fetch among those of its entry.",
        "group": "The host group; the shard follows from it.",
    },
    planned_writers=("renderer",),
)
"""Outcomes of requests; for robots.txt its text. Published after the page."""

FRONTIER: Final[Topic[EntryRecorded]] = Topic(
    name="frontier",
    value=EntryRecorded,
    schema_name="entry-recorded.v2",
    description="Latest state of every entry. System of record; written in transactions by the shard's owner.",
    partitioner="shard",
    cleanup="compact",
    writers=("scheduler",),
    readers=("scheduler", "indexer", "person"),
    max_bytes=65_536,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "compact",
        "delete.retention.ms": "604800000",
        "max.compaction.lag.ms": "86400000",
        "max.message.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.2",
        "segment.bytes": "134217728",
        "segment.ms": "86400000",
    },
    key_of=_key_of_frontier,
    shard_of=_shard_of_frontier,
    read_by=(
        TopicReader("scheduler", mode="table"),
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="table"),
    ),
    transactional=True,
    key_name="job_id/url_key",
)
"""Latest state of every entry. System of record; written in transactions by the shard's owner."""

HOSTS: Final[Topic[HostRecorded]] = Topic(
    name="hosts",
    value=HostRecorded,
    schema_name="host-recorded.v1",
    description="Clock, blocks and circuit breaker of every group, and every origin's robots rules. System of record.",
    partitioner="shard",
    cleanup="compact",
    writers=("scheduler",),
    readers=("scheduler", "indexer", "person"),
    max_bytes=524_288,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "compact",
        "delete.retention.ms": "604800000",
        "max.compaction.lag.ms": "86400000",
        "max.message.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.2",
        "segment.bytes": "134217728",
        "segment.ms": "86400000",
    },
    key_of=_key_of_hosts,
    shard_of=_shard_of_hosts,
    read_by=(
        TopicReader("scheduler", mode="table"),
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="table"),
    ),
    transactional=True,
    key_name="origin or group",
)
"""Clock, blocks and circuit breaker of every group, and every origin's robots rules. System of record."""

INDEXER_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="indexer-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that indexer could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=("indexer", "person"),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    read_by=(
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="key",
)
"""Messages that indexer could not handle, with their original bytes and the reason."""

INSIGHTS_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="insights-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that insights could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=("indexer", "person"),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    read_by=(
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="key",
)
"""Messages that insights could not handle, with their original bytes and the reason."""

JOB_COMMANDS: Final[Topic[JobEvent]] = Topic(
    name="job-commands",
    value=JobEvent,
    schema_name="job-event.v3",
    description="Commands in force about jobs, runs and hosts, used-up budgets, ended runs; the latest of each kind by subject.",
    partitioner="key",
    cleanup="compact",
    writers=("scheduler", "person", "link-ingestion", "api"),
    readers=("scheduler", "person", "api"),
    max_bytes=65_536,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "compact",
        "delete.retention.ms": "604800000",
        "max.message.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.2",
    },
    key_of=_key_of_job_commands,
    read_by=(
        TopicReader("scheduler", mode="table"),
        TopicReader("person", mode="table"),
        TopicReader("api", mode="table"),
    ),
    transactional=False,
    key_name="event_id",
)
"""Commands in force about jobs, runs and hosts, used-up budgets, ended runs; the latest of each kind by
subject."""

JOB_EVENTS: Final[Topic[JobEvent]] = Topic(
    name="job-events",
    value=JobEvent,
    schema_name="job-event.v3",
    description="Facts about runs, jobs and hosts, such as the end of a run; also commands of earlier versions.",
    partitioner="key",
    cleanup="delete",
    writers=("scheduler",),
    readers=("scheduler", "person", "api"),
    max_bytes=65_536,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_job_events,
    read_by=(
        TopicReader("scheduler", mode="whole"),
        TopicReader("person", mode="whole"),
        TopicReader("api", mode="whole"),
        TopicReader("indexer", group="indexer", planned=True),
    ),
    transactional=False,
    key_name="job_id or group",
)
"""Facts about runs, jobs and hosts, such as the end of a run; also commands of earlier versions."""

LINK_INGESTION_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="link-ingestion-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that link-ingestion could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=("indexer", "person"),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    read_by=(
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="key",
)
"""Messages that link-ingestion could not handle, with their original bytes and the reason."""

LINKS_DISCOVERED: Final[Topic[LinksDiscovered]] = Topic(
    name="links-discovered",
    value=LinksDiscovered,
    schema_name="links-discovered.v1",
    description="URLs worth a place in the frontier, batched by shard.",
    partitioner="explicit",
    cleanup="delete",
    writers=("link-ingestion", "scheduler"),
    readers=("scheduler",),
    max_bytes=262_144,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "604800000",
    },
    key_of=_key_of_links_discovered,
    read_by=(
        TopicReader("scheduler", group="scheduler", sharded=True, gates="raw_seeds"),
    ),
    transactional=False,
    key_name="shard",
)
"""URLs worth a place in the frontier, batched by shard."""

PAGES_FETCHED: Final[Topic[PageFetched]] = Topic(
    name="pages-fetched",
    value=PageFetched,
    schema_name="page-fetched.v1",
    description="Responses as received, bodies still compressed.",
    partitioner="key",
    cleanup="delete",
    writers=("fetcher",),
    readers=("parser",),
    max_bytes=524_288,
    partitions=None,
    compression="none",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.bytes": "8589934592",
        "retention.ms": "86400000",
        "segment.bytes": "268435456",
        "segment.ms": "3600000",
    },
    key_of=_key_of_pages_fetched,
    headers_of=_headers_of_pages_fetched,
    read_by=(
        TopicReader("parser", group="parser", gates="release"),
        TopicReader("parser", group="parser-shadow"),
        TopicReader("indexer", group="indexer-archive", planned=True),
    ),
    transactional=False,
    key_name="url_key",
    headers={
        "entry": "Job and URL key of the entry.",
        "execution": "The run that the page was fetched for.",
        "fetch-sequence": "Number of the fetch among those of its entry.",
        "group": "The host group; the shard follows from it.",
    },
    planned_writers=("renderer",),
)
"""Responses as received, bodies still compressed."""

PAGES_PARSED: Final[Topic[PageParsed]] = Topic(
    name="pages-parsed",
    value=PageParsed,
    schema_name="page-parsed.v1",
    description="Parsed pages, with links as parallel arrays.",
    partitioner="shard",
    cleanup="delete",
    writers=("parser",),
    readers=("validator", "person"),
    max_bytes=507_904,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.bytes": "8589934592",
        "retention.ms": "86400000",
        "segment.bytes": "268435456",
        "segment.ms": "3600000",
    },
    key_of=_key_of_pages_parsed,
    shard_of=_shard_of_pages_parsed,
    headers_of=_headers_of_pages_parsed,
    read_by=(
        TopicReader("validator", group="validator", sharded=True, gates="release"),
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="group",
    headers={
        "entry": "Job and URL key of the entry.",
        "execution": "The run that the page was fetched for.",
        "fetch-sequence": "Number of the fetch among those of its entry.",
        "group": "The host group; the shard follows from it.",
    },
)
"""Parsed pages, with links as parallel arrays."""

PAGES_PARSED_SHADOW: Final[Topic[PageParsed]] = Topic(
    name="pages-parsed-shadow",
    value=PageParsed,
    schema_name="page-parsed.v1",
    description="Pages of a shadow parser. No service acts on them; `strider parser diff` compares them with the live ones.",
    partitioner="shard",
    cleanup="delete",
    writers=("parser",),
    readers=("person",),
    max_bytes=507_904,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.bytes": "1073741824",
        "retention.ms": "86400000",
        "segment.bytes": "268435456",
        "segment.ms": "3600000",
    },
    key_of=_key_of_pages_parsed_shadow,
    shard_of=_shard_of_pages_parsed_shadow,
    headers_of=_headers_of_pages_parsed_shadow,
    read_by=(
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="group",
    headers={
        "entry": "Job and URL key of the entry.",
        "execution": "The run that the page was fetched for.",
        "fetch-sequence": "Number of the fetch among those of its entry.",
        "group": "The host group; the shard follows from it.",
    },
)
"""Pages of a shadow parser. No service acts on them; `strider parser diff` compares them with the live
ones."""

PAGES_REJECTED: Final[Topic[PageRejected]] = Topic(
    name="pages-rejected",
    value=PageRejected,
    schema_name="page-rejected.v2",
    description="Pages that are not content, with the reason; also pages that a pipeline service gave up.",
    partitioner="shard",
    cleanup="delete",
    writers=("parser", "validator"),
    readers=("link-ingestion", "indexer"),
    max_bytes=524_288,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.bytes": "8589934592",
        "retention.ms": "86400000",
        "segment.bytes": "268435456",
        "segment.ms": "3600000",
    },
    key_of=_key_of_pages_rejected,
    shard_of=_shard_of_pages_rejected,
    headers_of=_headers_of_pages_rejected,
    read_by=(
        TopicReader("link-ingestion", group="link-ingestion-pages", sharded=True, gates="release"),
        TopicReader("indexer", group="indexer", gates="release"),
    ),
    transactional=False,
    key_name="group",
    headers={
        "entry": "Job and URL key of the entry.",
        "execution": "The run that the page was fetched for.",
        "fetch-sequence": "Number of the fetch among those of its entry.",
        "group": "The host group; the shard follows from it.",
    },
)
"""Pages that are not content, with the reason; also pages that a pipeline service gave up."""

PAGES_SETTLED: Final[Topic[PageSettled]] = Topic(
    name="pages-settled",
    value=PageSettled,
    schema_name="page-settled.v2",
    description="Fully processed pages; the scheduler closes their entries.",
    partitioner="shard",
    cleanup="delete",
    writers=("link-ingestion",),
    readers=("scheduler", "insights"),
    max_bytes=65_536,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "604800000",
    },
    key_of=_key_of_pages_settled,
    shard_of=_shard_of_pages_settled,
    headers_of=_headers_of_pages_settled,
    read_by=(
        TopicReader("scheduler", group="scheduler", sharded=True, gates="shard"),
        TopicReader("insights", group="insights"),
    ),
    transactional=False,
    key_name="group",
    headers={
        "entry": "Job and URL key of the entry.",
        "execution": "The run that the page was fetched for.",
        "fetch-sequence": "Number of the fetch among those of its entry.",
        "group": "The host group; the shard follows from it.",
    },
)
"""Fully processed pages; the scheduler closes their entries."""

PAGES_VALIDATED: Final[Topic[PageValidated]] = Topic(
    name="pages-validated",
    value=PageValidated,
    schema_name="page-validated.v1",
    description="Pages that are content; the parsed page followed by the verdict.",
    partitioner="shard",
    cleanup="delete",
    writers=("validator",),
    readers=("link-ingestion", "indexer"),
    max_bytes=524_288,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.bytes": "8589934592",
        "retention.ms": "86400000",
        "segment.bytes": "268435456",
        "segment.ms": "3600000",
    },
    key_of=_key_of_pages_validated,
    shard_of=_shard_of_pages_validated,
    headers_of=_headers_of_pages_validated,
    read_by=(
        TopicReader("link-ingestion", group="link-ingestion-pages", sharded=True, gates="release"),
        TopicReader("indexer", group="indexer", gates="release"),
    ),
    transactional=False,
    key_name="page.group",
    headers={
        "entry": "Job and URL key of the entry.",
        "execution": "The run that the page was fetched for.",
        "fetch-sequence": "Number of the fetch among those of its entry.",
        "group": "The host group; the shard follows from it.",
    },
)
"""Pages that are content; the parsed page followed by the verdict."""

PARSER_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="parser-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that parser could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=("indexer", "person"),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    read_by=(
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="key",
)
"""Messages that parser could not handle, with their original bytes and the reason."""

RENDER_REQUESTS: Final[Topic[FetchRequested]] = Topic(
    name="render-requests",
    value=FetchRequested,
    schema_name="fetch-requested.v1",
    description="Requests for a browser, each under a lease.",
    partitioner="shard",
    cleanup="delete",
    writers=(),
    readers=(),
    max_bytes=524_288,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "86400000",
    },
    key_of=_key_of_render_requests,
    shard_of=_shard_of_render_requests,
    read_by=(
        TopicReader("renderer", group="renderer", planned=True),
    ),
    transactional=False,
    key_name="group",
    planned_writers=("scheduler",),
)
"""Requests for a browser, each under a lease."""

RENDERER_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="renderer-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that renderer could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=("indexer", "person"),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    read_by=(
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="key",
)
"""Messages that renderer could not handle, with their original bytes and the reason."""

SCHEDULER_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="scheduler-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that scheduler could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=("indexer", "person"),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    read_by=(
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="key",
)
"""Messages that scheduler could not handle, with their original bytes and the reason."""

SCHEMAS: Final[Topic[SchemaDeclared]] = Topic(
    name="schemas",
    value=SchemaDeclared,
    schema_name="schema-declared.v1",
    description="Schemas that messages are written with, by fingerprint. Declared before the first message.",
    partitioner="key",
    cleanup="compact",
    writers=("link-ingestion", "scheduler", "fetcher", "renderer", "parser", "validator", "indexer", "insights", "api", "echo", "tally"),
    readers=("link-ingestion", "scheduler", "fetcher", "renderer", "parser", "validator", "indexer", "insights", "api", "echo", "tally", "person"),
    max_bytes=262_144,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "compact",
        "delete.retention.ms": "604800000",
        "max.message.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.2",
    },
    key_of=_key_of_schemas,
    read_by=(
        TopicReader("link-ingestion", mode="table"),
        TopicReader("scheduler", mode="table"),
        TopicReader("fetcher", mode="table"),
        TopicReader("renderer", mode="table"),
        TopicReader("parser", mode="table"),
        TopicReader("validator", mode="table"),
        TopicReader("indexer", mode="table"),
        TopicReader("insights", mode="table"),
        TopicReader("api", mode="table"),
        TopicReader("echo", mode="table"),
        TopicReader("tally", mode="table"),
        TopicReader("person", mode="table"),
    ),
    transactional=False,
    key_name="fingerprint",
)
"""Schemas that messages are written with, by fingerprint. Declared before the first message."""

SEEDS_OWNED: Final[Topic[SeedSubmitted]] = Topic(
    name="seeds-owned",
    value=SeedSubmitted,
    schema_name="seed-submitted.v4",
    description="URLs to crawl, signed by their owners; a plain JSON document will do. No flood of raw seeds is before them.",
    partitioner="key",
    cleanup="delete",
    writers=("person", "api", "scheduler"),
    readers=("link-ingestion",),
    max_bytes=65_536,
    partitions=None,
    compression="zstd",
    accepts_json=True,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_seeds_owned,
    read_by=(
        TopicReader("link-ingestion", group="link-ingestion-owned-seeds", gates="completion"),
    ),
    transactional=False,
    key_name="host of url",
)
"""URLs to crawl, signed by their owners; a plain JSON document will do. No flood of raw seeds is before
them."""

SEEDS_SUBMITTED: Final[Topic[SeedSubmitted]] = Topic(
    name="seeds-submitted",
    value=SeedSubmitted,
    schema_name="seed-submitted.v4",
    description="URLs to crawl. The public way in; a plain JSON document will do.",
    partitioner="key",
    cleanup="delete",
    writers=("anyone", "person", "api"),
    readers=("link-ingestion",),
    max_bytes=65_536,
    partitions=None,
    compression="zstd",
    accepts_json=True,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_seeds_submitted,
    read_by=(
        TopicReader("link-ingestion", group="link-ingestion-seeds", gates="completion"),
    ),
    transactional=False,
    key_name="host of url",
)
"""URLs to crawl. The public way in; a plain JSON document will do."""

SOURCES: Final[Topic[SourceSaved]] = Topic(
    name="sources",
    value=SourceSaved,
    schema_name="source-saved.v3",
    description="Websites to watch, latest state by source.",
    partitioner="key",
    cleanup="compact",
    writers=("api", "person"),
    readers=("scheduler", "api", "person"),
    max_bytes=262_144,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "compact",
        "delete.retention.ms": "604800000",
        "max.message.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.2",
    },
    key_of=_key_of_sources,
    read_by=(
        TopicReader("scheduler", mode="table"),
        TopicReader("api", mode="table"),
        TopicReader("person", mode="table"),
    ),
    transactional=False,
    key_name="source_id",
)
"""Websites to watch, latest state by source."""

TALLIES: Final[Topic[TallyKept]] = Topic(
    name="tallies",
    value=TallyKept,
    schema_name="tally-kept.v1",
    description="How many echoes each host has had, latest state by host. Written in transactions by the shard's owner.",
    partitioner="shard",
    cleanup="compact",
    writers=("tally",),
    readers=("tally",),
    max_bytes=65_536,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="example",
    config={
        "cleanup.policy": "compact",
        "delete.retention.ms": "604800000",
        "max.compaction.lag.ms": "86400000",
        "max.message.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.2",
        "segment.bytes": "134217728",
        "segment.ms": "86400000",
    },
    key_of=_key_of_tallies,
    shard_of=_shard_of_tallies,
    read_by=(
        TopicReader("tally", mode="table"),
    ),
    transactional=True,
    key_name="host",
)
"""How many echoes each host has had, latest state by host. Written in transactions by the shard's owner."""

TALLY_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="tally-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that tally could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=(),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="example",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    transactional=False,
    key_name="key",
)
"""Messages that tally could not handle, with their original bytes and the reason."""

URLS_DECIDED: Final[Topic[UrlsDecided]] = Topic(
    name="urls-decided",
    value=UrlsDecided,
    schema_name="urls-decided.v1",
    description="Why URLs were not crawled or not stored, one message a page or batch.",
    partitioner="key",
    cleanup="delete",
    writers=("link-ingestion", "scheduler"),
    readers=("indexer",),
    max_bytes=524_288,
    partitions=None,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_urls_decided,
    read_by=(
        TopicReader("indexer", group="indexer"),
    ),
    transactional=False,
    key_name="url_key",
    planned_writers=("validator",),
)
"""Why URLs were not crawled or not stored, one message a page or batch."""

VALIDATOR_DLQ: Final[Topic[DeadLetter]] = Topic(
    name="validator-dlq",
    value=DeadLetter,
    schema_name="dead-letter.v1",
    description="Messages that validator could not handle, with their original bytes and the reason.",
    partitioner="key",
    cleanup="delete",
    writers=("runtime",),
    readers=("indexer", "person"),
    max_bytes=524_288,
    partitions=1,
    compression="zstd",
    accepts_json=False,
    profile="core",
    config={
        "cleanup.policy": "delete",
        "max.message.bytes": "1048576",
        "retention.ms": "2592000000",
    },
    key_of=_key_of_dead_letter,
    read_by=(
        TopicReader("indexer", group="indexer"),
        TopicReader("person", mode="whole"),
    ),
    transactional=False,
    key_name="key",
)
"""Messages that validator could not handle, with their original bytes and the reason."""


TOPICS: Final[Mapping[str, Topic[Any]]] = {
    topic.name: topic
    for topic in (
        ADAPTIVE_STATE,
        API_DLQ,
        CRAWL_SPECS,
        ECHO_DLQ,
        ECHO_REQUESTS,
        ECHOES,
        FETCH_REQUESTS,
        FETCHER_DLQ,
        FETCHES_COMPLETED,
        FRONTIER,
        HOSTS,
        INDEXER_DLQ,
        INSIGHTS_DLQ,
        JOB_COMMANDS,
        JOB_EVENTS,
        LINK_INGESTION_DLQ,
        LINKS_DISCOVERED,
        PAGES_FETCHED,
        PAGES_PARSED,
        PAGES_PARSED_SHADOW,
        PAGES_REJECTED,
        PAGES_SETTLED,
        PAGES_VALIDATED,
        PARSER_DLQ,
        RENDER_REQUESTS,
        RENDERER_DLQ,
        SCHEDULER_DLQ,
        SCHEMAS,
        SEEDS_OWNED,
        SEEDS_SUBMITTED,
        SOURCES,
        TALLIES,
        TALLY_DLQ,
        URLS_DECIDED,
        VALIDATOR_DLQ,
    )
}
"""Every topic by its name."""

SERVICES: Final[Mapping[str, str]] = {
    "link-ingestion": "Decides which links enter the frontier, and in which shard.",
    "scheduler": "Decides what is fetched next, and when.",
    "fetcher": "Decides the outcome of one request.",
    "renderer": "Decides the same, through a headless browser.",
    "parser": "Decides what a document contains.",
    "validator": "Decides whether a page is content.",
    "indexer": "Decides what is stored, and whether it changed.",
    "insights": "Counts what can be recomputed.",
    "api": "Publishes on behalf of people.",
}
"""The services, each with what it decides."""

EXAMPLE_SERVICES: Final[Mapping[str, str]] = {
    "echo": "Echoes requests.",
    "tally": "Counts echoes.",
}
"""The services of the examples."""

COMMON_HEADERS: Final[Mapping[str, str]] = {
    "schema-fp": "CRC-64-AVRO fingerprint of the schema that the value was written with.",
    "traceparent": "W3C trace context of the publisher.",
    "ce_specversion": "Version of CloudEvents (binary mode).",
    "ce_id": "Identity of the event; the same for a repeat.",
    "ce_source": "The service that published it.",
    "ce_type": "Name of the value's schema, with its version.",
    "ce_time": "When it was published, as RFC 3339.",
    "replay-id": "Name of the replay; only on replayed messages.",
    "owner-signature": "Only on seeds-owned, and optional on seeds-submitted: v1= and the hex HMAC-SHA256 of the value's bytes by STRIDER_OWNER_KEY. Shows that the sender is an owner; a seed without it is a raw seed.",
}
"""Headers that any message may carry; headers of a single topic are declared with the topic."""


def dlq(service: str) -> Topic[DeadLetter]:
    """Return the topic of messages that a service could not handle."""
    try:
        return TOPICS[f"{service}-dlq"]
    except KeyError:
        raise LookupError(f"no dead-letter topic: {service!r} is not a service") from None
