"""Remove clear personal headers from the bytes of a seed that becomes a dead letter.

Such a seed could not be decoded, or its handler has failed, so its bytes are all that is known: JSON that may
be broken, or Avro, whose maps have a length before each text. Knows no schema.

Of a JSON document that can be parsed the values of personal headers are replaced, also in texts that are JSON
themselves. Where it cannot be parsed, nothing says where a value ends: all behind the first personal header
is removed. What remains is what a person needs to see the mistake; the whole message is in its topic until
retention deletes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from strider.contracts.seeds import is_json_object
from strider.politeness import is_sensitive_header, parse_encrypted

REMOVED: Final = "[removed]"

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z\\-]++")
"""A name as it may be written in JSON, with its escapes."""
_ESCAPE: Final = re.compile(r"\\+u00([0-7][0-9A-Fa-f])")
_AFTER_NAME: Final = re.compile(r"(?:[\\\"'\s]|(?<=\\)[nrt])*+[:=]")
_AFTER_JSON_NAME: Final = re.compile(r"(?:[\\\"\s]|(?<=\\)[nrt])*+:(?:(?<=[\\\"\s]:)|\s)")
"""Of a name in Avro's binary form, so that the port of a URL is no value."""
_AFTER_TEXT_NAME: Final = re.compile(r"(?:[\\\"'\s]|(?<=\\)[nrt])*+:")
_LISTED: Final = re.compile(r"\\*[\"']\s*,")
"""Text behind the name in `["Cookie", "…"]`."""
_ENCRYPTED: Final = re.compile(r"(?:\s|\\+[nrt])*\\*\"([^\"\\]*)\\*\"")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'{}\\]*")
_NO_OBJECT: Final = re.compile(r"(?:[\\\"'\s]|(?<=\\)[nrt])*+[^{]")
_HEADERS: Final = frozenset({"header", "headers"})

_AVRO_TEXT: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{3,163}")
_MAX_NAME_BYTES: Final = 63
"""Of a header name whose length Avro writes in one byte; there is none that is longer."""
_MAX_LENGTH_BYTES: Final = 5


class _Members(list[tuple[str, Any]]):
    """The members of a JSON object, also those with the same name."""


def redact_seed(value: bytes) -> bytes:
    """Return the bytes of a seed without the values of personal headers; encrypted ones stay."""
    if (text := _wide_text(value)) is not None:
        return _redact_document(text).encode("utf-8", "replace")
    if not is_json_object(value):
        return _redact_avro(value)
    try:
        text = value.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = value.decode("latin-1")
        return _redact_broken(text, _AFTER_NAME).encode("latin-1")
    redacted = _redact_document(text)
    return value if redacted == text else redacted.encode("utf-8", "surrogatepass")


def _wide_text(value: bytes) -> str | None:
    """Return a JSON object in UTF-16 or UTF-32, which no seed may be, and None for all else."""
    if not value or (encoding := json.detect_encoding(value)) in {"utf-8", "utf-8-sig"}:
        return None
    text = value.decode(encoding, "replace")
    return text if text.lstrip("\ufeff \t\r\n").startswith("{") and text.isprintable() else None


def _redact_document(text: str) -> str:
    try:
        return _redact_json(text)
    except (ValueError, RecursionError):
        return _redact_broken(text, _AFTER_NAME)


def _redact_json(text: str) -> str:
    """Return JSON without the values, unchanged where there is none; raises ValueError for other text."""
    document = json.loads(text, object_pairs_hook=_Members, strict=False)
    redacted = _redacted(document)
    return text if redacted == document else json.dumps(_as_objects(redacted))


def _redacted(value: Any) -> Any:
    if isinstance(value, _Members):
        return _Members((name, _redacted_member(name, each)) for name, each in value)
    if isinstance(value, list):
        return [_redacted(each) for each in value]
    return _redacted_text(value) if isinstance(value, str) else value


def _redacted_member(name: str, value: Any) -> Any:
    if is_sensitive_header(name):
        is_encrypted = isinstance(value, str) and parse_encrypted(value) is not None
        return value if is_encrypted or value is None else REMOVED
    if name.strip().lower() in _HEADERS and not isinstance(value, _Members):
        return REMOVED if any(map(is_sensitive_header, _texts(value))) else value
    return _redacted(value)


def _redacted_text(text: str) -> str:
    if _URL.fullmatch(text):
        return text
    try:
        return _redact_json(text) if text.lstrip()[:1] in {"{", "[", '"'} else _redact_plain(text)
    except ValueError:
        return _redact_broken(text, _AFTER_NAME)


def _redact_plain(text: str) -> str:
    return _redact_broken(text, _AFTER_TEXT_NAME)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _as_objects(value: Any) -> Any:
    """Return objects for their members. Where a name is repeated, its values become one list."""
    if isinstance(value, _Members):
        found: dict[str, Any] = {}
        for name, each in value:
            plain = _as_objects(each)
            found[name] = [found[name], plain] if name in found else plain
        return found
    return [_as_objects(each) for each in value] if isinstance(value, list) else value


def _redact_broken(text: str, after_name: re.Pattern[str]) -> str:
    """Return a text up to the first value of a personal header that is not encrypted."""
    for name, end in _personal_values(text, after_name):
        if text[end - 1] == "," or name in _HEADERS or not _is_encrypted_at(text, end):
            return f"{text[:end]} {REMOVED}"
    return text


def _personal_values(text: str, after_name: re.Pattern[str]) -> Iterator[tuple[str, int]]:
    """Yield where the values of personal headers begin, and those of headers that are no object."""
    for token in _TOKEN.finditer(text):
        name = token[0]
        is_listed = text[token.start() - 1 : token.start()] in {'"', "'"} and _LISTED.match(text, token.end())
        after = after_name.match(text, token.end()) or is_listed
        if not after:
            continue
        if _is_personal_name(name):
            yield name, after.end()
        elif (field := name.strip("\\").lower()) in _HEADERS and _NO_OBJECT.match(text, after.end()):
            yield field, after.end()


def _is_personal_name(token: str) -> bool:
    """Whether a token has the name of a personal header; an escape such as a line break may precede it."""
    parts = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), token).split("\\")
    return any(is_sensitive_header(part) or is_sensitive_header(part[1:]) for part in parts)


def _is_encrypted_at(text: str, at: int) -> bool:
    found = _ENCRYPTED.match(text, at)
    return found is not None and parse_encrypted(found[1]) is not None


def _redact_avro(value: bytes) -> bytes:
    """Overwrite the text that follows the name of a personal header, so that all lengths stay right."""
    redacted = bytearray(value)
    for text in _AVRO_TEXT.finditer(value):
        # The byte of a length may look like a letter of the name.
        for start in range(text.start(), text.end()):
            size = value[start - 1] // 2 if start else 0
            end = start + size
            is_name = 0 < size <= _MAX_NAME_BYTES and value[start - 1] % 2 == 0 and end <= text.end()
            if is_name and is_sensitive_header(value[start:end].decode("ascii")):
                first, last = _avro_text_at(value, end)
                if not _is_encrypted(value[first:last]):
                    redacted[first:last] = b"*" * (last - first)
    for first, last in _json_values(value):
        redacted[first:last] = b"*" * (last - first)
    return bytes(redacted)


def _json_values(value: bytes) -> Iterator[tuple[int, int]]:
    """Yield the rests of texts of JSON, such as that of the field `spec`, behind a personal header."""
    text, done, furthest = value.decode("latin-1"), 0, 0
    objects = [at for at, byte in enumerate(value) if byte in b"{["]
    following = 0
    for name, first in _personal_values(text, _AFTER_JSON_NAME):
        while following < len(objects) and objects[following] < first:
            furthest = max(furthest, _end_of_text(value, objects[following]))
            following += 1
        is_kept = name not in _HEADERS and text[first - 1] != "," and _is_encrypted_at(text, first)
        if first >= done and not is_kept:
            done = furthest if furthest > first else len(value)
            yield first, done


def _end_of_text(value: bytes, start: int) -> int:
    """Return where a text ends that has its length before it; 0 where no length is there."""
    found = (_avro_text(value, at) for at in range(max(0, start - _MAX_LENGTH_BYTES), start))
    return max((each[1] for each in found if each is not None and each[0] == start), default=0)


def _avro_text_at(value: bytes, at: int) -> tuple[int, int]:
    """Return where a text begins and ends whose length is at a position; without one, all that follows."""
    return _avro_text(value, at) or (at, len(value))


def _avro_text(value: bytes, at: int) -> tuple[int, int] | None:
    """Return where a text begins and ends, which may be cut off; None where there is no length."""
    length = 0
    for number, byte in enumerate(value[at : at + _MAX_LENGTH_BYTES]):
        length |= (byte & 0x7F) << (7 * number)
        if byte < 0x80:  # noqa: PLR2004  # the last byte of a number
            first = at + number + 1
            return None if length % 2 else (first, min(len(value), first + length // 2))
    return None


def _is_encrypted(value: bytes) -> bool:
    return parse_encrypted(value.decode("utf-8", "replace")) is not None
