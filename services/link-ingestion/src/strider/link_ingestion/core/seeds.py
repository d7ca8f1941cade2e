"""Decide about a seed: a link at depth 0, or a refusal with its reason.

People write seeds, so every mistake has a sentence: what is wrong, where, and what would be right. Nothing
here is an exception or a dead letter. Knows no topics and no stores; the caller passes the crawl specs that
exist.

A seed may add request headers, but none that frames a request, names its host or identifies the crawler by
other means: a wrong one breaks connections for other runs, or allows request smuggling.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from strider.contracts.crawl_specs import execution_id_of_seed, job_id_of_seed, spec_from_seed
from strider.contracts.generated.enums import DecisionReason, LinkVia, RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.seed_limits import SEED_RANGES, seed_range_error, spec_range_error
from strider.urls import (
    InvalidPattern,
    RefusedUrl,
    address_refusal,
    compile_patterns,
    host_kind,
    host_of,
    to_wire_url,
    url_hash,
    url_key_of,
)

from .link_batches import LinkItem, LinkOrigin, SeedPosition
from .refusal_events import RefusedSeed

MAX_BYTES: Final = 8 * 1024
"""Of all names and values; common servers refuse more."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNFIT_VALUE: Final = re.compile(r"[^\t\x20-\x7e\xa0-\xff]")

_OURS: Final = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def header_fault(headers: Mapping[str, str]) -> str:
    """Return the fault of custom headers; empty for none."""
    size_bytes = 0
    for name, value in headers.items():
        size_bytes += len(name) + len(value)
        if not _TOKEN.fullmatch(name):
            return f"headers: {name!r:.100} is not a valid header name"
        if name.lower() in _OURS:
            return f"headers: {name} is set by the crawler and cannot be changed"
        if _UNFIT_VALUE.search(value):
            return f"headers: the value of {name} contains a character that is not allowed in headers"
    return f"headers: {size_bytes} bytes, the limit is {MAX_BYTES}" if size_bytes > MAX_BYTES else ""


MAX_NAME_CHARS: Final = 200
"""Of job, run and source: they become parts of keys."""

_MAX_TEXT_CHARS: Final = 500
"""Of a text that is not a URL, and of a sentence: enough to find it again."""

_UNFIT_NAME: Final = re.compile(r"[\s{}\x00-\x1f\x7f-\x9f]")
_NAMES: Final = ("job_id", "execution_id", "source_id", "crawl_spec_id")
_BAD_KINDS: Final = frozenset({RequestKind.ROBOTS})
"""robots.txt is requested by the scheduler only, and is not a page."""


@dataclass(frozen=True, slots=True)
class AcceptedSeed:
    """An accepted seed."""

    item: LinkItem
    origin: LinkOrigin
    host: str
    spec: CrawlSpecDeclared | None
    """To be published before the seed's link; None where the seed names a declared spec."""


def accept_seed(
    seed: SeedSubmitted,
    position: SeedPosition,
    *,
    timestamp_ms: int,
    known_specs: Mapping[str, CrawlSpecDeclared],
    allow_private: bool,
) -> AcceptedSeed | RefusedSeed:
    """Accept or refuse a seed; `known_specs` has the specs that seeds may name."""
    found = to_wire_url(seed.url)
    if fault := _fault_of(seed):
        return _refuse(seed, found, DecisionReason.BAD_SEED, fault)
    named = seed.crawl_spec_id
    if named and named not in known_specs:
        return _refuse(
            seed, found, DecisionReason.UNKNOWN_SPEC, f"no crawl spec {named} was published on crawl-specs"
        )
    if named and (fault := spec_range_error(known_specs[named]) or _pattern_fault(known_specs[named])):
        return _refuse(seed, found, DecisionReason.UNKNOWN_SPEC, f"the crawl spec cannot be used: {fault}")
    if isinstance(found, RefusedUrl):
        return _refuse(seed, found, found.reason, _detail_of(found, seed.url))
    url_host = host_of(found)
    if blocked := address_refusal(host_kind(url_host), allow_private=allow_private):
        return _refuse(seed, found, blocked.reason, blocked.detail)
    spec = None if named else spec_from_seed(seed)
    spec_id = spec.crawl_spec_id if spec is not None else named or ""
    execution_id = execution_id_of_seed(seed, spec_id, timestamp_ms)
    origin = LinkOrigin(LinkVia.SEED, "", "", job_id_of_seed(seed), execution_id, spec_id, 0)
    item = LinkItem(
        url=found,
        url_key=url_hash(url_key_of(found)),
        depth=0,
        priority=seed.priority,
        kind=seed.kind,
        is_start=True,
        is_fresh=seed.fresh,
        seed=position,
        attachment=seed.metadata,
    )
    return AcceptedSeed(item, origin, url_host, spec)


def _fault_of(seed: SeedSubmitted) -> str:
    """Return the first fault of a seed; empty for none."""
    return (
        _number_fault(seed)
        or _name_fault(seed)
        or (f"kind is {seed.kind!r}, which seeds may not request" if seed.kind in _BAD_KINDS else "")
        or _pattern_fault(seed)
        or header_fault(seed.headers)
    )


def _number_fault(seed: SeedSubmitted) -> str:
    """Apply the ranges of JSON seeds to Avro seeds as well."""
    values = ((name, getattr(seed, name)) for name in SEED_RANGES)
    return next(
        (fault for name, value in values if value is not None and (fault := seed_range_error(name, value))),
        "",
    )


def _name_fault(seed: SeedSubmitted) -> str:
    for name in _NAMES:
        text = getattr(seed, name) or ""
        if len(text) > MAX_NAME_CHARS:
            return f"{name} has {len(text)} characters, the limit is {MAX_NAME_CHARS}"
        if _UNFIT_NAME.search(text):
            return f"{name} contains a blank, a brace or a control character"
    return ""


def _pattern_fault(of: SeedSubmitted | CrawlSpecDeclared) -> str:
    patterns = compile_patterns(of.include, of.exclude)
    return patterns.sentence() if isinstance(patterns, InvalidPattern) else ""


def _detail_of(refused: RefusedUrl, text: str) -> str:
    """Add a suggestion where only the scheme is missing, the most frequent mistake."""
    if refused.reason != DecisionReason.BAD_URL or "://" in text:
        return refused.detail
    guess = to_wire_url(f"https://{text.strip()}")
    return refused.detail if isinstance(guess, RefusedUrl) else f"without a scheme; did you mean {guess}?"


def _refuse(seed: SeedSubmitted, found: str | RefusedUrl, reason: str, detail: str) -> RefusedSeed:
    """Refuse a seed; its key is kept, so that `strider why` finds it."""
    return RefusedSeed(
        url=seed.url[:_MAX_TEXT_CHARS] if isinstance(found, RefusedUrl) else found,
        url_key="" if isinstance(found, RefusedUrl) else url_hash(url_key_of(found)),
        reason=reason,
        detail=detail[:_MAX_TEXT_CHARS],
        job_id=job_id_of_seed(seed)[:MAX_NAME_CHARS],
        execution_id=(seed.execution_id or "")[:MAX_NAME_CHARS],
    )
