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

from .codec import Codec
from .topic import Topic

_TO: Final = ".."
_LONGEST: Final = 63
"""Bits of a number, but for the last seven."""

_SIX: Final = 6
_FIVE_TO_COME: Final = sum(0x80 << 7 * number for number in range(5))
"""What five bytes add by saying that more comes."""

Seen = tuple[Any, ...]

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
_STEP_NUMBER: Final = """
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

_STEPS: Final[Mapping[str, str]] = {
    "string": _STEP, "long": _STEP_NUMBER, "int": _STEP_NUMBER, "boolean": "\n    at += 1",
    "array": _EMPTY, "map": _EMPTY,
}  # fmt: skip
_READS: Final[Mapping[str, str]] = {"string": _TEXT, "long": _NUMBER, "int": _NUMBER, "boolean": _FLAG}


class Glance:
    """Looks at some fields of the events of one topic, from one on or from the first."""

    def __init__(self, codec: Codec, topic: Topic[Any], *wanted: str, since: str = "") -> None:
        """Make ready; `wanted` are fields in their order, or `first..last` for the bytes of several.

        Lists and maps up to the last of them must be empty, or there is no glance.
        """
        self._prefix = codec.opening(topic)[0]
        fields = codec.book.ours(topic.schema_name).avro["fields"]
        names = [field["name"] for field in fields]
        first = names.index(since) if since else 0
        last = names.index(wanted[-1].rpartition(_TO)[2])
        kinds = {field["name"]: _kind(field["type"]) for field in fields[first : last + 1]}
        self.go_on = _written_out(kinds, wanted)
        """Gives what is wanted of the fields that begin at a place in an event."""
        self.empty_end = bytes(len(fields) - last - 1)
        """What follows where all other fields are empty: no text, nothing listed, zero, false."""

    def begin(self, value: bytes) -> Seen | None:
        """Give what is wanted, and where that ends; None where another version wrote it, or it is broken."""
        prefix = self._prefix
        return self.go_on(value, len(prefix)) if value.startswith(prefix) else None


def _kind(avro: Any) -> str:
    return str(avro["type"] if isinstance(avro, dict) else avro)


def _written_out(kinds: Mapping[str, str], wanted: Sequence[str]) -> Callable[[bytes, int], Seen | None]:
    """Write the function that reads these fields; it gives None where it cannot."""
    begins = {each.partition(_TO)[0]: number for number, each in enumerate(wanted)}
    ends = {each.partition(_TO)[2]: number for number, each in enumerate(wanted) if _TO in each}
    lines = ["def read(value, at):", "  try:"]
    for name, kind in kinds.items():
        number = begins.get(name)
        if number is not None and _TO in wanted[number]:
            lines.append(f"    from_{number} = at")
            number = None
        lines.append(_STEPS[kind] if number is None else _READS[kind].format(name=f"seen_{number}"))
        if name in ends:
            lines.append(f"    seen_{ends[name]} = value[from_{ends[name]} : at]")
    given = ", ".join(f"seen_{number}" for number in range(len(wanted)))
    lines += (f"    return ({given}, at) if at <= len(value) else None", "  except (IndexError, ValueError):")
    lines.append("    return None")
    names: dict[str, Any] = {"text": _text, "long": _long}
    exec("\n".join(lines), names)  # noqa: S102  # of the names and types of a schema that we have read
    written: Callable[[bytes, int], Seen | None] = names["read"]
    return written


def _text(value: bytes, at: int) -> tuple[int, int]:
    """Read the length of a long text, doubled, and where its last byte stands."""
    number, at = _long(value, at)
    if number & 1:
        raise ValueError("a text of less than no length")
    return number, at


def _long(value: bytes, at: int) -> tuple[int, int]:
    """Read a number of several bytes as it is written, and where its last byte stands."""
    six = value[at : at + _SIX]
    if len(six) == _SIX:  # as times have
        a, b, c, d, e, f = six
        if a & b & c & d & e > 0x7F >= f:  # noqa: PLR2004  # more follows the first five
            return a + (b << 7) + (c << 14) + (d << 21) + (e << 28) + (f << 35) - _FIVE_TO_COME, at + _SIX - 1
    number, shift = value[at] & 0x7F, 7
    while value[at] > 0x7F:  # noqa: PLR2004  # more follows
        if shift > _LONGEST:
            raise ValueError("a number without end")
        at += 1
        number |= (value[at] & 0x7F) << shift
        shift += 7
    return number, at
