"""pages-fetched -> parse -> pages-parsed; a page that is given up -> pages-rejected.

Of what could be read, the given-up page is closed behind what was said of it before: -> pages-parsed.

In the shadow of the live parser: pages-fetched -> parse -> pages-parsed-shadow, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from strider.contracts.avro.codec import EncodedMessage
from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import ExtractionLevel
from strider.contracts.generated.events import CrawlSpecDeclared, PageFetched, PageParsed
from strider.contracts.generated.topics import (
    PAGES_FETCHED,
    PAGES_PARSED,
    PAGES_PARSED_SHADOW,
    PAGES_REJECTED,
    PARSER_DLQ,
)
from strider.contracts.multipart_pages import LAST_PART_HEADERS, MORE_PARTS_HEADERS, closing_headers
from strider.crawl.page_rejections import closing_event, page_rejection
from strider.messaging.effects import NO_EFFECTS, Effects, Publish, Subscription
from strider.messaging.ports import Record
from strider.parser.core.site_parser_fields import ParserAttribution, attribute_parser
from strider.runtime.consumer.spec import ConsumerSettings
from strider.runtime.publishing.dead_letters import HANDLER_CRASHED, HANDLER_TIMEOUT, RESULT_REFUSED

CONSUMES: Final = (PAGES_FETCHED,)
LIVE_TOPICS: Final = (PAGES_PARSED, PAGES_REJECTED)
SHADOW_TOPICS: Final = (PAGES_PARSED_SHADOW,)
PRODUCES: Final = (*LIVE_TOPICS, *SHADOW_TOPICS)
DEAD_LETTERS: Final = PARSER_DLQ
GROUP: Final = "parser"

SHADOW_GROUP: Final = "parser-shadow"
"""Of a parser that reads beside the live one; nobody acts on what it says."""

PAGES_PER_WORKER: Final = 16
"""In hand at a time: what a worker has ahead."""

_PARTS_MAY_BE_PUBLISHED: Final = frozenset({HANDLER_CRASHED, HANDLER_TIMEOUT, RESULT_REFUSED})
"""Reasons to give up what could be read: parts of its list may have been spoken, by whoever died at it."""

DEFAULT_EXTRACTION: Final = ExtractionLevel.MAIN.value
"""Of a page whose crawl does not say."""

_EXTRACTION_LEVELS: Final = frozenset(level.value for level in ExtractionLevel)

WALL_CLOCK_FACTOR: Final = 5.0
"""A page that waits for something else than the processor is ended after so many times its time."""


def loop_settings(*, workers: int, page_seconds: float) -> ConsumerSettings:
    """Size the loop, so that a page is not given up because those before it took all of their time."""
    usual = ConsumerSettings()
    worst_seconds = PAGES_PER_WORKER * WALL_CLOCK_FACTOR * page_seconds
    return replace(
        usual,
        concurrency=PAGES_PER_WORKER * workers,
        handler_timeout_seconds=usual.handler_timeout_seconds + worst_seconds,
    )


@fast_dataclass(frozen=True, slots=True)
class ParsedPage:
    """What came of a page."""

    event: PageParsed
    """All of it; or, with `encoded`, what key, partition and headers follow from."""
    encoded: EncodedMessage | None = None
    texts: bytes = b""
    """Texts too long to travel, for the object store."""
    reader: ParserAttribution | None = None
    """Who read it; None where that is in the event."""
    earlier_parts: tuple[ParsedPage, ...] = ()
    """The parts of a long list that come before this one, which is the last."""


class PageParser(Protocol):
    """Who reads pages."""

    async def parse(
        self, page: PageFetched, record: Record, body: bytes, *, extraction: str = ""
    ) -> ParsedPage:
        """Read a page that came as this record; an empty body means the one within the event.

        `extraction` is how much of it is wanted; empty means as much as usual.
        """


class Specs(Protocol):
    """The crawl specs that were declared."""

    async def known(self, spec_ids: Iterable[str]) -> Mapping[str, CrawlSpecDeclared]:
        """Give all of these that there are; raises Unavailable where that could not be found out."""


class BodyStore(Protocol):
    """Where bodies and texts are that are too large to travel."""

    async def get(self, reference: str) -> bytes:
        """Give a body; raises Unavailable where the store does not answer."""

    async def put(self, content: bytes) -> str:
        """Keep texts and give their reference."""


CountPage = Callable[[ParserAttribution], None]
"""Counts pages by who read them."""


def _ignore_count(reader: ParserAttribution) -> None:
    del reader


class Parser:
    """Fetch the body where it is elsewhere, have as much of it read as its crawl asks for, speak."""

    def __init__(
        self,
        page_parser: PageParser,
        body_store: BodyStore,
        *,
        specs: Specs,
        now_ms: Callable[[], int],
        extraction: str = "",
        count_page: CountPage = _ignore_count,
        is_shadow: bool = False,
    ) -> None:
        """Take what it works with; `extraction` holds for every page, empty for as much as its crawl asks."""
        self._parsers = page_parser
        self._body_store = body_store
        self._specs = specs
        self._extraction = extraction
        self._now_ms = now_ms
        self._count = count_page
        self._is_shadow = is_shadow

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Say which topic goes to which method."""
        return (Subscription(PAGES_FETCHED, handler=self.on_page_fetched),)

    async def on_page_fetched(self, page: PageFetched, record: Record) -> Effects:
        """Say what one page says; the outcome is part of the event."""
        body = await self._body_store.get(page.body_object) if page.body_object else page.body
        extraction = self._extraction or await self._extraction_level(page)
        parsed = await self._parsers.parse(page, record, body, extraction=extraction)
        event = parsed.event
        self._count(parsed.reader or attribute_parser(event))
        if parsed.texts:
            event = replace(event, texts_object=await self._body_store.put(parsed.texts))
        topic = PAGES_PARSED_SHADOW if self._is_shadow else PAGES_PARSED
        if not parsed.earlier_parts:
            return Effects((Publish(topic, event, encoded=parsed.encoded),), outcome=event.outcome)
        last = Publish(topic, event, LAST_PART_HEADERS, encoded=parsed.encoded)
        parts = [
            Publish(topic, part.event, MORE_PARTS_HEADERS, encoded=part.encoded)
            for part in parsed.earlier_parts
        ]
        return Effects(parts, publish_last=(last,), outcome=event.outcome)  # the last one settles the page

    async def _extraction_level(self, page: PageFetched) -> str:
        """Say how much the crawl of a page wants; what only a later version of us understands is as usual."""
        spec = (await self._specs.known((page.crawl_spec_id,))).get(page.crawl_spec_id)
        return (
            spec.extraction
            if spec is not None and spec.extraction in _EXTRACTION_LEVELS
            else DEFAULT_EXTRACTION
        )

    async def on_given_up(self, record: Record, reason: str) -> Effects:
        """Speak for a page without a parsed event, so that its entry settles; a shadow settles none."""
        if self._is_shadow:
            return NO_EFFECTS
        rejected = page_rejection(record, reason, service="parser", now_ms=self._now_ms())
        if rejected is None:
            return NO_EFFECTS
        if reason not in _PARTS_MAY_BE_PUBLISHED:
            return Effects(publish_last=(Publish(PAGES_REJECTED, rejected),))
        closes = Publish(PAGES_PARSED, closing_event(rejected), closing_headers(rejected.rejection_reason))
        return Effects((Publish(PAGES_REJECTED, rejected, MORE_PARTS_HEADERS),), publish_last=(closes,))
