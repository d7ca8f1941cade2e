"""Values of JSON documents as values of Avro fields: types, texts, numbers, words of a list.

Used for documents that are published or given in place of events. Each error has a reason of a dead letter,
and names the place of the value.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any, Final

from .avro.schema_model import SchemaNode
from .errors import DecodeError

MAX_DIGITS: Final = 30
"""Maximum digits of a number. No field takes longer ones, and parsing costs grow with the square of the
digits.
"""

_JSON_KINDS: Final = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
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


def parse_document(value: bytes) -> dict[str, Any]:
    """Parse a JSON object; raises DecodeError for other documents, repeated names and unusable numbers."""
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
        raise DecodeError("bad_json", f"expected an object, got {kind_of_value(document)}")
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


def convert_value(value: Any, node: SchemaNode, place: str) -> Any:
    """Return a value as its Avro type has it; raises DecodeError that names the place."""
    if node.kind == "union":
        # Unions here are null and one type, and null has been replaced by the default before.
        return convert_value(value, next(part for part in node.children if part.kind != "null"), place)
    if node.kind == "array" and isinstance(value, list | str):
        items = [value] if isinstance(value, str) else value
        return [convert_value(item, node.children[0], f"{place}[{at}]") for at, item in enumerate(items)]
    if node.kind == "map" and isinstance(value, dict):
        return _convert_map(value, node.children[0], place)
    if node.kind == "string" and isinstance(value, str):
        return _storable_text(value, place)
    if node.kind == "boolean" and isinstance(value, bool):
        return value
    if (number := _number(value, node.kind, place)) is not None:
        return number
    raise DecodeError(
        "wrong_type", f"{place} is {kind_of_value(value)}, expected {_EXPECTED_KINDS[node.kind]}"
    )


def _convert_map(value: Mapping[str, Any], part: SchemaNode, place: str) -> dict[str, Any]:
    def item(name: str, content: Any) -> Any:
        if part.kind == "string" and isinstance(content, bool | int | float):
            content = json.dumps(content)
        return convert_value(content, part, f"{place}.{name[:80]}")

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


def suggest_nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the most similar name, ignoring case."""
    by_lower = {each.lower(): each for each in sorted(known)}
    near = get_close_matches(name[:80].lower(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else f"; allowed: {', '.join(by_lower.values())}"


def kind_of_value(value: Any) -> str:
    """Return the kind of a value, for an error."""
    return _JSON_KINDS.get(type(value)) or f"the number {value}"


def require_words(value: Any, known: Collection[str], place: str, *, default: Any = None) -> None:
    """Refuse a word, or a list with one, that its list of allowed values does not have."""
    for word in value if isinstance(value, list) else [value]:
        if word not in known and word != default:
            raise DecodeError("bad_value", f"{place} is {word[:80]!r}{suggest_nearest(word, known)}")
