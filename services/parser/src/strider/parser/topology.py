"""pages-fetched -> parse -> pages-parsed; a page that cannot be handled -> pages-rejected.

A rejected page of which parts may have been published is closed behind these parts: -> pages-parsed.

As a shadow of the live parser: pages-fetched -> parse -> pages-parsed-shadow, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Protocol

from strider.contracts.avro.codec import EncodedMessage
from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import ExtractionLevel, ParseOutcome
from strider.contracts.generated.events import PageFetched, PageParsed
from strider.contracts.generated.topics import (
    PAGES_FETCHED,
    PAGES_PARSED,
    PAGES_PARSED_SHADOW,
    PAGES_REJECTED,
    PARSER_DLQ,
)
from strider.contracts.multipart_pages import LAST_PART_HEADERS, MORE_PARTS_HEADERS, closing_headers
from strider.crawl.crawl_spec_cache import CrawlSpecLookup
from strider.crawl.page_rejections import closing_event, page_rejection
from strider.crawl.run_log import NoteRunEvent, discard_note
from strider.messaging.effects import NO_EFFECTS, Effects, GivenUp, Publish, Subscription
from strider.messaging.ports import Record
from strider.parser import log_events
from strider.parser.core import DEFAULT_OPTIONS, PageOptions, ParseFailure, unreadable_page
from strider.parser.core.parsing_costs import PageSender, page_sender
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
"""Group of a parser that runs beside the live one; no service acts on what it publishes."""

PAGES_PER_WORKER: Final = 16
"""Pages in progress per worker, those in its queue included."""

MAX_WAITING_PAGES: Final = 64
"""Pages that wait for a turn, in the order of the shares of their senders; what is behind comes in the order
of the log.
"""

_PARTS_MAY_BE_PUBLISHED: Final = frozenset({HANDLER_CRASHED, HANDLER_TIMEOUT, RESULT_REFUSED})
"""Rejection reasons of pages that were parsed: the parts of a long list may be published already."""

DEFAULT_EXTRACTION: Final = ExtractionLevel.MAIN.value
"""Extraction level of a page whose crawl does not set one."""

_EXTRACTION_LEVELS: Final = frozenset(level.value for level in ExtractionLevel)

WALL_CLOCK_FACTOR: Final = 5.0
"""Wall-clock limit of a page as a multiple of its limit of processor time."""


CountPage = Callable[[ParserAttribution], None]
"""Counts a page by the parser that read it."""


def loop_settings(*, workers: int, page_seconds: float) -> ConsumerSettings:
    """Size the consumer loop so that a page does not time out because of those queued before it."""
    usual = ConsumerSettings()
    # Above the pages that wait there is room for those that arrive, and may be given up or come first.
    pages = PAGES_PER_WORKER * workers + 2 * MAX_WAITING_PAGES
    worst_seconds = pages / workers * WALL_CLOCK_FACTOR * page_seconds
    return replace(
        usual,
        concurrency=pages,
        handler_timeout_seconds=usual.handler_timeout_seconds + worst_seconds,
    )


@fast_dataclass(frozen=True, slots=True)
class ParsedPage:
    """The result of parsing a page."""

    event: PageParsed
    """The whole event; or, with `encoded`, the fields from which key, partition and headers follow."""
    encoded: EncodedMessage | None = None
    texts: bytes = b""
    """Texts that are too long for the event, for the object store."""
    reader: ParserAttribution | None = None
    """The parser that read the page; None where the event says so."""
    earlier_parts: tuple[ParsedPage, ...] = ()
    """The parts of a long list that come before this one, which is the last."""
    cost_seconds: float | None = None
    """Processor time that it has taken; None where that is unknown."""


class PageParser(Protocol):
    """Port to what parses pages."""

    async def parse(
        self, page: PageFetched, record: Record, body: bytes, *, options: PageOptions = DEFAULT_OPTIONS
    ) -> ParsedPage:
        """Parse a page that arrived in this record; an empty body means the one in the event."""


class TurnSource(Protocol):
    """Port to the turns of pages."""

    async def begin(self, source: PageSender, size_bytes: int) -> Any:
        """Wait until a page may be parsed; None where it is given up."""

    def end(self, turn: Any, seconds: float | None) -> None:
        """End a turn with the time that its page has cost."""

    def reason_of_refusal(self) -> str:
        """Return why a page was given up."""


class BodyStore(Protocol):
    """Port to the store of bodies and texts that are too large for events."""

    async def get(self, reference: str) -> bytes:
        """Return a body; raises Unavailable where the store does not respond."""

    async def put(self, content: bytes) -> str:
        """Store texts and return their reference."""


def _ignore_count(reader: ParserAttribution) -> None:
    del reader


class Parser:
    """Loads the body, parses it at the extraction level of its crawl, and publishes the result."""

    def __init__(
        self,
        page_parser: PageParser,
        body_store: BodyStore,
        *,
        specs: CrawlSpecLookup,
        now_ms: Callable[[], int],
        turns: TurnSource | None = None,
        extraction: str = "",
        count_page: CountPage = _ignore_count,
        note: NoteRunEvent = discard_note,
        is_shadow: bool = False,
    ) -> None:
        """Set the collaborators; `extraction` overrides the level of every crawl, empty for none.

        Without `turns` each page is parsed when it comes, as in a crawl within one process.
        """
        self._turns = turns
        self._page_parser = page_parser
        self._body_store = body_store
        self._specs = specs
        self._extraction = extraction
        self._now_ms = now_ms
        self._count_page = count_page
        self._note = note
        self._is_shadow = is_shadow

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Return the subscriptions: which topic goes to which handler."""
        return (Subscription(PAGES_FETCHED, handler=self.on_page_fetched),)

    async def on_page_fetched(self, page: PageFetched, record: Record) -> Effects:
        """Parse one page; the outcome is part of the published event."""
        parsed = await self._parse_in_turn(page, record)
        event = parsed.event
        self._count_page(parsed.reader or attribute_parser(event))
        self._note(log_events.PAGES_PARSED, page.job_id, page.execution_id, event.outcome, 1)
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
        return Effects(parts, publish_last=(last,), outcome=event.outcome)  # the last part settles the page

    async def _parse_in_turn(self, page: PageFetched, record: Record) -> ParsedPage:
        if self._turns is None:
            return await self._parse(page, record)
        size_bytes = len(page.body)
        turn = await self._turns.begin(page_sender(page.execution_id, page.group), size_bytes)
        if turn is None:
            failure = ParseFailure(ParseOutcome.TIMED_OUT, self._turns.reason_of_refusal())
            return ParsedPage(unreadable_page(page, failure))
        seconds: float | None = None
        try:
            parsed = await self._parse(page, record)
            seconds = parsed.cost_seconds
        finally:
            self._turns.end(turn, seconds)
        return parsed

    async def _parse(self, page: PageFetched, record: Record) -> ParsedPage:
        body = await self._body_store.get(page.body_object) if page.body_object else page.body
        options = await self._options_of(page)
        return await self._page_parser.parse(page, record, body, options=options)

    async def _options_of(self, page: PageFetched) -> PageOptions:
        """Return what the crawl of a page asks for; an unknown extraction level means the default."""
        spec = (await self._specs.known((page.crawl_spec_id,))).get(page.crawl_spec_id)
        if spec is None:
            return PageOptions(self._extraction or DEFAULT_EXTRACTION)
        level = spec.extraction if spec.extraction in _EXTRACTION_LEVELS else DEFAULT_EXTRACTION
        return PageOptions(self._extraction or level, spec.with_markdown, spec.parser)

    async def on_given_up(self, record: Record, failure: GivenUp) -> Effects:
        """Publish the rejection of a page without a parsed event, so that its entry settles; none as a
        shadow.
        """
        if self._is_shadow:
            return NO_EFFECTS
        rejected = page_rejection(record, failure.reason, service="parser", now_ms=self._now_ms())
        if rejected is None:
            return NO_EFFECTS
        self._note(log_events.PAGES_GIVEN_UP, rejected.job_id, rejected.execution_id, failure.reason, 1)
        if failure.reason not in _PARTS_MAY_BE_PUBLISHED:
            return Effects(publish_last=(Publish(PAGES_REJECTED, rejected),))
        closes = Publish(PAGES_PARSED, closing_event(rejected), closing_headers(rejected.rejection_reason))
        return Effects((Publish(PAGES_REJECTED, rejected, MORE_PARTS_HEADERS),), publish_last=(closes,))
