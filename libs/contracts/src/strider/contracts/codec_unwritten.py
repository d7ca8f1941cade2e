"""Events that are handed on within one process, and written only when somebody wants their bytes.

Decides what may wait: an event whose every value is seen to fit its schema, and that is far from its
topic's limit. Whatever is in doubt (an odd character, a large page) is written at once, so that it is
refused, or read otherwise than it was said, exactly as on a broker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, TypeVar, cast

from .book import SchemaBook
from .book_nodes import Node
from .codec import Codec, Encoded
from .codec_checks import first_failing
from .codec_text import NUL
from .errors import EncodeError
from .framing import Header
from .topic import Event, Topic

E = TypeVar("E", bound=Event)

DOUBT: Final = 1 << 62
"""A size that nothing has: of what has to be written to be judged."""

SURE_PART: Final = 2
"""Sizes are upper bounds, so only what takes less than this part of the limit may wait."""

_NUMBER_BYTES: Final = 10
"""Longest encoding of a number, and of a length."""

_INT: Final = range(-(1 << 31), 1 << 31)
_LONG: Final = range(-(1 << 63), 1 << 63)

Bound = Callable[[Mapping[str, Any]], int]
"""Gives the most bytes that a record takes, or DOUBT."""


class Unwritten:
    """The value of a message that has not been written yet. Its length is an upper bound.

    It is no `bytes`, so that whoever needs them and does not ask `written` fails at once.
    """

    __slots__ = ("_size_bytes", "_write", "event")

    def __init__(self, event: Event, write: Callable[[], bytes], size_bytes: int) -> None:
        self.event = event
        self._write = write
        self._size_bytes = size_bytes

    def __len__(self) -> int:
        """Give the most bytes that it takes."""
        return self._size_bytes

    def __bytes__(self) -> bytes:
        """Write it. Events never change, so this may happen at any time, and in any thread."""
        return self._write()


def written(value: bytes | None) -> bytes | None:
    """Give the bytes of a value, whether or not they were written before."""
    held: object = value
    return bytes(held) if isinstance(held, Unwritten) else value


class PassingCodec(Codec):
    """For a bus within one process: one object is everybody's, since events never change."""

    def __init__(self, book: SchemaBook) -> None:
        super().__init__(book)
        self._bounds: dict[str, Bound] = {}

    def encode(self, topic: Topic[E], event: E) -> Encoded:
        """Hand an event on; one that may not wait is written."""
        if type(event) is not topic.value:
            return super().encode(topic, event)
        bound = self._bounds.get(topic.schema_name)
        if bound is None:
            node = self.book.ours(topic.schema_name).node
            bound = self._bounds[topic.schema_name] = _guarded(_record_bound(node))
        record, writing = event.to_record(), self._writing(topic)
        size_bytes = bound(record)
        if size_bytes * SURE_PART > topic.max_bytes:
            return super().encode(topic, event)
        if (failing := first_failing(writing.tests, record)) is not None:
            raise EncodeError(f"{topic.name}: {failing} is {record[failing]!r:.80}")
        write = super().encode
        waiting = Unwritten(event, lambda: write(topic, event).value, size_bytes)
        # Bytes to everyone but `written` and `decode`: a type for the two would go through everything.
        return Encoded(cast("bytes", waiting), writing.headers)

    def decode(self, topic: Topic[E], value: bytes | None, headers: Sequence[Header] = ()) -> E:
        """Give the event that was handed on; read it where there are bytes."""
        held: object = value
        if isinstance(held, Unwritten) and isinstance(held.event, topic.value):
            return held.event
        return super().decode(topic, written(value), headers)


def _guarded(bound: Bound) -> Bound:
    def guarded(record: Mapping[str, Any]) -> int:
        try:
            return bound(record)
        except (TypeError, ValueError, AttributeError, OverflowError):
            return DOUBT  # not what the schema says: writing it tells what is wrong

    return guarded


def _record_bound(node: Node) -> Bound:
    """Judge a record by kinds: one look at all of its texts, one at all of its numbers."""
    names: dict[str, list[str]] = {}
    for field in node.fields:
        names.setdefault(_kind_of(field.node), []).append(field.name)
    texts, lists = _getter(names.pop("string", [])), _getter(names.pop("array string", []))
    numbers, series = _getter(names.pop("long", [])), _getter(names.pop("array long", []))
    others = [(f.name, _bound_of(f.node)) for f in node.fields if _kind_of(f.node) in names]
    least = _NUMBER_BYTES * len(node.fields)

    def bound(record: Mapping[str, Any]) -> int:
        sizes = least + _text_bytes("".join(texts(record))) + _number_bytes(numbers(record))
        for items in lists(record):
            if items:
                sizes += _text_bytes("".join(items)) + _NUMBER_BYTES * len(items)
        for items in series(record):
            if items:
                sizes += _number_bytes(items)
        for name, size_of in others:
            sizes += size_of(record[name])
        return sizes

    return bound


def _kind_of(node: Node) -> str:
    return f"array {node.parts[0].kind}" if node.kind == "array" else node.kind


def _bound_of(node: Node) -> Callable[[Any], int]:
    """Judge one value of a kind that is not looked at together with others."""
    if node.kind == "record":
        return _record_bound(node)
    if node.kind == "array":
        return _items_bound(_bound_of(node.parts[0]))
    if node.kind == "map":
        return _map_bound(_bound_of(node.parts[0]))
    if node.kind == "union" and [part.kind for part in node.parts].count("null") == len(node.parts) - 1:
        some = _bound_of(next(part for part in node.parts if part.kind != "null"))
        return lambda value: 1 if value is None else 1 + some(value)
    return _ALONE.get(node.kind, lambda _: DOUBT)


def _items_bound(item: Callable[[Any], int]) -> Callable[[Sequence[Any]], int]:
    return lambda items: sum(map(item, items)) + _NUMBER_BYTES * (len(items) + 1)


_ALONE: Final[Mapping[str, Callable[[Any], int]]] = {
    "string": lambda value: _text_bytes(value) + _NUMBER_BYTES,
    "long": lambda value: _number_bytes([value]),
    "boolean": lambda value: 1 if value is True or value is False else DOUBT,
    "int": lambda value: _NUMBER_BYTES if type(value) is int and value in _INT else DOUBT,
    "double": lambda value: 8 if isinstance(value, float) else DOUBT,
    "bytes": lambda value: len(value) if type(value) is bytes else DOUBT,
}


def _map_bound(item: Callable[[Any], int]) -> Callable[[Mapping[str, Any]], int]:
    items = _items_bound(item)

    def bound(value: Mapping[str, Any]) -> int:
        return _text_bytes("".join(value)) + 2 * items([*value.values()]) if value else 1

    return bound


def _text_bytes(text: str) -> int:
    if NUL in text:
        return DOUBT
    return len(text) if text.isascii() else len(text.encode())  # ValueError: half a character


def _number_bytes(numbers: Sequence[int]) -> int:
    if not numbers:
        return 0
    is_whole = type(sum(numbers)) is int and min(numbers) in _LONG and max(numbers) in _LONG
    return _NUMBER_BYTES * len(numbers) if is_whole else DOUBT


def _getter(names: list[str]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    if not names:
        return lambda _record: ()
    if len(names) == 1:
        return lambda record: (record[names[0]],)
    return itemgetter(*names)
