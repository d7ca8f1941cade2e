"""pages, refusals, failures, dead letters, frontier and hosts -> rows in PostgreSQL.

One poll is one unit: a few statements, however many events there are. Statements guard rows against older
ones, so that events may be delivered again, late or twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
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
from strider.crawl.crawl_spec_cache import CrawlSpecLookup
from strider.crawl.run_log import NoteRunEvent, discard_note
from strider.indexer import log_events
from strider.messaging.effects import Effects, Subscription
from strider.messaging.ports import Record
from strider.storage.rows.columns import source_fields
from strider.storage.rows.pages import PAGE_COLUMNS

from .core import (
    PageRow,
    RowChanges,
    choose_stored_text,
    decision_rows,
    dropped_host_row,
    dropped_url_row,
    failure_row,
    host_row,
    is_text_in_object,
    noindex_row,
    page_row,
    product_rows,
    rejection_row,
    removal_row,
    touch_row,
    url_row,
)

GROUP: Final = "indexer"

DEAD_LETTERS: Final = INDEXER_DLQ

DEAD_LETTER_TOPICS: Final[tuple[Topic[DeadLetter], ...]] = tuple(
    topic
    for topic in TOPICS.values()
    if topic.value is DeadLetter and topic.profile == "core" and GROUP in {by.group for by in topic.read_by}
)
"""Dead-letter topics of all services, the indexer's own included."""

CONSUMES: Final = (
    PAGES_VALIDATED,
    PAGES_REJECTED,
    URLS_DECIDED,
    FETCHES_COMPLETED,
    FRONTIER,
    HOSTS,
    *DEAD_LETTER_TOPICS,
)
PRODUCES: Final = ()

_FURTHER_FIELDS: Final = ("not_modified", "noindex", "text", "main_text", "texts_object", "products")
"""Fields of a page that decide about its row, its text and its products, and are no columns."""

STORED_PAGE_FIELDS: Final = (*source_fields(PAGE_COLUMNS, "page"), *_FURTHER_FIELDS)
"""Fields of a page that become columns, or rows of their own."""

DECODED_FIELDS: Final = (*(f"page.{name}" for name in STORED_PAGE_FIELDS), "verdict")

MAX_CONCURRENT_TEXTS: Final = 8
"""Texts that are loaded from the object store at a time."""


IGNORED: Final = Effects(outcome="ignored")


class ReadModelWriter(Protocol):
    """Port to the tables."""

    async def write(self, changes: RowChanges) -> None:
        """Write rows, all or nothing for each part; may raise Unavailable."""


class TextStore(Protocol):
    """Port to texts that were too long for events."""

    async def load_text(self, reference: str) -> str | None:
        """Return the text of an object, None where it no longer exists; may raise Unavailable."""


class MissingTextStore:
    """Stands for an object store that is not configured."""

    async def load_text(self, reference: str) -> str | None:  # noqa: ARG002  # the port's shape
        """Return None."""
        return None


class Indexer:
    """Turns events into rows, and writes them when the events are acknowledged."""

    def __init__(
        self,
        tables: ReadModelWriter,
        text_store: TextStore,
        *,
        max_text_chars: int,
        specs: CrawlSpecLookup,
        store_noindex: bool = False,
        note: NoteRunEvent = discard_note,
    ) -> None:
        """Set the collaborators; with `store_noindex` pages with noindex are stored, whatever crawls say."""
        self._note = note
        self._tables = tables
        self._text_store = text_store
        self._max_text_chars = max_text_chars
        self._specs = specs
        self._store_noindex = store_noindex

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Return the subscriptions: which topic goes to which handler."""
        return (
            Subscription(PAGES_VALIDATED, batch_handler=self.on_pages_validated, fields=DECODED_FIELDS),
            Subscription(PAGES_REJECTED, batch_handler=self.on_pages_rejected),
            Subscription(URLS_DECIDED, batch_handler=self.on_urls_decided),
            Subscription(FETCHES_COMPLETED, batch_handler=self.on_fetches_completed),
            Subscription(FRONTIER, batch_handler=self.on_frontier, accepts_tombstones=True),
            Subscription(HOSTS, batch_handler=self.on_hosts, accepts_tombstones=True),
            *(Subscription(topic, batch_handler=self.on_dead_letters) for topic in DEAD_LETTER_TOPICS),
        )

    async def on_pages_validated(self, batch: Sequence[tuple[PageValidated, Record]]) -> Effects:
        """Store pages, update unchanged ones, delete those with noindex."""
        # An event that only closes an entry is not a page: its rejection has an event of its own.
        events = [event for event, _ in batch if event.verdict.validation_status != ValidationStatus.REJECTED]
        hidden = await self._hidden(events)
        hidden_ids = set(map(id, hidden))
        stored = [event for event in events if not event.page.not_modified and id(event) not in hidden_ids]
        changes = RowChanges(
            pages=await self._page_rows(stored),
            products=[row for event in stored if event.page.products for row in product_rows(event)],
            touches=[touch_row(event) for event in events if event.page.not_modified],
            removals=[removal_row(event.page) for event in hidden],
            decisions=[noindex_row(event) for event in hidden],
        )
        return (
            Effects(after_ack=partial(self._store, changes, events, hidden_ids), outcome="stored")
            if changes
            else IGNORED
        )

    async def _store(self, changes: RowChanges, events: Sequence[PageValidated], hidden: set[int]) -> None:
        """Write rows of pages, then count them in the logs of their runs."""
        await self._tables.write(changes)
        stored = Counter(
            (each.page.job_id, each.page.execution_id, _kind_of(each, hidden)) for each in events
        )
        for (job_id, execution_id, kind), count in stored.items():
            self._note(log_events.PAGES_STORED, job_id, execution_id, kind, count)

    async def on_pages_rejected(self, batch: Sequence[tuple[PageRejected, Record]]) -> Effects:
        """Store why pages were rejected."""
        return self._write_effects(
            RowChanges(decisions=[rejection_row(event) for event, _ in batch]), "rejected"
        )

    async def on_urls_decided(self, batch: Sequence[tuple[UrlsDecided, Record]]) -> Effects:
        """Store the decisions of other services."""
        rows = [row for event, _ in batch for row in decision_rows(event)]
        return self._write_effects(RowChanges(decisions=rows), "decided")

    async def on_fetches_completed(self, batch: Sequence[tuple[FetchCompleted, Record]]) -> Effects:
        """Store failed requests."""
        rows = [row for event, _ in batch if (row := failure_row(event)) is not None]
        return self._write_effects(RowChanges(failures=rows), "failed")

    async def on_frontier(self, batch: Sequence[tuple[EntryRecorded | None, Record]]) -> Effects:
        """Store the state of URLs; of several records of one URL only the last.

        A page in progress keeps its stored state: its end follows in a moment and would overwrite it.
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
        return self._write_effects(changes, "recorded")

    async def on_hosts(self, batch: Sequence[tuple[HostRecorded | None, Record]]) -> Effects:
        """Store the state of hosts, and the last good copy of their robots.txt."""
        last = {record.key or b"": event for event, record in batch}
        changes = RowChanges(
            hosts=[host_row(host) for host in last.values() if host is not None],
            dropped_hosts=[dropped_host_row(key) for key, host in last.items() if host is None],
        )
        return self._write_effects(changes, "recorded")

    async def on_dead_letters(self, batch: Sequence[tuple[DeadLetter, Record]]) -> Effects:
        """Store dead letters; one of the indexer's own about a dead letter is skipped, to avoid an endless
        loop.
        """
        letters = [event for event, _ in batch if not _is_about_dead_letter(event)]
        return self._write_effects(RowChanges(dead_letters=letters), "lettered")

    async def _hidden(self, events: Sequence[PageValidated]) -> list[PageValidated]:
        """Return the pages with noindex whose crawls respect it, which one without a crawl spec does."""
        if self._store_noindex:
            return []
        marked = [event for event in events if event.page.noindex and not event.page.not_modified]
        if not marked:
            return []
        specs = await self._specs.known({event.page.crawl_spec_id for event in marked})
        ignoring = {spec.crawl_spec_id for spec in specs.values() if not spec.respect_noindex}
        return [event for event in marked if event.page.crawl_spec_id not in ignoring]

    async def _page_rows(self, chosen: Sequence[PageValidated]) -> list[PageRow]:
        away = [event.page.texts_object for event in chosen if is_text_in_object(event.page)]
        texts = await self._load_texts(away) if away and self._max_text_chars else {}
        stored = partial(choose_stored_text, max_chars=self._max_text_chars)
        return [
            page_row(event, stored(event.page, object_text=texts.get(event.page.texts_object, "")))
            for event in chosen
        ]

    async def _load_texts(self, references: Sequence[str]) -> dict[str, str]:
        """Load texts, a few at a time; a page whose text is missing is stored without it."""
        gate = asyncio.Semaphore(MAX_CONCURRENT_TEXTS)

        async def fetch(reference: str) -> str:
            async with gate:
                return await self._text_store.load_text(reference) or ""

        wanted = list(dict.fromkeys(references))
        return dict(zip(wanted, await _load_all(fetch, wanted), strict=True))

    def _write_effects(self, changes: RowChanges, outcome: str) -> Effects:
        return (
            Effects(after_ack=partial(self._tables.write, changes), outcome=outcome) if changes else IGNORED
        )


async def _load_all(load: Callable[[str], Any], items: Iterable[str]) -> list[str]:
    """Load all concurrently; the first failure cancels the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(load(item)) for item in items]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _is_about_dead_letter(event: DeadLetter) -> bool:
    return event.group == GROUP and event.topic in {topic.name for topic in DEAD_LETTER_TOPICS}


def _kind_of(event: PageValidated, hidden_ids: set[int]) -> str:
    if event.page.not_modified:
        return "unchanged"
    return "noindex" if id(event) in hidden_ids else "stored"
