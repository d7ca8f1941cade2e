"""fetches-completed, pages-validated, pages-rejected, urls-decided -> lines.

Decides that each URL has one line: the first that tells how it ended. A link that was refused
before it was taken waits until the end, because another page may lead to it by an allowed way.
What it has told, and how far it has read, belongs to the same instant as the output's length.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from strider.contracts.generated.enums import ExtractionLevel, ValidationStatus
from strider.contracts.generated.events import (
    FetchCompleted,
    PageParsed,
    PageRejected,
    PageValidated,
    UrlsDecided,
)
from strider.contracts.generated.topics import (
    FETCHES_COMPLETED,
    PAGES_REJECTED,
    PAGES_VALIDATED,
    PARSER_DLQ,
    URLS_DECIDED,
)
from strider.contracts.ids import key_fingerprint
from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.errors import Unavailable
from strider.messaging.ports import GroupSpec, Record
from strider.runtime.consumer.spec import ConsumerSpec
from strider.storage.errors import StoreFailure
from strider.storage.objects import DeadLetterObjectStore
from strider.urls import host_of, url_hash, url_key_of

from .answers import Answers
from .further import further_of
from .lines import PAGE, Decided, Line, line_of_page, line_of_rejected, lines_of_decided
from .member import Member
from .output import Output, OutputFailed
from .tally import Tally

GROUP: Final = "crawl-output"
DEAD_LETTERS: Final = PARSER_DLQ
"""Nothing of this group is ever given up: what cannot be written ends the crawl."""

TOPICS: Final = (FETCHES_COMPLETED, PAGES_VALIDATED, PAGES_REJECTED, URLS_DECIDED)

LISTED_REFUSALS: Final = 100_000
"""Refused links that are kept for lines of their own; more are only counted."""

_REFUSED: Final = "refused "
_TOLD: Final = "told "
"""First words of the names of notes."""


class Sink:
    """Writes lines as events come."""

    def __init__(
        self,
        output: Output,
        objects: DeadLetterObjectStore,
        *,
        only_pages: bool = False,
        extraction: str = ExtractionLevel.BASIC,
    ) -> None:
        self._output = output
        self._extraction = extraction
        self._objects = objects
        self._only_pages = only_pages
        self._told: set[int] = set()
        self._waiting: dict[str, Line] = {}
        self._notes: dict[str, str] = {}
        self._positions: dict[str, int] = {}
        self._answers = Answers()
        self.tally = Tally()
        self.failed: asyncio.Future[None] | None = None
        """Ends with OutputFailed when the output does; set by whoever waits for that."""

    def member(self) -> Member:
        """Give it as a service of the ring."""
        spec = GroupSpec(GROUP, tuple(topic.name for topic in TOPICS))
        reads = (
            Subscription(FETCHES_COMPLETED, batch_handler=self.on_fetched),
            Subscription(PAGES_VALIDATED, batch_handler=self.on_validated),
            Subscription(PAGES_REJECTED, batch_handler=self.on_rejected),
            Subscription(URLS_DECIDED, batch_handler=self.on_decided),
        )
        return Member("crawl", (ConsumerSpec(spec, reads),), DEAD_LETTERS)

    async def on_fetched(self, events: Sequence[tuple[FetchCompleted, Record]]) -> Effects:
        """Learn what came of requests, and tell of those URLs that only wait for it."""
        for event, record in events:
            is_told = key_fingerprint(event.url_key) in self._told
            if self._is_unread(record) and (line := self._answers.hear(event, is_told=is_told)):
                self._tell(line)
        return await self._written()

    async def on_validated(self, pages: Sequence[tuple[PageValidated, Record]]) -> Effects:
        """Tell of pages."""
        for event, record in pages:
            if event.verdict.validation_status == ValidationStatus.REJECTED:
                continue  # it only closes its entry: the rejection is told by itself
            page = event.page
            texts, away = await self._texts(page) if page.texts_object else (b"", {})
            if self._is_unread(record) and self._is_new(page.url_key):
                self._answers.forget(page.url_key)
                further = further_of(page, self._extraction, texts)
                self._tell(line_of_page(page, _text_of(page, away), further))
                self.tally.took(host_of(page.url), page.total_us / 1000)
        return await self._written()

    async def on_rejected(self, pages: Sequence[tuple[PageRejected, Record]]) -> Effects:
        """Tell of pages that are none."""
        for event, record in pages:
            if self._is_unread(record) and self._is_new(event.url_key):
                self._tell_answered(event.url_key, line_of_rejected(event))
        return await self._written()

    async def on_decided(self, events: Sequence[tuple[UrlsDecided, Record]]) -> Effects:
        """Tell of what ended without a page; links that were refused wait."""
        for event, record in events:
            if self._is_unread(record):
                self.tally.unlisted += event.not_listed
                for decided in lines_of_decided(event):
                    self._take(decided)
        return await self._written()

    async def _written(self) -> Effects:
        if self._output.is_due:
            await self.drain()
        return NO_EFFECTS

    async def drain(self) -> None:
        """Hand on what is gathered. Raises Unavailable, and says so for good, where that fails."""
        try:
            await self._output.drain()
        except OutputFailed as failure:
            if self.failed is not None and not self.failed.done():
                self.failed.set_exception(failure)
            raise Unavailable("output", str(failure)) from failure

    def _is_unread(self, record: Record) -> bool:
        """Tell a message that is read for the first time, and note that it was."""
        place = f"{record.topic}/{record.partition}"
        if record.offset < self._positions.get(place, 0):
            return False
        self._positions[place] = record.offset + 1
        return True

    def _take(self, decided: Decided) -> None:
        name = decided.url_key or f"?{decided.line.url}"
        if not decided.has_other_ways:
            if not decided.url_key or self._is_new(decided.url_key):
                self._tell_answered(decided.url_key, decided.line)
        elif name in self._waiting:
            return
        elif len(self._waiting) >= LISTED_REFUSALS:
            self.tally.unlisted += 1
        else:
            self._waiting[name] = decided.line
            self._notes[_REFUSED + name] = json.dumps(asdict(decided.line))

    def _is_new(self, url_key: str) -> bool:
        fingerprint = key_fingerprint(url_key)
        if fingerprint in self._told:
            return False
        self._told.add(fingerprint)
        if self._only_pages:  # lines of the file do not say it
            self._notes[f"{_TOLD}{fingerprint:x}"] = ""
        return True

    def _tell_answered(self, url_key: str, line: Line) -> None:
        """Tell of a URL with what its answer says; where that is yet to come, then."""
        if complete := self._answers.complete(url_key, line):
            self._tell(complete)

    def _tell(self, line: Line) -> None:
        self.tally.note(line.outcome, line.reason)
        if line.outcome == PAGE or not self._only_pages:
            self._output.write(line)

    async def _texts(self, page: PageParsed) -> tuple[bytes, Mapping[str, Any]]:
        """Get texts that were too long to travel, as they are kept and read; nothing where they are gone."""
        try:
            texts = await self._objects.get(page.texts_object)
            return texts, json.loads(texts)
        except (StoreFailure, ValueError):
            return b"", {}

    def release(self) -> None:
        """Tell of what waits for an answer, as far as it is known."""
        for line in self._answers.release():
            self._tell(line)

    def finish(self) -> None:
        """Tell of the links that were refused and never came another way."""
        for name, line in self._waiting.items():
            if name.startswith("?") or self._is_new(name):
                self._tell(line)
        self._waiting.clear()

    def kept(self) -> dict[str, str]:
        """Give what belongs to this instant."""
        return {
            "positions": json.dumps(self._positions),
            "tally": self.tally.to_json(),
            **self._answers.kept(),
        }

    def notes(self) -> dict[str, str]:
        """Give what came since the last call and is to be kept for good."""
        notes, self._notes = self._notes, {}
        return notes

    def restore(self, kept: Mapping[str, str], notes: Mapping[str, str]) -> None:
        """Become what it was when these were kept."""
        self._positions = json.loads(kept["positions"])
        self.tally = Tally.from_json(kept["tally"])
        self._told.update(map(key_fingerprint, self._answers.restore(kept)))
        for name, text in notes.items():
            if name.startswith(_TOLD):
                self._told.add(int(name.removeprefix(_TOLD), 16))
            elif name.startswith(_REFUSED):
                line = json.loads(text)
                self._waiting[name.removeprefix(_REFUSED)] = Line(**{**line, "links": tuple(line["links"])})

    def know(self, line: Mapping[str, Any]) -> None:
        """Take a line that is in the file already and was counted."""
        url = str(line["url"])
        if key := url_key_of(url):
            self._told.add(key_fingerprint(url_hash(key)))
        if line["outcome"] == PAGE:
            self.tally.took(host_of(url), float(line.get("duration_ms") or 0.0))


def _text_of(page: PageParsed, away: Mapping[str, Any]) -> str:
    """Give what a reader sees; `away` are texts that were too long to travel."""
    return str(page.text or away.get("text") or page.main_text or away.get("main_text") or "")
