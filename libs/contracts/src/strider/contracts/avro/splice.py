"""Build validated-page messages from the bytes of parsed-page messages.

`pages-validated` is declared as the parsed page followed by the verdict, and Avro's binary form of a record
is its fields one after the other, so the parsed bytes are reused. That holds where the page was written with
exactly the embedded schema; otherwise it is decoded and encoded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Generic, TypeVar

import orjson
from fastavro import parse_schema, schemaless_writer

from strider.contracts.errors import ContractError, EncodeError
from strider.contracts.topic import Event, Topic

from .codec import Codec, EncodedMessage
from .compiled_writer import compile_writer
from .framing import Header
from .schema_model import canonical_form, fingerprint
from .validation import (
    allowed_value_tests,
    finite_tests,
    first_failing,
    nul_free_test,
    replace_invalid_characters,
)

Part = TypeVar("Part", bound=Event)
Whole = TypeVar("Whole", bound=Event)


class Splicer(Generic[Part, Whole]):
    """Joins messages of one topic and a verdict to messages of another."""

    def __init__(self, codec: Codec, *, part: Topic[Part], whole: Topic[Whole]) -> None:
        self._codec = codec
        self._part = part
        self._whole = whole
        fields = codec.schema_store.current(whole.schema_name).node.fields
        if len(fields) != 2:  # noqa: PLR2004  # a part and its verdict
            raise ContractError(f"{whole.schema_name} is not a part followed by a verdict")
        (self._part_field, part_node), (self._verdict_field, node) = ((f.name, f.node) for f in fields)
        self._embedded = fingerprint(canonical_form(part_node))
        self._avro = parse_schema(orjson.loads(canonical_form(node)))
        self._write = compile_writer(node)
        self._is_clean = nul_free_test(node)
        self._tests = allowed_value_tests(node, codec.schema_store.value_lists) + finite_tests(node)

    def splice(
        self, value: bytes, headers: Sequence[Header] = (), *, verdict: Event, part: Part | None = None
    ) -> EncodedMessage:
        """Join a message that was decoded before (so its bytes are valid) and a verdict on it.

        `part` is the decoded message; it saves a second decoding where splicing is not possible.
        """
        written_with, start = self._codec.locate_event(self._part, value, headers)
        if written_with != self._embedded:
            known = part if part is not None else self._codec.decode(self._part, value, headers)
            fields = {self._part_field: known, self._verdict_field: verdict}
            return self._codec.encode(self._whole, self._whole.value(**fields))
        prefix, own_headers = self._codec.message_prefix(self._whole)
        joined = b"".join((prefix, memoryview(value)[start:], self._serialize(verdict.to_record())))
        if len(joined) > self._whole.max_bytes:
            raise EncodeError(
                f"{self._whole.name}: {len(joined)} bytes, the limit is {self._whole.max_bytes}"
            )
        return EncodedMessage(joined, own_headers)

    def _serialize(self, verdict: dict[str, Any]) -> bytes:
        try:
            if (failing := first_failing(self._tests, verdict)) is not None:
                raise EncodeError(f"{self._whole.name}: {failing} is {verdict[failing]!r:.80}")
            clean = (
                verdict
                if self._is_clean is None or self._is_clean(verdict)
                else replace_invalid_characters(verdict)
            )
            return self._write_record(clean)
        except UnicodeEncodeError:
            return self._serialize(replace_invalid_characters(verdict))
        except (ValueError, TypeError, OverflowError, AttributeError, KeyError) as failure:
            raise EncodeError(f"{self._whole.name}: {failure}") from failure

    def _write_record(self, verdict: Any) -> bytes:
        if self._write is not None:
            try:
                return self._write(verdict)
            except Exception:  # noqa: BLE001, S110  # whatever it is, the library says it better
                pass
        stream = BytesIO()
        schemaless_writer(stream, self._avro, verdict)
        return stream.getvalue()
