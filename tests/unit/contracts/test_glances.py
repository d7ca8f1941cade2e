"""The beginning of an event, read without the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.book import SchemaBook
from strider.contracts.codec import Codec
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER
from strider.contracts.glances import Glance

ENTRY = EntryRecorded(
    "news", "k" * 64, "https://a.test/", "a.test", "pending", "news-1", "spec", 7, 1_000, seed_token="s/0/1"
)


def test_fields_are_read_up_to_the_one_that_is_wanted() -> None:
    codec = Codec(SchemaBook.embedded())

    read = Glance(codec, FRONTIER, until="group").read(codec.encode(FRONTIER, ENTRY).value)

    assert read == {"job_id": "news", "url_key": "k" * 64, "url": "https://a.test/", "group": "a.test"}


def test_what_another_version_wrote_is_not_guessed_at() -> None:
    """Its fields may come in another order; the codec knows."""
    codec = Codec(SchemaBook.embedded())
    value = codec.encode(FRONTIER, ENTRY).value

    assert Glance(codec, FRONTIER, until="group").read(b"\xc3\x01" + bytes(8) + value[10:]) is None


def test_what_ends_too_early_is_left_to_the_codec() -> None:
    codec = Codec(SchemaBook.embedded())

    assert Glance(codec, FRONTIER, until="reason").read(codec.encode(FRONTIER, ENTRY).value[:14]) is None


def test_what_nobody_wants_is_stepped_over() -> None:
    codec = Codec(SchemaBook.embedded())
    glance = Glance(codec, FRONTIER, until="state", without=("url", "group"))

    read = glance.read(codec.encode(FRONTIER, ENTRY).value)

    assert read == {"job_id": "news", "url_key": "k" * 64, "state": "pending"}


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=200)
NUMBERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)


@given(TEXTS, TEXTS, NUMBERS, NUMBERS)
def test_it_sees_what_the_codec_reads(url: str, group: str, sequence: int, updated_ms: int) -> None:
    codec = Codec(SchemaBook.embedded())
    entry = replace(ENTRY, url=url, group=group, fetch_sequence=sequence, updated_at_ms=updated_ms)
    value = codec.encode(FRONTIER, entry).value

    read = Glance(codec, FRONTIER, until="reason").read(value)

    assert read is not None
    assert read == {name: getattr(codec.decode(FRONTIER, value), name) for name in read}


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(b"\x01", id="negative-length"),
        pytest.param(b"\xff" * 40, id="number-without-end"),
        pytest.param(b"\x04\xff\xff" + bytes(20), id="no-text"),
        pytest.param(b"\x80\x80\x80\x80\x10", id="beyond-the-end"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_no_event_is_left_to_the_codec(event: bytes) -> None:
    codec = Codec(SchemaBook.embedded())

    assert Glance(codec, FRONTIER, until="reason").read(codec.opening(FRONTIER)[0] + event) is None
