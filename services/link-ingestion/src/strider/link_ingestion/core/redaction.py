"""Remove clear personal headers from the bytes of a seed that becomes a dead letter.

Such a seed could not be decoded, or its handler has failed, so its bytes are all that is known: JSON that may
be broken, or Avro, whose maps have a length before each text. What remains is what a person needs to see the
mistake; the whole message is in its topic until retention deletes it. Knows no schema.
"""

from __future__ import annotations

import re
from typing import Final

from strider.contracts.seeds import is_json_object
from strider.politeness import is_sensitive_header, parse_encrypted

REMOVED: Final = b"[removed]"

_JSON_PAIR: Final = re.compile(
    rb'"(?P<name>(?:[^"\\]|\\.){1,100})"(?P<colon>\s*:\s*)(?P<value>"(?:[^"\\]|\\.)*"?|[^\s,{}\[\]"]+)',
    re.DOTALL,
)
_ESCAPED_PAIR: Final = re.compile(rb'\\"(?P<name>[^"\\]{1,100})\\"(?P<colon>\s*:\s*)\\"(?P<value>[^"\\]*)')
"""A pair of an object that was written as a text."""
_AVRO_TEXT: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{3,163}")
_MAX_NAME_BYTES: Final = 63
"""Of a header name whose length Avro writes in one byte; there is none that is longer."""
_MAX_LENGTH_BYTES: Final = 5


def redact_seed(value: bytes) -> bytes:
    """Return the bytes of a seed without the values of personal headers; encrypted ones stay."""
    if not is_json_object(value):
        return _redact_avro(value)
    return _ESCAPED_PAIR.sub(_redacted_escaped, _JSON_PAIR.sub(_redacted_pair, value))


def _redacted_pair(pair: re.Match[bytes]) -> bytes:
    if not is_sensitive_header(_text(pair["name"])) or _is_encrypted(pair["value"].strip(b'"')):
        return pair[0]
    return b'"%b"%b"%b"' % (pair["name"], pair["colon"], REMOVED)


def _redacted_escaped(pair: re.Match[bytes]) -> bytes:
    if not is_sensitive_header(_text(pair["name"])) or _is_encrypted(pair["value"]):
        return pair[0]
    return b'\\"%b\\"%b\\"%b' % (pair["name"], pair["colon"], REMOVED)


def _redact_avro(value: bytes) -> bytes:
    """Overwrite the text that follows the name of a personal header, so that all lengths stay right."""
    redacted = bytearray(value)
    for text in _AVRO_TEXT.finditer(value):
        # The byte of a length may look like a letter of the name.
        for start in range(text.start(), text.end()):
            size = value[start - 1] // 2 if start else 0
            end = start + size
            is_name = 0 < size <= _MAX_NAME_BYTES and value[start - 1] % 2 == 0 and end <= text.end()
            if is_name and is_sensitive_header(_text(value[start:end])):
                first, last = _avro_text_at(value, end)
                if not _is_encrypted(value[first:last]):
                    redacted[first:last] = b"*" * (last - first)
    for pair in _JSON_PAIR.finditer(value):  # of the field `spec`
        if is_sensitive_header(_text(pair["name"])) and not _is_encrypted(pair["value"].strip(b'"')):
            redacted[pair.start("value") : pair.end("value")] = b"*" * len(pair["value"])
    return bytes(redacted)


def _avro_text_at(value: bytes, at: int) -> tuple[int, int]:
    """Return where a text begins and ends whose length is at a position; it may be cut off."""
    length = 0
    for number, byte in enumerate(value[at : at + _MAX_LENGTH_BYTES]):
        length |= (byte & 0x7F) << (7 * number)
        if byte < 0x80:  # noqa: PLR2004  # the last byte of a number
            first = at + number + 1
            return first, min(len(value), first + length // 2)
    return at, at


def _is_encrypted(value: bytes) -> bool:
    return parse_encrypted(_text(value)) is not None


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
