"""The record of sources on a real database: one version wins, one source has a name."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from strider.contracts.generated.events import SourceSaved
from strider.jobs.sources.models import (
    DuplicateSource,
    SourceHasJobs,
    SourcePosition,
    SourceQuery,
    StaleSource,
    UnknownSource,
)
from strider.jobs.sources.store import PostgresSourceStore
from strider.storage.postgres import Postgres

FULL = SourceSaved(
    "full",
    "Full",
    "https://full.test/",
    start_urls=("https://full.test/b",),
    enabled=False,
    domains=("other.test",),
    max_depth=4,
    scope="domain",
    include=("*/a/*",),
    exclude=("*/b/*",),
    priority=3,
    delay_seconds=1.5,
    max_concurrent_requests=2,
    interval_minutes=60,
    crawl_frequency_seconds=3_600,
    adaptive_scheduling=False,
    change_basis="raw",
    extraction="records",
    parser="amazon",
    feed_urls=("https://full.test/feed",),
    feed_poll_seconds=900,
    sitemap_urls=("https://full.test/sitemap.xml",),
    headers={"X-One": "1"},
    insecure_tls=True,
    max_pages=10,
    metadata={"team": "news ✓"},
    created_at_ms=1_700_000_000_123,
    updated_at_ms=1_700_000_000_456,
    updated_by="ann",
)


@pytest.fixture
def store(postgres: Postgres) -> PostgresSourceStore:
    return PostgresSourceStore(postgres)


def a_source(source_id: str, **more: object) -> SourceSaved:
    fields = {"source_id": source_id, "name": source_id, "url": f"https://{source_id}.test/", **more}
    return SourceSaved(**fields)  # type: ignore[arg-type]  # words


async def test_every_field_is_stored_and_read(store: PostgresSourceStore) -> None:
    assert all(getattr(FULL, name) != value for name, value in vars_of_default().items())

    stored = await store.add(FULL)

    assert stored == replace(FULL, version=1)
    assert await store.get("full") == stored == await store.named("Full")
    assert await store.add(FULL) == stored  # a repeat
    assert await store.get("other") is None is await store.named("other")


def vars_of_default() -> dict[str, object]:
    plain = SourceSaved("-", "-", "-")
    return {name: getattr(plain, name) for name in SourceSaved.__slots__ if name != "version"}


async def test_of_many_changes_of_one_version_one_is_stored(store: PostgresSourceStore) -> None:
    await store.add(FULL)

    results = await asyncio.gather(
        *(store.save(replace(FULL, max_depth=n % 9, updated_at_ms=n), version=1) for n in range(20)),
        return_exceptions=True,
    )

    (won,) = [result for result in results if isinstance(result, SourceSaved)]
    assert all(isinstance(result, StaleSource) for result in results if result is not won)
    assert won.version == 2
    assert await store.get("full") == won


async def test_a_change_without_a_difference_keeps_the_version(store: PostgresSourceStore) -> None:
    stored = await store.add(FULL)

    same = await store.save(replace(stored, updated_at_ms=5, updated_by="bob"), version=1)

    assert same == stored


async def test_a_repeated_change_returns_what_it_stored(store: PostgresSourceStore) -> None:
    """As after a commit whose response was lost."""
    stored = await store.add(FULL)
    changed = replace(stored, max_depth=1, updated_at_ms=9)

    first, second = await store.save(changed, version=1), await store.save(changed, version=1)

    assert first == second
    assert second.version == 2


async def test_a_name_is_free_again_when_its_source_is_removed(store: PostgresSourceStore) -> None:
    await store.add(a_source("a"))
    other = await store.add(a_source("b"))

    with pytest.raises(DuplicateSource, match="name: another source has the name 'a'"):
        await store.add(a_source("c", name="a"))
    with pytest.raises(DuplicateSource, match="name"):
        await store.save(replace(other, name="a"), version=1)
    await store.remove("a", version=1, is_forced=False)
    await store.save(replace(other, name="a"), version=1)
    with pytest.raises(DuplicateSource, match="id: another source"):
        await store.add(a_source("a", name="new"))  # an id is never given twice

    assert [source.source_id for source in await store.find(SourceQuery())] == ["b"]


async def test_a_source_with_jobs_is_removed_by_force_alone(
    store: PostgresSourceStore, postgres: Postgres
) -> None:
    await store.add(a_source("a"))
    await postgres.fetch(
        "INSERT INTO jobs (id, source_id, url, status, schedule_enabled, created_at, updated_at) "
        "VALUES ('j', 'a', 'https://a.test/', 'pending', false, now(), now())"
    )

    with pytest.raises(SourceHasJobs, match="has 1 job:"):
        await store.remove("a", version=None, is_forced=False)
    with pytest.raises(StaleSource):
        await store.remove("a", version=7, is_forced=True)
    await store.remove("a", version=None, is_forced=True)
    with pytest.raises(UnknownSource):
        await store.remove("a", version=None, is_forced=True)
    with pytest.raises(UnknownSource):
        await store.save(a_source("a"), version=2)


async def test_lists_are_filtered_and_continued(store: PostgresSourceStore) -> None:
    """Sources of one millisecond, too, are listed once each."""
    for number in range(12):
        source = a_source(f"s{number:02}", enabled=number % 3 == 0, created_at_ms=1_000 + number // 4)
        await store.add(source)

    names: list[str] = []
    after = None
    while page := await store.find(SourceQuery(after=after, limit=5)):
        names += [source.source_id for source in page]
        after = SourcePosition(page[-1].created_at_ms, page[-1].source_id)
    enabled = await store.find(SourceQuery(enabled=True))
    named = await store.find(SourceQuery(name="S1"))

    assert names == [f"s{number:02}" for number in range(12)][::-1]
    assert [source.source_id for source in enabled] == ["s09", "s06", "s03", "s00"]
    assert [source.source_id for source in named] == ["s11", "s10"]
    assert await store.find(SourceQuery(name="%")) == []
