"""Jobs that follow from sources: what is to be done, and doing it.

An enabled source with an interval has a job. The job of a disabled source is paused, and resumed when the
source is enabled again: in the transaction that saves the source (`store.py`), or when its run has ended.
What is compared here is what is left, such as a job that a person resumed meanwhile. What a person did to a
job stays: a job that a person paused or cancelled is left alone, as is one that a person created, but for the
pause of its source. Everything is derived from the present state of source and jobs, so that a repeat, or a
message that comes late, changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from strider.contracts.generated.enums import JobState
from strider.contracts.generated.events import SourceSaved
from strider.jobs.errors import JobFault
from strider.jobs.models import PAUSED_BY_SOURCE, IntervalType, Job, JobChange, JobQuery, NewJob
from strider.jobs.ports import JobStore
from strider.jobs.states import CLAIMABLE

from .models import MAX_LISTED, SourcePosition, SourceQuery, SourceStore

CREATOR: Final = "sources"
"""`created_by` of the jobs that are made here."""

JOB_PAGE: Final = 100


class SyncAction(StrEnum):
    """Change to a job of a source."""

    CREATE = "create"
    """It has an interval and no job."""
    UPDATE = "update"
    """The job that was made for it has another URL or interval."""
    PAUSE = "pause"
    """It is disabled, and its job would run."""
    RESUME = "resume"
    """It is enabled again, and its job was paused for it."""
    SKIP = "skip"
    """Nothing can be done; the detail says why."""


@dataclass(frozen=True, slots=True)
class SyncStep:
    """One difference between a source and its jobs."""

    action: SyncAction
    source_id: str
    source: str
    """Name of the source."""
    job_id: str = ""
    detail: str = ""
    change: JobChange = field(default_factory=JobChange)
    """Fields of an update."""


def job_id_of(source_id: str) -> str:
    """Return the id of the job that is made for a source: the same each time, so that there is one."""
    return f"source-{source_id}"


def plan_source(source: SourceSaved, jobs: Sequence[Job]) -> list[SyncStep]:
    """Return the differences between a source and its jobs."""
    return [*(_plan_enabled(source, jobs) if source.enabled else _plan_disabled(source, jobs))]


def _plan_enabled(source: SourceSaved, jobs: Sequence[Job]) -> Iterable[SyncStep]:
    if not jobs:
        if source.interval_minutes:
            yield _step(SyncAction.CREATE, source, job_id_of(source.source_id), _interval_text(source))
        else:
            yield _step(SyncAction.SKIP, source, "", "interval_minutes is 0: it runs on command only")
        return
    if all(job.state is JobState.CANCELLED for job in jobs):
        detail = "its job was cancelled; delete the job to have a new one"
        yield _step(SyncAction.SKIP, source, jobs[0].job_id, detail)
        return
    for job in jobs:
        if job.paused_by == PAUSED_BY_SOURCE:
            yield _step(SyncAction.RESUME, source, job.job_id, "the source is enabled again")
        if change := _difference(source, job):
            yield _step(SyncAction.UPDATE, source, job.job_id, _change_text(change), change)


def _plan_disabled(source: SourceSaved, jobs: Sequence[Job]) -> Iterable[SyncStep]:
    for job in jobs:
        if job.state in CLAIMABLE:
            yield _step(SyncAction.PAUSE, source, job.job_id, "the source is disabled")


def _difference(source: SourceSaved, job: Job) -> JobChange:
    """Return what a job that was made for a source lacks of it."""
    change = JobChange()
    if job.created_by != CREATOR or job.state is JobState.CANCELLED:
        return change
    if job.url != source.url:
        change["url"] = source.url
    if source.interval_minutes and (job.interval_minutes, job.interval_type) != (
        source.interval_minutes,
        IntervalType.MINUTES,
    ):
        change["interval_minutes"] = source.interval_minutes
        change["interval_type"] = IntervalType.MINUTES
    if job.adaptive_scheduling != source.adaptive_scheduling:
        change["adaptive_scheduling"] = source.adaptive_scheduling
    return change


def _step(
    action: SyncAction, source: SourceSaved, job_id: str, detail: str, change: JobChange | None = None
) -> SyncStep:
    return SyncStep(action, source.source_id, source.name, job_id, detail, change or JobChange())


def _interval_text(source: SourceSaved) -> str:
    return f"every {source.interval_minutes} minutes from {source.url}"


def _change_text(change: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in change.items())


def new_job_of(source: SourceSaved) -> NewJob:
    """Return the job that an enabled source with an interval has."""
    return NewJob(
        job_id=job_id_of(source.source_id),
        source_id=source.source_id,
        url=source.url,
        interval_minutes=source.interval_minutes,
        interval_type=IntervalType.MINUTES,
        schedule_enabled=True,
        adaptive_scheduling=source.adaptive_scheduling,
        created_by=CREATOR,
    )


class SourceSync:
    """Compares sources with their jobs, and applies the differences."""

    def __init__(self, sources: SourceStore, jobs: JobStore) -> None:
        self._sources = sources
        self._jobs = jobs

    async def plan(self) -> list[SyncStep]:
        """Return all differences; changes nothing. Raises Unavailable."""
        by_source = await self._all_jobs()
        return [
            step
            for source in await self._all_sources()
            for step in plan_source(source, by_source.get(source.source_id, ()))
        ]

    async def plan_for(self, source_id: str) -> list[SyncStep]:
        """Return the differences of one source; none where it does not exist."""
        source = await self._sources.get(source_id)
        return [] if source is None else plan_source(source, await self._jobs_of(source_id))

    async def apply(self, steps: Iterable[SyncStep]) -> list[SyncStep]:
        """Apply differences; return them, those that were overtaken by another change as skipped."""
        return [await self._applied(step) for step in steps]

    async def align(self, source_id: str) -> list[SyncStep]:
        """Compare one source with its jobs, and apply the differences."""
        return await self.apply(await self.plan_for(source_id))

    async def _applied(self, step: SyncStep) -> SyncStep:
        try:
            await self._apply(step)
        except JobFault as failure:
            return SyncStep(SyncAction.SKIP, step.source_id, step.source, step.job_id, str(failure))
        return step

    async def _apply(self, step: SyncStep) -> None:
        now_ms = await self._jobs.now_ms()
        if step.action is SyncAction.CREATE:
            source = await self._sources.get(step.source_id)
            if source is not None and source.enabled:
                await self._jobs.create(new_job_of(source), now_ms=now_ms)
        elif step.action is SyncAction.UPDATE:
            await self._jobs.change(step.job_id, step.change, version=None, now_ms=now_ms)
        elif step.action in {SyncAction.PAUSE, SyncAction.RESUME}:
            await self._jobs.follow_source(step.source_id, now_ms=now_ms)

    async def _all_sources(self) -> list[SourceSaved]:
        found: list[SourceSaved] = []
        after: SourcePosition | None = None
        while page := await self._sources.find(SourceQuery(after=after, limit=MAX_LISTED)):
            found += page
            after = SourcePosition(page[-1].created_at_ms, page[-1].source_id)
        return found[::-1]

    async def _all_jobs(self) -> dict[str, list[Job]]:
        by_source: defaultdict[str, list[Job]] = defaultdict(list)
        for job in await self._find(JobQuery(limit=JOB_PAGE)):
            by_source[job.source_id].append(job)
        return by_source

    async def _jobs_of(self, source_id: str) -> list[Job]:
        return await self._find(JobQuery(source_id=source_id, limit=JOB_PAGE))

    async def _find(self, query: JobQuery) -> list[Job]:
        found: list[Job] = []
        cursor = ""
        while True:
            page = await self._jobs.find(
                JobQuery(source_id=query.source_id, limit=query.limit, cursor=cursor)
            )
            found += page.jobs
            if not (cursor := page.next):
                return found
