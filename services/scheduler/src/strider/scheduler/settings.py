"""What can be set about scheduling."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from strider.crawl.settings import CrawlServiceSettings
from strider.runtime.settings.types import PositiveSeconds


class SchedulerSettings(CrawlServiceSettings):
    """scheduler: how much is under way, and for how long."""

    PREFIX: ClassVar[str] = "SCHEDULER_"

    commit_interval_seconds: PositiveSeconds = 0.5
    """Shortest time between two transactions of a shard; records that come meanwhile go together."""
    lease_seconds: Annotated[float, Field(ge=1, le=3600)] = 30.0
    """How long a request may wait for a fetcher before it is given to another one."""
    release_batch: Annotated[int, Field(ge=1, le=5000)] = 200
    """Most requests that one look at a shard's queues releases."""
    in_flight_per_shard: Annotated[int, Field(ge=1)] = 500
    """Entries of a shard under way, from release until settled; beyond it nothing is released."""
    release_lag: Annotated[int, Field(ge=0)] = 10_000
    """Messages that may wait in the ring, fetcher to indexer; beyond it nothing is released. 0: no limit."""
    max_pages: Annotated[int, Field(ge=0)] = 0
    """Pages of a run whose crawl spec names no number; 0 sets no limit. So too each of the following."""
    max_bytes: Annotated[int, Field(ge=0)] = 0
    """Bytes of a run, as servers send them."""
    max_seconds: Annotated[int, Field(ge=0)] = 0
    """Seconds of a run, from its first request on."""
    max_pages_per_host: Annotated[int, Field(ge=0)] = 0
    """Pages of one host in a run."""
    max_bytes_per_host: Annotated[int, Field(ge=0)] = 0
    """Bytes of one host in a run."""
    max_seconds_per_host: Annotated[int, Field(ge=0)] = 0
    """Seconds that the requests to one host take in a run."""
    max_pages_per_domain: Annotated[int, Field(ge=0)] = 0
    """Pages of one registrable domain in a run."""
    max_bytes_per_domain: Annotated[int, Field(ge=0)] = 0
    """Bytes of one registrable domain in a run."""
    max_seconds_per_domain: Annotated[int, Field(ge=0)] = 0
    """Seconds that the requests to one registrable domain take in a run."""
    queued_per_host: Annotated[int, Field(ge=0)] = 10_000
    """Entries of a host (or domain) in the working set; what is beyond waits in the log. 0 sets no limit."""
    queued_ahead_minutes: Annotated[int, Field(ge=0)] = 60
    """Entries due later than that wait in the log. 0 sets no limit."""
    redis_full_percent: Annotated[int, Field(ge=0, le=95)] = 80
    """Part of Redis' maxmemory from which on new entries wait in the log. 0 sets no limit."""
    refill_seconds: PositiveSeconds = 10.0
    """Shortest time between two looks through the log of a shard for entries that wait there."""
    clean_hours: Annotated[float, Field(ge=0)] = 24.0
    """How often a shard lets go of entries that were closed long ago, and of ended runs. 0: never."""
    keep_closed_days: Annotated[int, Field(ge=15)] = 30
    """How long the log keeps closed entries: longer than URLs count as seen, and as seeds are kept."""
    robots_memory_mb: Annotated[int, Field(ge=1)] = 16
    """Memory for robots.txt texts, for each shard; what does not fit is asked for again."""
    groups_in_memory: Annotated[int, Field(ge=100)] = 50_000
    """Hosts (or domains) whose settings are kept in memory, for each shard."""
    breaker_failures: Annotated[int, Field(ge=0, le=1000)] = 5
    """Failures of a host in a row (nothing comes back, or a 5xx) that make it be left alone; 0 never does."""
    breaker_open_seconds: PositiveSeconds = 60.0
    """How long it is left alone after failures, before a few requests look whether it is well."""
    breaker_refusals: Annotated[int, Field(ge=0, le=1000)] = 5
    """Answers of 403 and 429 in a row that make a host be left alone; 0 never does."""
    breaker_refused_seconds: PositiveSeconds = 300.0
    """How long it is left alone after those."""
