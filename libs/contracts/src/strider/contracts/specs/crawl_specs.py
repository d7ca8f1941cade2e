"""Crawl specs: settings of a run derived from a seed or combined from layers, and their ids.

A spec's id is the hash of its content: it covers every setting that differs from its default, so equal
settings get the same id wherever they come from, and a new setting changes no existing id. Pure. Decides
nothing about single URLs and reads no topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, replace
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.seed_limits import DEFAULT_DEPTH, MAX_DEPTH

from .settings import read_settings

_UNHASHED_FIELDS: Final = frozenset({"crawl_spec_id", "labels"})
"""Fields that the hash does not cover: the id itself, and descriptive labels."""

_CACHED_SPECS: Final = 512

_SHARED_FIELDS: Final = (
    *("scope", "include", "exclude", "extraction"),
    *("max_pages", "max_bytes", "max_seconds"),
    *("max_pages_per_host", "max_bytes_per_host", "max_seconds_per_host"),
    *("max_pages_per_domain", "max_bytes_per_domain", "max_seconds_per_domain"),
)
"""Fields that seeds and specs have by the same name, with None or nothing for one that is not set."""

_NOT_GIVEN: Final[tuple[Any, ...]] = (None, "", ())


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


class SpecLayer(NamedTuple):
    """Settings of one place, such as a source, a job or a seed."""

    name: str
    settings: Mapping[str, Any]
    """Values by field, as `specs.settings` parses them; what is not set is left out."""


class LayeredSpec(NamedTuple):
    """A spec, and the layer that each of its settings comes from."""

    spec: CrawlSpecDeclared
    origins: Mapping[str, str]
    """Name of the layer by field; fields that no layer sets have their default, and are left out."""


def combine_layers(layers: Iterable[SpecLayer]) -> LayeredSpec:
    """Combine settings, the last layer first: each field has the value of the last layer that sets it.

    Maps, such as `headers`, are combined by name; lists are replaced.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        for name, value in layer.settings.items():
            values[name] = {**values.get(name, {}), **value} if isinstance(value, Mapping) else _frozen(value)
            origins[name] = layer.name
    spec = CrawlSpecDeclared(crawl_spec_id="", **values)
    return LayeredSpec(replace(spec, crawl_spec_id=spec_id(spec)), origins)


def changed_settings(spec: CrawlSpecDeclared) -> dict[str, Any]:
    """Return the settings of a spec that differ from their defaults, labels included."""
    defaults = {**_defaults(), "labels": {}}
    return {
        name: value
        for name, default in defaults.items()
        if (value := _normalized(getattr(spec, name))) != default
    }


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


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
    spec: str


def spec_from_seed(seed: SeedSubmitted) -> CrawlSpecDeclared:
    """Return the spec for a seed that does not name a declared one: its own fields come before its field
    `spec`. Raises DecodeError where that is not valid, as `settings_fault` reports before.
    """
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
            spec=seed.spec,
        )
    )


@lru_cache(maxsize=_CACHED_SPECS)
def _spec_from_settings(settings: _SeedSettings) -> CrawlSpecDeclared:
    given = read_settings(settings.spec)
    own: dict[str, Any] = {
        name: value for name in _SHARED_FIELDS if (value := getattr(settings, name)) not in _NOT_GIVEN
    }
    if settings.max_depth or "max_depth" not in given:
        own["max_depth"] = effective_depth(settings.max_depth)
    if settings.delay is not None:
        own["delay_seconds"] = settings.delay
    # Pages found from a seed are never more urgent than the seed itself.
    own["priority"] = min(given.get("priority", _default_priority()), settings.priority)
    if settings.headers:
        own["headers"] = dict(settings.headers)
    return combine_layers((SpecLayer("spec", given), SpecLayer("seed", own))).spec


def _default_priority() -> int:
    return CrawlSpecDeclared(crawl_spec_id="").priority


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
