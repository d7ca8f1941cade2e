"""The first fields of an event, without reading the rest.

For whoever has millions of events to look through and needs all of a few of them: Avro writes fields
one after the other, so a schema that ends early reads the beginning. Decides nothing about what is
wrong with an event: what cannot be glanced at is read whole, by the codec, which says why.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final, cast

from fastavro import parse_schema, schemaless_reader

from .codec import Codec
from .topic import Topic

_FAILURES: Final = (EOFError, ValueError, IndexError, OverflowError, TypeError, KeyError, MemoryError)


class Glance:
    """Looks at the events of one topic up to one of their fields."""

    def __init__(self, codec: Codec, topic: Topic[Any], *, until: str) -> None:
        """Make ready; `until` is the last field that is wanted."""
        self._prefix = codec.opening(topic)[0]
        whole: dict[str, Any] = codec.book.ours(topic.schema_name).avro
        names = [field["name"] for field in whole["fields"]]
        self._avro: Any = parse_schema(
            {
                "type": "record",
                "name": f"{whole['name']}Beginning",
                "fields": whole["fields"][: names.index(until) + 1],
            }
        )

    def read(self, value: bytes) -> dict[str, Any] | None:
        """Give the fields by name; None for what this version did not write, or that cannot be read."""
        if not value.startswith(self._prefix):
            return None
        stream = BytesIO(value)
        stream.seek(len(self._prefix))
        try:
            return cast("dict[str, Any]", schemaless_reader(stream, self._avro, None))
        except _FAILURES:
            return None
