"""Seeds with the most expensive patterns, on a real broker: each costs its sender alone."""

from __future__ import annotations

import json
import time
from contextlib import closing

import pytest
from confluent_kafka import Producer

from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    LINKS_DISCOVERED,
    PAGES_SETTLED,
    PAGES_VALIDATED,
    SEEDS_SUBMITTED,
    URLS_DECIDED,
)
from strider.runtime.observability import log_events
from tests.figures import record_figure
from tests.unit.link_ingestion.builders import a_page, a_spec, validated
from tests.unit.link_ingestion.test_hostile_patterns import POLL, worst_seeds

from .service import CODEC, SHARDS, Reader, Service, wait_for

ORDINARY = "https://ordinary.test/"


@pytest.fixture
def sender(bootstrap: str) -> Producer:
    return Producer({"bootstrap.servers": bootstrap})


@pytest.mark.fault("A1")
def test_a_thousand_expensive_seeds_hold_up_no_other_sender(
    bootstrap: str, sender: Producer, service: Service
) -> None:
    """They are waiting when the service starts, before an ordinary seed and an ordinary page."""
    for seed in worst_seeds():
        document = {"url": seed.url, "include": seed.include, "exclude": seed.exclude}
        sender.produce(SEEDS_SUBMITTED.name, json.dumps(document).encode(), partition=0)
    sender.produce(SEEDS_SUBMITTED.name, json.dumps({"url": ORDINARY}).encode(), partition=0)
    for topic, event in (
        (CRAWL_SPECS, a_spec()),
        (PAGES_VALIDATED, validated(a_page(f"{ORDINARY}x", url=f"{ORDINARY}page"))),
    ):
        encoded = CODEC.encode(topic, event)
        partition = 0 if topic.shard_of is None else topic.shard_of(event, SHARDS)
        headers = [*encoded.headers, *topic.headers_of(event)]
        sender.produce(topic.name, encoded.value, topic.key_of(event), partition=partition, headers=headers)
    sender.flush(10)
    service.start()

    with (
        closing(Reader(bootstrap, LINKS_DISCOVERED)) as links,
        closing(Reader(bootstrap, URLS_DECIDED)) as decided,
        closing(Reader(bootstrap, PAGES_SETTLED)) as settled,
    ):
        wait_for(lambda: settled.events() or decided.events() or links.events())
        began = time.monotonic()
        wait_for(settled.events)
        wait_for(lambda: any(ORDINARY in each.urls for _, each in links.events()))
        seconds = time.monotonic() - began
        wait_for(lambda: len(reasons_of(decided)) + len(urls_of(links)) > POLL)
        reasons = reasons_of(decided)

    record_figure(f"{POLL} worst seeds, then an ordinary one: seconds={seconds:.2f} refused={len(reasons)}")
    assert set(reasons) == {"bad_seed"}
    assert 0 < len(reasons) < POLL
    log = service.log.read_text()
    assert log_events.PARTITIONS_REVOKED.text not in log
    assert service.stop() == 0


def reasons_of(decided: Reader) -> list[str]:
    return [reason for _, each in decided.events() for reason in each.reasons]


def urls_of(links: Reader) -> set[str]:
    return {url for _, each in links.events() for url in each.urls}
