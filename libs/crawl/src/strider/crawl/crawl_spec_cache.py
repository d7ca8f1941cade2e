"""Cache of crawl specs, read from their topic when one is missing.

One rule, as for schemas: a spec is declared and acknowledged before the first event that names it; so a
reader that lacks one reads the topic to where it ends *now*, and only then is the spec known to be absent.
Decides nothing about the content of a spec, nor about events that name an absent one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from strider.contracts import DecodeError, UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.framing import SCHEMA_HEADER
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.generated.topics import CRAWL_SPECS
from strider.messaging.catch_up_reader import CatchUpReader
from strider.messaging.effects import Publish
from strider.messaging.ports import Bus, Clock, Consumer, Header
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher

POLL_RECORDS: Final = 1_000
POLL_SECONDS: Final = 0.5

STALL_SECONDS: Final = 15.0
"""How long no record may come, although the end is not reached, before the broker counts as unavailable."""

MAX_DECODED_SPECS: Final = 4_096
"""Specs that are kept decoded, some kilobytes each; the others are kept as their bytes, a tenth of that."""

_log = logger("specs")


class CrawlSpecCache:
    """Crawl specs by their ids; one cache for all loops of a process."""

    def __init__(self, bus: Bus, codec: Codec, *, clock: Clock) -> None:
        self._codec = codec
        self._clock = clock
        self._encoded: dict[str, tuple[bytes, tuple[Header, ...]]] = {}
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
        if not all(spec_id in self._encoded for spec_id in missing):
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

    def declaration(self, spec: CrawlSpecDeclared) -> Publish | None:
        """Return the declaration to publish, and have acknowledged, before a spec is named; None where that
        was done.

        For handlers: the declaration goes into `publish`, what names the spec into `publish_last`, and `keep`
        is called in `after_ack`.
        """
        return None if spec.crawl_spec_id in self._encoded else Publish(CRAWL_SPECS, spec)

    def keep(self, specs: Iterable[CrawlSpecDeclared]) -> None:
        """Add specs whose declaration was acknowledged."""
        for spec in specs:
            if spec.crawl_spec_id not in self._encoded:
                self._encoded[spec.crawl_spec_id] = self._codec.encode(CRAWL_SPECS, spec)
                self._cache_decoded(spec.crawl_spec_id, spec)

    async def declare(self, publisher: EventPublisher, specs: Iterable[CrawlSpecDeclared]) -> None:
        """Publish declarations now, for code outside of a handler; raises Unavailable."""
        new = list({spec.crawl_spec_id: spec for spec in specs}.values())
        await publisher.publish([say for spec in new if (say := self.declaration(spec)) is not None])
        self.keep(new)

    async def close(self) -> None:
        """Stop reading."""
        await self._reader.close()

    def _decode(self, spec_id: str) -> CrawlSpecDeclared | None:
        written = self._encoded.get(spec_id)
        if written is None:
            return None
        spec = self._codec.decode(CRAWL_SPECS, *written)
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
                if record.key is not None and record.value is not None:
                    spec_id = record.key.decode("utf-8", "replace")
                    self._encoded[spec_id] = record.value, _schema_header(record.headers)
        return bool(found)


def _schema_header(headers: Sequence[Header]) -> tuple[Header, ...]:
    """Return the headers that a reader of the value needs; the rest is not worth its memory."""
    return tuple(header for header in headers if header[0] == SCHEMA_HEADER)
