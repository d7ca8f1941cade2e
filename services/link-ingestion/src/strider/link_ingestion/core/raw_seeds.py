"""Limits of raw seeds: the settings and crawl specs that unknown senders may use.

A raw seed is one without an owner's signature. Its crawl delay counts for all who crawl the host, and its
sizes are paid for by all, so both have a floor and a ceiling here; the ranges that hold for owners, too, are
`strider.contracts.seed_limits`. Each sentence names field, value, range and setting. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import chain
from typing import Final

from strider.contracts.generated.enums import RequestKind, Scope
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.seed_names import LIMIT_FIELDS
from strider.contracts.specs.crawl_specs import spec_from_seed
from strider.politeness import personal_headers
from strider.urls import RefusedUrl, host_of, to_wire_url

OWNERS_MAY: Final = "an owner, who signs with STRIDER_OWNER_KEY, may go beyond"

_DELAY: Final = ("STRIDER_SEEDS_MIN_DELAY", "STRIDER_SEEDS_MAX_DELAY")
_LOCAL_SCOPES: Final = frozenset({Scope.HOST, Scope.LISTED})
"""Scopes in which the links of a loopback host lead nowhere else."""

_AT_MOST_DEFAULT: Final = (
    *("max_hops", "max_links_per_page", "max_url_bytes", "max_body_bytes", "max_in_flight_per_group"),
    *("request_timeout_seconds", "host_patience_seconds", "max_tries"),
)
"""Numbers of a crawl spec that a seed cannot set; above the default they cost more than a raw seed may."""

_DEFAULT_ONLY: Final = (
    *("respect_robots", "respect_nofollow", "respect_noindex", "continuous", "rendering"),
    *("user_agent", "insecure_tls_hosts", "archive_bodies", "use_cookies", "feed_poll_seconds"),
)
"""Fields of a crawl spec that only owners may change; the cookies of a run are shared by all its seeds."""

_LIMITED: Final = ("delay_seconds", "priority", "max_depth", *LIMIT_FIELDS, "headers")
"""Fields of a crawl spec that the settings STRIDER_SEEDS_… limit."""


@dataclass(frozen=True, slots=True)
class RawSeedLimits:
    """Limits of raw seeds; the fields are those of the settings STRIDER_SEEDS_….

    A ceiling of pages, bytes or seconds of 0 is none. Where a seed sets no limit, the scheduler's apply.
    """

    min_delay_seconds: float = 1.0
    max_delay_seconds: float = 60.0
    max_priority: int = 3
    max_depth: int = 10
    max_pages: int = 0
    max_bytes: int = 0
    max_seconds: int = 0
    max_headers: int = 16
    max_header_bytes: int = 4096
    max_metadata_bytes: int = 4096
    max_spec_bytes: int = 4096
    allow_fresh: bool = True
    kinds: tuple[str, ...] = (RequestKind.PAGE, RequestKind.SITEMAP, RequestKind.FEED)


DEFAULT_LIMITS: Final = RawSeedLimits()


def raw_seed_fault(seed: SeedSubmitted, limits: RawSeedLimits, *, allow_private: bool) -> str:
    """Return the first limit that a raw seed exceeds, as a sentence; empty for none."""
    faults = _seed_faults(seed, limits, allow_private=allow_private)
    return next(chain(faults, _settings_faults(seed, limits, allow_private=allow_private)), "")


def raw_spec_fault(spec: CrawlSpecDeclared, limits: RawSeedLimits, *, url: str, allow_private: bool) -> str:
    """Return why a raw seed for a URL may not name a crawl spec, as a sentence; empty where it may."""
    fault = next(_spec_faults(spec, limits, url=url, allow_private=allow_private), "")
    return f"crawl_spec_id: {fault}" if fault else ""


def raw_rule(field: str) -> str:
    """Return what a raw seed may set a field of a crawl spec to, in a few words."""
    if field in _DEFAULT_ONLY:
        return "no"
    if field in _AT_MOST_DEFAULT:
        return "up to the default"
    return "within limits" if field in _LIMITED else "yes"


def _seed_faults(seed: SeedSubmitted, limits: RawSeedLimits, *, allow_private: bool) -> Iterator[str]:
    is_local = allow_private and (seed.scope or Scope.HOST) in _LOCAL_SCOPES and _is_loopback(seed.url)
    yield from _delay_fault("delay", seed.delay, limits, is_local=is_local)
    yield from _above("priority", seed.priority, limits.max_priority, "STRIDER_SEEDS_MAX_PRIORITY")
    yield from _above("max_depth", seed.max_depth, limits.max_depth, "STRIDER_SEEDS_MAX_DEPTH")
    yield from _budget_faults(seed, limits)
    for name in personal_headers(seed.headers):
        yield f"headers: {name} is a personal header, which a raw seed may not set; {OWNERS_MAY}"
    yield from _header_faults(seed.headers, limits)
    yield from _above(
        "the size of metadata",
        _size_of(seed.metadata),
        limits.max_metadata_bytes,
        "STRIDER_SEEDS_MAX_METADATA_BYTES",
    )
    if seed.fresh and not limits.allow_fresh:
        yield f"fresh is true, which STRIDER_SEEDS_ALLOW_FRESH forbids for raw seeds; {OWNERS_MAY}"
    if seed.kind not in limits.kinds:
        yield (
            f"kind is {seed.kind!r}, a raw seed may be one of {', '.join(limits.kinds)} "
            f"(STRIDER_SEEDS_KINDS); {OWNERS_MAY}"
        )


def _settings_faults(seed: SeedSubmitted, limits: RawSeedLimits, *, allow_private: bool) -> Iterator[str]:
    """Yield what a raw seed may not set in its field `spec`, which has no fault of its own."""
    if not seed.spec:
        return
    text = seed.spec
    size_bytes = len(text.encode())
    yield from _above("the size of spec", size_bytes, limits.max_spec_bytes, "STRIDER_SEEDS_MAX_SPEC_BYTES")
    spec = spec_from_seed(seed)
    yield from _spec_faults(spec, limits, url=seed.url, allow_private=allow_private, prefix="spec.")


def _spec_faults(
    spec: CrawlSpecDeclared, limits: RawSeedLimits, *, url: str, allow_private: bool, prefix: str = ""
) -> Iterator[str]:
    is_local = (
        allow_private and spec.scope == Scope.HOST and not (spec.hosts or spec.domains) and _is_loopback(url)
    )
    yield from _delay_fault(f"{prefix}delay_seconds", spec.delay_seconds, limits, is_local=is_local)
    yield from _above(f"{prefix}priority", spec.priority, limits.max_priority, "STRIDER_SEEDS_MAX_PRIORITY")
    yield from _above(f"{prefix}max_depth", spec.max_depth, limits.max_depth, "STRIDER_SEEDS_MAX_DEPTH")
    yield from _budget_faults(spec, limits, prefix=prefix)
    yield from _header_faults(spec.headers, limits)
    default = CrawlSpecDeclared(crawl_spec_id="")
    for name in _AT_MOST_DEFAULT:
        yield from _above(f"{prefix}{name}", getattr(spec, name), getattr(default, name), "")
    for name in _DEFAULT_ONLY:
        if getattr(spec, name) != getattr(default, name):
            what = f"{prefix}{name}: set" if prefix else f"the crawl spec sets {name}"
            yield f"{what}, which a raw seed may not use; {OWNERS_MAY}"
    for name in personal_headers(spec.headers):
        yield f"the crawl spec sends the header {name}, which a raw seed may not use; {OWNERS_MAY}"


def _delay_fault(name: str, value: float | None, limits: RawSeedLimits, *, is_local: bool) -> Iterator[str]:
    least = 0.0 if is_local else limits.min_delay_seconds
    if value is not None and not least <= value <= limits.max_delay_seconds:
        yield (
            f"{name} is {_text(value)}, a raw seed may set {_text(limits.min_delay_seconds)} to "
            f"{_text(limits.max_delay_seconds)} seconds ({', '.join(_DELAY)}); {OWNERS_MAY}"
        )


def _budget_faults(
    limited: SeedSubmitted | CrawlSpecDeclared, limits: RawSeedLimits, *, prefix: str = ""
) -> Iterator[str]:
    for name in LIMIT_FIELDS:
        measure = "_".join(name.split("_", 2)[:2])
        if ceiling := getattr(limits, measure):
            setting = f"STRIDER_SEEDS_{measure.upper()}"
            yield from _above(f"{prefix}{name}", getattr(limited, name), ceiling, setting)


def _header_faults(headers: Mapping[str, str], limits: RawSeedLimits) -> Iterator[str]:
    yield from _above("the number of headers", len(headers), limits.max_headers, "STRIDER_SEEDS_MAX_HEADERS")
    yield from _above(
        "the size of headers", _size_of(headers), limits.max_header_bytes, "STRIDER_SEEDS_MAX_HEADER_BYTES"
    )


def _above(name: str, value: float | None, most: float, setting: str) -> Iterator[str]:
    if value is not None and value > most:
        where = f" ({setting})" if setting else ""
        yield f"{name} is {_text(value)}, a raw seed may have at most {_text(most)}{where}; {OWNERS_MAY}"


def _text(number: float) -> str:
    """Return a number in all its digits, and a whole one without a point."""
    return str(int(number)) if number == int(number) else str(number)


def _size_of(texts: Mapping[str, str]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for pair in texts.items() for text in pair)


def _is_loopback(url: str) -> bool:
    """Whether a URL names this machine by its address, or by the name that is reserved for it."""
    found = to_wire_url(url)
    if isinstance(found, RefusedUrl):
        return False
    host = host_of(found).removesuffix(".")
    if host == "localhost":
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
