"""Options of the scheduler, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from strider.frontier.constants import NO_QUEUE_LIMITS
from strider.frontier.models import QueueLimits
from strider.politeness.circuit_breaker import DEFAULT_LIMITS, BreakerLimits
from strider.scheduler.core.budgets.limits import NO_LIMITS, BudgetLimits
from strider.scheduler.core.entries.feed_polling import NO_POLLING, FeedPolling
from strider.scheduler.core.hosts.host_state import MAX_DELAY_SECONDS


@dataclass(frozen=True, slots=True)
class JobOptions:
    """Intervals of the loops of jobs."""

    poll_seconds: float = 10.0
    """Interval at which due jobs are claimed."""
    launch_batch: int = 200
    """Jobs that are claimed, and whose runs are published, at a time."""
    recovery_seconds: float = 60.0
    """Interval at which stale locks are taken over."""
    stale_lock_seconds: float = 240.0
    """Age of a lock from which on its holder counts as stopped: a stuck job recovers within five minutes."""
    reconcile_seconds: float = 5.0
    """Longest interval between two comparisons of running executions with the runs that have ended."""
    relaunch_seconds: float = 300.0
    """Time after a launch from which on a run that is not closed is launched again."""
    metrics_seconds: float = 30.0
    """Interval at which jobs are measured."""


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """Behaviour of one scheduler."""

    shards: int
    user_agent: str = "Strider"
    """User-Agent that the fetcher sends where a crawl spec names none."""
    respects_robots: bool = True
    """Whether robots.txt is fetched and respected; False disables it for every crawl."""
    delay_seconds: float = 1.0
    max_delay_seconds: float = MAX_DELAY_SECONDS
    """Longest delay that a crawl spec may set; a longer one counts as this."""
    breaker: BreakerLimits = DEFAULT_LIMITS
    """When the circuit breaker of a host group opens, and for how long."""
    allow_private: bool = False
    by_domain: bool = False
    """Whether a host group is a registrable domain instead of a host."""
    default_limits: BudgetLimits = NO_LIMITS
    """Budget of a run whose crawl spec sets none."""
    lease_seconds: float = 30.0
    """How long a request may wait for a fetcher before another one may take it."""
    release_batch: int = 200
    """Leases written in one pass over a shard's queues."""
    in_flight: int = 500
    """Entries of a shard leased or in the pipeline, beyond which only runs of owners have a quarter more."""
    max_pipeline_lag: int = 10_000
    """Unread messages in the whole pipeline, beyond which nothing is released; 0 sets no limit."""
    max_hosts_per_domain: int = 1_000
    """Hosts of one registrable domain in a run, beside the domain itself and its `www`; 0 sets no limit."""
    rebuild_hold_seconds: float | None = None
    """How long no host is fetched from after a rebuild; None: the longest deadline and a margin."""
    max_deadline_seconds: float = 120.0
    """Longest time that a fetcher gives a request, whatever its crawl spec sets."""
    robots_cache_characters: int = 16 * 1024 * 1024
    """Characters of robots.txt texts kept in memory, for each shard."""
    max_cached_groups: int = 50_000
    """Host groups kept in memory for each shard; those with a state of their own are kept beyond it."""

    lost_pages_interval_seconds: float = 10.0
    """Interval of the check for lost pages."""
    queue_limits: QueueLimits = NO_QUEUE_LIMITS
    """How much of a shard the working set queues; the rest is parked in the log."""
    refill_interval_seconds: float = 10.0
    """Shortest interval between two passes through a shard's log for parked entries."""
    retention_interval_seconds: float = 86_400.0
    """Interval of retention; 0 disables it."""
    keep_closed_seconds: float = 30 * 86_400.0
    """How long the log keeps a closed entry."""
    keep_hosts_seconds: float = 30 * 86_400.0
    """How long the log keeps a host without open entries whose record has not changed."""
    keep_commands_seconds: float = 90 * 86_400.0
    """How long a command about a run is kept after it, once nothing of the run is open."""
    keep_specs_seconds: float = 90 * 86_400.0
    """How long a crawl spec is kept after its latest declaration, while no entry names it."""
    polling: FeedPolling = NO_POLLING
    """How often feeds are polled where a crawl spec does not say."""
    jobs: JobOptions = field(default_factory=JobOptions)
    refill_keys_per_part: int = 100_000
    """Entries whose records one pass through the log keeps in memory; a larger shard takes several."""

    @property
    def lease_ms(self) -> int:
        """Lease in milliseconds."""
        return round(self.lease_seconds * 1000)
