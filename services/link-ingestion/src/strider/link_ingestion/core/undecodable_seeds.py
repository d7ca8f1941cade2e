"""Refusals of undecodable seeds, by the URL that their bytes contain.

Takes bytes in any framing, whole or cut, and returns the one text at the place of the URL. Whether that is a
URL is not decided here: any other text is reported as it was sent.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from strider.contracts.avro.framing import parse_frame
from strider.contracts.errors import DECODE_REASONS, DecodeError
from strider.contracts.generated.enums import DecisionReason
from strider.urls import RefusedUrl, escape_unstorable, to_wire_url, url_hash, url_key_of

from .link_batches import SeedPosition
from .refusal_events import RefusedSeed

_MAX_TEXT_CHARS: Final = 500
_MAX_FAULT_CHARS: Final = 400
_MAX_URL_CHARS: Final = 16 * 1024
"""Of a text that may be a URL; longer ones are none, and are identified by their beginning."""

_JSON_URL: Final = re.compile(rb'"url"\s*:\s*("(?:[^"\\]|\\.)*+")', re.DOTALL)
_LIKE_A_URL: Final = re.compile(rb"https?:[^\s\"'<>\\\x00-\x1f]+", re.IGNORECASE)
_MOST_LENGTH_BYTES: Final = 5


def url_in(raw: bytes) -> str:
    """Return the URL in a seed's bytes, as it was sent; empty where none is found."""
    if raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return _url_in_json(raw)[:_MAX_URL_CHARS]
    if text := _first_field(raw):
        return text[:_MAX_URL_CHARS]
    match = _LIKE_A_URL.search(raw)
    return _text(match[0])[:_MAX_URL_CHARS] if match else ""


def refuse_undecodable(raw: bytes, reason: str, position: SeedPosition, *, detail: str) -> RefusedSeed | None:
    """Refuse a seed that went to the dead letters, by the name of its faulty field where that is known; None
    where its bytes contain no URL.
    """
    text = url_in(raw).strip()
    if not text:
        return None
    found = to_wire_url(text)
    where = f"{position.topic}[{position.partition}]@{position.offset}"
    step = "decoded" if reason in DECODE_REASONS else "handled"
    fault = escape_unstorable(detail)[:_MAX_FAULT_CHARS] or f"the message cannot be {step}"
    return RefusedSeed(
        url=escape_unstorable(text)[:_MAX_TEXT_CHARS] if isinstance(found, RefusedUrl) else found,
        url_key="" if isinstance(found, RefusedUrl) else url_hash(url_key_of(found)),
        reason=DecisionReason.BAD_SEED,
        detail=f"{reason}: {fault}; it is kept as the dead letter of {where}",
        job_id="",
        execution_id="",
    )


def _url_in_json(raw: bytes) -> str:
    """Return the field of a JSON document; of a broken or cut one, the text after its name."""
    try:
        document = json.loads(_text(raw).removeprefix("\ufeff"), strict=False)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        url = document.get("url")
        return url if isinstance(url, str) else ""
    match = _JSON_URL.search(raw)
    return _json_text(match[1]) if match else ""


def _json_text(quoted: bytes) -> str:
    try:
        value: Any = json.loads(_text(quoted), strict=False)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _first_field(raw: bytes) -> str:
    """Return the first field in Avro's binary form, of a seed its URL: its length, doubled, and the text."""
    try:
        at = parse_frame(raw).start
    except DecodeError:
        return ""
    length, shift = 0, 0
    for byte in raw[at : at + _MOST_LENGTH_BYTES]:
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004  # the last byte of a number has no eighth bit
            break
    text = _text(raw[at : at + length // 2])
    return text if ":" in text else ""


def _text(raw: bytes) -> str:
    """Decode UTF-8; invalid bytes are kept as surrogates, so that no two texts become equal."""
    return raw.decode("utf-8", "surrogateescape")
