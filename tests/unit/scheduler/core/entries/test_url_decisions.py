"""Decisions about URLs: complete, and within the size of a message."""

from __future__ import annotations

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import LINKS_DISCOVERED, URLS_DECIDED
from strider.scheduler.core.entries.candidates import parse_candidates
from strider.scheduler.core.entries.redirects import redirect_messages
from strider.scheduler.core.entries.url_decisions import closed_decision, decision_messages, refused_decision
from tests.unit.scheduler.builders import NOW, a_candidate, an_entry, an_origin

CODEC = Codec(SchemaStore.bundled())


def test_refusals_of_one_page_travel_together() -> None:
    lines = [
        refused_decision(a_candidate(f"http://b.test/{n}", depth=4), "too_deep", "4 of 3") for n in range(3)
    ]

    (event,) = decision_messages(lines, now_ms=NOW)

    assert event.urls == ("http://b.test/0", "http://b.test/1", "http://b.test/2")
    assert event.reasons == ("too_deep",) * 3
    assert (event.page_url, event.url_key) == (an_origin().url, an_origin().url_key)
    assert (event.job_id, event.execution_id, event.crawl_spec_id) == ("job", "run", "spec")
    assert (event.decided_by, event.depths) == ("scheduler", (4, 4, 4))


def test_refusals_of_different_pages_do_not() -> None:
    origins = [an_origin(url=f"http://p{n}.test/", url_key=f"k{n}") for n in range(2)]
    lines = [refused_decision(a_candidate(origin=origin), "too_deep") for origin in origins]

    assert [event.url_key for event in decision_messages(lines, now_ms=NOW)] == ["k0", "k1"]


def test_closings_of_several_runs_name_each() -> None:
    entries = [an_entry(reason="not_found", status=404), an_entry(reason="budget", execution_id="other")]

    (event,) = decision_messages([closed_decision(entry) for entry in entries], now_ms=NOW)

    assert (event.execution_id, event.execution_ids) == ("", ("run", "other"))
    assert (event.decisions, event.reasons) == (("closed", "closed"), ("not_found", "budget"))
    assert event.statuses == (404, 0)


def test_no_message_is_larger_than_its_topic_allows() -> None:
    """The longest URLs there are, with details to match: all of them are said, in several messages."""
    long = ["http://b.test/" + "é" * 2000 + str(n) for n in range(300)]
    lines = [refused_decision(a_candidate(url), "excluded", "é" * 600) for url in long]

    events = list(decision_messages(lines, now_ms=NOW))

    assert [url for event in events for url in event.urls] == long
    assert len(events) > 1
    assert max(len(CODEC.encode(URLS_DECIDED, event).value) for event in events) <= URLS_DECIDED.max_bytes


def test_redirect_targets_are_passed_on_unchanged() -> None:
    """The scheduler is its own reader here: nothing may be lost between the two."""
    target = a_candidate(
        origin=an_origin(via="redirect"),
        hop=2,
        is_start=True,
        seed_token="seeds/3/17",
        redirect_chain=("http://x.test/", "http://y.test/"),
        metadata={"k": "v"},
        depth=2,
        priority=3,
    )

    (event,) = redirect_messages([target], shards=3, now_ms=NOW)

    assert list(parse_candidates(event, by_domain=False)) == [target]


def test_a_flood_of_redirects_is_parted() -> None:
    chain = tuple(f"http://www.a.test/{'x' * 2000}{n}" for n in range(5))
    targets = [
        a_candidate(f"http://www.a.test/{n}", redirect_chain=chain, origin=an_origin(via="redirect"))
        for n in range(200)
    ]

    events = list(redirect_messages(targets, shards=3, now_ms=NOW))

    assert sum(len(event.urls) for event in events) == 200
    assert {event.shard for event in events} == {events[0].shard}
    sizes = [len(CODEC.encode(LINKS_DISCOVERED, event).value) for event in events]
    assert max(sizes) <= LINKS_DISCOVERED.max_bytes
