"""Parse plain JSON documents that are published in place of Avro events, such as seeds.

For topics that accept it, any client can publish `{"url": "https://example.org/"}`. The schema decides
what the fields are; fields that are missing or null take their default. Accepted beyond the schema:

- a whole number may be written as 3.0, and 3 stands for 3.0;
- `priority` also takes the names high, medium, low and discovery, and the scale of task lists, from 1/10
  (most urgent) to 10/10;
- a text stands for a list with that text alone;
- in maps of texts, numbers and booleans become their JSON text, and null values are left out;
- `run` stands for `execution_id`, and a document with `"close": true` needs no `url`.

An unknown name is an error and is not ignored, since a misspelt limit would crawl without one; for the same
reason numbers outside the allowed ranges are refused. Whether a URL may be crawled is not decided here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any, Final

from .avro.resolution import default_value
from .avro.schema_model import SchemaField, SchemaNode
from .avro.validation import ValueLists
from .errors import DecodeError
from .seed_limits import seed_range_error

MAX_JSON_BYTES: Final = 64 * 1024
"""Maximum size of a JSON seed, enough for all its patterns and headers."""

MAX_DIGITS: Final = 30
"""Maximum digits of a number. No field takes longer ones, and parsing costs grow with the square of the
digits.
"""

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
_JSON_KINDS: Final = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BITS: Final = {"int": 31, "long": 63}


_EXPECTED_KINDS: Final = {
    "string": "a text",
    "boolean": "true or false",
    "int": "a whole number",
    "long": "a whole number",
    "float": "a number",
    "double": "a number",
    "array": "a list",
    "map": "an object",
}


def is_json_object(value: bytes) -> bool:
    """Whether a value is a JSON object, by its first non-blank byte (a UTF-8 byte order mark may precede)."""
    if value[:1] not in _JSON_STARTS:
        return False
    return value.removeprefix(_BYTE_ORDER_MARK)[:MAX_JSON_BYTES].lstrip(_BLANK).startswith(b"{")


def parse_json_event(value: bytes, node: SchemaNode, value_lists: ValueLists) -> dict[str, Any]:
    """Parse a document into a record of the schema; raises DecodeError that names the field."""
    if len(value) > MAX_JSON_BYTES:
        raise DecodeError("too_large", f"{len(value)} bytes of JSON, the limit is {MAX_JSON_BYTES}")
    document = _resolve_aliases(_parse_document(value))
    fields = {field.name: field for field in node.fields}
    for name in document:
        if name not in fields:
            raise DecodeError("unknown_field", f"{name[:80]!r}{_suggest_field(name, fields)}")
    event = {
        field.name: _field_value(field, document.get(field.name), value_lists)
        for field in node.fields
        if not (field.name == "url" and _needs_no_url(document))
    }
    return {"url": "", **event} if _needs_no_url(document) else event


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


def _parse_document(value: bytes) -> dict[str, Any]:
    try:
        text = value.decode("utf-8-sig")
        document = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_reject_constant,
            parse_int=_parse_integer,
            parse_float=_parse_float,
        )
    except UnicodeDecodeError as failure:
        raise DecodeError("bad_json", f"invalid UTF-8 at byte {failure.start}") from failure
    except json.JSONDecodeError as failure:
        raise DecodeError("bad_json", f"{failure.msg} at character {failure.pos}") from failure
    except RecursionError as failure:
        raise DecodeError("bad_json", "nested too deeply") from failure
    if not isinstance(document, dict):
        raise DecodeError("bad_json", f"expected an object, got {_kind_of_value(document)}")
    return document


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DecodeError("bad_json", f"{twice[:80]!r} is given twice")
    return document


def _reject_constant(constant: str) -> Any:
    raise DecodeError("bad_json", f"{constant} is not a JSON number")


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise DecodeError("bad_json", f"a number of {len(digits)} digits is too long")
    return int(digits)


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise DecodeError("bad_json", f"{digits[:MAX_DIGITS]} is too large a number")
    return number


def _field_value(field: SchemaField, value: Any, value_lists: ValueLists) -> Any:
    if value is None:
        if not field.has_default:
            raise DecodeError("missing_field", f"{field.name!r} is required")
        return default_value(field)
    if field.name == "priority" and isinstance(value, str):
        value = _priority(value)
    result = _convert(value, field.node, field.name)
    _require_allowed_values(field, result, value_lists)
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


def _convert(value: Any, node: SchemaNode, place: str) -> Any:
    if node.kind == "union":
        # Unions here are null and one type, and null has been replaced by the default before.
        return _convert(value, next(part for part in node.children if part.kind != "null"), place)
    if node.kind == "array" and isinstance(value, list | str):
        items = [value] if isinstance(value, str) else value
        return [_convert(item, node.children[0], f"{place}[{at}]") for at, item in enumerate(items)]
    if node.kind == "map" and isinstance(value, dict):
        return _convert_map(value, node.children[0], place)
    if node.kind == "string" and isinstance(value, str):
        return _storable_text(value, place)
    if node.kind == "boolean" and isinstance(value, bool):
        return value
    if (number := _number(value, node.kind, place)) is not None:
        return number
    raise DecodeError(
        "wrong_type", f"{place} is {_kind_of_value(value)}, expected {_EXPECTED_KINDS[node.kind]}"
    )


def _convert_map(value: Mapping[str, Any], part: SchemaNode, place: str) -> dict[str, Any]:
    def item(name: str, content: Any) -> Any:
        if part.kind == "string" and isinstance(content, bool | int | float):
            content = json.dumps(content)
        return _convert(content, part, f"{place}.{name[:80]}")

    return {
        _storable_text(name, place): item(name, content)
        for name, content in value.items()
        if content is not None
    }


def _number(value: Any, kind: str, place: str) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind in ("float", "double"):
        return float(value)
    if kind not in _BITS or value != int(value):
        return None
    if not -(1 << _BITS[kind]) <= value < 1 << _BITS[kind]:
        raise DecodeError("bad_value", f"{place} is {value}, out of range")
    return int(value)


def _storable_text(text: str, place: str) -> str:
    """Refuse text that would fail in a later service, where the sender cannot be informed."""
    if "\0" in text:
        raise DecodeError("bad_value", f"{place[:80]} contains a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as failure:
        raise DecodeError("bad_value", f"{place[:80]} contains a lone surrogate") from failure
    return text


def _require_allowed_values(field: SchemaField, value: Any, value_lists: ValueLists) -> None:
    if field.value_list is None:
        return
    known = value_lists[field.value_list]
    for word in value if isinstance(value, list) else [value]:
        if word not in known and word != field.default:
            raise DecodeError("bad_value", f"{field.name} is {word[:80]!r}{_suggest_nearest(word, known)}")


def _suggest_field(name: str, fields: Mapping[str, SchemaField]) -> str:
    """Suggest a field for an unknown name, which may be the name of a command line option."""
    normalized = name.lower().lstrip("-").replace("-", "_")
    field = FIELD_OF_OPTION.get(normalized, normalized)
    return f"; did you mean {field!r}?" if field in fields else _suggest_nearest(name, fields)


def _suggest_nearest(name: str, known: Any) -> str:
    """Suggest the most similar name, ignoring case."""
    by_lower = {each.lower(): each for each in known}
    near = get_close_matches(name[:80].lower(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else f"; allowed: {', '.join(sorted(known))}"


def _kind_of_value(value: Any) -> str:
    return _JSON_KINDS.get(type(value)) or f"the number {value}"
