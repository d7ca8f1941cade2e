"""Crawl specs: settings of a run derived from a seed, and their ids.

A spec's id is the hash of its content: it covers every setting that differs from its default, so equal
settings get the same id wherever they come from, and a new setting changes no existing id. Pure. Decides
nothing about single URLs and reads no topic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, replace
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

from .generated.events import CrawlSpecDeclared, SeedSubmitted
from .seed_limits import DEFAULT_DEPTH, MAX_DEPTH

_UNHASHED_FIELDS: Final = frozenset({"crawl_spec_id", "labels"})
"""Fields that the hash does not cover: the id itself, and descriptive labels."""

_CACHED_SPECS: Final = 512


def spec_id(spec: CrawlSpecDeclared) -> str:
    """Return the id of a spec: SHA-256 of its canonical form, in lower-case hex."""
    return sha256(canonical_spec(spec).encode()).hexdigest()


def canonical_spec(spec: CrawlSpecDeclared) -> str:
    """Return the settings that differ from the defaults: JSON without blanks, names and lists sorted, no
    repeats.
    """
    settings = {
        name: value
        for name, default in _defaults().items()
        if (value := _normalized(getattr(spec, name))) != default
    }
    return json.dumps(settings, sort_keys=True, separators=(",", ":"))


class _SeedSettings(NamedTuple):
    """The settings of a seed that concern the run: the cache key, because seeds of a list share them."""

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
    """Return the spec for a seed that does not name a declared one."""
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
def _spec_from_settings(settings: _SeedSettings) -> CrawlSpecDeclared:
    default = CrawlSpecDeclared(crawl_spec_id="")
    spec = replace(
        default,
        scope=settings.scope or default.scope,
        include=settings.include,
        exclude=settings.exclude,
        max_depth=effective_depth(settings.max_depth),
        max_pages=settings.max_pages or 0,
        max_bytes=settings.max_bytes or 0,
        max_seconds=settings.max_seconds or 0,
        max_pages_per_host=settings.max_pages_per_host or 0,
        max_pages_per_domain=settings.max_pages_per_domain or 0,
        max_bytes_per_host=settings.max_bytes_per_host or 0,
        max_bytes_per_domain=settings.max_bytes_per_domain or 0,
        max_seconds_per_host=settings.max_seconds_per_host or 0,
        max_seconds_per_domain=settings.max_seconds_per_domain or 0,
        # Pages found from a seed are never more urgent than the seed itself.
        priority=min(default.priority, settings.priority),
        delay_seconds=settings.delay,
        extraction=settings.extraction or default.extraction,
        headers=dict(settings.headers),
    )
    return replace(spec, crawl_spec_id=spec_id(spec))


def effective_depth(wanted: int | None) -> int:
    """Return the maximum depth: the default for None and 0, at most MAX_DEPTH."""
    return min(wanted, MAX_DEPTH) if wanted and wanted > 0 else DEFAULT_DEPTH


@cache
def _defaults() -> Mapping[str, Any]:
    return {
        field.name: _normalized(_default_of(field))
        for field in fields(CrawlSpecDeclared)
        if field.name not in _UNHASHED_FIELDS
    }


def _default_of(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _normalized(value: Any) -> Any:
    """Normalize a value: 2.0 becomes 2, and lists are sorted without repeats."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return sorted(set(value))
    return dict(value) if isinstance(value, Mapping) else value
