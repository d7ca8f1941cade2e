"""Events that are handed on within one process, and written only when somebody wants their bytes.

Decides what may wait: an event whose every value is seen to fit its schema, and that is far from its
topic's limit. Whatever is in doubt (an odd character, a large page) is written at once, so that it is
refused, or read otherwise than it was said, exactly as on a broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast
from weakref import WeakValueDictionary

from .book import SchemaBook
from .codec import Codec, Encoded
from .codec_bounds import Bound, guarded, record_bound
from .framing import Header
from .topic import Event, Topic

E = TypeVar("E", bound=Event)

SURE_PART: Final = 2
"""Sizes are upper bounds, so only what takes less than this part of the limit may wait."""

LARGE_BYTES: Final = 4096
"""Smaller events are looked at again more cheaply than they are remembered."""


class Unwritten:
    """The value of a message that has not been written yet. Its length is an upper bound.

    It is no `bytes`, so that whoever needs them and does not ask `written` fails at once.
    """

    __slots__ = ("__weakref__", "_codec", "_size_bytes", "_topic", "event")

    def __init__(self, codec: Codec, topic: Topic[Any], event: Event, *, size_bytes: int) -> None:
        self._codec = codec
        self._topic = topic
        self.event = event
        self._size_bytes = size_bytes

    def __len__(self) -> int:
        """Give the most bytes that it takes."""
        return self._size_bytes

    def __bytes__(self) -> bytes:
        """Write it. Events never change, so this may happen at any time, and in any thread."""
        return Codec.encode(self._codec, self._topic, self.event).value


def written(value: bytes | None) -> bytes | None:
    """Give the bytes of a value, whether or not they were written before."""
    held: object = value
    return bytes(held) if isinstance(held, Unwritten) else value


class PassingCodec(Codec):
    """For a bus within one process: one object is everybody's, since events never change."""

    def __init__(self, book: SchemaBook) -> None:
        super().__init__(book)
        self._bounds: dict[str, Bound] = {}
        self._large: WeakValueDictionary[int, Unwritten] = WeakValueDictionary()
        """Large values that still travel, by their event: whoever says one within another is believed."""

    def encode(self, topic: Topic[E], event: E) -> Encoded:
        """Hand an event on; one that may not wait is written, or refused as the codec refuses it."""
        if type(event) is not topic.value:
            return super().encode(topic, event)
        size_bytes = self._bound(topic.schema_name)(event)
        if size_bytes * SURE_PART > topic.max_bytes:
            return super().encode(topic, event)
        waiting = Unwritten(self, topic, event, size_bytes=size_bytes)
        if size_bytes > LARGE_BYTES:
            self._large[id(event)] = waiting
        # Bytes to everyone but `written` and `decode`: a type for the two would go through everything.
        return Encoded(cast("bytes", waiting), self._writing(topic).headers)

    def decode(
        self,
        topic: Topic[E],
        value: bytes | None,
        headers: Sequence[Header] = (),
        *,
        only: tuple[str, ...] = (),
    ) -> E:
        """Give the event that was handed on; read it where there are bytes."""
        held: object = value
        if isinstance(held, Unwritten) and isinstance(held.event, topic.value):
            return held.event
        return super().decode(topic, written(value), headers, only=only)

    def _bound(self, schema_name: str) -> Bound:
        known = self._bounds.get(schema_name)
        if known is None:
            node = self.book.ours(schema_name).node
            known = guarded(record_bound(node, self.book.words, self._size_of_waiting))
            self._bounds[schema_name] = known
        return known

    def _size_of_waiting(self, event: object) -> int | None:
        waiting = self._large.get(id(event))
        return len(waiting) if waiting is not None and waiting.event is event else None
