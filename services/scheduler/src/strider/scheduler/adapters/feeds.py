"""Feed of sources, which every scheduler reads whole."""

from __future__ import annotations

from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SOURCES
from strider.crawl.feeds import TopicFeed, decoder_of, key_text
from strider.messaging.ports import Bus, Record
from strider.scheduler import log_events


class SourceFeed(TopicFeed[tuple[str, SourceSaved | None]]):
    """Sources by their ids, as they are saved and deleted."""

    def __init__(self, bus: Bus, codec: Codec) -> None:
        decoded = decoder_of(codec, SOURCES)

        def read(record: Record) -> tuple[str, SourceSaved | None]:
            return key_text(record), None if record.value is None else decoded(record)

        super().__init__(bus, SOURCES.name, read, unreadable_event=log_events.SOURCE_UNREADABLE)
