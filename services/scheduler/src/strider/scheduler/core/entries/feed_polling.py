"""Decide about feeds: whether they are polled, how often, and in which run.

    raw job                             ──▶ not polled
    the crawl spec names an interval    ──▶ polled at it; 0: not polled
    the standing job, which all share   ──▶ not polled
    else                                ──▶ as configured

A feed that is polled belongs to the run of feeds of its job (`strider.contracts.seed_names.feed_run_of`),
and so does what it lists: the run in which it was found ends without waiting for it. A continuous crawl has
no end, and keeps its feeds. A feed that a page names, and that is neither polled nor read in its run, is
refused, which records it.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.enums import DecisionReason, LinkVia, RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.contracts.ids import ADHOC_JOB_ID
from strider.contracts.seed_names import feed_run_of, is_raw_name

from .acceptance import UrlRefusal
from .candidates import Candidate

MIN_POLL_SECONDS: Final = 60
"""Shortest interval, whatever a crawl spec says."""

NOT_POLLED: Final = (
    "the page names it as a feed; it is recorded, and read where the crawl spec sets use_feeds or "
    "feed_poll_seconds, or CRAWLER_FEED_POLL_ENABLED is true"
)


@fast_dataclass(frozen=True, slots=True)
class FeedPolling:
    """The polling of feeds in a deployment."""

    seconds: int = 0
    """Interval where a crawl spec names none; 0: such feeds are not polled."""

    def interval_seconds(self, job_id: str, spec: CrawlSpecDeclared) -> int:
        """Return the interval at which the feeds of a job are polled; 0 where they are not."""
        if is_raw_name(job_id):
            return 0
        seconds = spec.feed_poll_seconds
        if seconds is None:
            seconds = 0 if job_id == ADHOC_JOB_ID else self.seconds
        return max(seconds, MIN_POLL_SECONDS) if seconds else 0


NO_POLLING: Final = FeedPolling()


def is_polled(candidate: Candidate, spec: CrawlSpecDeclared, polling: FeedPolling) -> bool:
    """Whether a candidate is a feed that is polled."""
    return candidate.kind == RequestKind.FEED and polling.interval_seconds(candidate.origin.job_id, spec) > 0


def place_feed(
    candidate: Candidate, spec: CrawlSpecDeclared | None, polling: FeedPolling
) -> Candidate | UrlRefusal:
    """Return a candidate in the run that it belongs to, or why it is refused; others than feeds unchanged."""
    if spec is None or candidate.kind != RequestKind.FEED:
        return candidate
    if is_polled(candidate, spec, polling):
        if spec.continuous:
            return candidate
        run = feed_run_of(candidate.origin.job_id)
        return replace_fields(candidate, origin=replace_fields(candidate.origin, execution_id=run))
    if candidate.origin.via == LinkVia.ALTERNATE and not spec.use_feeds:
        return UrlRefusal(DecisionReason.FEED_NOT_POLLED, NOT_POLLED)
    return candidate


def is_polling_over(entry: EntryRecorded, spec: CrawlSpecDeclared, polling: FeedPolling) -> bool:
    """Whether an entry waits for a poll, and feeds are not polled any more."""
    return (
        entry.kind == RequestKind.FEED
        and entry.execution_id == feed_run_of(entry.job_id)
        and not polling.interval_seconds(entry.job_id, spec)
    )
