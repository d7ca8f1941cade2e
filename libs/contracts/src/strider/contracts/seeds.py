"""Parse plain JSON documents that are published in place of Avro events, such as seeds.

For topics that accept it, any client can publish `{"url": "https://example.org/"}`. The schema decides
what the fields are; fields that are missing or null take their default. Accepted beyond the schema:

- a whole number may be written as 3.0, and 3 stands for 3.0;
- `priority` also takes the names high, medium, low and discovery, and the scale of task lists, from 1/10
  (most urgent) to 10/10;
- a text stands for a list with that text alone;
- in maps of texts, numbers and booleans become their JSON text, and null values are left out;
- `run` stands for `execution_id`, and a document with `"close": true` needs no `url`;
- `spec` is an object with fields of a crawl spec.

An unknown name is an error and is not ignored, since a misspelt limit would crawl without one; for the same
reason numbers outside the allowed ranges are refused. Whether a URL may be crawled is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from .avro.resolution import default_value
from .avro.schema_model import SchemaField, SchemaNode
from .avro.validation import ValueLists
from .errors import DecodeError
from .json_values import convert_value, kind_of_value, parse_document, require_words, suggest_nearest
from .seed_limits import seed_range_error
from .specs.settings import parse_settings, settings_text

MAX_JSON_BYTES: Final = 64 * 1024
"""Maximum size of a JSON seed, enough for all its patterns and headers."""

PRIORITY_NAMES: Final = {"discovery": 0, "low": 1, "medium": 2, "high": 3}
TASK_PRIORITIES: Final = {f"{n}/10": 3 - (n - 1) // 3 for n in range(1, 11)}
"""1 to 3 are high, 4 to 6 medium (5 is the usual value), 7 to 9 low, 10 is discovery."""

FIELD_OF_OPTION: Final = {"extract": "extraction", "header": "headers", "job": "job_id"}
"""Command line option names whose field has another name."""

FIELD_ALIASES: Final = {"run": "execution_id"}
"""Further names of fields in documents."""

_BLANK: Final = b" \t\r\n"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_JSON_STARTS: Final = frozenset({b"{", b" ", b"\t", b"\r", b"\n", b"\xef"})
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def is_json_object(value: bytes) -> bool:
    """Whether a value is a JSON object, by its first non-blank byte (a UTF-8 byte order mark may precede)."""
    if value[:1] not in _JSON_STARTS:
        return False
    return value.removeprefix(_BYTE_ORDER_MARK)[:MAX_JSON_BYTES].lstrip(_BLANK).startswith(b"{")


def parse_json_event(value: bytes, node: SchemaNode, value_lists: ValueLists) -> dict[str, Any]:
    """Parse a document into a record of the schema; raises DecodeError that names the field."""
    if len(value) > MAX_JSON_BYTES:
        raise DecodeError("too_large", f"{len(value)} bytes of JSON, the limit is {MAX_JSON_BYTES}")
    document = _resolve_aliases(parse_document(value))
    fields = {field.name: field for field in node.fields}
    for name in document:
        if name not in fields:
            raise DecodeError("unknown_field", f"{name[:80]!r}{_suggest_field(name, fields)}")
    event = {
        field.name: _field_value(field, document.get(field.name), value_lists)
        for field in node.fields
        if not (field.name == "url" and _needs_no_url(document))
    }
    if isinstance(document.get("spec"), dict):
        event = _with_settings(event, document["spec"])
    return {"url": "", **event} if _needs_no_url(document) else event


def _with_settings(event: dict[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event with the settings of its field `spec`, whose headers are those of the seed.

    So that personal headers have one place, where they are encrypted.
    """
    settings = parse_settings(document)
    headers = {**settings.pop("headers", {}), **event["headers"]}
    return {**event, "headers": headers, "spec": settings_text(settings)}


def _resolve_aliases(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with the names of the schema."""
    for alias, name in FIELD_ALIASES.items():
        if alias in document:
            if name in document:
                raise DecodeError("bad_json", f"{alias!r} and {name!r} are the same field")
            document[name] = document.pop(alias)
    return document


def _needs_no_url(document: Mapping[str, Any]) -> bool:
    """Whether a document closes a run, and names no URL."""
    return document.get("close") is True and document.get("url") is None


def _field_value(field: SchemaField, value: Any, value_lists: ValueLists) -> Any:
    if value is None:
        if not field.has_default:
            raise DecodeError("missing_field", f"{field.name!r} is required")
        return default_value(field)
    if field.name == "priority" and isinstance(value, str):
        value = _priority(value)
    if field.name == "spec":
        if not isinstance(value, dict):
            raise DecodeError("wrong_type", f"spec is {kind_of_value(value)}, expected an object")
        return default_value(field)
    result = convert_value(value, field.node, field.name)
    if field.value_list is not None:
        require_words(result, value_lists[field.value_list], field.name, default=field.default)
    _require_range(field.name, result)
    if field.name == "url":
        _require_single_line(result, field.name)
    return result


def _priority(word: str) -> int:
    normalized = word.strip().lower()
    known = PRIORITY_NAMES.get(normalized, TASK_PRIORITIES.get(normalized))
    if known is None:
        names = ", ".join(sorted(PRIORITY_NAMES, key=lambda name: -PRIORITY_NAMES[name]))
        raise DecodeError(
            "bad_value", f"priority is {word[:80]!r}, expected one of {names}, 0 to 3, or 1/10 to 10/10"
        )
    return known


def _require_range(name: str, value: Any) -> None:
    if fault := seed_range_error(name, value):
        raise DecodeError("bad_value", fault)


def _require_single_line(text: str, place: str) -> None:
    if not text.strip():
        raise DecodeError("bad_value", f"{place} is empty")
    if _CONTROL.search(text):
        raise DecodeError("bad_value", f"{place} contains a control character")


def _suggest_field(name: str, fields: Mapping[str, SchemaField]) -> str:
    """Suggest a field for an unknown name, which may be the name of a command line option."""
    normalized = name.lower().lstrip("-").replace("-", "_")
    field = FIELD_OF_OPTION.get(normalized, normalized)
    return (
        f"; did you mean {field!r}?" if field in fields else suggest_nearest(name, [*fields, *FIELD_ALIASES])
    )
