"""Events passed on within one process and encoded only when their bytes are needed.

Decides which events may be deferred: those whose every value is known to fit the schema, and whose size is
far below the topic's limit. Anything doubtful (an unusual character, a large page) is encoded at once, so
that it is rejected or normalized exactly as on a broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast
from weakref import WeakValueDictionary

from strider.contracts.topic import Event, Topic

from .codec import Codec, EncodedMessage
from .framing import Header
from .schema_store import SchemaStore
from .size_limits import SizeBound, compile_record_bound, unknown_on_error

E = TypeVar("E", bound=Event)

SIZE_SAFETY_FACTOR: Final = 2
"""Sizes are upper bounds; only events below this fraction (1/n) of the topic's limit are deferred."""

REMEMBERED_BYTES: Final = 4096
"""For smaller events, computing the bound again is cheaper than remembering it."""


class DeferredValue:
    """Value of a message that is not encoded yet; its length is an upper bound.

    It is not `bytes`, so that code which needs bytes and does not call `encoded_bytes` fails at once.
    """

    __slots__ = ("__weakref__", "_codec", "_size_bytes", "_topic", "event")

    def __init__(self, codec: Codec, topic: Topic[Any], event: Event, *, size_bytes: int) -> None:
        self._codec = codec
        self._topic = topic
        self.event = event
        self._size_bytes = size_bytes

    def __len__(self) -> int:
        """Return the upper bound of its encoded size."""
        return self._size_bytes

    def __bytes__(self) -> bytes:
        """Encode it. Events are immutable, so this is safe at any time and in any thread."""
        return Codec.encode(self._codec, self._topic, self.event).value


def encoded_bytes(value: bytes | None) -> bytes | None:
    """Return the bytes of a value, encoding it if it was deferred."""
    held: object = value
    return bytes(held) if isinstance(held, DeferredValue) else value


class DeferredCodec(Codec):
    """Codec for a bus within one process: all consumers share one object, since events are immutable."""

    def __init__(self, schema_store: SchemaStore) -> None:
        super().__init__(schema_store)
        self._bounds: dict[str, SizeBound] = {}
        self._large_values: WeakValueDictionary[int, DeferredValue] = WeakValueDictionary()
        """Large deferred values in flight, by the id of their event: an event nested in another is not
        measured again.
        """

    def encode(self, topic: Topic[E], event: E) -> EncodedMessage:
        """Defer the encoding of an event; encode or reject it at once where it may not be deferred."""
        if type(event) is not topic.value:
            return super().encode(topic, event)
        size_bytes = self._size_bound(topic.schema_name)(event)
        if size_bytes * SIZE_SAFETY_FACTOR > topic.max_bytes:
            return super().encode(topic, event)
        waiting = DeferredValue(self, topic, event, size_bytes=size_bytes)
        if size_bytes > REMEMBERED_BYTES:
            self._large_values[id(event)] = waiting
        # Declared as bytes to all callers but `encoded_bytes` and `decode`; a union type would spread
        # everywhere.
        return EncodedMessage(cast("bytes", waiting), self._encode_plan(topic).headers)

    def decode(
        self,
        topic: Topic[E],
        value: bytes | None,
        headers: Sequence[Header] = (),
        *,
        only: tuple[str, ...] = (),
    ) -> E:
        """Return the deferred event; decode the value where it is bytes."""
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
        waiting = self._large_values.get(id(event))
        return len(waiting) if waiting is not None and waiting.event is event else None
