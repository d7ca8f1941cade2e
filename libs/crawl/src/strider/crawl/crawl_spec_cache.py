"""Cache of crawl specs, read from their topic when one is missing.

One rule, as for schemas: a spec is declared and acknowledged before the first event that names it; so a
reader that lacks one reads the topic to where it ends *now*, and only then is the spec known to be absent.
Decides nothing about the content of a spec, nor about events that name an absent one.

The first declaration of a spec has its id as the key. A spec that is used again after a month is declared
again with a key of its own, `<day> <id>`: so a tombstone of the old records, which may be on its way, never
deletes what is in use. A spec exists as long as one of its records does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from strider.contracts import DecodeError, UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.framing import SCHEMA_HEADER
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.generated.topics import CRAWL_SPECS
from strider.crawl import log_events
from strider.messaging.catch_up_reader import CatchUpReader
from strider.messaging.effects import Publish, PublishRaw, PublishRequest
from strider.messaging.ports import Bus, Clock, Consumer, Header, Record
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher

_KEY_SEPARATOR: Final = " "
"""Between the day and the id in the key of a later declaration; ids have no blanks."""

POLL_RECORDS: Final = 1_000
POLL_SECONDS: Final = 0.5

STALL_SECONDS: Final = 15.0
"""How long no record may come, although the end is not reached, before the broker counts as unavailable."""

MAX_DECODED_SPECS: Final = 4_096
"""Specs that are kept decoded, some kilobytes each; the others are kept as their bytes, a tenth of that."""

REDECLARED_AFTER: Final = timedelta(days=30)
"""A spec whose latest record is older is declared again when it is used."""

_log = logger("specs")


@dataclass(slots=True)
class _KnownSpec:
    """A spec as its records have it."""

    value: bytes
    headers: tuple[Header, ...]
    declared_ms: int
    """Time of its latest record."""
    keys: tuple[bytes, ...] = ()
    """Keys of its records that were read."""


class CrawlSpecLookup(Protocol):
    """Port to the declared crawl specs."""

    async def known(self, spec_ids: Iterable[str]) -> Mapping[str, CrawlSpecDeclared]:
        """Return those of these specs that exist; raises Unavailable where they cannot be looked up."""


class CrawlSpecCache:
    """Crawl specs by their ids; one cache for all loops of a process."""

    def __init__(self, bus: Bus, codec: Codec, *, clock: Clock) -> None:
        self._codec = codec
        self._clock = clock
        self._known: dict[str, _KnownSpec] = {}
        self._decoded: OrderedDict[str, CrawlSpecDeclared] = OrderedDict()
        self._reader = CatchUpReader(
            bus, CRAWL_SPECS.name, poll=self._poll, new_stall_detector=self._new_stall_detector
        )

    def get(self, spec_id: str) -> CrawlSpecDeclared | None:
        """Return a spec that is known by now; None only means that it was not found here yet."""
        spec = self._decoded.get(spec_id)
        if spec is None:
            try:
                return self._decode(spec_id)
            except DecodeError:
                return None  # `find` reports why
        self._decoded.move_to_end(spec_id)
        return spec

    async def find(self, spec_ids: Iterable[str]) -> None:
        """Read the topic for missing specs: what `get` does not return afterwards does not exist.

        Raises Unavailable where the topic could not be read, and UnknownSchema for a spec that was written
        with a schema not known here: the loop then looks for the schema, and handles the message again.
        """
        missing = [spec_id for spec_id in set(spec_ids) if self.get(spec_id) is None]
        if not all(spec_id in self._known for spec_id in missing):
            await self._reader.read_to_end()
        for spec_id in missing:
            try:
                self._decode(spec_id)
            except UnknownSchema:
                raise
            except DecodeError as failure:
                _log.emit(log_events.CRAWL_SPEC_UNREADABLE, crawl_spec=spec_id, why=str(failure))

    async def known(self, spec_ids: Iterable[str]) -> Mapping[str, CrawlSpecDeclared]:
        """Return all of these specs that exist, having looked for those that were missing."""
        wanted = set(spec_ids)
        found = {spec_id: spec for spec_id in wanted if (spec := self.get(spec_id)) is not None}
        if missing := wanted - found.keys():
            await self.find(missing)
            found |= {spec_id: spec for spec_id in missing if (spec := self.get(spec_id)) is not None}
        return found

    async def read_to_end(self) -> None:
        """Read all records up to now; raises Unavailable."""
        await self._reader.read_to_end()

    def declared_before(self, moment_ms: int) -> Mapping[str, tuple[bytes, ...]]:
        """Return the specs whose latest record is older, each with the keys of its records."""
        return {name: spec.keys for name, spec in self._known.items() if spec.declared_ms < moment_ms}

    def declaration(self, spec: CrawlSpecDeclared) -> PublishRequest | None:
        """Return the declaration to publish, and have acknowledged, before a spec is named; None where that
        was done in the last month.

        For handlers: the spec has been looked up, so that its records are known. The declaration goes into
        `publish`, what names the spec into `publish_last`, and `keep` is called in `after_ack`.
        """
        known, now = self._known.get(spec.crawl_spec_id), self._clock.now()
        if known is None:
            return Publish(CRAWL_SPECS, spec)
        if now.timestamp() - known.declared_ms / 1000 < REDECLARED_AFTER.total_seconds():
            return None
        key = f"{now:%Y-%m-%d}{_KEY_SEPARATOR}{spec.crawl_spec_id}"
        return PublishRaw(CRAWL_SPECS, key.encode(), *self._codec.encode(CRAWL_SPECS, spec))

    def keep(self, specs: Iterable[CrawlSpecDeclared]) -> None:
        """Add specs whose declaration was acknowledged."""
        for spec in specs:
            now_ms = round(self._clock.now().timestamp() * 1000)
            known = self._known.get(spec.crawl_spec_id)
            if known is not None:
                known.declared_ms = max(known.declared_ms, now_ms)
                continue
            self._known[spec.crawl_spec_id] = _KnownSpec(*self._codec.encode(CRAWL_SPECS, spec), now_ms)
            self._cache_decoded(spec.crawl_spec_id, spec)

    async def declare(self, publisher: EventPublisher, specs: Iterable[CrawlSpecDeclared]) -> None:
        """Publish declarations now, for code outside of a handler; raises Unavailable."""
        new = list({spec.crawl_spec_id: spec for spec in specs}.values())
        declarations = [(spec, self.declaration(spec)) for spec in new]
        await publisher.publish([each for _, each in declarations if each is not None])
        self.keep(spec for spec, each in declarations if each is not None)

    async def close(self) -> None:
        """Stop reading."""
        await self._reader.close()

    def _decode(self, spec_id: str) -> CrawlSpecDeclared | None:
        known = self._known.get(spec_id)
        if known is None:
            return None
        spec = self._codec.decode(CRAWL_SPECS, known.value, known.headers)
        self._cache_decoded(spec_id, spec)
        return spec

    def _cache_decoded(self, spec_id: str, spec: CrawlSpecDeclared) -> None:
        self._decoded[spec_id] = spec
        if len(self._decoded) > MAX_DECODED_SPECS:
            self._decoded.popitem(last=False)

    def _new_stall_detector(self) -> Callable[[bool], bool]:
        clock = self._clock
        moved = clock.monotonic()

        def is_too_long(has_come: bool) -> bool:
            nonlocal moved
            if has_come:
                moved = clock.monotonic()
            return not has_come and clock.monotonic() - moved > STALL_SECONDS

        return is_too_long

    async def _poll(self, reader: Consumer) -> bool:
        found = await reader.poll(max_records=POLL_RECORDS, timeout_seconds=POLL_SECONDS)
        for records in found.values():
            for record in records:
                if record.key is not None:
                    self._apply(record.key, record)
        return bool(found)

    def _apply(self, key: bytes, record: Record) -> None:
        spec_id = key.decode("utf-8", "replace").rpartition(_KEY_SEPARATOR)[2]
        known = self._known.get(spec_id)
        if record.value is not None:
            if known is None or not known.keys or record.timestamp >= known.declared_ms:
                headers = _schema_header(record.headers)
                declared_ms = max(record.timestamp, known.declared_ms if known else 0)
                keys = known.keys if known else ()
                known = self._known[spec_id] = _KnownSpec(record.value, headers, declared_ms, keys)
            known.keys = (*(each for each in known.keys if each != key), key)
        elif known is not None:
            known.keys = tuple(each for each in known.keys if each != key)
            if not known.keys:
                del self._known[spec_id]
                self._decoded.pop(spec_id, None)


def _schema_header(headers: Sequence[Header]) -> tuple[Header, ...]:
    """Return the headers that a reader of the value needs; the rest is not worth its memory."""
    return tuple(header for header in headers if header[0] == SCHEMA_HEADER)
