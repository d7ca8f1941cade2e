"""The beginning of an event, read without the rest."""

from __future__ import annotations

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
