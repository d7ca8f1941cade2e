"""The binary encoding of an entry's slot in Redis, to the bit.

What many entries share (owner, state) is one number, which stands for a *shape*; keys are raw bytes; a
referrer omits what the URL contains already; fields at their defaults take no space. Pure. Knows nothing of
where numbers come from, of scripts, or of what a field means.

A slot is 14 bytes that the scripts own, then the tail: due time, priority, number of the execution, fetch
sequence (these the scripts read), and what only this module reads.
"""

from __future__ import annotations

import json
from binascii import hexlify, unhexlify
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from operator import attrgetter
from struct import Struct
from typing import Any, Final
from zlib import crc32

from strider.contracts.generated.events import EntryRecorded

from .models import EntryLocation
from .turns import queue_of

SHARED_FIELDS: Final = (
    "job_id", "execution_id", "crawl_spec_id", "state", "reason", "kind", "hop", "depth", "priority",
    "is_start", "tries", "error_count", "error_class", "losses", "status", "needs_rendering",
)  # fmt: skip
"""Fields whose values together are a shape: few combinations, many entries."""

OWN_FIELDS: Final = (
    "url_key",
    "url",
    "referrer",
    "fetch_sequence",
    "updated_at_ms",
    "discovered_at_ms",
    "due_at_ms",
)
"""Fields with a fixed position in each tail."""

RARE_FIELDS: Final = (
    "redirect_chain", "metadata", "fetched_at_ms", "closed_at_ms", "next_crawl_at_ms", "interval_seconds",
    "changed_at_ms", "unchanged_count", "raw_hash", "text_hash", "etag", "last_modified", "redirect_target",
    "seed_token", "body_bytes", "busy_ms",
)  # fmt: skip
"""Fields that are in a tail only where they differ from their defaults, by their index here."""

_TAIL: Final = Struct(">QQI32sHHB")
"""Due, priority and execution; rest of the execution, and sequence; shape and flags; key; lengths of URL and
referrer, and how much of the referrer is a prefix of the URL. Numbers share words, because one call for each
costs more than shifting.
"""

_TEXT_SHARING: Final = "texts are shared by bytes"
FIELDS_DIGEST: Final = (
    f"{crc32(repr((SHARED_FIELDS, OWN_FIELDS, RARE_FIELDS, _TAIL.format, _TEXT_SHARING)).encode()):08x}"
)
"""Changes with the fields: a shard that another version encoded is rebuilt, not read."""

EntryShape = tuple[Any, ...]
ShapeFields = Mapping[str, Any]
"""A shape by the names of its fields."""

shape_of: Callable[[EntryRecorded], EntryShape] = attrgetter(*SHARED_FIELDS)

RareValues = tuple[Any, ...]
"""Values of the rare fields, in their order."""

OwnValues = tuple[bytes, bytes, bytes, bytes, int, int, int, int]
"""URL key, URL, group and referrer; fetch sequence; times of update, discovery and due."""

rare_values: Callable[[EntryRecorded], RareValues] = attrgetter(*RARE_FIELDS)

_HEAD: Final = Struct(">BHIHIB")
"""Phase; ticket, or lease that holds the entry; last outcome; pace: the scripts' part of a slot."""
SLOT_SIZE: Final = _HEAD.size
"""Bytes of that part: the tail follows it."""
_RARE: Final = Struct(">BI")

QUEUED: Final = 0
LEASED: Final = 1
IN_PIPELINE: Final = 2
"""Phases of a slot."""
LOCATION_OF_PHASE: Final = {
    QUEUED: EntryLocation.QUEUED,
    LEASED: EntryLocation.LEASED,
    IN_PIPELINE: EntryLocation.PIPELINE,
}
PHASE_OF_LOCATION: Final = {location: phase for phase, location in LOCATION_OF_PHASE.items()}

_KEY_IS_TEXT: Final = 1
_GROUP_IS_EXPLICIT: Final = 2
_IS_HTTPS: Final = 4
"""The URL is stored without its scheme."""
_TIMES_DIFFER: Final = 8
"""Times of discovery and update differ from the due time and are stored."""

_MAX_48: Final = (1 << 48) - 1
_HTTPS: Final = b"https://"
_HTTPS_SIZE: Final = len(_HTTPS)
_HASH_CHARACTERS: Final = 64
_TEXT_KEY: Final = len(RARE_FIELDS)
_TEXT_GROUP: Final = len(RARE_FIELDS) + 1
_TIMES: Final = len(RARE_FIELDS) + 2
_MAX_SHARED_PREFIX: Final = 0xFF
_URL_LIMIT: Final = 0xFFFF


def rare_defaults() -> tuple[Any, ...]:
    """Return the defaults of the rare fields."""
    known = {each.name: each for each in fields(EntryRecorded)}
    return tuple(
        known[name].default if known[name].default is not MISSING else {}  # only the metadata has a factory
        for name in RARE_FIELDS
    )


RARE_DEFAULTS: Final = rare_defaults()
"""All rare fields at their defaults."""


def shape_text(shape: EntryShape) -> str:
    """Return a shape as the text that gets a number."""
    return json.dumps(shape, ensure_ascii=False, separators=(",", ":"))


def parse_shape(text: str) -> ShapeFields:
    """Return the fields of a shape from its text."""
    return dict(zip(SHARED_FIELDS, json.loads(text), strict=True))


def pack_tail(entry: EntryRecorded, *, shape: int, execution: int) -> bytes:
    """Encode the tail of an entry, given the numbers of its shape and its execution."""
    own = (
        encode_text(entry.url_key), encode_text(entry.url), encode_text(entry.group),
        encode_text(entry.referrer),
        entry.fetch_sequence, entry.updated_at_ms, entry.discovered_at_ms, entry.due_at_ms,
    )  # fmt: skip
    return pack_values(own, rare=rare_values(entry), queue=queue_of(entry), shape=shape, execution=execution)


def pack_values(own: OwnValues, *, rare: RareValues, queue: int, shape: int, execution: int) -> bytes:
    """Encode a tail from an entry's own values, texts as bytes."""
    url_key, url, group, referrer, sequence, updated, found, due = own
    if (due | sequence | updated | found) >> 48:
        due, sequence, updated, found = map(_clamp_48, (due, sequence, updated, found))
    flags, more = 0, []
    if (key := _unhex_hash(url_key)) is None:
        flags |= _KEY_IS_TEXT
        more.append(_pack_rare(_TEXT_KEY, url_key))
    site = _HTTPS + group
    if not url.startswith(site + b"/") or b":" in group:  # true for nearly all
        host, site = _host_and_origin(url)
        if group != host:
            flags |= _GROUP_IS_EXPLICIT
            more.append(_pack_rare(_TEXT_GROUP, group))
    if not found == updated == due:
        flags |= _TIMES_DIFFER
        more.append(_pack_rare(_TIMES, updated.to_bytes(6) + found.to_bytes(6)))
    if rare != RARE_DEFAULTS:
        more += _pack_rare_values(rare)
    beginning = referrer.rfind(b"/") + 1
    if beginning > _MAX_SHARED_PREFIX or not url.startswith(referrer[:beginning]):
        beginning = len(site) if len(site) <= _MAX_SHARED_PREFIX and referrer.startswith(site) else 0
    if url.startswith(_HTTPS):
        flags |= _IS_HTTPS
        url = url[_HTTPS_SIZE:]
    url, referrer = url[:_URL_LIMIT], referrer[beginning:][:_URL_LIMIT]
    head = _TAIL.pack(
        due << 16 | queue << 8 | execution >> 16, (execution & 0xFFFF) << 48 | sequence,
        shape << 8 | flags, key or b"", len(url), len(referrer), beginning,
    )  # fmt: skip
    return b"".join((head, url, referrer, *more)) if more else head + url + referrer


def split_slot(slot: bytes) -> tuple[bytes, int]:
    """Split a slot into its tail and the lease that holds it (0 for none)."""
    phase, high, low, *_ = _HEAD.unpack_from(slot)
    return slot[SLOT_SIZE:], high << 32 | low if phase == LEASED else 0


def slot_phase(slot: bytes) -> int:
    """Return the phase of a slot."""
    return slot[0]


def shape_number(tail: bytes) -> int:
    """Return the number of the shape that a tail needs to be decoded."""
    return int(_TAIL.unpack_from(tail)[2]) >> 8


def unpack_tail(tail: bytes, shared: ShapeFields, *, held_by: int = 0) -> EntryRecorded:
    """Decode an entry, with the fetch sequence of the lease that holds it, if any."""
    due, sequence, flags, key, url_size, ref_size, beginning = _TAIL.unpack_from(tail)
    end = _TAIL.size + url_size
    url = tail[_TAIL.size : end]
    if flags & _IS_HTTPS:
        url = _HTTPS + url
    referrer = url[:beginning] + tail[end : end + ref_size]
    rest = _unpack_rare(tail, end + ref_size) if len(tail) > end + ref_size else {}
    due >>= 16
    updated, found = rest.pop("times") if flags & _TIMES_DIFFER else (due, due)
    return EntryRecorded(
        url_key=rest.pop("url_key") if flags & _KEY_IS_TEXT else key.hex(),
        url=_decode(url),
        group=rest.pop("group") if flags & _GROUP_IS_EXPLICIT else _decode(_host_and_origin(url)[0]),
        referrer=_decode(referrer),
        fetch_sequence=held_by or sequence & _MAX_48,
        updated_at_ms=updated,
        discovered_at_ms=found,
        due_at_ms=due,
        **shared,
        **rest,
    )


def _host_and_origin(url: bytes) -> tuple[bytes, bytes]:
    """Return host and origin of a URL in WHATWG form; empty for anything else."""
    scheme, _, after = url.partition(b"://")
    authority, _, _ = after.partition(b"/")
    host, _, port = authority.rpartition(b":")
    name = host if host and port.isdigit() else authority
    return name, scheme + b"://" + authority


def _pack_rare_values(values: RareValues) -> list[bytes]:
    return [
        _pack_rare(number, _encode_rare(RARE_FIELDS[number], value))
        for number, value in enumerate(values)
        if value != RARE_DEFAULTS[number]
    ]


def _pack_rare(number: int, value: bytes) -> bytes:
    return _RARE.pack(number, len(value)) + value


def _encode_rare(name: str, value: Any) -> bytes:
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, str):
        text = encode_text(value)
        raw = _unhex_hash(text) if name.endswith("_hash") else None
        return b"t" + text if raw is None else b"h" + raw
    return json.dumps(value if isinstance(value, Sequence) else dict(value)).encode()


def _unpack_rare(tail: bytes, at: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while at < len(tail):
        number, size = _RARE.unpack_from(tail, at)
        value = tail[at + _RARE.size : at + _RARE.size + size]
        at += _RARE.size + size
        if number == _TIMES:
            found["times"] = int.from_bytes(value[:6]), int.from_bytes(value[6:])
        elif number >= _TEXT_KEY:
            found["url_key" if number == _TEXT_KEY else "group"] = _decode(value)
        else:
            found[RARE_FIELDS[number]] = _decode_rare(RARE_DEFAULTS[number], value)
    return found


def _decode_rare(default: Any, value: bytes) -> Any:
    if isinstance(default, int):
        return int(value)
    if isinstance(default, str):
        return value[1:].hex() if value[:1] == b"h" else _decode(value[1:])
    read = json.loads(value)
    return tuple(read) if isinstance(default, tuple) else read


def _unhex_hash(text: bytes) -> bytes | None:
    """Return 32 bytes for 64 lower-case hex digits; None for anything else."""
    if len(text) != _HASH_CHARACTERS:
        return None
    try:
        raw = unhexlify(text)
    except ValueError:
        return None
    return raw if hexlify(raw) == text else None


def _clamp_48(value: int) -> int:
    return min(max(value, 0), _MAX_48)


def encode_text(text: str) -> bytes:
    """Return a text as the bytes of a slot."""
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates, which a seed may contain
        return text.encode("utf-8", "surrogatepass")


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")
