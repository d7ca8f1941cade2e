"""fetches-completed, pages-validated, pages-rejected, urls-decided -> records of the output.

Decides that each URL has one record: the first event with its outcome. A refused link waits until the end,
because another page may lead to it by a link that is allowed. What was written, and the consumed positions,
are saved together with the length of the output.

The record of a URL with a status waits for its response (duration, type, length, redirect), as topics keep no
order among each other. A response is kept only until the URL has its record.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

from strider.contracts.generated.enums import ExtractionLevel, RequestKind, ValidationStatus
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

from .output import ResultWriteFailed, ResultWriter
from .pipeline import PipelineService
from .results import PAGE, DecidedUrl, UrlResult, decided_results, extra_fields, page_result, rejected_result
from .summary import CrawlCounters

_NAME: Final = "answers"
"""Key in the snapshot."""


class ResponseFacts(NamedTuple):
    """Fields of a response that a record contains."""

    duration_ms: float
    content_type: str
    length: int
    redirected_by: str
    """URL that redirected here; empty for a link."""


class ResponseJoin:
    """Responses without a record, and records without a response."""

    def __init__(self) -> None:
        self._responses: dict[str, ResponseFacts] = {}
        self._pending: dict[str, UrlResult] = {}

    def add_response(self, event: FetchCompleted, *, is_written: bool) -> UrlResult | None:
        """Add a response; returns the record that has waited for it."""
        if event.kind == RequestKind.ROBOTS:
            return None
        response = ResponseFacts(
            round(event.total_us / 1000, 1),
            event.content_type,
            event.body_bytes,
            event.redirect_chain[-1] if event.redirect_chain else "",
        )
        if result := self._pending.pop(event.url_key, None):
            return _with_response(result, response)
        if not is_written:
            self._responses[event.url_key] = response
        return None

    def complete(self, url_key: str, result: UrlResult) -> UrlResult | None:
        """Add the response to a record; None where the record has to wait for it."""
        response = self._responses.pop(url_key, None)
        if response is not None:
            return _with_response(result, response)
        if not result.status:
            return result
        self._pending[url_key] = result
        return None

    def forget(self, url_key: str) -> None:
        """Drop the response of a URL whose record needs none."""
        self._responses.pop(url_key, None)

    def drain(self) -> Iterator[UrlResult]:
        """Return the records that still wait, without a response."""
        pending, self._pending = self._pending, {}
        yield from pending.values()

    def snapshot(self) -> dict[str, str]:
        """Return the state as values of a snapshot."""
        pending = {key: asdict(result) for key, result in self._pending.items()}
        return {_NAME: json.dumps({"heard": self._responses, "late": pending})}

    def restore(self, kept: Mapping[str, str]) -> Iterator[str]:
        """Restore a snapshot; returns the keys of URLs whose records wait."""
        # A state file of an older version has no responses.
        values: dict[str, Any] = json.loads(kept.get(_NAME, "{}"))
        self._responses = {key: ResponseFacts(*parts) for key, parts in values.get("heard", {}).items()}
        pending = values.get("late", {}).items()
        self._pending = {
            key: UrlResult(**{**result, "links": tuple(result["links"])}) for key, result in pending
        }
        yield from self._pending


def _with_response(result: UrlResult, response: ResponseFacts) -> UrlResult:
    return replace(
        result,
        duration_ms=response.duration_ms,
        content_type=result.content_type or response.content_type,
        length=result.length or response.length,
        referrer=result.referrer or response.redirected_by,
    )


GROUP: Final = "crawl-output"
DEAD_LETTERS: Final = PARSER_DLQ
"""Unused: this group dead-letters nothing, as output that cannot be written ends the crawl."""

TOPICS: Final = (FETCHES_COMPLETED, PAGES_VALIDATED, PAGES_REJECTED, URLS_DECIDED)

LISTED_REFUSALS: Final = 100_000
"""Refused links with a record of their own; further ones are only counted."""

_REFUSED_NOTE: Final = "refused "
_WRITTEN_NOTE: Final = "told "
"""Prefixes of the names of notes; keys of the state file."""


class ResultCollector:
    """Turns events into records, and writes them."""

    def __init__(
        self,
        output: ResultWriter,
        objects: DeadLetterObjectStore,
        *,
        only_pages: bool = False,
        extraction: str = ExtractionLevel.BASIC,
    ) -> None:
        self._output = output
        self._extraction = extraction
        self._objects = objects
        self._only_pages = only_pages
        self._written_keys: set[int] = set()
        self._refused_links: dict[str, UrlResult] = {}
        self._notes: dict[str, str] = {}
        self._positions: dict[str, int] = {}
        self._responses = ResponseJoin()
        self.counters = CrawlCounters()
        self.failed: asyncio.Future[None] | None = None
        """Ends with ResultWriteFailed when the output fails; set by the runner."""

    def service(self) -> PipelineService:
        """Return the collector as a service of the pipeline."""
        spec = GroupSpec(GROUP, tuple(topic.name for topic in TOPICS))
        reads = (
            Subscription(FETCHES_COMPLETED, batch_handler=self.on_fetched),
            Subscription(PAGES_VALIDATED, batch_handler=self.on_validated),
            Subscription(PAGES_REJECTED, batch_handler=self.on_rejected),
            Subscription(URLS_DECIDED, batch_handler=self.on_decided),
        )
        return PipelineService("crawl", (ConsumerSpec(spec, reads),), DEAD_LETTERS)

    async def on_fetched(self, events: Sequence[tuple[FetchCompleted, Record]]) -> Effects:
        """Add responses, and write the records that have waited for them."""
        for event, record in events:
            is_told = key_fingerprint(event.url_key) in self._written_keys
            if self._is_first_delivery(record) and (
                line := self._responses.add_response(event, is_written=is_told)
            ):
                self._write(line)
        return await self._drain_when_due()

    async def on_validated(self, pages: Sequence[tuple[PageValidated, Record]]) -> Effects:
        """Write the records of valid pages."""
        for event, record in pages:
            if event.verdict.validation_status == ValidationStatus.REJECTED:
                continue  # it only closes its entry: the rejection is an event of its own
            page = event.page
            texts, stored = await self._load_texts(page) if page.texts_object else (b"", {})
            if self._is_first_delivery(record) and self._is_new(page.url_key):
                self._responses.forget(page.url_key)
                further = extra_fields(page, self._extraction, texts)
                self._write(page_result(page, _visible_text(page, stored), further))
                self.counters.count_page(host_of(page.url), page.total_us / 1000)
        return await self._drain_when_due()

    async def on_rejected(self, pages: Sequence[tuple[PageRejected, Record]]) -> Effects:
        """Write the records of rejected pages."""
        for event, record in pages:
            if self._is_first_delivery(record) and self._is_new(event.url_key):
                self._write_with_response(event.url_key, rejected_result(event))
        return await self._drain_when_due()

    async def on_decided(self, events: Sequence[tuple[UrlsDecided, Record]]) -> Effects:
        """Write the records of URLs without a page; refused links wait for the end."""
        for event, record in events:
            if self._is_first_delivery(record):
                self.counters.unlisted += event.not_listed
                for decided in decided_results(event):
                    self._add_decided(decided)
        return await self._drain_when_due()

    async def _drain_when_due(self) -> Effects:
        if self._output.is_due:
            await self.drain()
        return NO_EFFECTS

    async def drain(self) -> None:
        """Write the buffered records. A failure raises Unavailable, and ends the crawl by `failed`."""
        try:
            await self._output.drain()
        except ResultWriteFailed as failure:
            if self.failed is not None and not self.failed.done():
                self.failed.set_exception(failure)
            raise Unavailable("output", str(failure)) from failure

    def _is_first_delivery(self, record: Record) -> bool:
        """Whether a message is consumed for the first time; records its position."""
        place = f"{record.topic}/{record.partition}"
        if record.offset < self._positions.get(place, 0):
            return False
        self._positions[place] = record.offset + 1
        return True

    def _add_decided(self, decided: DecidedUrl) -> None:
        name = decided.url_key or f"?{decided.result.url}"
        if not decided.may_still_be_fetched:
            if not decided.url_key or self._is_new(decided.url_key):
                self._write_with_response(decided.url_key, decided.result)
        elif name in self._refused_links:
            return
        elif len(self._refused_links) >= LISTED_REFUSALS:
            self.counters.unlisted += 1
        else:
            self._refused_links[name] = decided.result
            self._notes[_REFUSED_NOTE + name] = json.dumps(asdict(decided.result))

    def _is_new(self, url_key: str) -> bool:
        fingerprint = key_fingerprint(url_key)
        if fingerprint in self._written_keys:
            return False
        self._written_keys.add(fingerprint)
        if self._only_pages:  # the file has no line for it
            self._notes[f"{_WRITTEN_NOTE}{fingerprint:x}"] = ""
        return True

    def _write_with_response(self, url_key: str, line: UrlResult) -> None:
        """Write a record with its response; where that was not consumed yet, later."""
        if complete := self._responses.complete(url_key, line):
            self._write(complete)

    def _write(self, line: UrlResult) -> None:
        self.counters.count(line.outcome, line.reason)
        if line.outcome == PAGE or not self._only_pages:
            self._output.write(line)

    async def _load_texts(self, page: PageParsed) -> tuple[bytes, Mapping[str, Any]]:
        """Load texts that were too long for the event, raw and parsed; empty where they are missing."""
        try:
            texts = await self._objects.get(page.texts_object)
            return texts, json.loads(texts)
        except (StoreFailure, ValueError):
            return b"", {}

    def write_pending(self) -> None:
        """Write the records that still wait for a response."""
        for line in self._responses.drain():
            self._write(line)

    def write_refused(self) -> None:
        """Write the records of refused links that were not fetched another way."""
        for name, line in self._refused_links.items():
            if name.startswith("?") or self._is_new(name):
                self._write(line)
        self._refused_links.clear()

    def snapshot(self) -> dict[str, str]:
        """Return the state as values of a snapshot."""
        return {
            "positions": json.dumps(self._positions),
            "tally": self.counters.to_json(),
            **self._responses.snapshot(),
        }

    def take_notes(self) -> dict[str, str]:
        """Return the notes since the last call, which are stored for good."""
        notes, self._notes = self._notes, {}
        return notes

    def restore(self, kept: Mapping[str, str], notes: Mapping[str, str]) -> None:
        """Restore a snapshot and its notes."""
        self._positions = json.loads(kept["positions"])
        self.counters = CrawlCounters.from_json(kept["tally"])
        self._written_keys.update(map(key_fingerprint, self._responses.restore(kept)))
        for name, text in notes.items():
            if name.startswith(_WRITTEN_NOTE):
                self._written_keys.add(int(name.removeprefix(_WRITTEN_NOTE), 16))
            elif name.startswith(_REFUSED_NOTE):
                line = json.loads(text)
                self._refused_links[name.removeprefix(_REFUSED_NOTE)] = UrlResult(
                    **{**line, "links": tuple(line["links"])}
                )

    def add_written(self, line: Mapping[str, Any]) -> None:
        """Add a record that is in the file already and was counted."""
        url = str(line["url"])
        if key := url_key_of(url):
            self._written_keys.add(key_fingerprint(url_hash(key)))
        if line["outcome"] == PAGE:
            self.counters.count_page(host_of(url), float(line.get("duration_ms") or 0.0))


def _visible_text(page: PageParsed, stored: Mapping[str, Any]) -> str:
    """Return the visible text; `stored` are texts that were too long for the event."""
    return str(page.text or stored.get("text") or page.main_text or stored.get("main_text") or "")
