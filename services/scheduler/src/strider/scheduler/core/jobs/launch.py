"""Plan of a launch: the crawl spec, the seeds and the closing message of a job's run.

    spec       the settings of the job before those of the source (`strider.crawl.sources.spec_mapping`)
    seeds      the URL of the job; where that is the source's URL, the further start URLs of the source, too;
               feeds and sitemaps of the source
    closing    no more seeds of the run come

Everything follows from job, execution and source, and the seeds have the number of the run, so a launch that
is published again is a repeat. Also the command that cancels a run. Knows no topic and no store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, JobEvent, SeedSubmitted, SourceSaved
from strider.contracts.numbered_seeds import SeedNumber
from strider.crawl.runs.commands import with_command_id
from strider.crawl.sources.spec_mapping import InvalidSetting, spec_of_source
from strider.crawl.sources.spec_mapping import start_urls as source_start_urls
from strider.jobs.models import Job, JobExecution, Launch
from strider.politeness import HeaderRefused, refuse_clear_values
from strider.scheduler.core.entries.acceptance import refuse_url
from strider.urls import RefusedUrl, origin_of, to_wire_url, url_key_of

SUBMITTED_BY: Final = "scheduler"

_DEFAULT_PRIORITY: Final = 2
_SHOWN_REASONS: Final = 10
_SHOWN_CHARS: Final = 200
_FIELDS: Final = {
    RequestKind.PAGE: "start_urls",
    RequestKind.FEED: "feed_urls",
    RequestKind.SITEMAP: "sitemap_urls",
}


class LaunchFault(Exception):
    """A run cannot be launched; the message says why, and what to do."""


class PermanentFault(LaunchFault):
    """A run that no retry launches: its settings or its start URLs have to be changed."""


class SourceIsDisabled(LaunchFault):
    """The source of a job is disabled: the job waits until it is enabled."""


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """Contents of a launch."""

    execution_id: str
    spec: CrawlSpecDeclared
    seeds: tuple[SeedSubmitted, ...]
    closing: SeedSubmitted


def plan_launch(launch: Launch, source: SourceSaved | None, *, allow_private: bool = False) -> LaunchPlan:
    """Return the plan of a claimed execution; raises LaunchFault.

    A run of which no start URL would be accepted is not launched. Where some are, the others are refused as
    any link is, with a decision of their own.
    """
    job, execution = launch
    source = _require_source(job, source)
    starts = start_urls(job, source)
    spec = spec_of_job(job, source, (url for url, _ in starts))
    _refuse_unacceptable([url for url, _ in starts], spec, allow_private=allow_private)
    names: dict[str, Any] = {
        "job_id": job.job_id,
        "execution_id": execution.execution_id,
        "crawl_spec_id": spec.crawl_spec_id,
        "submitted_by": SUBMITTED_BY,
        "submitted_at_ms": execution.started_at_ms,
    }
    number = SeedNumber(job.job_id, execution.execution_number)
    seeds = tuple(
        SeedSubmitted(
            url=url,
            kind=kind,
            source_id=source.source_id,
            seed_id=number.seed_id,
            priority=source.priority if 0 <= source.priority <= 3 else _DEFAULT_PRIORITY,  # noqa: PLR2004  # the range of priorities
            **names,
        )
        for url, kind in starts
    )
    return LaunchPlan(execution.execution_id, spec, seeds, SeedSubmitted(url="", close=True, **names))


def cancel_command(execution: JobExecution, *, reason: str, at_ms: int) -> JobEvent:
    """Return the command that cancels the run of an execution; a repeat at this time is the same."""
    return with_command_id(
        JobEvent(
            event_id="",
            what=JobEventKind.CANCEL.value,
            is_wish=True,
            at_ms=at_ms,
            by=SUBMITTED_BY,
            job_id=execution.job_id,
            execution_id=execution.execution_id,
            reason=reason,
        )
    )


def _require_source(job: Job, source: SourceSaved | None) -> SourceSaved:
    if not job.source_id:
        raise LaunchFault("source_id: the job has no source; set the source_id of the job")
    if source is None:
        raise LaunchFault(
            f"source_id: there is no source {job.source_id!r}; create it, or change the source_id of the job"
        )
    if not source.enabled:
        raise SourceIsDisabled(
            f"source_id: the source {job.source_id!r} is disabled; enable it, and the job runs again"
        )
    return source


def start_urls(job: Job, source: SourceSaved) -> tuple[tuple[str, RequestKind], ...]:
    """Return what a run starts from, each once; raises LaunchFault for a URL that cannot be requested.

    A job of the source's own URL starts from all start URLs of the source, any other job from its URL alone.
    Feeds and sitemaps of the source come with both.
    """
    other = job.url if job.url and _key_of(job.url, "url") != _key_or_none(source.url) else ""
    found: dict[str, tuple[str, RequestKind]] = {}
    for url, kind in source_start_urls(source, url=other):
        is_own = kind is RequestKind.PAGE and url in {job.url, source.url}
        field = "url" if is_own else f"{_FIELDS[kind]} of the source {source.source_id!r}"
        found.setdefault(_key_of(url, field), (url, kind))
    return tuple(found.values())


def _refuse_unacceptable(urls: Sequence[str], spec: CrawlSpecDeclared, *, allow_private: bool) -> None:
    """Raise PermanentFault, with the reasons, where scheme, port or address of every start URL is refused."""
    refused = Counter[str]()
    for url in urls:
        refusal = refuse_url(str(to_wire_url(url)), spec, allow_private=allow_private)
        if refusal is None:
            return
        refused[f"{refusal.reason.value} {refusal.detail}".rstrip()] += 1
    by_reason = refused.most_common(_SHOWN_REASONS)
    shown = ", ".join(f"{count} {reason}" for reason, count in by_reason)
    raise PermanentFault(
        f"start_urls: none of them is accepted: {shown}; the first is {urls[0][:_SHOWN_CHARS]!r}"
    )


def _key_of(url: str, field: str) -> str:
    wire = to_wire_url(url)
    if isinstance(wire, RefusedUrl):
        raise PermanentFault(
            f"{field}: {url[:_SHOWN_CHARS]!r} cannot be crawled: {wire.detail or wire.reason}"
        )
    return url_key_of(wire)


def _key_or_none(url: str) -> str | None:
    wire = to_wire_url(url)
    return None if isinstance(wire, RefusedUrl) else url_key_of(wire)


def spec_of_job(job: Job, source: SourceSaved, urls: Iterable[str]) -> CrawlSpecDeclared:
    """Return the crawl spec, as `strider explain --source --job` shows it; raises LaunchFault."""
    try:
        spec = spec_of_source(source, job.crawl_settings)
        refuse_clear_values(spec.headers, map(origin_of, urls))
    except InvalidSetting as fault:
        raise PermanentFault(f"crawl_settings.{fault}") from fault
    except HeaderRefused as failure:
        raise PermanentFault(str(failure)) from failure
    return spec
