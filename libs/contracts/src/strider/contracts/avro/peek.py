"""Read a few fields of an event without decoding the rest.

Meant for scans over millions of events that need a little of each. Avro writes fields one after the other, so
unneeded fields are skipped by their lengths. The reader is compiled for its fields once, which takes a
fraction of the time of a schema-driven reader. Texts are returned as bytes; the raw bytes of a range of
fields can be requested as well, to compare events that agree in all of it. Decides nothing about faulty
events: what cannot be read here is decoded by the codec, which reports the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from strider.contracts.topic import Topic

from .codec import Codec

_RANGE_SEPARATOR: Final = ".."
_MAX_SHIFT: Final = 63
"""Shift of the last byte of a 64-bit varint."""

_SIX_BYTES: Final = 6
_FIVE_CONTINUATION_BITS: Final = sum(0x80 << 7 * number for number in range(5))
"""Sum of the continuation bits of five varint bytes."""

PeekedFields = tuple[Any, ...]

_LENGTH: Final = """
    n = value[at]
    if n & 129:
        more = value[at + 1]
        if n & 1 or more > 127:
            n, at = text(value, at)
        else:
            n += (more << 7) - 128
            at += 1
    at += 1"""
_SKIP_TEXT: Final = f"""{_LENGTH}
    at += n >> 1"""
_TEXT: Final = f"""{_LENGTH}
    {{name}} = value[at : at + (n >> 1)]
    at += n >> 1"""
_NUMBER: Final = """
    n = value[at]
    if n > 127:
        n, at = long(value, at)
    at += 1
    {name} = (n >> 1) ^ -(n & 1)"""
_SKIP_NUMBER: Final = """
    while value[at] > 127:
        at += 1
    at += 1"""
_FLAG: Final = """
    {name} = value[at] == 1
    at += 1"""
_EMPTY: Final = """
    if value[at]:
        raise ValueError("more than nothing")
    at += 1"""

_SKIPS: Final[Mapping[str, str]] = {
    "string": _SKIP_TEXT, "long": _SKIP_NUMBER, "int": _SKIP_NUMBER, "boolean": "\n    at += 1",
    "array": _EMPTY, "map": _EMPTY,
}  # fmt: skip
_READS: Final[Mapping[str, str]] = {"string": _TEXT, "long": _NUMBER, "int": _NUMBER, "boolean": _FLAG}


class FieldPeeker:
    """Reader of some fields of one topic's events, from the first field or a later one."""

    def __init__(self, codec: Codec, topic: Topic[Any], *fields: str, first_field: str = "") -> None:
        """Compile the reader; `fields` are names in schema order, or `first..last` for the bytes of a range.

        Lists and maps up to the last field must be empty, else nothing is returned.
        """
        self._prefix = codec.message_prefix(topic)[0]
        declared = codec.schema_store.current(topic.schema_name).avro["fields"]
        names = [field["name"] for field in declared]
        first = names.index(first_field) if first_field else 0
        last = names.index(fields[-1].rpartition(_RANGE_SEPARATOR)[2])
        kinds = tuple((field["name"], _kind_name(field["type"])) for field in declared[first : last + 1])
        self.read_at = _compile_peek(kinds, fields)
        """Returns the selected fields that begin at an offset of an event."""
        self.empty_suffix = bytes(len(declared) - last - 1)
        """Bytes that follow where all other fields are empty: no text, empty lists, zero, false."""

    def read(self, value: bytes) -> PeekedFields | None:
        """Return the fields and the offset behind them; None for another schema version or broken bytes."""
        prefix = self._prefix
        return self.read_at(value, len(prefix)) if value.startswith(prefix) else None


def _kind_name(avro: Any) -> str:
    return str(avro["type"] if isinstance(avro, dict) else avro)


@cache
def _compile_peek(
    kinds: tuple[tuple[str, str], ...], wanted: tuple[str, ...]
) -> Callable[[bytes, int], PeekedFields | None]:
    """Compile the function that reads these fields, once; it returns None where it cannot."""
    begins = {each.partition(_RANGE_SEPARATOR)[0]: number for number, each in enumerate(wanted)}
    ends = {
        each.partition(_RANGE_SEPARATOR)[2]: number
        for number, each in enumerate(wanted)
        if _RANGE_SEPARATOR in each
    }
    lines = ["def read(value, at):", "  try:"]
    for name, kind in kinds:
        number = begins.get(name)
        if number is not None and _RANGE_SEPARATOR in wanted[number]:
            lines.append(f"    from_{number} = at")
            number = None
        lines.append(_SKIPS[kind] if number is None else _READS[kind].format(name=f"seen_{number}"))
        if name in ends:
            lines.append(f"    seen_{ends[name]} = value[from_{ends[name]} : at]")
    given = ", ".join(f"seen_{number}" for number in range(len(wanted)))
    lines += (f"    return ({given}, at) if at <= len(value) else None", "  except (IndexError, ValueError):")
    lines.append("    return None")
    names: dict[str, Any] = {"text": _read_length, "long": _read_long}
    exec("\n".join(lines), names)  # noqa: S102  # of the names and types of a schema that we have read
    written: Callable[[bytes, int], PeekedFields | None] = names["read"]
    return written


def _read_length(value: bytes, at: int) -> tuple[int, int]:
    """Return the length of a long text, doubled, and the offset of the length's last byte."""
    number, at = _read_long(value, at)
    if number & 1:
        raise ValueError("a text of less than no length")
    return number, at


def _read_long(value: bytes, at: int) -> tuple[int, int]:
    """Return a varint of several bytes without sign decoding, and the offset of its last byte."""
    six = value[at : at + _SIX_BYTES]
    if len(six) == _SIX_BYTES:  # the length of timestamps
        a, b, c, d, e, f = six
        if a & b & c & d & e > 0x7F >= f:  # noqa: PLR2004  # more follows the first five
            return a + (b << 7) + (c << 14) + (d << 21) + (e << 28) + (
                f << 35
            ) - _FIVE_CONTINUATION_BITS, at + _SIX_BYTES - 1
    number, shift = value[at] & 0x7F, 7
    while value[at] > 0x7F:  # noqa: PLR2004  # more follows
        if shift > _MAX_SHIFT:
            raise ValueError("a number without end")
        at += 1
        number |= (value[at] & 0x7F) << shift
        shift += 7
    return number, at
