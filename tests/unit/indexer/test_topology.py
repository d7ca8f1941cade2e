"""Events and the rows that they write."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.partial_decode import is_partial
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, Product
from strider.contracts.generated.topics import FRONTIER, INDEXER_DLQ, PAGES_VALIDATED, PARSER_DLQ
from strider.indexer.core import RowChanges
from strider.indexer.topology import CONSUMES, DEAD_LETTER_TOPICS, GROUP, Indexer
from strider.messaging.effects import Effects
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess.log import StoredRecord
from strider.runtime.process.main import consume
from tests.unit.crawl.declared_specs import DeclaredSpecs
from tests.unit.crawl.noted_events import NotedEvents

from .events import (
    FETCHED_AT_MS,
    a_completion,
    a_decision,
    a_host,
    a_letter,
    a_page,
    a_rejection,
    an_entry,
    key,
)

CODEC = Codec(SchemaStore.bundled())


class RecordingWriter:
    """A read-model writer that records what it was given."""

    def __init__(self) -> None:
        self.written: list[RowChanges] = []

    async def write(self, changes: RowChanges) -> None:
        self.written.append(changes)


class FakeTextStore:
    """Texts by reference; counts how many are loaded at once."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts
        self.requested: list[str] = []
        self.max_concurrent = self._loading = 0

    async def load_text(self, reference: str) -> str | None:
        self.requested.append(reference)
        self._loading += 1
        self.max_concurrent = max(self.max_concurrent, self._loading)
        await asyncio.sleep(0)
        self._loading -= 1
        return self._texts.get(reference)


def an_indexer(**changes: Any) -> tuple[Indexer, RecordingWriter]:
    tables = RecordingWriter()
    given = {"texts": FakeTextStore({}), "max_text_chars": 100, "specs": DeclaredSpecs(), **changes}
    return Indexer(tables, given.pop("texts"), **given), tables


def records(*events: Any) -> Sequence[tuple[Any, Any]]:
    return [(event, None) for event in events]


async def written_changes(effects: Effects, tables: RecordingWriter) -> RowChanges:
    assert (effects.publish, effects.publish_last) == ((), ())
    assert tables.written == []
    assert effects.after_ack is not None
    await effects.after_ack()
    return tables.written[-1]


async def test_a_batch_is_split_into_stored_unchanged_and_noindex_pages() -> None:
    """Stored, unchanged and noindex pages share one unit."""
    indexer, tables = an_indexer()
    plain, same, hidden = (
        a_page("https://a.test/1"),
        a_page("https://a.test/2", not_modified=True),
        a_page("https://a.test/3", noindex=True),
    )

    effects = await indexer.on_pages_validated(records(plain, same, hidden))
    changes = await written_changes(effects, tables)

    assert effects.outcome == "stored"
    assert [row.url for row in changes.pages] == ["https://a.test/1"]
    assert [row.url_key for row in changes.touches] == [key("https://a.test/2")]
    assert [row.url_key for row in changes.removals] == [key("https://a.test/3")]
    assert [(row.url, row.reason) for row in changes.decisions] == [("https://a.test/3", "noindex")]


async def test_pages_become_rows_without_being_read_whole() -> None:
    """Their links, half of a page, are not decoded."""
    indexer, tables = an_indexer()
    whole = [
        a_page("https://a.test/1", links_found=3),
        a_page("https://a.test/2", text="", main_text="words"),
        a_page("https://a.test/3", not_modified=True),
        a_page("https://a.test/4", products=(Product("A lamp"),)),
    ]
    fields = next(reads.fields for reads in indexer.subscriptions() if reads.topic is PAGES_VALIDATED)
    pages = [
        CODEC.decode(PAGES_VALIDATED, *CODEC.encode(PAGES_VALIDATED, page), only=fields) for page in whole
    ]

    changes = await written_changes(await indexer.on_pages_validated(records(*pages)), tables)

    other, others = an_indexer()
    assert changes == await written_changes(await other.on_pages_validated(records(*whole)), others)
    assert [is_partial(event) and is_partial(event.page) for event in pages] == [True] * 4


async def test_noindex_may_be_stored_all_the_same() -> None:
    """For an operator's own site, by a setting."""
    indexer, tables = an_indexer(store_noindex=True)

    changes = await written_changes(await indexer.on_pages_validated(records(a_page(noindex=True))), tables)

    assert (len(changes.pages), changes.removals, changes.decisions) == (1, [], [])


async def test_long_texts_are_fetched_once_and_few_at_a_time() -> None:
    """A list of long pages must not open a hundred connections."""
    texts = FakeTextStore({f"o{number}": f"text {number}" for number in range(20)})
    indexer, tables = an_indexer(texts=texts)
    pages = [
        a_page(f"https://a.test/{number}", text="", texts_object=f"o{number % 20}") for number in range(40)
    ]

    changes = await written_changes(await indexer.on_pages_validated(records(*pages)), tables)

    assert [row.text for row in changes.pages] == [f"text {number % 20}" for number in range(40)]
    assert sorted(texts.requested) == sorted(f"o{number}" for number in range(20))
    assert 1 < texts.max_concurrent <= 8


async def test_a_text_that_is_gone_leaves_a_page_without_text() -> None:
    """Retention of the object store must not cost the page."""
    indexer, tables = an_indexer()
    page = a_page(text="", texts_object="gone", text_chars=900_000)

    changes = await written_changes(await indexer.on_pages_validated(records(page)), tables)

    assert [(row.text, row.text_length) for row in changes.pages] == [("", 900_000)]


async def test_no_text_is_fetched_where_none_is_stored() -> None:
    texts = FakeTextStore({"o": "text"})
    indexer, tables = an_indexer(texts=texts, max_text_chars=0)

    changes = await written_changes(
        await indexer.on_pages_validated(records(a_page(text="", texts_object="o"))), tables
    )

    assert ([row.text for row in changes.pages], texts.requested) == ([""], [])


async def test_an_unavailable_store_pauses_the_service() -> None:
    """Unavailable is raised as it is: an exception group would count as a bad message."""

    class UnavailableStore:
        async def load_text(self, reference: str) -> str | None:
            raise Unavailable("objects", "no answer")

    indexer, _ = an_indexer(texts=UnavailableStore())
    pages = [a_page(f"https://a.test/{n}", text="", texts_object=f"o{n}") for n in range(3)]

    with pytest.raises(Unavailable, match="no answer"):
        await indexer.on_pages_validated(records(*pages))


async def test_rejections_decisions_and_failures_are_stored() -> None:
    indexer, tables = an_indexer()

    await written_changes(await indexer.on_pages_rejected(records(a_rejection())), tables)
    tables.written, first = [], tables.written
    await written_changes(
        await indexer.on_urls_decided(records(a_decision(), a_decision("https://b.test/"))), tables
    )
    tables.written, second = [], tables.written
    fine = a_completion(outcome="fetched")
    await written_changes(await indexer.on_fetches_completed(records(a_completion(), fine)), tables)

    assert [[row.decision for row in changes.decisions] for changes in first + second] == [
        ["not_stored"],
        ["refused", "refused"],
    ]
    assert [row.outcome for row in tables.written[0].failures] == ["timed_out"]


async def test_what_changes_nothing_writes_nothing() -> None:
    """Most requests do not fail."""
    indexer, _ = an_indexer()

    effects = await indexer.on_fetches_completed(records(a_completion(outcome="fetched")))

    assert effects == Effects(outcome="ignored")


async def test_dead_letters_about_our_own_dead_letters_are_skipped() -> None:
    """One that cannot be stored would be published again by every attempt to store it."""
    indexer, tables = an_indexer()
    theirs = a_letter()
    ours = a_letter(group=GROUP, topic="pages-validated")
    about_a_letter = a_letter(group=GROUP, topic=PARSER_DLQ.name)

    changes = await written_changes(
        await indexer.on_dead_letters(records(theirs, ours, about_a_letter)), tables
    )

    assert changes == RowChanges(dead_letters=[theirs, ours])


async def test_the_last_frontier_record_of_each_key_is_stored() -> None:
    """Between two polls a busy URL changes several times; a tombstone is no row."""
    indexer, tables = an_indexer()
    first, last = an_entry(), an_entry(state="completed", reason="settled", updated_at_ms=FETCHED_AT_MS + 9)
    gone = an_entry("https://gone.test/")
    under_way = an_entry("https://b.test/", state="in_progress", reason="fetched")
    batch = [_keyed(first), _keyed(gone), _keyed(last), _keyed(under_way), (None, _keyed(gone)[1])]

    changes = await written_changes(await indexer.on_frontier(batch), tables)

    assert [(row.url, row.status) for row in changes.urls] == [(last.url, "fetched")]
    assert [(row.job_id, row.url_key) for row in changes.dropped_urls] == [("adhoc", gone.url_key)]


async def test_the_last_record_of_each_host_is_stored() -> None:
    indexer, tables = an_indexer()
    name = b"www.example.org"
    batch = [
        (a_host(), _record(name)),
        (a_host(breaker="open"), _record(name)),
        (None, _record(b"gone.test")),
    ]

    changes = await written_changes(await indexer.on_hosts(batch), tables)

    assert [(row.name, row.breaker) for row in changes.hosts] == [("www.example.org", "open")]
    assert [row.name for row in changes.dropped_hosts] == ["gone.test"]


def _keyed(entry: EntryRecorded) -> tuple[EntryRecorded, StoredRecord]:
    return entry, _record(FRONTIER.key_of(entry))


def _record(name: bytes | None) -> StoredRecord:
    return StoredRecord("any", 0, 0, 0, name, b"", ())


def test_the_topics_are_those_that_declare_this_reader() -> None:
    """`consume` refuses others; dead letters of the examples are not stored."""
    indexer, _ = an_indexer()
    consumption = consume(GROUP, *indexer.subscriptions())

    assert consumption.group.topics == tuple(topic.name for topic in CONSUMES)
    assert not consumption.group.sharded
    assert INDEXER_DLQ in DEAD_LETTER_TOPICS
    assert PARSER_DLQ in DEAD_LETTER_TOPICS
    assert "echo-dlq" not in consumption.group.topics


async def test_pages_are_counted_for_their_run_once_they_are_stored() -> None:
    noted = NotedEvents()
    indexer, tables = an_indexer(note=noted.note)
    pages = [a_page(f"https://a.test/{number}") for number in range(3)]
    pages += [a_page("https://a.test/same", not_modified=True), a_page("https://a.test/no", noindex=True)]
    run = pages[0].page.job_id, pages[0].page.execution_id

    effects = await indexer.on_pages_validated(records(*pages))
    before = dict(noted)
    await written_changes(effects, tables)

    assert before == {}
    assert noted == {
        ("Pages stored", *run, "stored"): 3,
        ("Pages stored", *run, "unchanged"): 1,
        ("Pages stored", *run, "noindex"): 1,
    }


async def test_noindex_is_stored_where_its_crawl_ignores_it() -> None:
    """Each crawl decides for its own pages; of an unknown crawl spec the mark is respected."""
    ignoring = CrawlSpecDeclared(crawl_spec_id="own", respect_noindex=False)
    respecting = CrawlSpecDeclared(crawl_spec_id="usual")
    indexer, tables = an_indexer(specs=DeclaredSpecs(ignoring, respecting))
    names = ("own", "usual", "gone")
    pages = [a_page(f"https://a.test/{name}", noindex=True, crawl_spec_id=name) for name in names]

    changes = await written_changes(await indexer.on_pages_validated(records(*pages)), tables)

    assert [row.url for row in changes.pages] == ["https://a.test/own"]
    assert [row.url for row in changes.decisions] == ["https://a.test/usual", "https://a.test/gone"]
