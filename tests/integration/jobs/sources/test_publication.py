"""What is saved reaches the topic, whatever happens between, and an older version never stays the last."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SOURCES
from strider.jobs.sources.store import PostgresSourceStore, SourceChange
from strider.messaging.effects import Publish
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.storage.postgres import Postgres
from tests.processes.waiting import until

from .conftest import Publishing
from .test_store import FULL, a_source


async def test_changes_and_removals_are_published_once(publishing: Publishing) -> None:
    store = publishing.store
    first = await store.add(FULL)
    await store.add(a_source("b"))
    counts = [await publishing.publication.publish_pending() for _ in range(2)]
    changed = await store.save(replace(first, max_depth=1), version=1)
    await store.remove("b", version=None, is_forced=False)
    counts += [await publishing.publication.publish_pending() for _ in range(2)]

    assert counts == [2, 0, 2, 0]
    assert await publishing.published() == {"full": changed}
    assert changed.version == 2


async def test_what_a_crash_left_is_published_by_the_loop(publishing: Publishing) -> None:
    """Saved by a process that died before it published; more than one transaction takes."""
    saved = {name: await publishing.store.add(a_source(name)) for name in map("s{}".format, range(120))}

    loop = asyncio.create_task(publishing.publication.run())
    try:
        await until(lambda: _equal(publishing, saved), what="the topic has what the table has")
        saved["s7"] = await publishing.store.save(replace(saved["s7"], enabled=False), version=1)
        publishing.publication.notify()
        await until(lambda: _equal(publishing, saved), what="the topic has what the table has")
    finally:
        loop.cancel()


async def _equal(publishing: Publishing, saved: dict[str, SourceSaved]) -> bool:
    return await publishing.published() == saved


async def test_a_failed_publication_is_repeated_with_the_current_version(publishing: Publishing) -> None:
    """It may have arrived; so the source is published again, even where another process has done so."""
    store = publishing.store
    first = await store.add(FULL)
    sent: list[int] = []

    async def fail(changes: Sequence[SourceChange]) -> None:
        sent.extend(change.source.version for change in changes if change.source is not None)
        raise Unavailable("kafka", "no acknowledgement")

    async def keep(changes: Sequence[SourceChange]) -> None:
        sent.extend(change.source.version for change in changes if change.source is not None)

    with pytest.raises(Unavailable):
        await store.publish_pending(fail)
    attempts = len(sent)
    changed = await store.save(replace(first, max_depth=1), version=1)
    other = PostgresSourceStore(store._postgres)
    assert await other.publish_pending(keep) == 1
    assert await store.publish_pending(keep) == 1
    assert await store.publish_pending(keep) == 0

    assert sent == [1] * attempts + [2, 2]
    assert changed.version == 2


async def test_processes_that_publish_at_once_keep_the_order_of_versions(
    publishing: Publishing, broker: InProcessBroker, postgres: Postgres
) -> None:
    others = [Publishing(PostgresSourceStore(postgres), InProcessBus(broker)) for _ in range(3)]
    source = await publishing.store.add(FULL)
    done = asyncio.Event()

    async def publish(each: Publishing) -> None:
        while not done.is_set():
            await each.publication.publish_pending()
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(publish(each)) for each in (publishing, *others)]
    for number in range(60):
        source = await publishing.store.save(replace(source, max_pages=number), version=source.version)
    done.set()
    await asyncio.gather(*tasks)
    await publishing.publication.publish_pending()

    assert (await publishing.published())["full"] == source
    assert source.version == 61
    for each in others:
        await each.publisher.close()


async def test_an_older_record_that_came_late_is_replaced_at_the_next_start(publishing: Publishing) -> None:
    store = publishing.store
    first = await store.add(FULL)
    changed = await store.save(replace(first, max_depth=1), version=1)
    removed = await store.add(a_source("b"))
    await publishing.publication.publish_pending()
    await store.remove("b", version=None, is_forced=False)
    await publishing.publication.publish_pending()
    await publishing.publisher.publish([Publish(SOURCES, first), Publish(SOURCES, removed)])
    assert set(await publishing.published()) == {"full", "b"}

    await publishing.publication.compare_with_topic()
    await publishing.publication.publish_pending()

    assert await publishing.published() == {"full": changed}
    assert await store.get("b") is None


async def test_sources_that_only_the_topic_has_are_taken_into_the_table(publishing: Publishing) -> None:
    """From before the table, or from before its loss; the version continues from theirs."""
    before = a_source("old", max_depth=1)
    lost = replace(a_source("lost"), version=5)
    await publishing.publisher.publish([Publish(SOURCES, before), Publish(SOURCES, lost)])

    await publishing.publication.compare_with_topic()
    await publishing.publication.publish_pending()
    again = await publishing.store.save(replace(lost, enabled=False), version=5)

    assert await publishing.store.get("old") == replace(before, version=1)
    assert (await publishing.published())["old"].version == 1
    assert again.version == 6
