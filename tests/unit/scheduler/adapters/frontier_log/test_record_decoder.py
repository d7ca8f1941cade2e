"""Partial decoding of entry records."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER
from strider.contracts.ids import key_fingerprint, seen_scope
from strider.frontier.entry_encoding import shape_of
from strider.frontier.models import AcceptedEntry, EntryDisposition, HostPace
from strider.frontier.rebuild_records import RecordedEntry
from strider.frontier.redis.call_encoding import (
    PaceNumbers,
    ScopeNumbers,
    encode_accepted,
    encode_recorded,
)
from strider.frontier.redis.id_interning import InternedIds
from strider.scheduler.adapters.frontier_log.record_decoder import EntryRecordDecoder
from strider.scheduler.core.entries.state import disposition_of
from strider.scheduler.ports import ClosedEntry
from strider.scheduler.shard.rebuild_batch import entry_record_of

CODEC = Codec(SchemaStore.bundled())
PACES = PaceNumbers({"spec": HostPace(1_000)})
PLAIN = EntryRecorded("news", "0" * 64, "https://a.test/x", "a.test", "pending", "run", "spec", 5, 2_000)

TIMES = st.integers(min_value=0, max_value=2**47)
COUNTS = st.integers(min_value=0, max_value=300)
WORDS = st.sampled_from(["", "news", "adhoc", "ü", "run-1"])
URLS = st.sampled_from(
    ["https://a.test/x", "https://a.test/x/y?z", "http://b.test:81/", "https://ü.test/ü", ""]
)
STATES = st.sampled_from(
    [
        ("pending", "accepted"),
        ("pending", "due_again"),
        ("in_progress", "fetched"),
        ("completed", "settled"),
        ("failed", "budget"),
    ]
)


@st.composite
def entries(draw: st.DrawFn) -> EntryRecorded:
    """Mostly plain entries, each with a few fields that are not."""
    state, reason = draw(STATES)
    plain = replace(PLAIN, state=state, reason=reason)
    fields = {
        "job_id": WORDS, "url_key": st.sampled_from(["ab" * 32, "0" * 64, "12" * 8]), "url": URLS,
        "group": st.sampled_from(["a.test", "b.test", "ü.test"]), "execution_id": WORDS,
        "crawl_spec_id": WORDS, "fetch_sequence": TIMES, "updated_at_ms": TIMES, "body_bytes": TIMES,
        "busy_ms": COUNTS, "hop": COUNTS, "depth": COUNTS,
        "priority": st.integers(0, 3), "is_start": st.booleans(), "referrer": URLS,
        "redirect_chain": st.lists(URLS, max_size=2).map(tuple), "tries": COUNTS, "status": COUNTS,
        "metadata": st.dictionaries(WORDS, WORDS, max_size=1), "error_count": COUNTS,
        "error_class": st.sampled_from(["", "dns_failed"]), "discovered_at_ms": TIMES, "due_at_ms": TIMES,
        "fetched_at_ms": TIMES, "closed_at_ms": TIMES, "next_crawl_at_ms": TIMES, "interval_seconds": COUNTS,
        "changed_at_ms": TIMES, "unchanged_count": COUNTS, "losses": COUNTS, "raw_hash": WORDS,
        "text_hash": st.sampled_from(["cd" * 32, "ü"]), "etag": WORDS, "last_modified": WORDS,
        "needs_rendering": st.booleans(), "redirect_target": URLS,
        "seed_token": st.sampled_from(["", "seeds/0/9"]),
    }  # fmt: skip
    changed = draw(st.lists(st.sampled_from(sorted(fields)), max_size=4, unique=True))
    return replace(plain, **{name: draw(fields[name]) for name in changed})  # type: ignore[arg-type]  # as above


def read(*records: EntryRecorded) -> list[RecordedEntry | ClosedEntry | None]:
    """Read records, one after the other, as one shard's."""
    reader = EntryRecordDecoder(CODEC)
    return [reader.decode(b"key", CODEC.encode(FRONTIER, each).value) for each in records]


@given(st.lists(entries(), max_size=6))
def test_no_field_of_the_record_of_an_open_entry_is_lost(records: list[EntryRecorded]) -> None:
    for entry, found in zip(records, read(*records), strict=True):
        if entry.state in {"pending", "in_progress"}:
            assert isinstance(found, RecordedEntry)
            assert found.to_event() == entry
            assert (found.seed_token, found.shared.seen_scope) == (
                entry.seed_token,
                seen_scope(entry.job_id, entry.crawl_spec_id),
            )


@given(st.lists(entries(), max_size=6))
def test_closed_entries_carry_all_that_a_rebuild_needs(records: list[EntryRecorded]) -> None:
    names = ("job_id", "execution_id", "crawl_spec_id", "reason", "url", "url_key", "fetch_sequence")
    names += ("updated_at_ms", "body_bytes", "busy_ms")
    for entry, found in zip(records, read(*records), strict=True):
        if entry.state in {"completed", "failed"}:
            assert isinstance(found, ClosedEntry)
            told = entry_record_of(found)
            assert [getattr(told, name) for name in names] == [getattr(entry, name) for name in names]
            assert found.seed_token == entry.seed_token
            if entry.seed_token:
                assert (found.raw_hash, found.text_hash) == (entry.raw_hash, entry.text_hash)
            assert found.is_forgotten == (disposition_of(entry) is EntryDisposition.CLOSE_AND_FORGET)


@given(st.lists(entries().filter(lambda entry: entry.state == "pending"), max_size=6))
def test_redis_gets_the_same_bytes_as_when_they_were_accepted(records: list[EntryRecorded]) -> None:
    """A slot that was put back and one that was taken in are one and the same, to the byte."""
    shapes = dict.fromkeys(map(shape_of, records))
    names = InternedIds(packing_numbers={shape: (number, number + 9) for number, shape in enumerate(shapes)})
    accepted = [
        AcceptedEntry(each, seen_scope(each.job_id, each.crawl_spec_id), key_fingerprint(each.url_key))
        for each in records
    ]
    recorded = [each for each in read(*records) if isinstance(each, RecordedEntry)]

    assert encode_recorded(recorded, names, ScopeNumbers(), PACES, phase=0) == encode_accepted(
        accepted, names, ScopeNumbers(), PACES
    )


def test_what_entries_share_is_read_once() -> None:
    """That is why a rebuild is quick."""
    others = [replace(PLAIN, url=f"https://a.test/{number}", fetch_sequence=number) for number in range(3)]
    whole = [replace(each, metadata={"a": "b"}) for each in others]
    found = read(*others, replace(PLAIN, depth=2), *whole)

    moulds = [each.shared for each in found if isinstance(each, RecordedEntry)]
    assert [moulds.index(mould) for mould in moulds] == [0, 0, 0, 3, 4, 4, 4]


def test_a_broken_url_of_what_is_closed_costs_no_shard() -> None:
    """Only budgets look at it, and they only count."""
    value = CODEC.encode(FRONTIER, replace(PLAIN, state="completed", reason="settled")).value

    reader = EntryRecordDecoder(CODEC)
    reader.decode(b"key", value)

    broken = reader.decode(b"key", value.replace(b"/x", b"/\xff"))

    assert isinstance(broken, ClosedEntry)
    assert entry_record_of(broken).url == "https://a.test/\ufffd"


@pytest.mark.parametrize("cut", [9, 40, 100])
def test_a_record_that_cannot_be_read_is_left_out(cut: int) -> None:
    """One of them does not keep a shard from being opened."""
    value = CODEC.encode(FRONTIER, PLAIN).value

    assert EntryRecordDecoder(CODEC).decode(b"key", value[:cut]) is None
    assert EntryRecordDecoder(CODEC).decode(b"key", value) is not None
