"""Seeds that no client library would send: they cost their sender a dead letter, and other seeds nothing."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from confluent_kafka import Producer

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.testing.site.plan import page_html, sentences
from tests.e2e.pipeline import SHARDS
from tests.processes.waiting import until

from .attackers import PAGE, Reply, attacker_site, robots_allowing
from .neighbours import Stage

pytestmark = pytest.mark.timeout(600)

FLOOD = 130
"""More than the dead-letter breaker takes in a row."""
SCHEMAS = 300
RECORDS = 20_000


def avro_seed(url: str) -> bytes:
    """Return a seed in Avro with a word that is in no list."""
    value = Codec(SchemaStore.bundled()).encode(SEEDS_SUBMITTED, SeedSubmitted(url=url, scope="domain")).value
    return value.replace(b"domain", b"bogus!")


def send_malformed_seeds(kafka: str) -> None:
    """Send words and headers that fail after decoding, invented schemas, and records of one byte."""
    batching = {"compression.type": "gzip", "linger.ms": 200, "batch.num.messages": RECORDS}
    client = Producer({"bootstrap.servers": kafka, **batching})

    def send(value: bytes, *headers: tuple[str, Any]) -> None:
        client.produce("seeds-submitted", value=value, headers=list(headers))
        client.poll(0)

    for number in range(FLOOD):
        send(avro_seed("http://127.0.0.1:9/words"))
        send(b"\x00\x00\x00\x00\x07junk", ("schema-fp", None))
        send(b"{}", ("__value_schema_id", None), ("entry", None))
        send(b'{"url": "http://127.0.0.1:9/replayed"}', ("replay-id", str(number)))
    for number in range(SCHEMAS):
        send(b"\xc3\x01" + number.to_bytes(8) + b"event")
    for number in range(RECORDS):
        client.produce("seeds-submitted", value=b"x", partition=number % SHARDS)
        client.poll(0)
    assert client.flush(60) == 0


@pytest.mark.fault("F22", part="seeds of a stranger, on the running pipeline")
async def test_seeds_of_any_form_stop_no_others(stage: Stage) -> None:
    with attacker_site(lambda path: robots_allowing(path) or PAGE) as honest:
        async with stage.unharmed_neighbours("F22 intake"):
            send_malformed_seeds(stage.ring.servers.kafka.address)
            stage.send({"url": f"{honest.origin}/honest"})
            await until(
                lambda: any(path == "/honest" for path, _ in honest.requests),
                what="the honest seed behind them is crawled",
                tell=stage.ring.tell,
                seconds=60,
            )
            await stage.until_refused("http://127.0.0.1:9/words", field="scope")
            await stage.until_refused("http://127.0.0.1:9/replayed", field="replay-id")


CHAIN = [f"/show?id={number}" for number in range(1, 5)]
"""Pages that link to the next one each; every other path of their site is answered with one text."""
MADE_UP = [f"/show?id={number}" for number in range(200_000, 200_080)]
"""More than the pages after which a template of the site would be taken for a trap."""


def chain_reply(path: str) -> Reply:
    if (robots := robots_allowing(path)) is not None:
        return robots
    number = CHAIN.index(path) + 1 if path in CHAIN else 0
    # Prose, no secret: the same for all unknown paths.
    text, links = sentences(Random(number), 1_500), CHAIN[number : number + 1] if number else ["/"]
    return 200, {"Content-Type": "text/html; charset=utf-8"}, page_html(f"Page {number}", text, links)


@pytest.mark.slow
@pytest.mark.fault("S16", part="a template that a stranger wants closed, on the running pipeline")
async def test_made_up_paths_of_a_site_close_nothing_for_others(stage: Stage) -> None:
    """In the run that raw seeds share, whose pages are judged together."""
    with attacker_site(chain_reply, address="127.9.7.1") as site:
        async with stage.unharmed_neighbours("S16 made-up paths"):
            for path in MADE_UP:
                stage.send({"url": f"{site.origin}{path}", "delay": 0.05})
            await until(
                lambda: set(MADE_UP) <= {path for path, _ in site.requests},
                what="the made-up paths are crawled",
                tell=stage.ring.tell,
                seconds=120,
            )
            stage.send({"url": f"{site.origin}{CHAIN[0]}", "delay": 0.05})
            await until(
                lambda: set(CHAIN) <= {path for path, _ in site.requests},
                what="the links of an honest seed of the same site are crawled",
                tell=stage.ring.tell,
                seconds=60,
            )
