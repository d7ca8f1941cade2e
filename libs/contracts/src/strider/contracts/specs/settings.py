"""Settings of a crawl spec as a sender gives them, checked field by field.

Only those that it sets are in it. They come as JSON, in the field `spec` of a seed or in a file. An error
names its field (`spec.max_depth`). Names of hosts, patterns and headers have rules of their own, which
`strider.urls` and `strider.politeness` check. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final

from strider.contracts.avro.schema_model import SchemaField
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.avro.validation import ValueLists
from strider.contracts.errors import DecodeError
from strider.contracts.generated.topics import CRAWL_SPECS
from strider.contracts.json_values import convert_value, parse_document, require_words, suggest_nearest
from strider.contracts.seed_limits import SPEC_RANGES, range_error

from .fields import planned_fault

MAX_SPEC_BYTES: Final = 16 * 1024
"""Of the settings of one spec as JSON: specs are kept for a month, and read by every service."""

VALIDATION_RULE_SETS: Final = ("strict", "lenient")
"""Values of `validation_rules`, besides none for the configured rules."""

_CACHED_TEXTS: Final = 512

_NOT_SET: Final = frozenset({"crawl_spec_id"})
"""Follows from the others."""

_ITEM_RANGES: Final = {"allowed_ports": (1, 65_535)}

_TEXTS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "schemes": (re.compile(r"https?"), "http or https"),
    "refused_file_types": (re.compile(r"\.?[A-Za-z0-9]{1,10}"), "an ending of file names, such as pdf"),
    "path_prefixes": (re.compile(r"/\S*"), "a path, which begins with /"),
    "user_agent": (re.compile(r"[ -~]{0,500}"), "up to 500 printable ASCII characters"),
    "accept_language": (re.compile(r"[A-Za-z0-9*,;=. -]{0,200}"), "languages, such as de, en;q=0.5"),
    "parser": (re.compile(r"(?:[a-z][a-z0-9-]{1,40})?"), "the name of a site parser, or off"),
    "validation_rules": (
        re.compile("|".join(("", *VALIDATION_RULE_SETS))),
        " or ".join(("empty", *VALIDATION_RULE_SETS)),
    ),
}
"""The form of texts, and of the items of lists, with how it is called in an error."""

_SHOWN_CHARS: Final = 80


def parse_settings(document: Mapping[str, Any], *, place: str = "spec") -> dict[str, Any]:
    """Return the settings of an object; raises DecodeError that names the field below `place`.

    A field that is null is not set.
    """
    fields, value_lists = _spec_fields()
    for name in document:
        if name not in fields:
            raise DecodeError(
                "unknown_field", f"{_at(place, name[:_SHOWN_CHARS])}: unknown{suggest_nearest(name, fields)}"
            )
    settings = {
        name: _field_value(fields[name], value, value_lists, place)
        for name, value in document.items()
        if value is not None
    }
    if (size := len(settings_text(settings).encode())) > MAX_SPEC_BYTES:
        raise DecodeError(
            "too_large", f"{place or 'the document'} has {size} bytes, the limit is {MAX_SPEC_BYTES}"
        )
    return settings


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as the text of a seed's field `spec`; empty for none."""
    if not settings:
        return ""
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=_CACHED_TEXTS)
def read_settings(text: str) -> Mapping[str, Any]:
    """Return the settings of a seed's field `spec`; raises DecodeError that names the field."""
    if not text:
        return MappingProxyType({})
    try:
        document = parse_document(text.encode())
    except UnicodeEncodeError as failure:
        raise DecodeError("bad_value", "spec contains a lone surrogate") from failure
    except DecodeError as failure:
        raise DecodeError(failure.reason, f"spec: {failure.detail}") from failure
    settings = parse_settings(document)
    if "headers" in settings:
        raise DecodeError("bad_value", "spec.headers: set them in the field headers of the seed")
    return MappingProxyType(settings)


def settings_fault(text: str) -> str:
    """Return what is wrong with a seed's field `spec`; empty for none."""
    try:
        read_settings(text)
    except DecodeError as failure:
        return failure.detail
    return ""


def text_form(name: str) -> str:
    """Return the form of a field's text, or of its items, in words; empty where any text will do."""
    return _TEXTS[name][1] if name in _TEXTS else ""


def _field_value(field: SchemaField, value: Any, value_lists: ValueLists, place: str) -> Any:
    where = _at(place, field.name)
    result = convert_value(value, field.node, where)
    if field.value_list is not None:
        require_words(result, value_lists[field.value_list], where)
    if fault := next(_faults(field.name, result), ""):
        raise DecodeError("bad_value", _at(place, fault))
    return result


def _faults(name: str, value: Any) -> Iterator[str]:
    if name in SPEC_RANGES:
        yield from filter(None, [range_error(name, value, SPEC_RANGES[name])])
    if name in _ITEM_RANGES:
        yield from filter(None, [range_error(name, item, _ITEM_RANGES[name]) for item in value])
    if name in _TEXTS:
        form, expected = _TEXTS[name]
        for text in [value] if isinstance(value, str) else value:
            if not form.fullmatch(text):
                yield f"{name} is {text[:_SHOWN_CHARS]!r}, expected {expected}"
    yield from filter(None, [planned_fault(name, value)])


def _at(place: str, field: str) -> str:
    return f"{place}.{field}" if place else field


@cache
def _spec_fields() -> tuple[Mapping[str, SchemaField], ValueLists]:
    store = SchemaStore.bundled()
    node = store.current(CRAWL_SPECS.schema_name).node
    return {field.name: field for field in node.fields if field.name not in _NOT_SET}, store.value_lists


def parse_settings_document(content: bytes, *, place: str = "") -> dict[str, Any]:
    """Return the settings of a JSON document; raises DecodeError."""
    return parse_settings(parse_document(content), place=place)
