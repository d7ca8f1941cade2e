"""The first fields of an event, without reading the rest.

For whoever has millions of events to look through and needs a little of most of them: Avro writes
fields one after the other, so texts and whole numbers at the beginning can be told apart by hand, and
those that nobody wants are stepped over. That takes half the time of a reader for all schemas. Decides
nothing about what is wrong with an event: what cannot be glanced at is read whole, by the codec, which
says why.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from .codec import Codec
from .topic import Topic

_IS_TEXT: Final = {"string": True, "long": False, "int": False}
_SEVEN_BITS: Final = 0x7F
_LONGEST: Final = 63
"""Bits of a number, but for the last seven."""


class Glance:
    """Looks at the events of one topic up to one of their fields."""

    def __init__(self, codec: Codec, topic: Topic[Any], *, until: str, without: Collection[str] = ()) -> None:
        """Make ready; `until` is the last field wanted, and all up to it are texts or whole numbers."""
        self._prefix = codec.opening(topic)[0]
        fields = codec.book.ours(topic.schema_name).avro["fields"]
        last = [field["name"] for field in fields].index(until)
        self._fields = [
            ("" if field["name"] in without else field["name"], _IS_TEXT[field["type"]])
            for field in fields[: last + 1]
        ]

    def read(self, value: bytes) -> dict[str, Any] | None:
        """Give the fields by name; None for what this version did not write, or that cannot be read."""
        if not value.startswith(self._prefix):
            return None
        try:
            found, end = self._read(value, len(self._prefix))
        except (IndexError, ValueError):
            return None
        return found if end <= len(value) else None

    def _read(self, value: bytes, at: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        for name, is_text in self._fields:
            byte = value[at]
            at += 1
            number, shift = byte & _SEVEN_BITS, 7
            while byte > _SEVEN_BITS:
                if shift > _LONGEST:
                    raise ValueError("a number without end")
                byte = value[at]
                at += 1
                number |= (byte & _SEVEN_BITS) << shift
                shift += 7
            if not is_text:
                found[name] = (number >> 1) ^ -(number & 1)
                continue
            if number & 1:
                raise ValueError("a text of less than no length")
            end = at + (number >> 1)
            if name:
                found[name] = value[at:end].decode()
            at = end
        found.pop("", None)
        return found, at
