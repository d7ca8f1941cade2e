"""An entry as bytes, and back."""

from __future__ import annotations

from dataclasses import fields, replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.entry_encoding import (
    OWN_FIELDS,
    RARE_FIELDS,
    SHARED_FIELDS,
    ShapeFields,
    pack_tail,
    parse_shape,
    shape_number,
    shape_of,
    shape_text,
    unpack_tail,
)

TIMES = st.integers(min_value=0, max_value=2**48 - 1)
COUNTS = st.integers(min_value=0, max_value=2**31 - 1)
TEXTS = st.text(max_size=40) | st.sampled_from(["", "ab" * 32, "AB" * 32, "zz" * 32, "x" * 32])
URLS = st.text(max_size=60) | st.sampled_from(
    [
        "https://a.test/x",
        "https://a.test:8443/x?y#z",
        "http://[::1]:80/x",
        "https://a.test",
        "mailto:x",
        "https://user:pw@a.test:1/x",
    ]
)
ENTRIES = st.builds(
    EntryRecorded,
    job_id=TEXTS,
    url_key=TEXTS,
    url=URLS,
    group=st.sampled_from(["a.test", "[::1]", "", "other.test"]),
    state=TEXTS,
    execution_id=TEXTS,
    crawl_spec_id=TEXTS,
    fetch_sequence=TIMES,
    updated_at_ms=TIMES,
    reason=TEXTS,
    kind=TEXTS,
    hop=COUNTS,
    depth=COUNTS,
    priority=st.integers(min_value=-1, max_value=9),
    is_start=st.booleans(),
    referrer=URLS,
    redirect_chain=st.lists(URLS, max_size=3).map(tuple),
    metadata=st.dictionaries(TEXTS, TEXTS, max_size=2),
    tries=COUNTS,
    error_count=COUNTS,
    error_class=TEXTS,
    status=COUNTS,
    discovered_at_ms=TIMES,
    due_at_ms=TIMES,
    fetched_at_ms=TIMES,
    closed_at_ms=TIMES,
    next_crawl_at_ms=TIMES,
    interval_seconds=COUNTS,
    changed_at_ms=TIMES,
    unchanged_count=COUNTS,
    raw_hash=TEXTS,
    text_hash=TEXTS,
    etag=TEXTS,
    last_modified=TEXTS,
    needs_rendering=st.booleans(),
    redirect_target=URLS,
    seed_token=TEXTS,
)


def _typical() -> EntryRecorded:
    url = "https://www.example.test/articles/2026/05/some-readable-title-12345.html"
    return EntryRecorded(
        "job",
        sha256(url.encode()).hexdigest(),
        url,
        "www.example.test",
        "pending",
        "job-20260501-0123456789ab",
        "0" * 64,
        0,
        1_795_018_180_635,
        referrer="https://www.example.test/articles/2026/index.html",
        discovered_at_ms=1_795_018_180_635,
        due_at_ms=1_795_018_180_635,
    )


def _shared(entry: EntryRecorded) -> ShapeFields:
    return parse_shape(shape_text(shape_of(entry)))


@given(ENTRIES)
def test_an_entry_comes_back_as_it_went(entry: EntryRecorded) -> None:
    """What the working set loses, the next record loses."""
    tail = pack_tail(entry, shape=70_000, execution=80_000)

    assert unpack_tail(tail, _shared(entry)) == entry
    assert shape_number(tail) == 70_000


def test_every_field_has_a_place() -> None:
    """A field that the schema gains must not get lost here."""
    placed = {*SHARED_FIELDS, *OWN_FIELDS, *RARE_FIELDS, "group"}

    assert placed == {field.name for field in fields(EntryRecorded)}
    assert len(placed) == len(SHARED_FIELDS) + len(OWN_FIELDS) + len(RARE_FIELDS) + 1


def test_a_usual_entry_takes_few_bytes() -> None:
    """300 bytes of Redis hold it, its places in queue and seen-set, and the server's own needs."""
    entry = _typical()

    tail = pack_tail(entry, shape=1, execution=1)

    assert len(tail) <= len(entry.url) - len("https://") + len("index.html") + 57


def test_folders_shared_with_the_referrer_are_stored_once() -> None:
    """Most pages are linked from their neighbours."""
    site = "https://www.example.test"
    places = ("articles/2026/05/a", "articles/2026/a", "articles/a", "news/a")

    tails = [
        pack_tail(replace(_typical(), referrer=f"{site}/{place}"), shape=1, execution=1) for place in places
    ]

    assert [len(tail) - len(tails[0]) for tail in tails] == [0, 0, 0, len("/news/")]


@pytest.mark.parametrize(
    ("given_ms", "kept_ms"),
    [pytest.param(-5, 0, id="before-time"), pytest.param(2**60, 2**48 - 1, id="beyond-time")],
)
def test_a_time_outside_of_all_times_is_the_nearest_one(given_ms: int, kept_ms: int) -> None:
    """A wrong number in one record must not stop its whole shard."""
    entry = replace(_typical(), due_at_ms=given_ms)

    tail = pack_tail(entry, shape=1, execution=1)

    assert unpack_tail(tail, _shared(entry)).due_at_ms == kept_ms


def test_the_lease_that_has_an_entry_gives_its_sequence() -> None:
    entry = replace(_typical(), fetch_sequence=3)

    tail = pack_tail(entry, shape=1, execution=1)

    assert unpack_tail(tail, _shared(entry), held_by=9).fetch_sequence == 9
    assert unpack_tail(tail, _shared(entry)).fetch_sequence == 3


def test_hosts_are_stored_once() -> None:
    """The group is the URL's host almost always."""
    entry = _typical()
    other = replace(entry, group="example.test")

    assert len(pack_tail(entry, shape=1, execution=1)) < len(pack_tail(other, shape=1, execution=1))
