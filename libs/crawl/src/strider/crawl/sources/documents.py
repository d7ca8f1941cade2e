"""Parse documents of sources, JSON objects with the fields of `source-saved`.

A document is a new source, or a change to one. Every fault is reported, not only the first, under the name of
its field. What the crawler writes itself (id, version, times) is refused. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from strider.contracts import DecodeError
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SOURCES
from strider.contracts.seed_limits import DEEP_CRAWL_DEPTH, MAX_DEPTH
from strider.contracts.seeds import parse_json_event
from strider.politeness import header_fault
from strider.urls import (
    InvalidPattern,
    RefusedUrl,
    address_refusal,
    compile_patterns,
    host_kind,
    host_of,
    to_wire_url,
)

WRITTEN_HERE: Final = frozenset({"source_id", "created_at_ms", "updated_at_ms", "updated_by", "version"})
"""Fields that no document has: the code that saves a source writes them."""

FIELDS: Final = tuple(field.name for field in fields(SourceSaved) if field.name not in WRITTEN_HERE)
"""Fields that a document may have."""

REQUIRED: Final = ("name", "url")

MAX_NAME_CHARACTERS: Final = 200
MAX_ITEMS: Final = 1_000
"""Of a list."""
MAX_METADATA_BYTES: Final = 16 * 1024
MAX_SOURCE_BYTES: Final = 192 * 1024
"""Of all fields together, as JSON: a message of their topic has to carry them."""
MAX_INTERVAL_MINUTES: Final = 366 * 24 * 60

RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "max_depth": (0, MAX_DEPTH),
    "priority": (0, 3),
    "delay_seconds": (0, 86_400),
    "max_concurrent_requests": (1, 10_000),
    "interval_minutes": (0, MAX_INTERVAL_MINUTES),
    "crawl_frequency_seconds": (1, 10**9),
    "feed_poll_seconds": (0, 10**9),
    "max_pages": (0, 10**12),
}
"""Minimum and maximum of each number."""

_URL_LISTS: Final = ("start_urls", "feed_urls", "sitemap_urls")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SHOWN_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True)
class FieldFault:
    """The fault of a field in a document."""

    field: str
    detail: str

    def __str__(self) -> str:
        return f"{self.field}: {self.detail}"


class InvalidSource(ValueError):
    """A document that is no source, with the fault of each field."""

    def __init__(self, faults: Iterable[FieldFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))


def new_source(document: Mapping[str, Any], *, allow_private: bool) -> SourceSaved:
    """Return the source of a document, without id, version and times; raises InvalidSource."""
    missing = [FieldFault(name, "is required") for name in REQUIRED if document.get(name) is None]
    return _apply(SourceSaved("", "", ""), document, missing, allow_private=allow_private)


def changed_source(source: SourceSaved, document: Mapping[str, Any], *, allow_private: bool) -> SourceSaved:
    """Return a source with the fields of a document; null sets a field to its default. InvalidSource."""
    missing = [
        FieldFault(name, "is required") for name in REQUIRED if name in document and document[name] is None
    ]
    return _apply(source, document, missing, allow_private=allow_private)


def replaced_source(source: SourceSaved, document: Mapping[str, Any], *, allow_private: bool) -> SourceSaved:
    """Return a source with the fields of a document alone: those it lacks get their default."""
    fresh = new_source(document, allow_private=allow_private)
    return replace(fresh, **{name: getattr(source, name) for name in WRITTEN_HERE})


def warnings_about(source: SourceSaved) -> list[str]:
    """Return what is allowed, and seldom meant."""
    found = []
    if source.max_depth > DEEP_CRAWL_DEPTH:
        found.append(
            f"max_depth: {source.max_depth} links from a start URL is unusually deep; most sites need "
            f"{DEEP_CRAWL_DEPTH} or fewer"
        )
    if source.insecure_tls:
        found.append("insecure_tls: certificates of its hosts are not verified")
    return found


def document_of(source: SourceSaved) -> dict[str, Any]:
    """Return the fields of a source that a document may have."""
    return {name: plain_value(getattr(source, name)) for name in FIELDS}


def plain_value(value: Any) -> Any:
    """Return a value of an event as JSON has it."""
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _apply(
    source: SourceSaved, document: Mapping[str, Any], missing: list[FieldFault], *, allow_private: bool
) -> SourceSaved:
    faults, values = list(missing), dict[str, Any]()
    for name, value in document.items():
        if fault := _name_fault(name):
            faults.append(fault)
        elif name not in REQUIRED or value is not None:
            try:
                values[name] = _parse(name, value)
            except DecodeError as failure:
                faults.append(FieldFault(name, failure.detail.removeprefix(f"{name} ")))
    parsed = {fault.field for fault in faults}
    found = replace(source, **values)
    for name, check in _CHECKS.items():
        if name in values and name not in parsed:
            try:
                found = replace(found, **{name: check(getattr(found, name), allow_private)})
            except ValueError as failure:
                faults.append(FieldFault(name, str(failure)))
    faults += _pattern_faults(found) if {"include", "exclude"} & values.keys() else []
    faults += _size_faults(found) if not faults else []
    if faults:
        raise InvalidSource(faults)
    return found


def _name_fault(name: str) -> FieldFault | None:
    if name in FIELDS:
        return None
    shown = name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"
    if name in WRITTEN_HERE or name == "id":
        return FieldFault(shown, "is written by the crawler and cannot be set")
    near = get_close_matches(name[:_SHOWN_CHARACTERS].lower(), FIELDS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(FIELDS)}"
    return FieldFault(shown, f"no such field; {hint}")


def _parse(name: str, value: Any) -> Any:
    """Return the value of one field with its type; raises DecodeError."""
    store = _schemas()
    if name == "headers" and isinstance(value, dict) and any(not isinstance(v, str) for v in value.values()):
        raise DecodeError("wrong_type", "has a value that is not a text")
    text = json.dumps({"source_id": "-", "name": "-", "url": "-", name: value}).encode()
    record = parse_json_event(text, store.current(SOURCES.schema_name).node, store.value_lists)
    return getattr(SourceSaved.from_record(record), name)


@cache
def _schemas() -> SchemaStore:
    return SchemaStore.bundled()


def _checked_name(text: str, _allow_private: bool) -> str:
    name = text.strip()
    if not name:
        raise ValueError("is empty")
    if len(name) > MAX_NAME_CHARACTERS:
        raise ValueError(f"{len(name)} characters, the limit is {MAX_NAME_CHARACTERS}")
    if _CONTROL.search(name):
        raise ValueError("contains a control character")
    return name


def _checked_url(text: str, allow_private: bool) -> str:
    found = to_wire_url(text)
    if isinstance(found, RefusedUrl):
        raise ValueError(  # noqa: TRY004  # of the document, not of the caller
            f"{text[:_SHOWN_CHARACTERS]!r} is no URL that can be crawled: {found.text}"
        )
    if refusal := address_refusal(host_kind(host_of(found)), allow_private=allow_private):
        raise ValueError(f"{text[:_SHOWN_CHARACTERS]!r}: {refusal.text}")
    return found


def _checked_urls(texts: tuple[str, ...], allow_private: bool) -> tuple[str, ...]:
    _require_few(texts)
    return tuple(dict.fromkeys(_checked_url(text, allow_private) for text in texts))


def _checked_domains(names: tuple[str, ...], _allow_private: bool) -> tuple[str, ...]:
    _require_few(names)
    return tuple(dict.fromkeys(map(_host_name, names)))


def _host_name(text: str) -> str:
    name = text.strip().strip(".")
    found = to_wire_url(f"http://{name}/") if name and not re.search(r"[/\\?#@:\s]", name) else None
    if found is None or isinstance(found, RefusedUrl):
        raise ValueError(f"{text[:_SHOWN_CHARACTERS]!r} is not the name of a host or domain")
    return host_of(found)


def _require_few(values: tuple[str, ...]) -> None:
    if len(values) > MAX_ITEMS:
        raise ValueError(f"{len(values)} items, the limit is {MAX_ITEMS}")


def _checked_number(name: str) -> Callable[[Any, bool], Any]:
    least, most = RANGES[name]

    def check(value: Any, _allow_private: bool) -> Any:
        if value is not None and not least <= value <= most:
            raise ValueError(f"is {value}, expected {least} to {most}")
        return value

    return check


def _checked_parser(name: str, _allow_private: bool) -> str:
    if len(name) > MAX_NAME_CHARACTERS or _CONTROL.search(name):
        raise ValueError("is not the name of a site parser; see: strider parser list")
    return name


def _checked_metadata(texts: Mapping[str, str], _allow_private: bool) -> Mapping[str, str]:
    size_bytes = sum(len(name.encode()) + len(text.encode()) for name, text in texts.items())
    if size_bytes > MAX_METADATA_BYTES:
        raise ValueError(f"{size_bytes} bytes, the limit is {MAX_METADATA_BYTES}")
    return texts


def _checked_headers(headers: Mapping[str, str], _allow_private: bool) -> Mapping[str, str]:
    if fault := header_fault(headers):
        raise ValueError(fault.removeprefix("headers: "))
    return headers


def _pattern_faults(source: SourceSaved) -> list[FieldFault]:
    patterns = compile_patterns(source.include, source.exclude)
    if not isinstance(patterns, InvalidPattern):
        return []
    field = patterns.field if patterns.field in FIELDS else "include"
    return [FieldFault(field, patterns.sentence().removeprefix(f"{patterns.field}: "))]


def _size_faults(source: SourceSaved) -> list[FieldFault]:
    sizes = {name: len(json.dumps(value)) for name, value in document_of(source).items()}
    if sum(sizes.values()) <= MAX_SOURCE_BYTES:
        return []
    largest = max(sizes, key=lambda name: sizes[name])
    detail = (
        f"{sizes[largest]} bytes of {sum(sizes.values())}; all fields together may have {MAX_SOURCE_BYTES}"
    )
    return [FieldFault(largest, detail)]


_CHECKS: Final[Mapping[str, Callable[[Any, bool], Any]]] = {
    "name": _checked_name,
    "url": _checked_url,
    **dict.fromkeys(_URL_LISTS, _checked_urls),
    "domains": _checked_domains,
    "parser": _checked_parser,
    "metadata": _checked_metadata,
    "headers": _checked_headers,
    **{name: _checked_number(name) for name in RANGES},
}
