"""The crawl specs that this process knows: read from their topic when one is missing.

One rule, as for schemas: a spec is declared and acknowledged before the first event that names it;
so a reader that lacks one reads the topic to where it ends *now*, and only then is the spec known
to be absent. Decides nothing about what a spec says, nor what becomes of what names an absent one.
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
from strider.messaging.errors import OffsetLost
from strider.messaging.ports import Bus, Clock, Consumer, Header, TopicPartition
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher

POLL_RECORDS: Final = 1_000
POLL_SECONDS: Final = 0.5

STALL_SECONDS: Final = 15.0
"""How long nothing may come, although the end is not reached, before the broker counts as unavailable."""

MAX_DECODED_SPECS: Final = 4_096
"""Specs that are kept decoded, some kilobytes each; the others are kept as their bytes, a tenth of that."""

_log = logger("specs")


class CrawlSpecCache:
    """Knows crawl specs by their ids; one for all loops of a process."""

    def __init__(self, bus: Bus, codec: Codec, *, clock: Clock) -> None:
        self._codec = codec
        self._clock = clock
        self._written: dict[str, tuple[bytes, tuple[Header, ...]]] = {}
        self._open: OrderedDict[str, CrawlSpecDeclared] = OrderedDict()
        self._readings = CatchUpReader(bus, CRAWL_SPECS.name, poll=self._poll, patience=self._patience)

    def get(self, spec_id: str) -> CrawlSpecDeclared | None:
        """Give a spec that is known by now; None says only that it was not found here yet."""
        spec = self._open.get(spec_id)
        if spec is None:
            try:
                return self._decode(spec_id)
            except DecodeError:
                return None  # `find` says why
        self._open.move_to_end(spec_id)
        return spec

    async def find(self, spec_ids: Iterable[str]) -> None:
        """Look for specs wherever they may be by now: what `get` does not give afterwards is nowhere.

        Raises Unavailable where that could not be read, and UnknownSchema for one that was written with
        a schema not known here: the loop then looks for the schema, and handles the message again.
        """
        missing = [spec_id for spec_id in set(spec_ids) if self.get(spec_id) is None]
        if not all(spec_id in self._written for spec_id in missing):
            await self._readings.read_to_end()
        for spec_id in missing:
            try:
                self._decode(spec_id)
            except UnknownSchema:
                raise
            except DecodeError as failure:
                _log.error("Crawl spec unreadable", crawl_spec=spec_id, why=str(failure))

    async def known(self, spec_ids: Iterable[str]) -> Mapping[str, CrawlSpecDeclared]:
        """Give all of these specs that there are, having looked for those that were missing."""
        wanted = set(spec_ids)
        found = {spec_id: spec for spec_id in wanted if (spec := self.get(spec_id)) is not None}
        if missing := wanted - found.keys():
            await self.find(missing)
            found |= {spec_id: spec for spec_id in missing if (spec := self.get(spec_id)) is not None}
        return found

    def declaration(self, spec: CrawlSpecDeclared) -> Publish | None:
        """Give what is to be said, and acknowledged, before a spec is named; None where that was done.

        For handlers: the declaration goes into `say`, what names the spec into `close`, and `keep` is
        called where the batch is remembered.
        """
        return None if spec.crawl_spec_id in self._written else Publish(CRAWL_SPECS, spec)

    def keep(self, specs: Iterable[CrawlSpecDeclared]) -> None:
        """Take specs whose declaration was acknowledged."""
        for spec in specs:
            if spec.crawl_spec_id not in self._written:
                self._written[spec.crawl_spec_id] = self._codec.encode(CRAWL_SPECS, spec)
                self._put(spec.crawl_spec_id, spec)

    async def declare(self, publisher: EventPublisher, specs: Iterable[CrawlSpecDeclared]) -> None:
        """Have specs acknowledged now, for who speaks outside of a handler; raises Unavailable."""
        new = list({spec.crawl_spec_id: spec for spec in specs}.values())
        await publisher.publish([say for spec in new if (say := self.declaration(spec)) is not None])
        self.keep(new)

    async def close(self) -> None:
        """Stop reading."""
        await self._readings.close()

    def _decode(self, spec_id: str) -> CrawlSpecDeclared | None:
        written = self._written.get(spec_id)
        if written is None:
            return None
        spec = self._codec.decode(CRAWL_SPECS, *written)
        self._put(spec_id, spec)
        return spec

    def _put(self, spec_id: str, spec: CrawlSpecDeclared) -> None:
        self._open[spec_id] = spec
        if len(self._open) > MAX_DECODED_SPECS:
            self._open.popitem(last=False)

    def _patience(self) -> Callable[[bool], bool]:
        clock = self._clock
        moved = clock.monotonic()

        def is_too_long(has_come: bool) -> bool:
            nonlocal moved
            if has_come:
                moved = clock.monotonic()
            return not has_come and clock.monotonic() - moved > STALL_SECONDS

        return is_too_long

    async def _poll(self, reader: Consumer) -> bool:
        try:
            found = await reader.poll(max_records=POLL_RECORDS, timeout_seconds=POLL_SECONDS)
        except OffsetLost as lost:
            reader.seek(TopicPartition(lost.topic, lost.partition), lost.available)
            return True
        for records in found.values():
            for record in records:
                if record.key is not None and record.value is not None:
                    spec_id = record.key.decode("utf-8", "replace")
                    self._written[spec_id] = record.value, _schema_header(record.headers)
        return bool(found)


def _schema_header(headers: Sequence[Header]) -> tuple[Header, ...]:
    """Keep what a reader of the value needs, and not the rest for as long as the process lives."""
    return tuple(header for header in headers if header[0] == SCHEMA_HEADER)
