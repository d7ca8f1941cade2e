"""Schemas on their topic: declared before first use, looked up when unknown.

A writer has every schema that it writes with acknowledged by the `schemas` topic (and by the registry, where
there is one) before it publishes its first event. A reader that meets an unknown schema reads that topic to
where it ends *now*, and only then is the schema known to be absent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from strider.contracts import DecodeError, Topic, UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SchemaDeclared
from strider.contracts.generated.topics import SCHEMAS
from strider.messaging import log_events
from strider.messaging.log_events import logger
from strider.messaging.ports import epoch_ms

from .catch_up_reader import CatchUpReader
from .errors import StartRefused, Unavailable
from .ports import Bus, Clock, Consumer, OutgoingMessage, Producer, Record

POLL_SECONDS: Final = 0.5
MAX_EMPTY_POLLS: Final = 20
"""Polls without a record, although the end is not reached, before the broker counts as unavailable."""

REGISTRY_LOOKUPS: Final = 16
"""Schemas that are looked up in the registry at a time."""

_log = logger("schemas")


class SchemaRegistry(Protocol):
    """Both directions of a schema registry."""

    async def id_of(self, topic: str, definition: str) -> int:
        """Return the id of the schema that a topic is written with, registering it where it is new."""

    async def definition_of(self, registry_id: int) -> str | None:
        """Return the schema of an id."""


class SchemaPublisher:
    """Declares the schemas that this process writes with."""

    def __init__(
        self, service: str, *, codec: Codec, clock: Clock, registry: SchemaRegistry | None = None
    ) -> None:
        self._service = service
        self._codec = codec
        self._clock = clock
        self._registry = registry

    async def publish(self, producer: Producer, topics: Iterable[Topic[Any]]) -> None:
        """Have the schema of each topic acknowledged; raises Unavailable where that fails for now."""
        book = self._codec.schema_store
        written = {topic.name: topic for topic in (*topics, SCHEMAS)}
        names = sorted({topic.schema_name for topic in written.values()})
        waiting = [await producer.send(self._declaration(book, name)) for name in names]
        await asyncio.gather(*waiting)
        if self._registry is not None:
            for topic in written.values():
                registry_id = await self._registry.id_of(topic.name, book.definition(topic.schema_name))
                book.use_registry_id(topic.name, topic.schema_name, registry_id)
        _log.emit(log_events.SCHEMAS_DECLARED, schemas=names)

    def _declaration(self, book: SchemaStore, name: str) -> OutgoingMessage:
        fingerprint = book.current(name).fingerprint.hex()
        event = SchemaDeclared(
            fingerprint=fingerprint,
            name=name,
            schema=book.definition(name),
            declared_by=self._service,
            declared_at_ms=epoch_ms(self._clock),
        )
        encoded = self._codec.encode(SCHEMAS, event)
        return OutgoingMessage(SCHEMAS.name, SCHEMAS.key_of(event), encoded.value, headers=encoded.headers)


class SchemaFinder:
    """Finds the schemas of other writers, and adds them to the schema store."""

    def __init__(self, bus: Bus, *, codec: Codec, registry: SchemaRegistry | None = None) -> None:
        self._codec = codec
        self._registry = registry
        self._reader = CatchUpReader(
            bus, SCHEMAS.name, poll=self._poll, new_stall_detector=_new_stall_detector
        )

    async def find(self, *unknown: UnknownSchema) -> bool:
        """Look up schemas in registry and topic; return whether decoding is worth another attempt.

        One read of the topic answers for all of them, however many a stranger has invented.
        """
        is_any_registered = False
        if self._registry is not None:
            limit = asyncio.Semaphore(REGISTRY_LOOKUPS)
            ids = {each.registry_id for each in unknown if each.registry_id is not None}
            is_any_registered = any(await asyncio.gather(*(self._find_by_id(each, limit) for each in ids)))
        find = self._codec.schema_store.find
        fingerprints = {each.fingerprint for each in unknown if each.fingerprint is not None}
        if any(find(each) is None for each in fingerprints):
            await self._reader.read_to_end()
        return is_any_registered or any(find(each) is not None for each in fingerprints)

    async def close(self) -> None:
        """Stop reading."""
        await self._reader.close()

    async def _find_by_id(self, registry_id: int, limit: asyncio.Semaphore) -> bool:
        async with limit:
            definition = await self._definition_of(registry_id)
        if definition is None:
            return False
        self._learn(definition, registry_id=registry_id)
        return True

    async def _definition_of(self, registry_id: int) -> str | None:
        assert self._registry is not None
        try:
            return await self._registry.definition_of(registry_id)
        except StartRefused as error:  # not at the start any more: wait for the person who repairs it
            raise Unavailable("registry", str(error)) from error

    async def _poll(self, reader: Consumer) -> bool:
        found = await reader.poll(max_records=500, timeout_seconds=POLL_SECONDS)
        for records in found.values():
            for record in records:
                self._learn_record(record)
        return bool(found)

    def _learn_record(self, record: Record) -> None:
        if record.value is None:
            return
        try:
            declared = self._codec.decode(SCHEMAS, record.value, record.headers)
            claimed = bytes.fromhex(declared.fingerprint)
        except (DecodeError, ValueError) as error:
            _log.emit(log_events.SCHEMA_DECLARATION_UNREADABLE, offset=record.offset, why=str(error))
            return
        self._learn(declared.schema, claimed=claimed)

    def _learn(
        self, definition: str, *, claimed: bytes | None = None, registry_id: int | None = None
    ) -> None:
        try:
            self._codec.schema_store.register(
                definition, expected_fingerprint=claimed, registry_id=registry_id
            )
        except (
            DecodeError
        ) as error:  # the schema store keeps the refusal, which becomes the reason of the message
            _log.emit(log_events.SCHEMA_REFUSED, why=str(error), registry_id=registry_id)


def _new_stall_detector() -> Callable[[bool], bool]:
    silent = 0

    def is_too_long(has_come: bool) -> bool:
        nonlocal silent
        silent = 0 if has_come else silent + 1
        return silent > MAX_EMPTY_POLLS

    return is_too_long
