"""How messages become events in part: only what is wanted is read, and only what is read is judged.

What is odd about a message, or bad in what was read, is said by whoever reads it whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from .book_nodes import Node
from .codec_checks import FieldTest, Test, finite_tests, first_failing
from .codec_reading import read_out
from .codec_reading_values import Read
from .codec_text import nul_test
from .inpart import Make, Wanted, making_in_part, wanted_of

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class PartReading:
    """How messages of one schema become events of one class, in part."""

    read: Read
    make: Make[Any]
    tests: tuple[FieldTest, ...]
    is_clean: Test | None

    def event(self, value: bytes, start: int, complete: Callable[[], E]) -> E | None:
        """Give an event whose other fields come by `complete`; None where the message is to be read whole."""
        try:
            record, end = self.read(value, start)
        except Exception:  # noqa: BLE001  # whatever it is, reading it whole tells
            return None
        if end != len(value) or first_failing(self.tests, record) is not None:
            return None
        if self.is_clean is not None and not self.is_clean(record):
            return None
        event: E = self.make(record, complete)
        return event


def part_reading(node: Node, event: type[Any], only: Sequence[str]) -> PartReading | None:
    """Give how these fields are read; None where all of such messages are to be read whole."""
    wanted = wanted_of(only)
    read = read_out(node, wanted)
    if read is None:
        return None
    part = _part(node, wanted)
    return PartReading(read, making_in_part(event, wanted), finite_tests(part), nul_test(part))


def _part(node: Node, wanted: Wanted) -> Node:
    """Give a record's type as if it had no other fields."""
    if not wanted:
        return node
    fields = (
        replace(each, node=_part(each.node, wanted[each.name])) for each in node.fields if each.name in wanted
    )
    return replace(node, fields=tuple(fields))
