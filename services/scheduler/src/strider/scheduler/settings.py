"""Settings of the scheduler."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from strider.crawl.settings import CrawlServiceSettings
from strider.runtime.settings.base import OwnerSettings
from strider.runtime.settings.types import EnvironmentVariable, PositiveSeconds


class SchedulerSettings(CrawlServiceSettings):
    """Scheduler: how much is in flight, and for how long."""

    PREFIX: ClassVar[str] = "SCHEDULER_"

    owner: OwnerSettings = OwnerSettings()
    commit_interval_seconds: PositiveSeconds = 0.5
    """Shortest time between two transactions of a shard; records written meanwhile are committed together."""
    lease_seconds: Annotated[float, Field(ge=1, le=3600)] = 30.0
    """How long a request may wait for a fetcher before another one may take it."""
    release_batch: Annotated[int, Field(ge=1, le=5000)] = 200
    """Most requests that one pass over a shard's queues releases."""
    max_deadline_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_MAX_DEADLINE")] = 120.0
    """Maximum deadline that a crawl may set for one request (30 s by default)."""
    max_delay_seconds: Annotated[float, Field(ge=1, le=86_400)] = 86_400.0
    """Longest crawl delay of a crawl spec, so that none stops a host for others; longer count as this."""
    in_flight_per_shard: Annotated[int, Field(ge=1)] = 500
    """Entries of a shard in flight, from release until settled; runs of owners may have a quarter more.
    All shards together should have at most 10,000 for each fetcher.
    """
    release_lag: Annotated[int, Field(ge=0)] = 10_000
    """Unread messages in the pipeline, fetcher to indexer, beyond which nothing is released. 0: no limit."""
    max_pages: Annotated[int, Field(ge=0)] = 0
    """Pages of a run whose crawl spec sets no limit; 0: no limit. The same holds for the settings below."""
    max_bytes: Annotated[int, Field(ge=0)] = 0
    """Bytes of a run, as received from servers."""
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
    max_hosts_per_domain: Annotated[int, Field(ge=0, le=1_000_000)] = 1_000
    """Hosts of one registrable domain in a run; new ones beyond it are refused. 0: no limit."""
    queued_per_host: Annotated[int, Field(ge=0)] = 10_000
    """Entries of a host (or domain) queued in Redis; further ones wait in the log. 0: no limit."""
    queued_ahead_minutes: Annotated[int, Field(ge=0)] = 60
    """Entries due later than this wait in the log. 0: no limit."""
    redis_full_percent: Annotated[int, Field(ge=0, le=95)] = 80
    """Percentage of Redis' maxmemory from which on new entries wait in the log. 0: no limit."""
    refill_seconds: PositiveSeconds = 10.0
    """Shortest interval between two passes through a shard's log for entries that wait there."""
    clean_hours: Annotated[float, Field(ge=0)] = 24.0
    """Interval at which a shard deletes entries closed long ago, and ended runs. 0: never."""
    keep_closed_days: Annotated[int, Field(ge=15)] = 30
    """How long the log keeps closed entries: longer than URLs count as seen, and than seeds are kept."""
    keep_hosts_days: Annotated[int, Field(ge=1)] = 30
    """How long the log keeps hosts without open entries whose records have not changed."""
    keep_commands_days: Annotated[int, Field(ge=31)] = 90
    """How long cancels and used-up budgets of runs with nothing open are kept: longer than seeds are."""
    keep_specs_days: Annotated[int, Field(ge=75)] = 90
    """How long a crawl spec that no entry names is kept: a month, seeds (30 days) and messages (7) longer."""
    keep_logs_days: Annotated[int, Field(ge=0)] = 30
    """Days that archived logs of ended runs are kept. 0: for ever."""
    robots_memory_mb: Annotated[int, Field(ge=1)] = 16
    """Memory for robots.txt texts, for each shard; evicted ones are fetched again."""
    groups_in_memory: Annotated[int, Field(ge=100)] = 50_000
    """Hosts (or domains) whose state is kept in memory, for each shard; blocked ones are kept beyond it."""
    breaker_failures: Annotated[int, Field(ge=0, le=1000)] = 5
    """Consecutive failures of a host (no response, or a 5xx) that open its circuit breaker; 0: never."""
    breaker_open_seconds: PositiveSeconds = 60.0
    """How long the breaker stays open after failures, before a few requests test the host."""
    breaker_refusals: Annotated[int, Field(ge=0, le=1000)] = 5
    """Consecutive 403 and 429 responses that open the circuit breaker of a host; 0: never."""
    breaker_refused_seconds: PositiveSeconds = 300.0
    """How long the breaker stays open after such responses."""
    feed_poll: Annotated[bool, EnvironmentVariable("CRAWLER_FEED_POLL_ENABLED")] = False
    """Whether feeds are polled by themselves, where a crawl spec does not say (`feed_poll_seconds`). They are
    found with CRAWLER_FEED_DISCOVERY_ENABLED, or named by a source or seed."""
    feed_poll_seconds: Annotated[
        int, Field(ge=60, le=31_536_000), EnvironmentVariable("CRAWLER_FEED_POLL_SECONDS")
    ] = 3_600
    """Interval at which feeds are polled; it doubles while nothing changes (`recrawl_cap_seconds`)."""
    job_poll_seconds: PositiveSeconds = 10.0
    """Interval at which jobs that are due are launched."""
    job_launch_batch: Annotated[int, Field(ge=1, le=1_000)] = 200
    """Jobs whose runs are launched together."""
    job_recovery_seconds: PositiveSeconds = 60.0
    """Interval at which the runs of stopped schedulers are launched again."""
    job_stale_lock_seconds: Annotated[float, Field(ge=1, le=86_400)] = 240.0
    """Age of a lock on a job from which on its scheduler counts as stopped."""
    job_reconcile_seconds: PositiveSeconds = 5.0
    """Longest interval between two comparisons of running jobs with the runs that have ended."""
    job_relaunch_seconds: Annotated[float, Field(ge=1, le=86_400)] = 300.0
    """Time after its launch from which on a run of a job that is not closed is launched again."""
    job_metrics_seconds: PositiveSeconds = 30.0
    """Interval at which jobs are counted for the metrics."""
