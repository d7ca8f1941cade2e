"""The service on a real broker and a real Valkey, fed by a foreign client."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka import Producer

from strider.contracts import Topic
from strider.contracts.avro.framing import Header
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    LINKS_DISCOVERED,
    PAGES_PARSED,
    PAGES_REJECTED,
    PAGES_SETTLED,
    PAGES_VALIDATED,
    SEEDS_SUBMITTED,
    URLS_DECIDED,
)
from strider.contracts.ids import key_fingerprint, seen_scope
from strider.contracts.multipart_pages import LAST_PART_HEADERS, MORE_PARTS_HEADERS
from strider.contracts.partitioning import shard_of_host
from strider.contracts.specs.crawl_specs import spec_from_seed
from strider.frontier.models import RefusedFingerprint
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.link_ingestion import log_events
from strider.messaging.effects import GivenUp
from strider.storage.redis import RedisOptions, connect
from strider.storage.run_logs.redis_log import RedisRunLogs
from strider.testing.owner import owner_headers
from strider.validator.adapters import PageSplicer
from strider.validator.core import ValidationRules
from strider.validator.topology import Validator
from tests.unit.crawl.declared_specs import DeclaredSpecs
from tests.unit.link_ingestion.builders import a_page, a_spec, hash_of, validated
from tests.unit.validator.builders import ARecord

from .service import CODEC, SHARDS, Reader, Service, wait_for

RELEASED = Path(__file__).parents[3] / "schemas" / "released"


@pytest.fixture
def sender(bootstrap: str) -> Iterator[Producer]:
    """Any Kafka client will do."""
    client = Producer({"bootstrap.servers": bootstrap})
    yield client
    client.flush(10)


def say(sender: Producer, topic: Topic[Any], event: Any, further: tuple[Header, ...] = ()) -> None:
    """Speak as a service before this one does."""
    encoded = CODEC.encode(topic, event)
    partition = 0 if topic.shard_of is None else topic.shard_of(event, SHARDS)
    headers = [*encoded.headers, *topic.headers_of(event), *further]
    sender.produce(topic.name, encoded.value, topic.key_of(event), partition=partition, headers=headers)


def know(redis_url: str, job_id: str, url: str) -> None:
    """Let the frontier know a URL, as its owner does."""

    async def work() -> None:
        redis = connect(RedisOptions(redis_url))
        frontier, shard = RedisWorkingSet(redis), shard_of_host(url.split("/")[2], SHARDS)
        await frontier.take_over(shard, 1)
        await frontier.begin_rebuild(shard, 1)
        await frontier.finish_rebuild(shard, 1, groups=(), sequence=0)
        seen = RefusedFingerprint(seen_scope(job_id, a_spec().crawl_spec_id), key_fingerprint(hash_of(url)))
        await frontier.accept(shard, 1, [], refused=[seen])
        await redis.close()

    asyncio.run(work())


@pytest.mark.req("S3.4.7", part="seeds are enqueued")
@pytest.mark.req("S3.4.10", part="a seed becomes a link of its shard")
@pytest.mark.req("S5.1.4", part="JSON and Avro of other Kafka clients")
def test_a_json_seed_of_a_foreign_client_reaches_its_shard(
    bootstrap: str, sender: Producer, service: Service
) -> None:
    """`kcat` is enough: no key, no schema, any partition."""
    service.start()
    seeds = [{"url": f"https://host{number}.test/x", "max_depth": 2} for number in range(6)]
    for seed in seeds:
        sender.produce(SEEDS_SUBMITTED.name, json.dumps(seed).encode())
    sender.produce(SEEDS_SUBMITTED.name, b'{"url": "example.com"}')
    sender.flush(10)

    with (
        closing(Reader(bootstrap, LINKS_DISCOVERED)) as links,
        closing(Reader(bootstrap, URLS_DECIDED)) as told,
    ):
        found = wait_for(lambda: sum(len(each.urls) for _, each in links.events()) >= 6 and links.events())
        refused = wait_for(told.events)
    with closing(Reader(bootstrap, CRAWL_SPECS)) as specs:
        declared = [spec for _, spec in specs.events()]

    spec = spec_from_seed(SeedSubmitted(url="https://host0.test/x", max_depth=2))
    places = {url: (partition, each.shard) for partition, each in found for url in each.urls}
    assert places == {
        f"https://host{number}.test/x": (shard_of_host(f"host{number}.test", SHARDS),) * 2
        for number in range(6)
    }
    assert {spec_id for _, each in found for spec_id in each.from_crawl_spec_ids} == {spec.crawl_spec_id}
    assert spec in declared
    assert [(each.urls, each.reasons) for _, each in refused] == [(("example.com",), ("bad_url",))]
    assert service.stop() == 0


def test_a_seed_of_a_job_that_cannot_exist_is_refused_and_logged(
    bootstrap: str, redis_url: str, sender: Producer, service: Service
) -> None:
    """The job of the refused seed has no log in Redis, and the next lines of other jobs are written."""
    service.start()
    bad, good = {"url": "https://odd.test/", "job_id": "a b"}, {"url": "https://odd.test/", "job_id": "good"}
    with closing(Reader(bootstrap, URLS_DECIDED)) as decided:
        sender.produce(SEEDS_SUBMITTED.name, json.dumps(bad).encode())
        sender.flush(10)
        refused = wait_for(
            lambda: [each.reasons for _, each in decided.events() if each.urls == (bad["url"],)]
        )
    value = json.dumps(good).encode()
    sender.produce(SEEDS_SUBMITTED.name, value, headers=owner_headers(value))
    sender.flush(10)

    assert refused == [("bad_seed",)]
    assert wait_for(lambda: log_of_job(redis_url, "good")) == [log_events.SEEDS_ACCEPTED.text]
    assert service.stop() == 0


def log_of_job(redis_url: str, job_id: str) -> list[str]:
    async def read() -> list[str]:
        redis = connect(RedisOptions(redis_url))
        logs = RedisRunLogs(redis)
        lines = [entry for run in await logs.runs_of(job_id) for entry in await logs.tail(run, count=100)]
        await redis.close()
        return [entry.line.event for entry in lines]

    return asyncio.run(read())


@pytest.mark.req("S5.1.4", part="JSON and Avro of other Kafka clients")
@pytest.mark.parametrize("version", [f"seed-submitted.v{number}" for number in (1, 2, 3, 4)])
def test_an_avro_seed_of_a_foreign_client_becomes_a_link(
    bootstrap: str, sender: Producer, service: Service, version: str
) -> None:
    """With another Avro library: two bytes, the fingerprint of a released schema, and the seed."""
    fingerprint = json.loads((RELEASED / "manifest.json").read_text())[version]["fingerprint"]
    schema = fastavro.parse_schema(json.loads((RELEASED / f"{version}.avsc").read_text()))
    url, seed = f"https://{version}.test/x", io.BytesIO()
    fastavro.schemaless_writer(seed, schema, {"url": url})
    service.start()
    sender.produce(SEEDS_SUBMITTED.name, b"\xc3\x01" + bytes.fromhex(fingerprint) + seed.getvalue())
    sender.flush(10)

    with closing(Reader(bootstrap, LINKS_DISCOVERED)) as links:
        found = wait_for(lambda: [each for _, each in links.events() if url in each.urls])

    assert [(each.urls, each.depths) for each in found] == [((url,), (0,))]
    assert service.stop() == 0


@pytest.mark.req("S3.4.7", "S3.10.8", "S3.11.1", "S3.11.2", "S3.11.4")
def test_pages_are_settled_through_a_kill(
    bootstrap: str, sender: Producer, service: Service, redis_url: str
) -> None:
    """Every page is settled and every new link travels, although the process dies in the middle."""
    know(redis_url, "j1", "https://www.a.test/known")
    say(sender, CRAWL_SPECS, a_spec())
    for number in range(40):
        links = ("https://www.a.test/known/?utm_source=x", f"https://www.a.test/n/{number}")
        page = a_page(*links, job_id="j1", url=f"https://www.a.test/p/{number}", fetch_sequence=number)
        say(sender, PAGES_VALIDATED, validated(page))
    sender.flush(10)
    with (
        closing(Reader(bootstrap, PAGES_SETTLED)) as settled,
        closing(Reader(bootstrap, LINKS_DISCOVERED)) as links_,
    ):
        service.start()
        wait_for(settled.events)
        service.kill()
        service.start()
        wait_for(lambda: {each.fetch_sequence for _, each in settled.events()} == set(range(40)))
        found = [each for _, each in links_.events() if each.from_job_ids[0] == "j1"]
        places = {partition for partition, _ in settled.events()}

    assert {url for each in found for url in each.urls} == {f"https://www.a.test/n/{n}" for n in range(40)}
    assert places == {shard_of_host("www.a.test", SHARDS)}


def test_a_list_whose_end_was_given_up_is_settled_behind_its_parts(
    bootstrap: str, sender: Producer, service: Service
) -> None:
    """Its rejection comes long before them, being on another topic, and the process dies in between."""
    known = {"job_id": "j2", "url": "https://www.a.test/list", "document_kind": "sitemap"}
    parts = [
        a_page(**known, entry_urls=(f"https://www.a.test/l/{number}",), part=number, is_last_part=False)
        for number in range(20)
    ]
    last = a_page(**known, part=20)
    validator = Validator(ValidationRules(), PageSplicer(CODEC), specs=DeclaredSpecs(), now_ms=lambda: 9)
    record = ARecord(b"junk", (*PAGES_PARSED.headers_of(last), *LAST_PART_HEADERS))
    effects = asyncio.run(validator.on_given_up(record, GivenUp("bad_magic")))
    (rejection,), (closes,) = effects.publish, effects.publish_last
    other = replace(rejection.event, url_key="ff" * 32, job_id="j3")

    say(sender, CRAWL_SPECS, a_spec())
    say(sender, PAGES_REJECTED, rejection.event, rejection.headers)
    say(sender, PAGES_REJECTED, other)
    sender.flush(10)
    with (
        closing(Reader(bootstrap, PAGES_SETTLED)) as settled,
        closing(Reader(bootstrap, LINKS_DISCOVERED)) as links,
    ):

        def of_list() -> list[Any]:
            return [each for _, each in settled.events() if each.job_id == "j2"]

        service.start()
        wait_for(lambda: "j3" in {each.job_id for _, each in settled.events()})
        assert of_list() == []
        for part in parts:
            say(sender, PAGES_VALIDATED, validated(part), MORE_PARTS_HEADERS)
        sender.flush(10)
        service.kill()
        service.start()
        say(sender, PAGES_VALIDATED, closes.event, closes.headers)
        sender.flush(10)
        (end, *_) = wait_for(of_list)
        found = {url for _, each in links.events() for url in each.urls}

    assert (end.verdict, end.reason, end.fetch_sequence) == ("given_up", "unreadable_message", 7)
    assert {f"https://www.a.test/l/{number}" for number in range(20)} <= found


@pytest.mark.req("S1.14.12")
@pytest.mark.parametrize(("setting", "kind"), [("", "page"), ("true", "feed")], ids=["default", "enabled"])
def test_feeds_of_start_pages_are_crawled_as_feeds_by_a_setting(
    bootstrap: str, sender: Producer, redis_url: str, tmp_path: Path, *, setting: str, kind: str
) -> None:
    url = f"https://www.feeds-{kind}.test/feed.xml"
    settings = {"CRAWLER_FEED_DISCOVERY_ENABLED": setting} if setting else {}
    service = Service(bootstrap, redis_url, tmp_path / "log", **settings)
    home = a_page(url, url=url.removesuffix("feed.xml"), feed_urls=(url,), is_start=True, depth=0)
    say(sender, CRAWL_SPECS, a_spec())
    say(sender, PAGES_VALIDATED, validated(home))
    sender.flush(10)
    try:
        service.start()
        with closing(Reader(bootstrap, LINKS_DISCOVERED)) as links:
            found = wait_for(lambda: [each for _, each in links.events() if url in each.urls])
    finally:
        service.close()

    kinds = {name: each.kinds for each in found for name in each.urls}
    assert kinds == {url: ("feed",) if kind == "feed" else ()}
