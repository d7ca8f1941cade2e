"""Some fields of an event, without reading the rest.

For whoever has millions of events to look through and needs a little of most of them: Avro writes
fields one after the other, so texts and numbers can be told apart by hand, and those that nobody wants
are stepped over. A glance is written out as code for its fields, once, which takes a fraction of the time
of a reader for all schemas. Texts are given as the bytes they are; what stands between two fields may be
wanted as it is, to tell events that agree in all of it. Decides nothing about what is wrong with an
event: what cannot be glanced at is read whole, by the codec, which says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from strider.contracts.topic import Topic

from .codec import Codec

_RANGE_SEPARATOR: Final = ".."
_MAX_SHIFT: Final = 63
"""Bits of a number, but for the last seven."""

_SIX_BYTES: Final = 6
_FIVE_CONTINUATION_BITS: Final = sum(0x80 << 7 * number for number in range(5))
"""What five bytes add by saying that more comes."""

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
_STEP: Final = f"""{_LENGTH}
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
    "string": _STEP, "long": _SKIP_NUMBER, "int": _SKIP_NUMBER, "boolean": "\n    at += 1",
    "array": _EMPTY, "map": _EMPTY,
}  # fmt: skip
_READS: Final[Mapping[str, str]] = {"string": _TEXT, "long": _NUMBER, "int": _NUMBER, "boolean": _FLAG}


class FieldPeeker:
    """Looks at some fields of the events of one topic, from one on or from the first."""

    def __init__(self, codec: Codec, topic: Topic[Any], *fields: str, first_field: str = "") -> None:
        """Make ready; `wanted` are fields in their order, or `first..last` for the bytes of several.

        Lists and maps up to the last of them must be empty, or there is no glance.
        """
        self._prefix = codec.message_prefix(topic)[0]
        fields = codec.schema_store.current(topic.schema_name).avro["fields"]
        names = [field["name"] for field in fields]
        first = names.index(first_field) if first_field else 0
        last = names.index(fields[-1].rpartition(_RANGE_SEPARATOR)[2])
        kinds = {field["name"]: _kind(field["type"]) for field in fields[first : last + 1]}
        self.read_at = _compile_peek(kinds, fields)
        """Gives what is wanted of the fields that begin at a place in an event."""
        self.empty_suffix = bytes(len(fields) - last - 1)
        """What follows where all other fields are empty: no text, nothing listed, zero, false."""

    def read(self, value: bytes) -> PeekedFields | None:
        """Give what is wanted, and where that ends; None where another version wrote it, or it is broken."""
        prefix = self._prefix
        return self.read_at(value, len(prefix)) if value.startswith(prefix) else None


def _kind(avro: Any) -> str:
    return str(avro["type"] if isinstance(avro, dict) else avro)


def _compile_peek(
    kinds: Mapping[str, str], wanted: Sequence[str]
) -> Callable[[bytes, int], PeekedFields | None]:
    """Write the function that reads these fields; it gives None where it cannot."""
    begins = {each.partition(_RANGE_SEPARATOR)[0]: number for number, each in enumerate(wanted)}
    ends = {
        each.partition(_RANGE_SEPARATOR)[2]: number
        for number, each in enumerate(wanted)
        if _RANGE_SEPARATOR in each
    }
    lines = ["def read(value, at):", "  try:"]
    for name, kind in kinds.items():
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
    names: dict[str, Any] = {"text": _text, "long": _read_long}
    exec("\n".join(lines), names)  # noqa: S102  # of the names and types of a schema that we have read
    written: Callable[[bytes, int], PeekedFields | None] = names["read"]
    return written


def _text(value: bytes, at: int) -> tuple[int, int]:
    """Read the length of a long text, doubled, and where its last byte stands."""
    number, at = _read_long(value, at)
    if number & 1:
        raise ValueError("a text of less than no length")
    return number, at


def _read_long(value: bytes, at: int) -> tuple[int, int]:
    """Read a number of several bytes as it is written, and where its last byte stands."""
    six = value[at : at + _SIX_BYTES]
    if len(six) == _SIX_BYTES:  # as times have
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
