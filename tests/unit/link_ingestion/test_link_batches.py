"""Messages for the shards: what goes together, and that none is too large for its topic."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import LinksDiscovered
from strider.contracts.generated.topics import LINKS_DISCOVERED
from strider.link_ingestion.core import LinkBatches, LinkItem, LinkOrigin, SeedPosition

from .builders import hash_of

CODEC = Codec(SchemaStore.bundled())


def an_origin(number: int = 1, **changes: Any) -> LinkOrigin:
    fields: dict[str, Any] = {
        "via": "link",
        "url": f"https://a.test/{number}",
        "url_key": hash_of(f"https://a.test/{number}"),
        "job_id": "adhoc",
        "execution_id": "adhoc-20260202-0123456789ab",
        "crawl_spec_id": "f" * 64,
        "fetch_sequence": 7,
    }
    return LinkOrigin(**(fields | changes))


def an_item(number: int, **changes: Any) -> LinkItem:
    url = changes.pop("url", f"https://b.test/{number}")
    return LinkItem(url=url, url_key=hash_of(url), **({"depth": 1, "priority": 1} | changes))


def test_a_shard_gets_one_message_with_each_page_once() -> None:
    """The links of a batch, grouped: pages are named once, links say which was theirs."""
    parcels = LinkBatches(12, spoken_at_ms=5)
    parcels.add(3, an_item(1), an_origin(1))
    parcels.add(3, an_item(2), an_origin(2))
    parcels.add(4, an_item(3), an_origin(1))
    parcels.add(3, an_item(4, depth=2, priority=0), an_origin(1))

    first, second = parcels.events()
    assert first == LinksDiscovered(
        shard=3,
        shards=12,
        urls=("https://b.test/1", "https://b.test/2", "https://b.test/4"),
        url_keys=tuple(hash_of(f"https://b.test/{number}") for number in (1, 2, 4)),
        from_at=(0, 1, 0),
        from_vias=("link", "link"),
        from_urls=("https://a.test/1", "https://a.test/2"),
        from_url_keys=(hash_of("https://a.test/1"), hash_of("https://a.test/2")),
        from_job_ids=("adhoc", "adhoc"),
        from_execution_ids=("adhoc-20260202-0123456789ab",) * 2,
        from_crawl_spec_ids=("f" * 64,) * 2,
        from_fetch_sequences=(7, 7),
        depths=(1, 1, 2),
        priorities=(1, 1, 0),
        spoken_at_ms=5,
    )
    assert (second.shard, second.urls) == (4, ("https://b.test/3",))


def test_fields_that_all_links_share_are_written_once() -> None:
    """Lists are parallel or empty; so a reader can tell them apart by their length."""
    parcels = LinkBatches(12, spoken_at_ms=5)
    parcels.add(0, an_item(1), an_origin())
    parcels.add(
        0,
        an_item(
            2,
            kind="sitemap",
            lastmod_ms=9,
            is_start=True,
            is_fresh=True,
            seed=SeedPosition("seeds-submitted", 1, 2),
            attachment={"a": "b"},
        ),
        an_origin(),
    )

    (event,) = parcels.events()
    assert (event.kinds, event.lastmods_ms, event.start_flags, event.fresh_flags) == (
        ("page", "sitemap"),
        (-1, 9),
        (False, True),
        (False, True),
    )
    assert (event.seed_topics, event.seed_partitions, event.seed_offsets, event.attachments) == (
        ("", "seeds-submitted"),
        (0, 1),
        (0, 2),
        ({}, {"a": "b"}),
    )
    assert CODEC.decode(LINKS_DISCOVERED, CODEC.encode(LINKS_DISCOVERED, event).value) == event


def test_five_hundred_links_fill_a_message() -> None:
    """What a reader has to hold at once is bounded; the order stays."""
    parcels = LinkBatches(12, spoken_at_ms=5)
    for number in range(1001):
        parcels.add(0, an_item(number), an_origin())

    events = parcels.events()
    assert [len(event.urls) for event in events] == [500, 500, 1]
    assert [url for event in events for url in event.urls] == [
        f"https://b.test/{number}" for number in range(1001)
    ]


TEXTS = st.text(max_size=2000)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 2000), st.dictionaries(TEXTS, TEXTS, max_size=3)), max_size=20),
    st.lists(st.text(max_size=500), min_size=1, max_size=4),
    st.integers(1, 40),
)
def test_no_message_is_larger_than_its_topic_takes(
    links: list[tuple[int, dict[str, str]]], jobs: list[str], times: int
) -> None:
    """Sizes are estimated from above while links come in; the codec is the judge."""
    parcels = LinkBatches(12, spoken_at_ms=5)
    for number in range(times * len(links)):
        length, attachment = links[number % len(links)]
        item = an_item(number, url="https://b.test/" + "x" * length, attachment=attachment)
        parcels.add(
            0, item, an_origin(number, job_id=jobs[number % len(jobs)], url="https://a.test/" + "y" * length)
        )

    events = parcels.events()
    assert sum(len(event.urls) for event in events) == times * len(links)
    for event in events:
        assert len(CODEC.encode(LINKS_DISCOVERED, event).value) <= LINKS_DISCOVERED.max_bytes
