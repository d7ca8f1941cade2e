"""Bodies of requests about jobs, as in the OpenAPI document."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Annotated, Any, Final, Literal, cast

from pydantic import Field, field_validator

from strider.api import core
from strider.api.routes.request_bodies import RequestDocument, refuse
from strider.jobs.models import IntervalType, Job, JobChange, NewJob

MAX_URL_CHARACTERS: Final = 4096
MAX_NAME_CHARACTERS: Final = 200
MAX_METADATA_BYTES: Final = 64 * 1024
"""Of one job, as JSON."""

Url = Annotated[str, Field(max_length=MAX_URL_CHARACTERS)]
Name = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)]
Interval = Annotated[int, Field(ge=1)]
IntervalUnit = Literal["minutes", "hours", "days"]
Count = Annotated[int, Field(ge=0)]
Settings = dict[str, Any]

SEED_EXAMPLE: Final = {
    "source_id": "uuid-from-source-manager",
    "url": "https://example.com/news",
    "interval_minutes": 360,
    "interval_type": "minutes",
    "schedule_enabled": True,
    "max_retries": 3,
    "retry_backoff_seconds": 60,
}
CREATE_EXAMPLES: Final = {
    "recurring, every 6 hours": SEED_EXAMPLE,
    "one-time, runs at once": {
        "source_id": "uuid-from-source-manager",
        "url": "https://example.com/news",
        "schedule_enabled": False,
    },
}
PATCH_EXAMPLES: Final = {
    "one setting": {"crawl_settings": {"max_depth": 2}},
    "without one setting": {"crawl_settings": {"max_depth": None}},
    "without settings": {"crawl_settings": None},
}
CHANGE_EXAMPLES: Final = {"twice a day": {"interval_minutes": 12, "interval_type": "hours"}}


def _require_small(value: Settings | None) -> Settings | None:
    size = len(json.dumps(value)) if value else 0
    if size > MAX_METADATA_BYTES:
        raise ValueError(f"{size} bytes as JSON, the limit is {MAX_METADATA_BYTES}")
    return value


class _JobSettings(RequestDocument):
    """Settings that a job is created with, and that can be changed later."""

    source_id: Name | None = None
    """Source whose settings its runs have. May be missing: then each execution fails and names it."""
    name: Name | None = None
    """For people; no two jobs have the same one."""
    interval_minutes: Interval | None = None
    """Number of `interval_type` between two runs; null for a job that runs once, at once."""
    interval_type: IntervalUnit | None = None
    schedule_enabled: bool | None = None
    """Whether it recurs; null: if it has an interval."""
    adaptive_scheduling: bool | None = None
    """Whether the interval grows while nothing changes."""
    max_retries: Count | None = None
    retry_backoff_seconds: Interval | None = None
    """Wait before the first retry; each later one is twice as long, an hour at most."""
    crawl_settings: Settings | None = None
    """Fields of a crawl spec that this job sets instead of its source."""
    metadata: Settings | None = None

    check_size = field_validator("crawl_settings", "metadata")(_require_small)

    def given(self) -> dict[str, Any]:
        """Return the fields that the body has, null left out where it stands for the default."""
        values = {name: getattr(self, name) for name in self.model_fields_set}
        kept = {name: value for name, value in values.items() if value is not None}
        if kept.get("interval_type") is not None:
            kept["interval_type"] = IntervalType(kept["interval_type"])
        return kept


class JobDocument(_JobSettings):
    """A job to create."""

    url: Url
    """Page where its runs start."""

    def to_job(self, *, url: str, job_id: str, created_by: str) -> NewJob:
        """Return the job, with its URL as it is requested."""
        return NewJob(**{**self.given(), "url": url, "job_id": job_id, "created_by": created_by})


class JobChangeDocument(_JobSettings):
    """Changed settings of a job; what is left out stays as it is."""

    url: Url | None = None

    def to_change(self, *, url: str | None) -> JobChange:
        """Return the change; `interval_minutes: null` makes a one-time job of it."""
        change = self.given()
        if "interval_minutes" in self.model_fields_set:
            change["interval_minutes"] = self.interval_minutes
        if url is not None:
            change["url"] = url
        return cast("JobChange", change)  # each name is a field of it


_OBJECTS: Final = frozenset({"crawl_settings", "metadata"})
_DEFAULTS: Final[dict[str, Any]] = {
    each.name: each.default
    for each in fields(NewJob)
    if each.name in JobChangeDocument.model_fields and each.default not in {MISSING, None}
}
"""Default values that null stands for."""


class JobPatchDocument(JobChangeDocument):
    """A JSON Merge Patch (RFC 7396) of a job.

    Members of `crawl_settings` and `metadata` are set, those that are null removed; null in place of a field
    stands for its default.
    """

    def to_patch(self, job: Job, *, url: str | None) -> JobChange:
        """Return the change of a job; raises ProblemError for an object that becomes too large."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if "url" in values and values["url"] is None:
            raise refuse(("url", "it cannot be removed"))
        change = self.to_change(url=url)
        for name in _OBJECTS & values.keys():
            merged = {} if values[name] is None else core.merge_patch(getattr(job, name), values[name])
            try:
                change[name] = _require_small(merged) or {}  # type: ignore[literal-required]  # each is a field
            except ValueError as failure:
                raise refuse((name, str(failure))) from failure
        for name in values.keys() & _DEFAULTS.keys():
            if values[name] is None:
                change[name] = _DEFAULTS[name]  # type: ignore[literal-required]  # likewise
        return change
