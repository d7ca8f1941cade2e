"""Events that are handed on within one process, and written only when somebody wants their bytes.

Decides what may wait: an event whose every value is seen to fit its schema, and that is far from its
topic's limit. Whatever is in doubt (an odd character, a large page) is written at once, so that it is
refused, or read otherwise than it was said, exactly as on a broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast
from weakref import WeakValueDictionary

from strider.contracts.topic import Event, Topic

from .codec import Codec, EncodedMessage
from .encoded_size import SizeBound, compile_record_bound, unknown_on_error
from .framing import Header
from .schema_store import SchemaStore

E = TypeVar("E", bound=Event)

SIZE_SAFETY_FACTOR: Final = 2
"""Sizes are upper bounds, so only what takes less than this part of the limit may wait."""

REMEMBERED_BYTES: Final = 4096
"""Smaller events are looked at again more cheaply than they are remembered."""


class DeferredValue:
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


def encoded_bytes(value: bytes | None) -> bytes | None:
    """Give the bytes of a value, whether or not they were written before."""
    held: object = value
    return bytes(held) if isinstance(held, DeferredValue) else value


class DeferredCodec(Codec):
    """For a bus within one process: one object is everybody's, since events never change."""

    def __init__(self, schema_store: SchemaStore) -> None:
        super().__init__(schema_store)
        self._bounds: dict[str, SizeBound] = {}
        self._large: WeakValueDictionary[int, DeferredValue] = WeakValueDictionary()
        """Large values that still travel, by their event: whoever says one within another is believed."""

    def encode(self, topic: Topic[E], event: E) -> EncodedMessage:
        """Hand an event on; one that may not wait is written, or refused as the codec refuses it."""
        if type(event) is not topic.value:
            return super().encode(topic, event)
        size_bytes = self._size_bound(topic.schema_name)(event)
        if size_bytes * SIZE_SAFETY_FACTOR > topic.max_bytes:
            return super().encode(topic, event)
        waiting = DeferredValue(self, topic, event, size_bytes=size_bytes)
        if size_bytes > REMEMBERED_BYTES:
            self._large[id(event)] = waiting
        # Bytes to everyone but `written` and `decode`: a type for the two would go through everything.
        return EncodedMessage(cast("bytes", waiting), self._writing(topic).headers)

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
        if isinstance(held, DeferredValue) and isinstance(held.event, topic.value):
            return held.event
        return super().decode(topic, encoded_bytes(value), headers, only=only)

    def _size_bound(self, schema_name: str) -> SizeBound:
        known = self._bounds.get(schema_name)
        if known is None:
            node = self.schema_store.current(schema_name).node
            known = unknown_on_error(
                compile_record_bound(node, self.schema_store.value_lists, self._size_of_deferred)
            )
            self._bounds[schema_name] = known
        return known

    def _size_of_deferred(self, event: object) -> int | None:
        waiting = self._large.get(id(event))
        return len(waiting) if waiting is not None and waiting.event is event else None
