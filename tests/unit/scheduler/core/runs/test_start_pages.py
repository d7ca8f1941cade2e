"""Start pages of a run: listed while they are few, one hash of many."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_EVENTS
from strider.scheduler.core.runs.ending_runs import start_page_fields
from strider.scheduler.core.runs.start_pages import (
    MAX_LISTED,
    NO_START_PAGES,
    StartPage,
    StartPages,
    StartPageTally,
    sum_start_pages,
)


def tally(pages: list[StartPage]) -> StartPages:
    counted = StartPageTally()
    for page in pages:
        counted.add(page)
    return counted.total()


def pages_of(count: int) -> list[StartPage]:
    return [StartPage(f"{n:064x}", f"{n + 1:064x}", f"{n + 2:064x}") for n in range(count)]


def test_few_pages_are_listed_in_the_order_of_their_keys() -> None:
    pages = pages_of(MAX_LISTED)

    found = tally(pages[::-1])
    assert (found.count, found.listed, found.is_combined) == (MAX_LISTED, tuple(pages), False)
    assert tally([]) == NO_START_PAGES


def test_of_more_pages_there_is_one_hash_of_each_kind() -> None:
    found = tally(pages_of(MAX_LISTED + 1))

    assert (found.count, len(found.listed), found.is_combined) == (MAX_LISTED + 1, 1, True)
    assert {len(each) for each in found.listed[0]} == {64}


@given(st.integers(0, 3 * MAX_LISTED), st.integers(1, 5), st.integers())
def test_neither_the_order_nor_the_number_of_shards_matters(count: int, shards: int, seed: int) -> None:
    pages, chance = pages_of(count), random.Random(seed)
    shuffled = chance.sample(pages, count)
    parts: list[list[StartPage]] = [[] for _ in range(shards)]
    for page in shuffled:
        chance.choice(parts).append(page)

    assert sum_start_pages(map(tally, parts)) == tally(pages)


CHANGES = [
    pytest.param({"raw_hash": "x"}, [True, False, True], id="body"),
    pytest.param({"text_hash": "x"}, [True, True, False], id="text"),
    pytest.param({"url_key": "f" * 64}, [False, False, False], id="another-page"),
]


@pytest.mark.parametrize(("change", "same"), CHANGES)
def test_a_hash_of_many_shows_what_has_changed(change: dict[str, str], same: list[bool]) -> None:
    pages = pages_of(MAX_LISTED + 5)
    before = tally(pages).listed[0]
    after = tally([*pages[:9], pages[9]._replace(**change), *pages[10:]]).listed[0]

    assert [old == new for old, new in zip(before, after, strict=True)] == same


def test_contents_that_two_pages_exchange_are_a_change() -> None:
    pages = pages_of(MAX_LISTED + 5)
    swapped = [pages[0]._replace(raw_hash=pages[1].raw_hash), pages[1]._replace(raw_hash=pages[0].raw_hash)]

    assert tally([*swapped, *pages[2:]]).listed != tally(pages).listed


def test_the_longest_list_is_within_the_bound_of_the_event() -> None:
    event = JobEvent("e", "run_completed", False, 1, "scheduler", **start_page_fields(tally(pages_of(64))))

    assert len(Codec(SchemaStore.bundled()).encode(JOB_EVENTS, event).value) < JOB_EVENTS.max_bytes // 4
