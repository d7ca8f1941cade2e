"""What cannot be used is refused with the name of its field."""

from __future__ import annotations

from typing import Any

import pytest

from strider.jobs.errors import InvalidJobField
from strider.jobs.models import IntervalType
from strider.jobs.validation import check_change, check_limit

from .builders import a_new_job

BAD = [
    ("url", "no url"),
    ("url", "ftp://example.com/"),
    ("url", ""),
    ("url", 3),
    ("url", "https://example.com/" + "a" * 100_000),
    ("name", "a\x00b"),
    ("name", "x" * 201),
    ("source_id", None),
    ("interval_minutes", 0),
    ("interval_minutes", -1),
    ("interval_minutes", 10**12),
    ("interval_type", "weeks"),
    ("adaptive_scheduling", "yes"),
    ("max_retries", -1),
    ("max_retries", 101),
    ("max_retries", True),
    ("retry_backoff_seconds", 0),
    ("retry_backoff_seconds", 3601),
    ("metadata", []),
    ("metadata", {"a": float("nan")}),
    ("metadata", {"a": object()}),
    ("metadata", {"a": "\x00"}),
    ("metadata", {"a": "\ud800"}),
    ("metadata", {"a": "x" * 10_000_000}),
    ("metadata", {"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}),
    ("crawl_settings", "depth"),
]


@pytest.mark.parametrize(
    ("field", "value"), BAD, ids=[f"{name}-{number}" for number, (name, _) in enumerate(BAD)]
)
def test_a_bad_value_is_refused_by_field(field: str, value: Any) -> None:
    with pytest.raises(InvalidJobField) as refused:
        a_new_job(**{field: value})

    assert refused.value.field == field
    assert str(refused.value).startswith(f"{field}: ")
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("job_id", ["a b", "-a", "adhoc", "adhoc-1", "raw.x", "raw-x", "x" * 101, "ü"])
def test_an_id_that_seeds_may_have_or_that_no_key_can_hold_is_refused(job_id: str) -> None:
    with pytest.raises(InvalidJobField, match=r"^id: "):
        a_new_job(job_id=job_id)


@pytest.mark.req("S1.4.2", "S1.15.2", part="how the schedule is read")
def test_an_interval_means_a_schedule() -> None:
    assert a_new_job(interval_minutes=30).schedule_enabled is True
    assert a_new_job(interval_minutes=None).schedule_enabled is False
    assert a_new_job(interval_minutes=2, interval_type="days").interval_type is IntervalType.DAYS


def test_contradictions_are_refused() -> None:
    with pytest.raises(
        InvalidJobField, match=r"^interval_minutes: a job with schedule_enabled needs an interval"
    ):
        a_new_job(schedule_enabled=True)
    with pytest.raises(InvalidJobField, match=r"^schedule_enabled: a job with an interval needs"):
        a_new_job(schedule_enabled=False, interval_minutes=5)


def test_a_change_of_an_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(InvalidJobField, match=r"^status: no field of a job that can be changed"):
        check_change({"status": "completed"})
    with pytest.raises(InvalidJobField, match=r"^max_retries: "):
        check_change({"max_retries": "3"})

    assert check_change({"interval_type": "hours"}) == {"interval_type": IntervalType.HOURS}


@pytest.mark.parametrize("limit", [0, -1, 1001, 10**12])
def test_a_page_has_bounds(limit: int) -> None:
    with pytest.raises(InvalidJobField, match=r"^limit: "):
        check_limit(limit)


@pytest.mark.parametrize(
    ("settings", "field", "detail"),
    [
        ({"max_dept": 2}, "crawl_settings.max_dept", "did you mean 'max_depth'"),
        ({"max_depth": 99}, "crawl_settings.max_depth", "expected 0 to 10"),
        ({"headers": {"Cookie": "sid=1"}}, "crawl_settings.headers", "Cookie is a personal header"),
    ],
)
def test_settings_that_no_run_can_have_are_refused_when_they_are_saved(
    settings: dict[str, Any], field: str, detail: str
) -> None:
    with pytest.raises(InvalidJobField) as refused:
        check_change({"crawl_settings": settings})

    assert refused.value.field == field
    assert detail in str(refused.value)
