"""Crawl specs: what a seed asks for as settings of a run, and by which names spec and run are known.

A spec is named by its content: the hash covers every setting that differs from its default, so the
same wish has the same name whoever writes it down, and a setting that comes later renames nothing.
Pure. Decides nothing about what a URL deserves, and reads no topic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

from .generated.events import CrawlSpecDeclared, SeedSubmitted
from .ids import ADHOC_JOB_ID
from .seed_limits import DEFAULT_DEPTH, MAX_DEPTH

_NAMELESS: Final = frozenset({"crawl_spec_id", "labels"})
"""What no hash covers: the name itself, and what is only written beside it."""

_CACHED_SPECS: Final = 512
_SPEC_CHARACTERS: Final = 12
_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999: a client may put any number into a message's timestamp."""


def spec_id(spec: CrawlSpecDeclared) -> str:
    """Name a spec: SHA-256, in lower-case hex, of its settings in their canonical form."""
    return sha256(canonical_spec(spec).encode()).hexdigest()


def canonical_spec(spec: CrawlSpecDeclared) -> str:
    """Write down what differs from the defaults: JSON without blanks, names and lists sorted, no repeats."""
    settings = {
        name: value
        for name, default in _defaults().items()
        if (value := _plain(getattr(spec, name))) != default
    }
    return json.dumps(settings, sort_keys=True, separators=(",", ":"))


class _SeedSettings(NamedTuple):
    """What of a seed is about the run; seeds come in lists, and a list has one wish."""

    scope: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    max_depth: int | None
    max_pages: int | None
    max_bytes: int | None
    max_seconds: int | None
    max_pages_per_host: int | None
    max_pages_per_domain: int | None
    max_bytes_per_host: int | None
    max_bytes_per_domain: int | None
    max_seconds_per_host: int | None
    max_seconds_per_domain: int | None
    priority: int
    delay: float | None
    extraction: str | None
    headers: tuple[tuple[str, str], ...]


def spec_from_seed(seed: SeedSubmitted) -> CrawlSpecDeclared:
    """Make the spec that a seed asks for, where it names none that was declared before."""
    return _spec_from_settings(
        _SeedSettings(
            scope=seed.scope,
            include=tuple(seed.include),
            exclude=tuple(seed.exclude),
            max_depth=seed.max_depth,
            max_pages=seed.max_pages,
            max_bytes=seed.max_bytes,
            max_seconds=seed.max_seconds,
            max_pages_per_host=seed.max_pages_per_host,
            max_pages_per_domain=seed.max_pages_per_domain,
            max_bytes_per_host=seed.max_bytes_per_host,
            max_bytes_per_domain=seed.max_bytes_per_domain,
            max_seconds_per_host=seed.max_seconds_per_host,
            max_seconds_per_domain=seed.max_seconds_per_domain,
            priority=seed.priority,
            delay=seed.delay,
            extraction=seed.extraction,
            headers=tuple(seed.headers.items()),
        )
    )


@lru_cache(maxsize=_CACHED_SPECS)
def _spec_from_settings(wish: _SeedSettings) -> CrawlSpecDeclared:
    default = CrawlSpecDeclared(crawl_spec_id="")
    spec = replace(
        default,
        scope=wish.scope or default.scope,
        include=wish.include,
        exclude=wish.exclude,
        max_depth=effective_depth(wish.max_depth),
        max_pages=wish.max_pages or 0,
        max_bytes=wish.max_bytes or 0,
        max_seconds=wish.max_seconds or 0,
        max_pages_per_host=wish.max_pages_per_host or 0,
        max_pages_per_domain=wish.max_pages_per_domain or 0,
        max_bytes_per_host=wish.max_bytes_per_host or 0,
        max_bytes_per_domain=wish.max_bytes_per_domain or 0,
        max_seconds_per_host=wish.max_seconds_per_host or 0,
        max_seconds_per_domain=wish.max_seconds_per_domain or 0,
        # What a seed leads to is never more urgent than the seed itself.
        priority=min(default.priority, wish.priority),
        delay_seconds=wish.delay,
        extraction=wish.extraction or default.extraction,
        headers=dict(wish.headers),
    )
    return replace(spec, crawl_spec_id=spec_id(spec))


def effective_depth(wanted: int | None) -> int:
    """Say how many links are followed: nothing and 0 mean the default, too much means the most."""
    return min(wanted, MAX_DEPTH) if wanted and wanted > 0 else DEFAULT_DEPTH


def job_id_of_seed(seed: SeedSubmitted) -> str:
    """Name the job that a seed belongs to."""
    return seed.job_id or ADHOC_JOB_ID


def execution_id_of_seed(seed: SeedSubmitted, crawl_spec_id: str, timestamp_ms: int) -> str:
    """Name the run that a seed belongs to: the one it names, else its job's run of that UTC day and spec."""
    if seed.execution_id:
        return seed.execution_id
    seconds = min(max(timestamp_ms, 0), _LAST_MS) / 1000
    day = datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d")
    return f"{job_of(seed)}-{day}-{crawl_spec_id[:_SPEC_CHARACTERS]}"


@cache
def _defaults() -> Mapping[str, Any]:
    return {
        field.name: _plain(_default_of(field))
        for field in fields(CrawlSpecDeclared)
        if field.name not in _NAMELESS
    }


def _default_of(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _plain(value: Any) -> Any:
    """Give the one form of a value: 2.0 is 2, and an order or a repeat in a list of names means nothing."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return sorted(set(value))
    return dict(value) if isinstance(value, Mapping) else value
