"""What is to be done to the jobs of a source, decided from their present state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.enums import JobState
from strider.contracts.generated.events import SourceSaved
from strider.jobs.models import PAUSED_BY_SOURCE, IntervalType, Job
from strider.jobs.sources.sync import SyncAction, plan_source

SOURCE = SourceSaved("s", "Example", "https://a.test/", interval_minutes=60)
OFF = replace(SOURCE, enabled=False)


def a_job(state: JobState = JobState.SCHEDULED, **more: Any) -> Job:
    fields: dict[str, Any] = {
        **dict.fromkeys(Job.__dataclass_fields__),
        "job_id": "source-s",
        "source_id": "s",
        "url": SOURCE.url,
        "state": state,
        "interval_minutes": 60,
        "interval_type": IntervalType.MINUTES,
        "adaptive_scheduling": True,
        "paused_by": "",
        "metadata": {},
        "created_by": "sources",
    }
    return Job(**fields | more)


def actions(source: SourceSaved, *jobs: Job) -> list[SyncAction]:
    return [step.action for step in plan_source(source, jobs)]


@pytest.mark.req("S1.1.11", part="the plan")
@pytest.mark.parametrize(
    ("source", "jobs", "expected"),
    [
        pytest.param(SOURCE, [], [SyncAction.CREATE], id="no job"),
        pytest.param(replace(SOURCE, interval_minutes=0), [], [SyncAction.SKIP], id="on command only"),
        pytest.param(SOURCE, [a_job()], [], id="nothing to do"),
        pytest.param(SOURCE, [a_job(JobState.CANCELLED)], [SyncAction.SKIP], id="a person cancelled it"),
        pytest.param(SOURCE, [a_job(JobState.PAUSED)], [], id="a person paused it"),
        pytest.param(
            SOURCE,
            [a_job(JobState.PAUSED, paused_by=PAUSED_BY_SOURCE)],
            [SyncAction.RESUME],
            id="paused for the source",
        ),
        pytest.param(SOURCE, [a_job(interval_minutes=30)], [SyncAction.UPDATE], id="another interval"),
        pytest.param(
            SOURCE, [a_job(interval_type=IntervalType.HOURS)], [SyncAction.UPDATE], id="another unit"
        ),
        pytest.param(SOURCE, [a_job(interval_minutes=30, created_by="ann")], [], id="a job of a person"),
        pytest.param(OFF, [], [], id="disabled without a job"),
        pytest.param(OFF, [a_job()], [SyncAction.PAUSE], id="disabled"),
        pytest.param(OFF, [a_job(created_by="ann")], [SyncAction.PAUSE], id="disabled, a job of a person"),
        pytest.param(OFF, [a_job(JobState.PENDING)], [SyncAction.PAUSE], id="disabled, due once"),
        pytest.param(OFF, [a_job(JobState.RUNNING)], [], id="disabled, a run in progress"),
        pytest.param(OFF, [a_job(JobState.PAUSED, paused_by=PAUSED_BY_SOURCE)], [], id="disabled twice"),
    ],
)
def test_the_plan_follows_from_the_present_state(
    source: SourceSaved, jobs: list[Job], expected: list[SyncAction]
) -> None:
    assert actions(source, *jobs) == expected
