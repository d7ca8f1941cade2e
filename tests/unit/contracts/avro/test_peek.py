"""Some fields of an event are read without decoding the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.peek import FieldPeeker
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER

CODEC = Codec(SchemaStore.bundled())
ENTRY = EntryRecorded(
    "news", "k" * 64, "https://a.test/", "a.test", "pending", "news-1", "spec", 7, 1_000, seed_token="s/0/1"
)


def written(entry: EntryRecorded) -> bytes:
    return CODEC.encode(FRONTIER, entry).value


def test_what_is_wanted_is_given_and_the_rest_stepped_over() -> None:
    value = written(ENTRY)

    seen = FieldPeeker(CODEC, FRONTIER, "job_id", "group", "fetch_sequence").read(value)

    assert seen is not None
    *wanted, end = seen
    assert wanted == [b"news", b"a.test", 7]
    assert value[end:].startswith(b"\xd0\x0f")  # the update time, which follows


def test_several_fields_are_given_as_they_stand() -> None:
    """Events that agree in these bytes agree in these fields."""
    glance = FieldPeeker(CODEC, FRONTIER, "state..crawl_spec_id", "reason..reason")

    first, same = glance.read(written(ENTRY)), glance.read(written(replace(ENTRY, url="https://b.test/")))
    other = glance.read(written(replace(ENTRY, execution_id="news-2")))

    assert first is not None
    assert same is not None
    assert other is not None
    assert first[:2] == (b"\x0epending\x0cnews-1\x08spec", b"\0")
    assert (same[:2], other[:2] == first[:2]) == (first[:2], False)


def test_a_partial_decode_continues_where_another_one_ended() -> None:
    beginning = FieldPeeker(CODEC, FRONTIER, "busy_ms")
    more = FieldPeeker(CODEC, FRONTIER, "is_start", "seed_token", first_field="kind")
    value = written(replace(ENTRY, is_start=True, busy_ms=300))
    seen = beginning.read(value)

    assert seen is not None
    assert seen[0] == 300
    assert more.read_at(value, seen[-1]) == (True, b"s/0/1", len(value))


def test_trailing_empty_fields_are_recognised_in_the_bytes() -> None:
    glance = FieldPeeker(CODEC, FRONTIER, "due_at_ms")
    plain, more = written(replace(ENTRY, seed_token="")), written(ENTRY)
    seen, seen_more = glance.read(plain), glance.read(more)

    assert seen is not None
    assert seen_more is not None
    assert plain[seen[-1] :] == glance.empty_suffix != more[seen_more[-1] :]


@pytest.mark.parametrize("changes", [{"metadata": {"a": "b"}}, {"redirect_chain": ("https://a.test/",)}])
def test_lists_that_are_not_empty_are_left_to_the_codec(changes: dict[str, object]) -> None:
    glance = FieldPeeker(CODEC, FRONTIER, "status")

    assert glance.read(written(ENTRY)) is not None
    assert glance.read(written(replace(ENTRY, **changes))) is None  # type: ignore[arg-type]  # the table's


def test_what_another_version_wrote_is_not_guessed_at() -> None:
    """Its fields may have another order, so the codec must decode it."""
    assert FieldPeeker(CODEC, FRONTIER, "group").read(b"\xc3\x01" + bytes(8) + written(ENTRY)[10:]) is None


def test_what_ends_too_early_is_left_to_the_codec() -> None:
    value = written(ENTRY)
    glance = FieldPeeker(CODEC, FRONTIER, "seed_token")

    assert glance.read(value) == (b"s/0/1", len(value))
    assert all(glance.read(value[:end]) is None for end in range(len(value)))


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=200)
NUMBERS = st.integers(min_value=-(2**63), max_value=2**63 - 1) | st.sampled_from(
    [sign * 2**bits + off for bits in range(63) for sign in (1, -1) for off in (-1, 0, 1)]
)
NAMES = ("job_id", "url_key", "url", "group", "state", "fetch_sequence", "updated_at_ms", "reason")


@given(TEXTS, TEXTS, NUMBERS, NUMBERS)
def test_it_sees_what_the_codec_reads(url: str, group: str, sequence: int, updated_ms: int) -> None:
    entry = replace(ENTRY, url=url, group=group, fetch_sequence=sequence, updated_at_ms=updated_ms)
    value = written(entry)

    seen = FieldPeeker(CODEC, FRONTIER, *NAMES).read(value)

    assert seen is not None
    told = [each.decode() if isinstance(each, bytes) else each for each in seen[:-1]]
    assert told == [getattr(CODEC.decode(FRONTIER, value), name) for name in NAMES]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(b"\x01", id="negative-length"),
        pytest.param(b"\x81\x01" + bytes(99), id="negative-long-length"),
        pytest.param(b"\xff" * 40, id="number-without-end"),
        pytest.param(b"\x80\x80\x80\x80\x10", id="beyond-the-end"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_no_event_is_left_to_the_codec(event: bytes) -> None:
    for wanted in ("reason", "job_id..reason"):
        assert FieldPeeker(CODEC, FRONTIER, wanted).read(CODEC.message_prefix(FRONTIER)[0] + event) is None
