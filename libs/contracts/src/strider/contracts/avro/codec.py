"""Encode events to bytes and decode bytes to events.

All decisions about the bytes of a message are made here: bytes that are not an event of their topic raise
DecodeError with one reason, whatever the bytes are, at bounded memory (`size_limits`). An event that its
schema or topic cannot carry raises EncodeError, except for invalid text, which is replaced (`validation`).
Must not know brokers; an unknown schema is reported, fetching it is the caller's task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, NamedTuple, TypeVar

from fastavro import schemaless_reader, schemaless_writer

from strider.contracts.errors import DecodeError, EncodeError, UnknownSchema
from strider.contracts.seeds import is_json_object, parse_json_event
from strider.contracts.topic import Event, Topic

from .compiled_reader import ReadFunction, compile_reader
from .compiled_writer import WriteFunction, compile_writer
from .framing import (
    Header,
    MessageFrame,
    confluent_prefix,
    parse_frame,
    parse_header_frame,
    schema_header,
    single_object_prefix,
)
from .partial_decode import PartialReader, compile_partial_reader
from .resolution import Projection, build_projection, find_incompatibilities
from .schema_store import RefusedSchema, SchemaStore, WriterSchema
from .size_limits import MEMORY_BUDGET_BYTES, max_memory_ratio, require_within_memory_budget
from .validation import (
    FieldTest,
    ValueTest,
    allowed_value_tests,
    finite_tests,
    first_failing,
    nul_free_test,
    replace_invalid_characters,
)

E = TypeVar("E", bound=Event)

_READ_FAILURES: Final = (EOFError, ValueError, IndexError, OverflowError, TypeError, KeyError, MemoryError)
"""All exceptions that fastavro has raised on bytes that are not a value of a checked schema."""

_WRITE_FAILURES: Final = (ValueError, TypeError, OverflowError, AttributeError, KeyError)


class EncodedMessage(NamedTuple):
    """Value of a message and the headers that belong to it."""

    value: bytes
    headers: tuple[Header, ...]


@dataclass(frozen=True, slots=True)
class _DecodePlan:
    """Decoder of messages of one writer schema to events of one topic."""

    avro: Any
    schema: WriterSchema
    project: Projection | None
    tests: tuple[FieldTest, ...]
    is_clean: ValueTest | None
    read: ReadFunction | None
    """The compiled reader; None where only fastavro can read the schema."""
    unchecked_bytes: int
    """Messages up to this length stay below the memory budget, whatever their content."""


@dataclass(frozen=True, slots=True)
class _EncodePlan:
    """Encoder of the events of one topic."""

    avro: Any
    prefix: bytes
    headers: tuple[Header, ...]
    tests: tuple[FieldTest, ...]
    is_clean: ValueTest | None
    write: WriteFunction | None
    """The compiled writer; None where only fastavro can write the schema."""


class Codec:
    """Encoder and decoder over one schema store."""

    def __init__(self, schema_store: SchemaStore) -> None:
        self.schema_store = schema_store
        self._decode_plans: dict[tuple[str, bytes], _DecodePlan] = {}
        self._encode_plans: dict[tuple[str, int | None], _EncodePlan] = {}
        self._partial_readers: dict[tuple[str, bytes, Sequence[str]], PartialReader | None] = {}

    def encode(self, topic: Topic[E], event: E) -> EncodedMessage:
        """Encode an event; raises EncodeError when its schema or topic cannot carry it."""
        if type(event) is not topic.value:
            raise EncodeError(f"{topic.name} carries {topic.value.__name__}, not {type(event).__name__}")
        writing = self._encode_plan(topic)
        record = event.to_record()
        try:
            if (failing := first_failing(writing.tests, record)) is not None:
                raise EncodeError(f"{topic.name}: {failing} is {record[failing]!r:.80}")
            value = _encode_record(writing, record)
        except _WRITE_FAILURES as failure:
            raise EncodeError(f"{topic.name}: {failure}") from failure
        if len(value) > topic.max_bytes:
            raise EncodeError(f"{topic.name}: {len(value)} bytes, the limit is {topic.max_bytes}")
        return EncodedMessage(value, writing.headers)

    def decode(
        self,
        topic: Topic[E],
        value: bytes | None,
        headers: Sequence[Header] = (),
        *,
        only: tuple[str, ...] = (),
    ) -> E:
        """Decode an event; raises DecodeError (UnknownSchema where the schema may still arrive).

        With `only` (field names, nested fields joined by a dot), the other fields are read and validated on
        first access.
        """
        if not value:
            raise DecodeError("empty", "a tombstone" if value is None else "no bytes")
        if len(value) > topic.max_bytes:
            raise DecodeError("too_large", f"{len(value)} bytes, the limit is {topic.max_bytes}")
        if topic.accepts_json and is_json_object(value):
            schema = self.schema_store.current(topic.schema_name)
            return topic.value.from_record(
                parse_json_event(value, schema.node, self.schema_store.value_lists)
            )
        reading, start = self._find_decode_plan(topic, value, headers)
        if (
            only
            and (part := self._partial_reader(topic, reading, only))
            and len(value) <= reading.unchecked_bytes
        ):
            event = part.read_event(
                value, start, lambda: topic.value.from_record(_decode_record(reading, value, start))
            )
            if event is not None:
                return event
        return topic.value.from_record(_decode_record(reading, value, start))

    def locate_event(
        self, topic: Topic[Any], value: bytes, headers: Sequence[Header] = ()
    ) -> tuple[bytes, int]:
        """Return the schema fingerprint of a message and the offset at which its event starts."""
        reading, start = self._find_decode_plan(topic, value, headers)
        return reading.schema.fingerprint, start

    def message_prefix(self, topic: Topic[Any]) -> tuple[bytes, tuple[Header, ...]]:
        """Return the prefix of a topic's messages and the headers that go with it."""
        writing = self._encode_plan(topic)
        return writing.prefix, writing.headers

    def _find_decode_plan(
        self, topic: Topic[Any], value: bytes, headers: Sequence[Header]
    ) -> tuple[_DecodePlan, int]:
        frame = parse_frame(value, headers)
        # The fingerprint in the most common frame is sufficient, and its plan is usually cached.
        if frame.fingerprint and (known := self._decode_plans.get((topic.schema_name, frame.fingerprint))):
            return known, frame.start
        schema = self._writer_schema(frame)
        if schema is None and (bare := parse_header_frame(headers)) is not None:
            frame, schema = bare, self._writer_schema(bare)
        if schema is None:
            raise UnknownSchema(fingerprint=frame.fingerprint, registry_id=frame.registry_id)
        if isinstance(schema, RefusedSchema):
            raise DecodeError("incompatible_schema", schema.reason)
        return self._decode_plan(topic, schema), frame.start

    def _writer_schema(self, frame: MessageFrame) -> WriterSchema | RefusedSchema | None:
        found = self.schema_store.find(frame.fingerprint) if frame.fingerprint else None
        if found is not None or frame.registry_id is None:
            return found
        named = self.schema_store.find_by_registry_id(frame.registry_id)
        return self.schema_store.find(named) if isinstance(named, bytes) else named

    def _decode_plan(self, topic: Topic[Any], writer: WriterSchema) -> _DecodePlan:
        key = (topic.schema_name, writer.fingerprint)
        if (known := self._decode_plans.get(key)) is not None:
            return known
        reader = self.schema_store.current(topic.schema_name)
        if obstacles := find_incompatibilities(writer=writer.node, reader=reader.node):
            path, rule, detail = obstacles[0]
            raise DecodeError("incompatible_schema", f"{path or topic.schema_name}: {rule}: {detail}")
        same = writer.fingerprint == reader.fingerprint
        reading = _DecodePlan(
            avro=writer.avro,
            schema=writer,
            project=None if same else build_projection(writer=writer.node, reader=reader.node),
            tests=finite_tests(reader.node),
            is_clean=nul_free_test(reader.node),
            read=compile_reader(writer.node),
            unchecked_bytes=int(MEMORY_BUDGET_BYTES / max_memory_ratio(writer.node)),
        )
        self._decode_plans[key] = reading
        return reading

    def _partial_reader(
        self, topic: Topic[Any], reading: _DecodePlan, only: tuple[str, ...]
    ) -> PartialReader | None:
        key = (topic.schema_name, reading.schema.fingerprint, only)
        if key not in self._partial_readers:
            is_ours = reading.project is None
            self._partial_readers[key] = (
                compile_partial_reader(reading.schema.node, topic.value, only) if is_ours else None
            )
        return self._partial_readers[key]

    def _encode_plan(self, topic: Topic[Any]) -> _EncodePlan:
        schema = self.schema_store.current(topic.schema_name)
        registry_id = self.schema_store.registry_id(topic.name, schema.fingerprint)
        key = (topic.name, registry_id)
        if (known := self._encode_plans.get(key)) is not None:
            return known
        prefix = (
            single_object_prefix(schema.fingerprint) if registry_id is None else confluent_prefix(registry_id)
        )
        tests = allowed_value_tests(schema.node, self.schema_store.value_lists) + finite_tests(schema.node)
        headers = (schema_header(schema.fingerprint),)
        writing = _EncodePlan(
            schema.avro,
            prefix,
            headers,
            tests,
            is_clean=nul_free_test(schema.node),
            write=compile_writer(schema.node),
        )
        self._encode_plans[key] = writing
        return writing


def _encode_record(writing: _EncodePlan, record: dict[str, Any]) -> bytes:
    if writing.is_clean is not None and not writing.is_clean(record):
        record = replace_invalid_characters(record)
    try:
        return _serialize(writing, record)
    except UnicodeEncodeError:
        # Searching for surrogates first would slow down every event for the sake of a broken one.
        return _serialize(writing, replace_invalid_characters(record))


def _serialize(writing: _EncodePlan, record: dict[str, Any]) -> bytes:
    if writing.write is not None:
        try:
            return writing.prefix + writing.write(record)
        except Exception:  # noqa: BLE001, S110  # whatever it is, the library says it better, or can write it
            pass
    stream = BytesIO()
    stream.write(writing.prefix)
    schemaless_writer(stream, writing.avro, record)
    return stream.getvalue()


def _decode_record(reading: _DecodePlan, value: bytes, start: int) -> Any:
    if len(value) > reading.unchecked_bytes:
        require_within_memory_budget(reading.schema.node, value, start)
    record = _deserialize(reading, value, start)
    if (failing := first_failing(reading.tests, record)) is not None:
        raise DecodeError("bad_value", f"{failing} is not a finite number")
    if reading.is_clean is not None and not reading.is_clean(record):
        raise DecodeError("bad_value", "text contains a NUL character")
    return record


def _deserialize(reading: _DecodePlan, value: bytes, start: int) -> Any:
    if reading.read is not None:
        try:
            record, end = reading.read(value, start)
            if end == len(value):
                return record if reading.project is None else reading.project(record)
        except Exception:  # noqa: BLE001, S110  # whatever it is, the library says it better, or can read it
            pass
    stream = BytesIO(value)
    stream.seek(start)
    try:
        record = schemaless_reader(stream, reading.avro, None)
        if reading.project is not None:
            record = reading.project(record)
    except _READ_FAILURES as failure:
        raise _decode_error(failure, at_end=stream.tell() >= len(value)) from failure
    if (rest := len(value) - stream.tell()) != 0:
        raise DecodeError("trailing_bytes", f"{rest} bytes follow the event")
    return record


def _decode_error(failure: Exception, *, at_end: bool) -> DecodeError:
    if isinstance(failure, UnicodeDecodeError):
        return DecodeError("bad_value", f"text that is not UTF-8: {failure.reason}")
    if isinstance(failure, EOFError) or at_end:
        return DecodeError("truncated", "the bytes end within the event")
    return DecodeError("bad_value", f"{type(failure).__name__}: {failure}")
