"""How messages become events in part: only what is wanted is read, and only what is read is judged.

What is odd about a message, or bad in what was read, is said by whoever reads it whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from .compiled_reader import compile_reader
from .compiled_reader_values import ReadFunction
from .partial_decode import FieldSelection, PartialFactory, compile_partial_factory, parse_field_selection
from .schema_model import SchemaNode
from .text_sanitizing import nul_free_test
from .validation import FieldTest, Test, finite_tests, first_failing

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class PartialReader:
    """How messages of one schema become events of one class, in part."""

    read: ReadFunction
    make: PartialFactory[Any]
    tests: tuple[FieldTest, ...]
    is_clean: Test | None

    def read_event(self, value: bytes, start: int, complete: Callable[[], E]) -> E | None:
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


def compile_partial_reader(node: SchemaNode, event: type[Any], only: Sequence[str]) -> PartialReader | None:
    """Give how these fields are read; None where all of such messages are to be read whole."""
    wanted = parse_field_selection(only)
    read = compile_reader(node, wanted)
    if read is None:
        return None
    part = _part(node, wanted)
    return PartialReader(
        read, compile_partial_factory(event, wanted), finite_tests(part), nul_free_test(part)
    )


def _part(node: SchemaNode, wanted: FieldSelection) -> SchemaNode:
    """Give a record's type as if it had no other fields."""
    if not wanted:
        return node
    fields = (
        replace(each, node=_part(each.node, wanted[each.name])) for each in node.fields if each.name in wanted
    )
    return replace(node, fields=tuple(fields))
