"""pages, refusals, failures, dead letters, frontier and hosts -> rows in PostgreSQL.

What one poll brings is one unit: a few statements, however many events there are. Rows are guarded
where they meet, so that events may come again, late or twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, Protocol

from strider.contracts import Topic
from strider.contracts.generated.enums import EntryState, ValidationStatus
from strider.contracts.generated.events import (
    DeadLetter,
    EntryRecorded,
    FetchCompleted,
    HostRecorded,
    PageParsed,
    PageRejected,
    PageValidated,
    UrlsDecided,
)
from strider.contracts.generated.topics import (
    FETCHES_COMPLETED,
    FRONTIER,
    HOSTS,
    INDEXER_DLQ,
    PAGES_REJECTED,
    PAGES_VALIDATED,
    TOPICS,
    URLS_DECIDED,
)
from strider.messaging.effects import Effects, Subscription
from strider.messaging.ports import Record

from .core import (
    PageRow,
    RowChanges,
    decision_rows,
    dropped_host_row,
    dropped_url_row,
    failure_of,
    host_row,
    is_text_in_object,
    noindex_row,
    product_rows,
    rejection_of,
    removal_row,
    row_of,
    stored_text,
    touch_row,
    url_row,
)

GROUP: Final = "indexer"

DEAD_LETTERS: Final = INDEXER_DLQ

LETTERS: Final[tuple[Topic[DeadLetter], ...]] = tuple(
    topic
    for topic in TOPICS.values()
    if topic.value is DeadLetter and topic.profile == "core" and GROUP in {by.group for by in topic.read_by}
)
"""What the services could not handle, our own included."""

CONSUMES: Final = (
    PAGES_VALIDATED,
    PAGES_REJECTED,
    URLS_DECIDED,
    FETCHES_COMPLETED,
    FRONTIER,
    HOSTS,
    *LETTERS,
)
PRODUCES: Final = ()

STORED_PAGE_FIELDS: Final = (
    *("url", "url_key", "job_id", "execution_id", "crawl_spec_id", "fetch_sequence", "outcome"),
    *("parser", "parser_version", "fetched_at_ms", "depth", "referrer", "redirect_chain"),
    *("metadata", "status", "content_type", "etag", "last_modified", "total_us", "body_bytes"),
    *("decoded_bytes", "body_object", "rendered", "not_modified", "truncated", "error_class"),
    *("error_message", "parse_us", "document_kind", "title", "description", "text"),
    *("main_text", "texts_object", "text_chars", "main_text_chars", "word_count", "language"),
    *("author", "published_at", "canonical_url", "noindex", "raw_hash", "text_hash"),
    *("page_kind", "links_found", "products"),
)
"""What of a page becomes columns, and rows of their own."""

DECODED_FIELDS: Final = (*(f"page.{name}" for name in STORED_PAGE_FIELDS), "verdict")

MAX_CONCURRENT_TEXTS: Final = 8
"""Texts that are fetched from the object store at a time."""


class ReadModelWriter(Protocol):
    """The read models."""

    async def write(self, changes: RowChanges) -> None:
        """Write rows, all or nothing for each table's part; may raise Unavailable."""


class TextStore(Protocol):
    """Texts that were too long to travel."""

    async def load_text(self, reference: str) -> str | None:
        """Give the text of an object, None where there is no such object any more; may raise Unavailable."""


class MissingTextStore:
    """Without an object store there is none to fetch."""

    async def load_text(self, reference: str) -> str | None:  # noqa: ARG002  # the port's shape
        """Find nothing."""
        return None


class Indexer:
    """Turns events into rows, and has them remembered."""

    def __init__(
        self,
        tables: ReadModelWriter,
        text_store: TextStore,
        *,
        max_text_chars: int,
        store_noindex: bool = False,
    ) -> None:
        self._tables = tables
        self._texts = text_store
        self._max_text_chars = max_text_chars
        self._store_noindex = store_noindex

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Say which topic goes to which method."""
        return (
            Subscription(PAGES_VALIDATED, batch_handler=self.on_pages_validated, fields=DECODED_FIELDS),
            Subscription(PAGES_REJECTED, batch_handler=self.on_pages_rejected),
            Subscription(URLS_DECIDED, batch_handler=self.on_urls_decided),
            Subscription(FETCHES_COMPLETED, batch_handler=self.on_fetches_completed),
            Subscription(FRONTIER, batch_handler=self.on_frontier, accepts_tombstones=True),
            Subscription(HOSTS, batch_handler=self.on_hosts, accepts_tombstones=True),
            *(Subscription(topic, batch_handler=self.on_dead_letters) for topic in LETTERS),
        )

    async def on_pages_validated(self, batch: Sequence[tuple[PageValidated, Record]]) -> Effects:
        """Store pages, move on those that have not changed, take away those that ask for it."""
        # What only closes an entry is no page: its rejection is told by itself.
        events = [event for event, _ in batch if event.verdict.validation_status != ValidationStatus.REJECTED]
        hidden = [event for event in events if self._is_hidden(event.page)]
        stored = [event for event in events if self._is_stored(event.page)]
        changes = RowChanges(
            pages=await self._rows(stored),
            products=[row for event in stored if event.page.products for row in product_rows(event)],
            touches=[touch_row(event) for event in events if event.page.not_modified],
            removals=[removal_row(event.page) for event in hidden],
            decisions=[noindex_row(event) for event in hidden],
        )
        return self._remember(changes, "stored")

    async def on_pages_rejected(self, batch: Sequence[tuple[PageRejected, Record]]) -> Effects:
        """Say of pages that they are not stored, and why."""
        return self._remember(RowChanges(decisions=[rejection_of(event) for event, _ in batch]), "rejected")

    async def on_urls_decided(self, batch: Sequence[tuple[UrlsDecided, Record]]) -> Effects:
        """Keep what others decided."""
        rows = [row for event, _ in batch for row in decision_rows(event)]
        return self._remember(RowChanges(decisions=rows), "decided")

    async def on_fetches_completed(self, batch: Sequence[tuple[FetchCompleted, Record]]) -> Effects:
        """Keep the requests that failed."""
        rows = [row for event, _ in batch if (row := failure_of(event)) is not None]
        return self._remember(RowChanges(failures=rows), "failed")

    async def on_frontier(self, batch: Sequence[tuple[EntryRecorded | None, Record]]) -> Effects:
        """Keep where every URL stands; of one that moved on meanwhile only the last.

        A page in the ring is left where it stood: its end is a moment away, and would be written over it.
        """
        last = {record.key or b"": event for event, record in batch}
        changes = RowChanges(
            urls=[
                url_row(entry)
                for entry in last.values()
                if entry is not None and entry.state != EntryState.IN_PROGRESS
            ],
            dropped_urls=[dropped_url_row(key) for key, entry in last.items() if entry is None],
        )
        return self._remember(changes, "recorded")

    async def on_hosts(self, batch: Sequence[tuple[HostRecorded | None, Record]]) -> Effects:
        """Keep how every host stands, and the last good copy of its robots.txt."""
        last = {record.key or b"": event for event, record in batch}
        changes = RowChanges(
            hosts=[host_row(host) for host in last.values() if host is not None],
            dropped_hosts=[dropped_host_row(key) for key, host in last.items() if host is None],
        )
        return self._remember(changes, "recorded")

    async def on_dead_letters(self, batch: Sequence[tuple[DeadLetter, Record]]) -> Effects:
        """Keep what the services could not handle; a letter of ours about a letter would breed for ever."""
        letters = [event for event, _ in batch if not _is_about_dead_letter(event)]
        return self._remember(RowChanges(dead_letters=letters), "lettered")

    def _is_hidden(self, page: PageParsed) -> bool:
        return page.noindex and not page.not_modified and not self._store_noindex

    def _is_stored(self, page: PageParsed) -> bool:
        return not page.not_modified and not self._is_hidden(page)

    async def _rows(self, chosen: Sequence[PageValidated]) -> list[PageRow]:
        away = [event.page.texts_object for event in chosen if is_text_in_object(event.page)]
        texts = await self._fetched(away) if away and self._max_text_chars else {}
        stored = partial(stored_text, max_chars=self._max_text_chars)
        return [
            row_of(event, stored(event.page, elsewhere=texts.get(event.page.texts_object, "")))
            for event in chosen
        ]

    async def _fetched(self, references: Sequence[str]) -> dict[str, str]:
        """Fetch texts, a few at a time; what is gone is stored without its text."""
        gate = asyncio.Semaphore(MAX_CONCURRENT_TEXTS)

        async def fetch(reference: str) -> str:
            async with gate:
                return await self._texts.load_text(reference) or ""

        wanted = list(dict.fromkeys(references))
        return dict(zip(wanted, await _all(fetch, wanted), strict=True))

    def _remember(self, changes: RowChanges, outcome: str) -> Effects:
        return (
            Effects(after_ack=partial(self._tables.write, changes), outcome=outcome) if changes else IGNORED
        )


IGNORED: Final = Effects(outcome="ignored")


async def _all(work: Callable[[str], Any], items: Iterable[str]) -> list[str]:
    """Do all at once; the first failure ends the others, and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work(item)) for item in items]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _is_about_dead_letter(letter: DeadLetter) -> bool:
    return letter.group == GROUP and letter.topic in {topic.name for topic in LETTERS}
