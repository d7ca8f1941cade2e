"""Plan of a launch: the crawl spec, the seeds and the closing message of a job's run.

    spec       the settings of the source, replaced by those that the job sets
    seeds      the URL of the job; where that is the source's URL, the further start URLs of the source, too
    closing    no more seeds of the run come

Everything follows from job, execution and source, and the seeds have the number of the run, so a launch that
is published again is a repeat. Knows no topic and no store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted, SourceSaved
from strider.contracts.numbered_seeds import SeedNumber
from strider.contracts.partitioning import registrable_domain
from strider.contracts.seed_limits import spec_range_error
from strider.contracts.specs.crawl_specs import effective_depth, spec_id
from strider.jobs.models import Job, Launch
from strider.politeness import HeaderRefused, refuse_clear_values
from strider.urls import RefusedUrl, host_of, origin_of, to_wire_url, url_key_of

SUBMITTED_BY: Final = "scheduler"

_SPEC_FIELDS: Final = frozenset(field.name for field in fields(CrawlSpecDeclared)) - {"crawl_spec_id"}
_DEFAULT_SPEC: Final = CrawlSpecDeclared(crawl_spec_id="")
_DEFAULT_PRIORITY: Final = 2


class LaunchFault(Exception):
    """A run cannot be launched; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """Contents of a launch."""

    execution_id: str
    spec: CrawlSpecDeclared
    seeds: tuple[SeedSubmitted, ...]
    closing: SeedSubmitted


def plan_launch(launch: Launch, source: SourceSaved | None) -> LaunchPlan:
    """Return the plan of a claimed execution; raises LaunchFault."""
    job, execution = launch
    source = _require_source(job, source)
    urls = start_urls(job, source)
    spec = spec_of_job(job, source, urls)
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
            source_id=source.source_id,
            seed_id=number.seed_id,
            priority=source.priority if 0 <= source.priority <= 3 else _DEFAULT_PRIORITY,  # noqa: PLR2004  # the range of priorities
            **names,
        )
        for url in urls
    )
    return LaunchPlan(execution.execution_id, spec, seeds, SeedSubmitted(url="", close=True, **names))


def _require_source(job: Job, source: SourceSaved | None) -> SourceSaved:
    if not job.source_id:
        raise LaunchFault("source_id: the job has no source; set the source_id of the job")
    if source is None:
        raise LaunchFault(
            f"source_id: there is no source {job.source_id!r}; create it, or change the source_id of the job"
        )
    if not source.enabled:
        raise LaunchFault(f"source_id: the source {job.source_id!r} is disabled; enable it")
    return source


def start_urls(job: Job, source: SourceSaved) -> tuple[str, ...]:
    """Return the start URLs of a job, each once; raises LaunchFault for one that cannot be requested."""
    own = job.url or source.url
    key = _key_of(own, "url")
    found = {key: own}
    if job.url == source.url or key == _key_or_none(source.url):
        for url in source.start_urls:
            found.setdefault(_key_of(url, f"start_urls of the source {source.source_id!r}"), url)
    return tuple(found.values())


def _key_of(url: str, field: str) -> str:
    wire = to_wire_url(url)
    if isinstance(wire, RefusedUrl):
        raise LaunchFault(f"{field}: {url[:200]!r} cannot be crawled: {wire.detail or wire.reason}")
    return url_key_of(wire)


def _key_or_none(url: str) -> str | None:
    wire = to_wire_url(url)
    return None if isinstance(wire, RefusedUrl) else url_key_of(wire)


def spec_of_job(job: Job, source: SourceSaved, urls: tuple[str, ...]) -> CrawlSpecDeclared:
    """Return the crawl spec: each setting of the job before that of the source; raises LaunchFault."""
    settings = {**dict(source_settings(source, urls)), **_checked(job.crawl_settings)}
    try:
        settings["headers"] = refuse_clear_values(settings.get("headers", {}), map(origin_of, urls))
    except HeaderRefused as failure:
        raise LaunchFault(str(failure)) from failure
    spec = replace(_DEFAULT_SPEC, **settings)
    if fault := spec_range_error(spec):
        raise LaunchFault(f"crawl_settings.{fault}")
    return replace(spec, crawl_spec_id=spec_id(spec))


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    for name in settings:
        if name not in _SPEC_FIELDS:
            raise LaunchFault(f"crawl_settings.{name}: there is no such setting of a crawl spec")
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in settings.items()
        if value is not None
    }


def source_settings(source: SourceSaved, urls: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a crawl spec that a source makes."""
    domains = [name for each in source.domains if (name := each.strip().lower().strip("."))]
    yield "hosts", tuple(name for name in domains if registrable_domain(name) != name)
    yield "domains", tuple(name for name in domains if registrable_domain(name) == name)
    yield "scope", source.scope
    yield "max_depth", effective_depth(source.max_depth)
    yield "include", source.include
    yield "exclude", source.exclude
    yield "delay_seconds", source.delay_seconds
    yield "extraction", source.extraction
    yield "parser", source.parser
    yield "max_pages", source.max_pages
    yield "change_basis", source.change_basis
    yield "max_in_flight_per_group", max(1, source.max_concurrent_requests)
    yield "headers", dict(source.headers)
    yield "priority", min(_DEFAULT_SPEC.priority, source.priority)
    yield "recrawl_seconds", source.crawl_frequency_seconds
    yield "adaptive", source.adaptive_scheduling
    if source.insecure_tls:
        yield "insecure_tls_hosts", tuple(dict.fromkeys(map(host_of, urls)))
