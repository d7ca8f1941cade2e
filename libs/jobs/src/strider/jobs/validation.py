"""Checks of what a person sends for a job; each refusal names the field. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from strider.crawl.sources.spec_mapping import InvalidSetting, job_settings
from strider.politeness import parse_encrypted, personal_headers
from strider.urls import RefusedUrl, to_wire_url

from .errors import InvalidJobField
from .intervals import RETRY_CAP_SECONDS, interval_seconds, parse_interval_type
from .models import JobChange, NewJob

MAX_TEXT_CHARS: Final = 200
MAX_JSON_BYTES: Final = 65_536
MAX_RETRIES: Final = 100
MAX_PAGE: Final = 1_000
MAX_NESTING: Final = 32
"""Of objects and lists within each other: readers of JSON have limits of their own."""

_JOB_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED: Final = re.compile(r"adhoc(?:$|[-.])|raw[-.]")
"""Names of jobs of seeds without an owner: `contracts/seed_names.py`."""
_UNSTORABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSTORABLE_IN_JSON: Final = re.compile(r"[\x00\ud800-\udfff]")


def check_new_job(job: NewJob) -> NewJob:
    """Return a job with its defaults filled in; InvalidJobField where it cannot be created."""
    if job.job_id and not _JOB_ID.fullmatch(job.job_id):
        raise InvalidJobField("id", "1 to 100 letters, digits, dots, hyphens and underscores are possible")
    if _RESERVED.match(job.job_id):
        raise InvalidJobField("id", f"{job.job_id!r} is reserved for seeds without a job")
    unit = parse_interval_type(job.interval_type)
    recurs = job.interval_minutes is not None if job.schedule_enabled is None else job.schedule_enabled
    checked = replace(job, interval_type=unit, schedule_enabled=recurs)
    for name in JobChange.__annotations__:
        _check_field(name, getattr(checked, name))
    check_schedule(checked.interval_minutes, checked, is_enabled=recurs)
    return checked


def check_schedule(interval_minutes: int | None, job: Any, *, is_enabled: bool) -> None:
    """Refuse an interval and a schedule that contradict each other; `job` has the unit."""
    if interval_minutes is not None:
        interval_seconds(interval_minutes, job.interval_type)
    if is_enabled and interval_minutes is None:
        raise InvalidJobField("interval_minutes", "a job with schedule_enabled needs an interval")
    if not is_enabled and interval_minutes is not None:
        raise InvalidJobField("schedule_enabled", "a job with an interval needs schedule_enabled: true")


def check_change(change: Mapping[str, Any]) -> JobChange:
    """Return the checked change; InvalidJobField for an unknown field or a value that cannot be used."""
    checked = JobChange()
    for name, value in change.items():
        if name not in JobChange.__annotations__:
            raise InvalidJobField(name, "no field of a job that can be changed")
        used = parse_interval_type(value) if name == "interval_type" else value
        _check_field(name, used)
        checked[name] = used  # type: ignore[literal-required]  # it is one of the fields
    return checked


def check_limit(limit: int) -> int:
    """Return the size of a page; InvalidJobField where it is out of bounds."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidJobField("limit", f"{limit} is not within 1 to {MAX_PAGE}")
    return limit


def _check_field(name: str, value: Any) -> None:
    if name == "url":
        _check_url(value)
    elif name in {"source_id", "name"}:
        _check_text(name, value)
    elif name in {"schedule_enabled", "adaptive_scheduling"}:
        if not isinstance(value, bool):
            raise InvalidJobField(name, f"{value!r} is neither true nor false")
    elif name == "max_retries":
        _check_number(name, value, least=0, most=MAX_RETRIES)
    elif name == "retry_backoff_seconds":
        _check_number(name, value, least=1, most=RETRY_CAP_SECONDS)
    elif name in {"crawl_settings", "metadata"}:
        _check_object(name, value)
        if name == "crawl_settings":
            _check_settings(value)


def _check_url(value: Any) -> None:
    if not isinstance(value, str):
        raise InvalidJobField("url", "it must be text")
    found = to_wire_url(value)
    if isinstance(found, RefusedUrl):
        detail = f"{found.reason}, {found.detail}" if found.detail else found.reason
        raise InvalidJobField("url", f"not a URL that can be crawled ({detail})")
    if _UNSTORABLE.search(value):
        raise InvalidJobField("url", "it contains a control character")


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARS:
        raise InvalidJobField(name, f"it must be text of at most {MAX_TEXT_CHARS} characters")
    if _UNSTORABLE.search(value):
        raise InvalidJobField(name, "it contains a control character")


def _check_number(name: str, value: Any, *, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidJobField(name, f"it must be a whole number within {least} to {most}")


def _check_object(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise InvalidJobField(name, "it must be an object")
    if _is_nested_beyond(value, MAX_NESTING):
        raise InvalidJobField(name, f"it is nested more than {MAX_NESTING} times")
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidJobField(name, "it is not JSON") from None
    if _UNSTORABLE_IN_JSON.search(text) or "\\u0000" in text:
        raise InvalidJobField(name, "it contains a character that cannot be stored")
    if (size := len(text.encode())) > MAX_JSON_BYTES:
        raise InvalidJobField(name, f"it has {size} bytes, the limit is {MAX_JSON_BYTES}")


def _check_settings(value: Mapping[str, Any]) -> None:
    """Refuse settings that no run can have, and personal headers, which would be stored clear."""
    try:
        headers = job_settings(value).get("headers", {})
    except InvalidSetting as fault:
        raise InvalidJobField(f"crawl_settings.{fault.field}", fault.detail) from None
    if clear := [name for name in personal_headers(headers) if parse_encrypted(headers[name]) is None]:
        raise InvalidJobField(
            "crawl_settings.headers",
            f"{clear[0]} is a personal header: set it in the headers of the source, where it is encrypted",
        )


def _is_nested_beyond(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            item
            for each in level
            if isinstance(each, (Mapping, list, tuple))
            for item in (each.values() if isinstance(each, Mapping) else each)
        ]
        if not level:
            return False
    return any(isinstance(each, (Mapping, list, tuple)) for each in level)
